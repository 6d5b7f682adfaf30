# SPDX-License-Identifier: BSD-3-Clause
"""Run a command on a terminal of its own, and close the terminal when a file exists; exit as a shell would
tell how it ended.

on_terminal.py FILE COMMAND...
"""

import os
import pty
import select
import signal
import sys

child, terminal = pty.fork()
if child == 0:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup
    os.execvp(sys.argv[2], sys.argv[2:])
while not os.path.exists(sys.argv[1]):
    if select.select([terminal], [], [], 0.05)[0]:
        os.read(terminal, 4096)
os.close(terminal)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(code if code >= 0 else 128 - code)
