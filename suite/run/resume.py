# SPDX-License-Identifier: BSD-3-Clause
"""The folder of a run: its lock, and the decisions made when it began.

plan.json holds the decisions (device, seed, options) and the outcome of every program. A resumed run takes
the decisions from there and refuses options that contradict them.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import signal
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from reports.records import damaged, jsonl
from suite import duration, naming
from suite.command_error import BAD, CommandError
from suite.run.folder import open_own
from suite.run.launch import signal_group
from suite.run.records import CannotWrite
from suite.saying import say

_SCHEMA, _VERSION = "gpusig.plan", "1.0.0"
_GRACE_S = 5.0
MAX_SEED = (1 << 64) - 1
_MAX_PROCESS = (1 << 31) - 1


@dataclass(frozen=True)
class Options:
    """Options of `run` as given; None is not given."""

    device: str | None
    budget_s: float | None
    soak_s: float | None
    only: list[str]
    out: Path | None
    resume: Path | None
    seed: int | None
    full: bool
    shapes: list[str]
    strict: bool
    nice: int | None
    headline: bool = False
    repeats: int | None = None
    types: list[str] = field(default_factory=list)
    history: Path | None = None  # a folder of runs, of which this becomes one


@dataclass
class Plan:
    """The decisions of a run. `outcomes` maps a program to the result of its last start."""

    device: str
    why: str
    seed: int
    full: bool
    only: list[str]
    budget_s: float
    shapes: list[str]  # of the user's own GEMMs
    nice: int | None = None  # priority of the programs; None: that of the driver
    soak: bool = False  # every execution is checked, and cases are repeated until the budget is used up
    created: str = field(default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="seconds"))
    outcomes: dict[str, dict] = field(default_factory=dict)
    headline: bool = False  # only the cases of headline numbers
    setting: str = ""  # words in front of every program: NAME=VALUE, then a command
    types: list[str] = field(default_factory=list)  # of all GEMMs; empty: those of the programs

    def save(self, path: Path) -> None:
        write_json(path, {"schema": _SCHEMA, "version": _VERSION, **asdict(self)})


def write_json(path: Path, value: dict) -> None:
    """Replace the file in one step: a crash leaves the old one or the new one."""
    fresh = path.with_name(path.name + ".new")
    try:
        with open(fresh, "w", encoding="utf-8", opener=open_own) as out:
            json.dump(value, out, indent=1)
            out.write("\n")
        os.replace(fresh, path)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        raise CannotWrite(f"cannot write {error.filename or path}: {error.strerror}") from error


def load(path: Path) -> Plan:
    try:
        with open(path, "rb", opener=open_own) as plan:
            data = jsonl.parse_line(plan.read(jsonl.MAX_LINE_BYTES))
        check_version(data, _SCHEMA)
        return plan_from(data)
    except FileNotFoundError:
        raise CommandError(f"{path.parent} holds no run to resume: {path.name} is missing") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandError(
            f"{path} cannot be read as the plan of a run: {why_unreadable(error)}", BAD
        ) from error


def check_version(data: dict, schema: str) -> None:
    """Raise ValueError or KeyError where this version may not understand the plan."""
    found, version = damaged.text(data["schema"], "schema"), damaged.text(data["version"], "version")
    if found != schema or not re.fullmatch(r"1\.[0-9]{1,6}\.[0-9]{1,6}", version):
        raise ValueError(f"it is {found[:40]} {version[:40]}, not {schema} 1.x")


def why_unreadable(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())[:200]


def plan_from(data: dict) -> Plan:
    """The plan in a file. Raises ValueError or KeyError where it is damaged."""
    for name, value in (
        ("soak", False),
        ("headline", False),
        ("setting", ""),
        ("types", []),
    ):  # of a run before there was one
        data.setdefault(name, value)
    for name, check in {
        "device": damaged.text,
        "why": damaged.text,
        "seed": lambda v, n: damaged.whole(v, n, most=MAX_SEED),
        "full": lambda v, n: damaged.typed(v, bool, n),
        "only": damaged.texts,
        "budget_s": damaged.number,
        "shapes": damaged.texts,
        "types": damaged.texts,
        "nice": lambda v, n: v is None or damaged.whole(v, n, -20, 19),
        "created": damaged.text,
        "soak": lambda v, n: damaged.typed(v, bool, n),
        "headline": lambda v, n: damaged.typed(v, bool, n),
        "setting": damaged.text,
        "outcomes": _check_outcomes,
    }.items():
        check(data[name], name)
    return Plan(**{name: data[name] for name in Plan.__dataclass_fields__})


def _check_outcomes(outcomes: object, name: str) -> None:
    for program, outcome in damaged.typed(outcomes, dict, name).items():
        damaged.text(program, name)
        for key in ("status", "reason"):
            damaged.typed(damaged.typed(outcome, dict, program)[key], str, key).encode()
        damaged.whole(outcome["exit"], "exit", -1024, 1024)
        damaged.whole(outcome["cases"], "cases")
        damaged.whole(outcome.get("out_of_budget", 0), "out_of_budget")
        for key in ("elapsed_s", "budget_s"):
            damaged.number(outcome[key], key)


def agree(plan: Plan, o: Options) -> None:
    """Refuse options that contradict the run that is resumed."""
    then = duration.show(plan.budget_s)
    given = {
        "--device": (o.device, plan.device),
        "--seed": (o.seed, plan.seed),
        "--full": (o.full or None, plan.full),
        "--only": (o.only or None, plan.only),
        "--shape": (o.shapes or None, plan.shapes),
        "--type": (o.types or None, plan.types),
        "--headline": (o.headline or None, plan.headline),
        "--soak": (o.soak_s and duration.show(o.soak_s), then if plan.soak else "none"),
    }
    if plan.soak and o.budget_s is not None:
        given["--budget"] = (duration.show(o.budget_s), f"--soak {then}")
    for option, (now, planned) in given.items():
        if now is not None and now != planned:
            raise CommandError(
                f"{option} {_words(now)} contradicts the run that is resumed, which has {_words(planned)}"
            )


def _words(value: object) -> str:
    if isinstance(value, list):
        return " ".join(value) or "none"
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


class Lock:
    """One driver at a time in a folder.

    The programs inherit the lock, so that a program that outlives a killed driver still locks the folder. The
    driver that resumes stops it; `note_child` records its process. The folder may be seen by other nodes,
    where these processes have no meaning.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lock"
        self._records = str(folder / "records.jsonl")
        try:
            self.handle = open_own(self.path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise CommandError(f"cannot write {self.path}: {error.strerror}", BAD) from error
        if not self._take():
            self._take_over()
        self.note_child(None)

    def note_child(self, child: int | None) -> None:
        self._write({"driver": os.getpid(), "child": child, "host": naming.node(), "processes": _processes()})

    def _take(self) -> bool:
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            say(
                f"{self.path.parent}: no locks on this file system, so another run in this folder would not "
                f"be noticed"
            )
        return True

    def _take_over(self) -> None:
        owner = self._read()
        driver, child = _process(owner.get("driver")), _process(owner.get("child"))
        if driver is None or not _is_here(owner) or _is_alive(driver):
            raise CommandError(_in_use(self.path.parent, owner), BAD)
        found = None
        for signum in (signal.SIGINT, signal.SIGKILL):
            stopped: set[int] = set()
            until = time.monotonic() + _GRACE_S
            while time.monotonic() < until:
                if self._take():
                    return
                found = self._program(child) or found
                if found is not None and found not in stopped:
                    stopped.add(found)
                    signal_group(found, signum)
                time.sleep(0.05)
        who = (
            "a program of an earlier run; try again when it has ended"
            if found is None
            else f"process {found} of an earlier run, which does not end"
        )
        raise CommandError(f"{self.path.parent} is in use by {who}", BAD)

    def _program(self, recorded: int | None) -> int | None:
        """The program that still locks the folder. A driver that was killed while starting it has not
        recorded it."""
        if recorded is not None and self._is_ours(recorded):
            return recorded
        mine = os.fstat(self.handle)
        for process in Path("/proc").glob("[1-9]*"):
            if self._is_ours(int(process.name)) and _holds(process, mine):
                return int(process.name)
        return None

    def _is_ours(self, child: int) -> bool:
        try:
            return self._records.encode() in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False

    def _read(self) -> dict:
        return _owner(self.handle)

    def _write(self, owner: dict) -> None:
        try:
            text = json.dumps(owner).encode()
            os.ftruncate(self.handle, 0)
            os.pwrite(self.handle, text, 0)
        except OSError:
            pass  # the lock itself needs no space; only the process to stop is not recorded


def refuse_in_use(folder: Path) -> None:
    """Refuse a folder in which another process measures. Nothing is written."""
    try:
        handle = open_own(folder / "lock", os.O_RDWR)
    except OSError:
        return  # none, or none that we may take: creating it will tell
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = _owner(handle)
        driver = _process(owner.get("driver"))
        was_killed = (
            driver is not None and _is_here(owner) and not _is_alive(driver)
        )  # and a program of it is left
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES) and not was_killed:
            raise CommandError(_in_use(folder, owner), BAD) from None
    finally:
        os.close(handle)


