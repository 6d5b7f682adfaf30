# SPDX-License-Identifier: BSD-3-Clause
"""A fake benchmark program for tests of the driver: it measures nothing and misbehaves on demand.

fake_program.py NAME BEHAVIOUR OPTIONS...; behaviours: steady, slow, wrong, invalid, absent, crash, flaky (one
wrong result, when cases are repeated), hang (at its fourth case until SIGINT; where FAKE_HANGS_IN is set,
only if that is in the path of its records), deaf (for ever; the file RECORDS.asked says that it had SIGINT),
partial (dies in the middle of a line), greedy (writes until the disk is full), mute (no --about), usage.
fake_program.sh answers --about and --devices. The time that --budget ends is what its cases would take, not
what a busy machine took.
"""

import json
import os
import signal
import sys
import time

name, behaviour, words = sys.argv[1], sys.argv[2], sys.argv[3:]
CASES = [f"size={1 << n}" for n in range(10, 18)]
PAUSE_S = {"slow": 0.25}.get(behaviour, 0.01)


def leave(code, message=""):
    if message:
        print(f"gpusig: {name}: {message}", file=sys.stderr)
    sys.exit(code)


def record(kind, **more):
    return {
        "schema": "gpusig.record",
        "version": "1.1.0",
        "kind": kind,
        "run": f"r{os.getpid()}",
        "program": name,
        **more,
    }


def put(row):
    line = (json.dumps(row) + "\n").encode()
    if not option("--out"):
        return os.write(1, line)
    out = os.open(option("--out"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        written = os.write(out, line)
    except OSError as error:
        leave(1, f"append to {option('--out')}: {error.strerror}")
    if written != len(line):
        leave(1, f"append to {option('--out')}: No space left on device")
    os.close(out)


def option(word, default=None):
    return words[words.index(word) + 1] if word in words else default


def case(key):
    wrong = (
        behaviour == "wrong"
        and key == CASES[2]
        and not os.path.exists(os.environ.get("FAKE_HEALED", "/dev/null/none"))
    )
    if (
        behaviour == "flaky"
        and key == CASES[2]
        and option("--cases")
        and not os.path.exists(option("--out") + ".flaked")
    ):
        open(option("--out") + ".flaked", "w").close()
        wrong = True
    check = {"status": "failed" if wrong else "ok", "detail": "", "timed": 10, "checked": 3 if wrong else 9}
    flags = [{"flag": "noisy", "variant": None, "reason": "made so"}] if behaviour == "invalid" else []
    return record(
        "case",
        case={"size": int(key.split("=")[1])},
        key=key,
        status="failed" if wrong else "ok",
        reason="wrong result" if wrong else "",
        elapsed_s=PAUSE_S,
        variants=[],
        derived=[],
        validity={"valid": not flags, "flags": flags},
        **({"check": check} if option("--check") else {}),
    )


def finish(status, code, count, left=0):
    already = len(CASES) - left - count
    put(
        record(
            "end",
            status=status,
            exit=code,
            reason="",
            elapsed_s=0.1,
            cases={
                "total": len(CASES),
                "ok": count,
                "failed": 0,
                "skipped": 0,
                "already_done": already,
                "out_of_budget": left,
            },
        )
    )


def measure():
    asked = []
    signal.signal(
        signal.SIGINT,
        lambda *_: asked.append(behaviour == "deaf" and open(option("--out") + ".asked", "w").close()),
    )
    hangs = behaviour in ("hang", "deaf") and os.environ.get("FAKE_HANGS_IN", "") in option("--out", "")
    done = set(open(option("--done")).read().split("\n")) if option("--done") else set()
    budget_s, spent_s = float(option("--budget", "10s").rstrip("s")), 0.0
    host = {"hostname": os.uname().nodename}
    put(record("run", question="?", argv=words, device=[{"spec": option("--device")}], provenance=host))
    count = failed = 0
    chosen = open(option("--cases")).read().split() if option("--cases") else CASES
    todo = [key for key in chosen if key not in done]
    for position, key in enumerate(todo):
        time.sleep(PAUSE_S)
        spent_s += PAUSE_S
        if position == 3 and behaviour == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if position == 3 and behaviour == "partial":
            os.write(os.open(option("--out"), os.O_WRONLY | os.O_APPEND), b'{"schema": "gpusig.record", "ver')
            os.kill(os.getpid(), signal.SIGKILL)
        while position == 3 and hangs and (not asked or behaviour == "deaf"):
            time.sleep(0.02)
        if asked:
            finish("interrupted", 3, count, len(todo) - position)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        if spent_s > budget_s and count:
            return finish("ok", 0, count, len(todo) - position)
        row = case(key)
        put(row)
        count, failed = count + (row["status"] == "ok"), failed + (row["status"] == "failed")
        while behaviour == "greedy":
            put(record("case", case={}, key=f"n={count}", status="ok", elapsed_s=0.0, padding="x" * 65536))
            count += 1
    if failed:
        finish("failed", 1, count)
        leave(1, "wrong result")
    finish("invalid" if behaviour == "invalid" else "ok", 3 if behaviour == "invalid" else 0, count)
    if behaviour == "invalid":
        leave(3, "nothing valid")


if behaviour == "absent":
    leave(77, "needs 2 devices; host is 1")
elif behaviour == "usage":
    leave(2, "unknown option '--out'")
else:
    measure()
