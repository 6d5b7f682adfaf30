# SPDX-License-Identifier: BSD-3-Clause
"""`./gpusig preflight`: is this node fit for the next job? Collects and measures for half a minute;
reports/judge/preflight judges.

It runs in a prolog: it installs and builds nothing, writes no file, waits for nothing longer than it says,
and ends with all that it started when it is told to stop. First what the kernel says, then what the driver
says, then headline numbers: one pass over the programs, and a repeat of the cases that look bad, decided
before anything is measured (reports/judge/preflight/speed.py).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path

from reports.judge.preflight import reference, speed
from reports.judge.preflight.answer import answer
from reports.judge.preflight.node import Node, of_records
from reports.judge.preflight.reference import Reference
from reports.records.jsonl import Refused, parse_line
from suite import duration
from suite.run import devices, preflight_facts, programs
from suite.run.command import OF_HEADLINES
from suite.command_error import CANNOT_RUN, INCONCLUSIVE, OK, USAGE, CommandError
from suite.run.preflight_start import Children, Ended, Hidden

BUDGET_S, MIN_BUDGET_S, MAX_BUDGET_S = 30.0, 5.0, 600.0
ANSWER_S = 10.0  # a driver that takes longer to open its devices hangs
_RESERVE_S = 2.5  # of the budget, to judge and to end
_FIRST = 0.6  # of the time to measure; the rest is for repeats
_BACKENDS, _NODE = "micro/launch", "topology/node"
# The most telling first. Those of EACH run on every device of several, on all at once.
_ON_DEVICES = ("micro/memory", "gemm/efficiency", "micro/launch", "micro/copy_path", "micro/peer_matrix")
_EACH = ("micro/memory", "gemm/efficiency")
_OF_SHARE = 0.7  # of its share a program is given; opening the device and its last case come on top
_LEAST_S = 1.0  # a program is not started for less
_TAKES = {"gemm/efficiency": 5.0, "micro/copy_path": 4.0}  # seconds on a slow host: their shares of the time
_TAKES_ELSE = 2.0


@dataclass(frozen=True)
class Options:
    reference: str | None
    noise: str | None
    device: str | None
    expect: int | None
    budget_s: float
    factors: list[str]  # what is meant to differ from the reference
    cwd: Path


class _Stopped(BaseException):
    """Raised when a signal asks to stop."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


# ------------------------------------------------------------------ a preflight


