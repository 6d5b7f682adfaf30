# SPDX-License-Identifier: BSD-3-Clause
"""Notes on what failed, was skipped, is invalid or missing, one a reason, the worst first."""

from __future__ import annotations

from collections import Counter
from typing import Dict, Iterable, List, Tuple

from reports.records.causes import GRADES, NO_VALUE, UNAVAILABLE
from reports.records.jsonl import Json
from reports.signature.machine import DID_NOT_RUN, DISTURBED, SOAKED, TOO_FEW, Note, words_of
from reports.records.quantity import listing, plural, spell
from reports.signature.machine import latest

_PROGRAMS = 6  # that are named
_NUMBERS = 10  # headline numbers that are named
_MISSING = {
    SOAKED: "checked, not timed",
    TOO_FEW: "too little time for them",
    DISTURBED: "too noisy, or contended",
    DID_NOT_RUN: "the time budget was spent",
}


def _by(entries: List[Json], *keys: str) -> Dict[Tuple[str, ...], List[Json]]:
    groups: Dict[Tuple[str, ...], List[Json]] = {}
    for entry in entries:
        groups.setdefault(tuple(str(entry[k]) for k in keys), []).append(entry)
    return groups


def _without_flags(entry: Json) -> str:
    """The reason, less the flag words that the heading has said already."""
    text = "; " + entry["reason"]
    for flag in entry["flags"]:
        text = text.replace("; %s: " % flag, "; ")
    return text[2:]


def _brief(text: str, max_length: int = 240) -> str:
    return text if len(text) <= max_length else text[: max_length - 1].rstrip() + "…"


def _counted(counts: Iterable[Tuple[str, int]]) -> str:
    """ "micro/memory 12, gemm/split 3 and 2 more programs", the most first."""
    ordered = sorted(counts, key=lambda c: -c[1])
    words = ["%s %d" % count for count in ordered]
    if len(words) > _PROGRAMS:
        words = words[:_PROGRAMS] + [plural(len(words) - _PROGRAMS, "more program")]
    return listing(words, len(words))


def _unmeasured(signature: Json, status: str) -> List[Note]:
    """One note a reason; a failed case is named with its program."""
    notes = []
    own = [e for e in signature["not_measured"] if e["status"] == status and e["key"] is not None]
    for (program, reason), entries in _by(own, "program", "reason").items():
        key = entries[0]["key"] if status == "failed" or len(entries) == 1 else ""
        head = "%s: %s %s" % (program, plural(len(entries), "case"), status)
        notes.append(Note(status, head, _brief(": ".join(filter(None, (key, reason))))))
    return notes


def unstarted(signature: Json, status: str) -> List[Note]:
    """One note a reason: the programs that wrote no run record."""
    whole = [e for e in signature["not_measured"] if e["status"] == status and e["key"] is None]
    return [
        Note(status, "%s: %s" % (listing([e["program"] for e in entries], 6), status), _brief(reason))
        for (reason,), entries in _by(whole, "reason").items()
    ]


def _invalid(signature: Json) -> List[Note]:
    """One note a cause: how many values of which programs, and one reason in full. What is wrong comes
    first."""
    notes = []
    by_cause = {cause: entries for (cause,), entries in _by(signature["invalid"], "cause").items()}
    for cause in sorted(by_cause, key=lambda c: (c in GRADES, c == NO_VALUE, c)):
        entries = by_cause[cause]
        words = "without a value" if cause == NO_VALUE else cause.replace("_", " ")
        reason = _brief(_without_flags(entries[0]))
        said = "" if reason.replace("_", " ") == words else "; for example: " + reason
        head = "%s invalid: %s" % (plural(len(entries), "value"), words)
        programs = _counted(Counter(e["program"] for e in entries).items())
        notes.append(Note("invalid", head, programs + said))
    return notes


def _missing(signature: Json) -> List[Note]:
    """One note for what this machine cannot do, and one for each other reason."""
    absent = [e for e in signature["primary_missing"] if e["cause"] in UNAVAILABLE]
    causes: Dict[str, List[str]] = {}
    for entry in signature["primary_missing"]:
        if entry not in absent:
            causes.setdefault(words_of(entry["cause"]), []).append(spell(entry["metric"]))
    notes = []
    for cause, names in sorted(causes.items()):
        head = "%s missing: %s" % (
            plural(len(names), "headline number"),
            _MISSING.get(cause, "no valid value"),
        )
        notes.append(Note("skipped", head, listing(names, _NUMBERS)))
    if absent:
        head = "%s not available here" % plural(len(absent), "headline number")
        names = listing([spell(e["metric"]) for e in absent], _NUMBERS)
        reasons = "; ".join(sorted({e["reason"] for e in absent}))
        notes.append(Note("skipped", head, "%s: %s" % (names, _brief(reasons))))
    return notes


def _is_second_try(run: Json) -> bool:
    """It leaves no case out that an earlier run did not."""
    return any(word.split("=")[0] == "--cases" for word in run["argv"])


def _not_reached(run: Json) -> int:
    """A program's last start may be that of its headline cases, in a run (--done) of the others, too."""
    cases, words = run["cases"], run["argv"]
    alone = {"--headline-variants", "--min-samples"} <= set(words)  # OF_HEADLINES of suite/run/command.py
    if "--headline" not in words or "--done" not in words or alone:
        return cases.get("out_of_budget", 0)
    done = sum(cases.get(name, 0) for name in ("ok", "failed", "skipped", "already_done"))
    return cases.get("total", done) - done


def _unfinished(signature: Json) -> List[Note]:
    late = {
        run["program"]: _not_reached(run)
        for run in latest([run for run in signature["runs"] if not _is_second_try(run)])
    }
    late = {program: count for program, count in late.items() if count}
    head = "%s not reached before the run ended" % plural(sum(late.values()), "case")
    notes = [Note("skipped", head, _counted(late.items()))] if late else []
    for run in latest(signature["runs"]):
        status = run["status"]
        if status not in ("ok", "invalid") and run["reason"]:
            told = "" if status == "interrupted" else ": " + status  # which the reason says
            kind = "failed" if status == "failed" else "skipped"
            notes.append(Note(kind, run["program"] + told, _brief(run["reason"])))
    return notes


def skipped(signature: Json) -> List[Note]:
    """Failed, invalid, missing, skipped, unreadable: counted by program, the worst first."""
    bad_records = []
    for bad in signature["bad_records"]:
        text = "%s (first: line %d)" % (_brief(bad["reason"]), bad["first_line"])
        bad_records.append(Note("invalid", "%s could not be used" % plural(bad["lines"], "line"), text))
    return (
        unstarted(signature, "failed")
        + _unmeasured(signature, "failed")
        + bad_records
        + _invalid(signature)
        + _missing(signature)
        + unstarted(signature, "skipped")
        + _unmeasured(signature, "skipped")
        + _unfinished(signature)
    )
