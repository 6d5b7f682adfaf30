# SPDX-License-Identifier: BSD-3-Clause
"""within.py SECONDS COMMAND...: run it with its output and exit code; 124 and a line on stderr where it took longer."""
import subprocess
import sys
import time

begun = time.monotonic()
code = subprocess.run(sys.argv[2:], check=False).returncode
took_s = time.monotonic() - begun
if took_s > float(sys.argv[1]):
    print(f"took {took_s:.1f} s, more than {sys.argv[1]}", file=sys.stderr)
    code = 124
sys.exit(code)