@dataclass
class Preflight:
    """One preflight. `evidence` is what reports/judge/preflight/node.py reads."""

    asked: Options
    bin_dir: Path
    begun: float
    children: Children = field(default_factory=Children)
    records: Hidden = field(default_factory=lambda: Hidden("records"))
    evidence: dict = field(default_factory=dict)
    reference: Reference = field(default_factory=lambda: Reference(""))
    spec: str = ""

    def left_s(self) -> float:
        return self.begun + self.asked.budget_s - _RESERVE_S - time.monotonic()

    def go(self) -> dict:
        """The answer (reports/schema/preflight.schema.json)."""
        self._look()
        given = reference.read(self.asked.cwd, self.asked.reference, self.asked.noise)
        self.reference = given or self.reference
        if self._choose() and self._open():
            self._measure(self.left_s())
            self._again()
        return answer(self._seen(), given, self.asked.factors)

    def _seen(self) -> Node:
        """The evidence, passed through the reader of records, as names of processes and devices may hold
        anything."""
        self.evidence["elapsed_s"] = round(time.monotonic() - self.begun, 2)
        return of_records(Path(self.records.path), parse_line(json.dumps(self.evidence).encode()))

    def _expected(self) -> set[str]:
        """Programs whose numbers the reference has."""
        return {reference.program_of(name) for name in self.reference.expected}

    # -------------------------------------------------------------- what the node says

    def _look(self) -> None:
        held, unseen = preflight_facts.holders()
        self.evidence.update(
            node=socket.gethostname().partition(".")[0],
            device="",
            expect=self.asked.expect,
            hang=None,
            hang_is_sure=False,
            why_none="",
            pci=preflight_facts.pci_devices(),
            visible_by=preflight_facts.visible_by(dict(os.environ)),
            backends=[],
            holders=held,
            holders_unseen=unseen,
            host=preflight_facts.host(),
            largest=preflight_facts.largest(),
            busy=preflight_facts.busy(),
            programs=[],
            left_out=[],
        )

    def _path(self, program: str) -> Path | None:
        path = self.bin_dir / program
        return path if path.is_file() and os.access(path, os.X_OK) else None

    def _answer_s(self) -> float:
        return max(0.5, min(ANSWER_S, self.left_s()))

    def _hangs(self, ended: Ended) -> None:
        """Note that the driver hangs; for sure only if it had all of ANSWER_S to answer."""
        self.evidence["hang"] = f"the driver does not answer within {duration.about(ended.elapsed_s)}" + (
            ", and its process cannot be killed" if ended.is_left else ""
        )
        self.evidence["hang_is_sure"] = ended.elapsed_s >= ANSWER_S

    def _choose(self) -> bool:
        """Choose the device: the one asked for, the reference's as far as it exists, or the first one found.
        False where there is none."""
        path = self._path(_BACKENDS) or next(filter(None, map(self._path, (*_ON_DEVICES, _NODE))))
        ended = self.children.one([str(path), "--devices"], self._answer_s())
        if ended.code is None:
            self._hangs(ended)
            return False
        known = programs.backends_in(ended.out.decode("utf-8", "replace"))
        self.evidence["backends"] = [{"name": b.name, "devices": b.devices, "why": b.why} for b in known]
        try:
            wanted = self.asked.device or devices.as_there(self.reference.spec, known, self._wanted_count())
            self.spec, _ = devices.choose(wanted or None, known)
        except CommandError as error:
            if self.asked.device is not None:
                raise
            self.spec = self.reference.spec
            self.evidence.update(device=self.spec, why_none=str(error))
            return False
        if not self.asked.device and not self.reference.spec:
            self.spec = devices.all_of(self.spec, known)
        self.evidence["device"] = self.spec
        return True

    def _wanted_count(self) -> int:
        return self.asked.expect or len(self.reference.devices)

    def _open(self) -> bool:
        """Open all devices once and keep what they and their driver report. False where that fails."""
        path = self._path(_NODE) or self._path(_BACKENDS)
        if path is None:
            return True
        words = [str(path), "--device", self.spec, "--format", "json", "--seed", "1"]
        facts_alone = ["--budget", "0.001s"] if path.name == "node" else ["--list"]
        ended = self.children.one([*words, *facts_alone], self._answer_s())
        if ended.code is None and not ended.out:
            self._hangs(ended)
            return False
        self._keep(ended)
        if ended.code in (CANNOT_RUN, USAGE):
            if self.asked.device is not None:
                raise CommandError(ended.last_words, ended.code)
            self.evidence["why_none"] = ended.last_words
            return False
        self._note(f"{path.parent.name}/{path.name}", self.spec, ended)
        return True

    # -------------------------------------------------------------- measuring

    def _keep(self, ended: Ended) -> None:
        """Keep the whole lines of its output, without a last one that was cut off."""
        self.records.write(ended.out[: ended.out.rfind(b"\n") + 1])

    def _note(self, program: str, spec: str, ended: Ended) -> None:
        status = reason = ""
        if ended.code is None:
            status, reason = "stopped", f"stopped after {duration.show(round(ended.elapsed_s, 1))}"
        elif ended.code < 0:
            status, reason = (
                "failed",
                f"ended by signal {-ended.code} ({signal.strsignal(-ended.code) or 'unknown'})",
            )
        elif ended.code == CANNOT_RUN:
            status, reason = "skipped", ended.last_words.removeprefix(f"{program}: ")
        elif ended.code not in (OK, INCONCLUSIVE):
            status, reason = "failed", ended.last_words.removeprefix(f"{program}: ")
        if status and not (status == "skipped" and program not in self._expected()):
            self.evidence["programs"].append(
                {"program": program, "device": spec, "status": status, "reason": reason}
            )

    def _chosen(self) -> list[str]:
        """Programs whose numbers the reference has; all without a reference."""
        known = self._expected() if self.asked.reference or self.asked.noise else _ON_DEVICES
        found = [name for name in _ON_DEVICES if name in known and self._path(name)]
        self.evidence["left_out"] += [
            f"{name}, which is not built" for name in _ON_DEVICES if name in known and not self._path(name)
        ]
        return [name for name in found if name != "micro/peer_matrix" or devices.count(self.spec) > 1]

    def _words(self, program: str, spec: str, budget_s: float, *more: str) -> list[str]:
        return [
            str(self._path(program)),
            "--device",
            spec,
            "--budget",
            duration.option(budget_s),
            *OF_HEADLINES,
            "--format",
            "json",
            *more,
        ]

    def _specs(self, program: str) -> list[str]:
        """Values of --device: the main one, and each other device alone where the program measures only one.
        Simulated devices are all alike, so that one is enough."""
        if program not in _EACH or devices.is_virtual(self.spec) or self.spec.partition(":")[0] == "host":
            return [self.spec]
        return [self.spec, *devices.each_but_first(self.spec)]

    def _measure(self, all_s: float) -> None:
        chosen = self._chosen()
        until = time.monotonic() + _FIRST * all_s
        for place, name in enumerate(chosen):
            left_s = until - time.monotonic()
            if left_s < _LEAST_S:
                self.evidence["left_out"].append(name)
                continue
            rest_s = sum(_TAKES.get(other, _TAKES_ELSE) for other in chosen[place:])
            budget_s = max(0.3, _OF_SHARE * left_s * _TAKES.get(name, _TAKES_ELSE) / rest_s)
            self._run(
                [
                    (name, spec, self._words(name, spec, budget_s, "--headline", "--seed", "1"))
                    for spec in self._specs(name)
                ]
            )

    def _run(self, starts: list[tuple[str, str, list[str]]], given: tuple[Hidden, ...] = ()) -> None:
        limit_s = max(_LEAST_S, self.left_s())
        for (name, spec, _), ended in zip(
            starts, self.children.together([words for _, _, words in starts], limit_s, given)
        ):
            self._keep(ended)
            self._note(name, spec, ended)

    def _again(self) -> None:
        """Measure again, the worst cases first, as far as there is time."""
        if not self.reference.expected or self.left_s() < _LEAST_S:
            return
        wanted = speed.again(self._seen(), self.reference)
        for name, by_spec in wanted.items():
            if self.left_s() < _LEAST_S or self._path(name) is None:
                continue
            starts, lists = [], []
            for spec, keys in by_spec.items():
                lists.append(Hidden("cases").write("".join(f"{key}\n" for key in keys).encode()))
                budget_s = max(0.3, 0.3 * self.left_s() / len(wanted))
                starts.append(
                    (name, spec, self._words(name, spec, budget_s, "--cases", lists[-1].path, "--seed", "2"))
                )
            self._run(starts, tuple(lists))


