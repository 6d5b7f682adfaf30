# SPDX-License-Identifier: BSD-3-Clause
"""Causes of a missing result or value, in one word: the `cause` of records and signatures (docs/RECORDS.md).

Whatever decides, decides by this word; reasons are sentences for people. What older records and signatures
say in sentences alone becomes a word here and nowhere else.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Sequence

from reports.records import spread
from reports.records.jsonl import Json

NOISY, CONTENDED = GRADES = ("noisy", "contended")  # flags of values that can be used, the better first
SOAK, FEW_SAMPLES = "soak", "few_samples"
MECHANISM, SIZE = "mechanism", "size"
_WRONG = ("unverified", "throttled", MECHANISM, "above_bound", "gate", "queues", "oversubscribed", SIZE)
FLAGS = (SOAK, FEW_SAMPLES, *_WRONG, *GRADES)
WRONG_RESULT, ERROR, OUT_OF_MEMORY, NOT_SUPPORTED, IMPOSSIBLE = OF_CASES = (
    "wrong_result",
    "error",
    "out_of_memory",
    "not_supported",
    "impossible",
)
UNAVAILABLE = (OUT_OF_MEMORY, NOT_SUPPORTED, IMPOSSIBLE)  # this machine, or what was asked, cannot have it
NOT_RUN, NOT_STARTED = "not_run", "not_started"  # a case, a program
NOT_REPORTED, AMBIGUOUS = "not_reported", "ambiguous"  # the case of a headline number is unknown, or several
# it has neither a value nor a flag; a flag or a cause that this version lacks
NO_VALUE, OTHER = "no_value", "other"
# nothing was measured that could be its value, or nothing is there to be measured: no sign of a bad machine
NEUTRAL = (NOT_RUN, NOT_REPORTED, AMBIGUOUS, MECHANISM, SIZE, NO_VALUE)
CAUSES = (*FLAGS, *OF_CASES, NOT_RUN, NOT_STARTED, NOT_REPORTED, AMBIGUOUS, NO_VALUE, OTHER)


def of_flags(flags: Sequence[str]) -> str:
    """The one that weighs most: a soak is no measurement, too few samples leave open whatever else is
    flagged, and what is wrong comes before what is uncertain."""
    for words in ((SOAK,), (FEW_SAMPLES,), _WRONG):
        found = [flag for flag in flags if flag in words]
        if found:
            return found[0]
    if any(flag not in FLAGS for flag in flags):
        return OTHER
    return CONTENDED if CONTENDED in flags else NOISY if NOISY in flags else NO_VALUE


def of_case(said: str, status: str, is_wrong: bool) -> str:
    """The cause of a case, empty if it is ok. `said` is empty in a record before 1.4, and unknown in one of a
    later version."""
    if is_wrong:
        return WRONG_RESULT
    if status == "ok" or said in OF_CASES:
        return said if status != "ok" else ""
    return ERROR if status == "failed" else OTHER if said else NOT_SUPPORTED


def variants_not_supported(listed: Dict[str, str], fact: Any) -> Dict[str, str]:
    """Name -> reason; before 1.4 only a fact has them: "engine, both_ways: why"."""
    names, _, why = fact.partition(": ") if isinstance(fact, str) else ("", "", "")
    return listed or {name: why for name in names.split(", ") if name}


# ------------------------------------------------------------------ signatures before 3.2

_SAID_WRONG = re.compile(r"(?:[0-9]+ of [0-9]+ tries: )?(?:check|wrong result): ")
_SAID_MISSING = (
    ("its case was skipped: ", NOT_SUPPORTED),
    ("its variant was skipped: ", NOT_SUPPORTED),
    ("its case failed: ", ERROR),
    ("its case did not run", NOT_RUN),
    ("this device does not report ", NOT_REPORTED),
)


def _of_unmeasured(entry: Json, reason: str) -> str:
    if entry.get("status") == "failed":
        return WRONG_RESULT if _SAID_WRONG.match(reason) else ERROR
    return NOT_STARTED if entry.get("key") is None else NOT_SUPPORTED


def _of_missing(entry: Json, reason: str) -> str:
    for start, cause in _SAID_MISSING:
        if reason.startswith(start):
            return WRONG_RESULT if cause == ERROR and _SAID_WRONG.match(reason[len(start) :]) else cause
    said = set(re.findall(r"[a-z_]+", reason))
    return CONTENDED if "once" in entry else of_flags([flag for flag in FLAGS if flag in said])


def _of_invalid(entry: Json, reason: str) -> str:
    flags = entry.get("flags")
    if isinstance(flags, list) and flags and not reason.startswith("contended, and "):
        return of_flags([str(flag) for flag in flags])
    return _of_missing(entry, reason)


def completed(signature: Json) -> Json:
    """A signature as it was read, with what files of earlier versions lack: every entry without a value then
    has a cause. A cause that this version lacks never says that this machine cannot have it."""
    spread.complete(signature)
    for name, cause_of in (
        ("not_measured", _of_unmeasured),
        ("primary_missing", _of_missing),
        ("invalid", _of_invalid),
    ):
        for entry in _objects(signature.get(name)):
            if entry.get("cause") not in CAUSES:
                cause = cause_of(entry, str(entry.get("reason")))
                is_of_tomorrow = bool(entry.get("cause")) and cause in UNAVAILABLE
                entry["cause"] = OTHER if is_of_tomorrow else cause
    return signature


def _objects(value: Any) -> Iterable[Json]:
    entries: List[Any] = value if isinstance(value, list) else []
    return (entry for entry in entries if isinstance(entry, dict))