def _owner(handle: int) -> dict:
    try:
        return jsonl.parse_line(os.pread(handle, 4096, 0) or b"{}")
    except (OSError, ValueError):
        return {}


def _in_use(folder: Path, owner: dict) -> str:
    host = owner.get("host")
    where = "" if _is_here(owner) or not isinstance(host, str) else f" of {naming.safe(host)}"
    return f"{folder} is in use by another run (process {_process(owner.get('driver')) or 'unknown'}{where})"


def _processes() -> str:
    """Scope in which process numbers are unique: this boot of the kernel, and a container in it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return os.uname().nodename


def _is_here(owner: dict) -> bool:
    """True if the process numbers in a lock are those of this machine; assumed for locks of earlier
    versions."""
    return owner.get("processes", _processes()) == _processes()


def _process(value: object) -> int | None:
    """A process number from a lock; None where it is damaged. 1 and less are refused, as signals to them
    would reach other processes."""
    try:
        return damaged.whole(value, "process", 2, _MAX_PROCESS)
    except ValueError:
        return None


def _holds(process: Path, file: os.stat_result) -> bool:
    """True if the process, a folder of /proc, has the file open."""
    try:
        return any(os.path.samestat(fd.stat(), file) for fd in (process / "fd").iterdir())
    except OSError:
        return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