# ------------------------------------------------------------------ the command


def _stop(signum: int, _frame: object) -> None:
    raise _Stopped(signum)


def _check_built(bin_dir: Path) -> None:
    if not any((bin_dir / name).is_file() for name in (*_ON_DEVICES, _NODE)):
        raise CommandError(
            f"preflight builds nothing, and there are no programs in {bin_dir}: build them with make, or any "
            "./gpusig run",
            CANNOT_RUN,
        )


def preflight(asked: Options, bin_dir: Path) -> dict:
    """The answer; a CommandError where none can be given."""
    begun = time.monotonic()
    _check_built(bin_dir)
    if not hasattr(os, "memfd_create"):
        raise CommandError("preflight needs Linux", CANNOT_RUN)
    one = Preflight(asked, bin_dir, begun)
    for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM):
        if signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, _stop)
    signal.setitimer(signal.ITIMER_REAL, asked.budget_s - 0.5)
    try:
        return one.go()
    except _Stopped as stopped:
        one.children.kill()
        if stopped.signum == signal.SIGALRM:
            raise CommandError(
                f"preflight: not finished within {duration.about(asked.budget_s)}", INCONCLUSIVE
            ) from None
        signal.signal(stopped.signum, signal.SIG_DFL)
        os.kill(os.getpid(), stopped.signum)
        raise
    except (CommandError, Refused):
        raise
    except Exception as error:  # of reading a reference or records: no word against the node
        raise CommandError(f"preflight: {type(error).__name__}: {error}"[:200], INCONCLUSIVE) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        one.children.kill()
