# SPDX-License-Identifier: BSD-3-Clause
"""signature.json: the part of a signature that is written, and the one way to read it.

Written are the headline numbers, the values of their quantities and of those that reports/model reads, the
curves of reports/signature/kept.py, cliffs, and results such as fits: about 1 MB of a default run on eight
devices. All other values are in metrics.csv; facts, mechanisms and samples are in the records.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, Iterator, Sequence, Type

from reports.model import measured
from reports.records.causes import completed
from reports.records.cliffs import CLIFF
from reports.records.jsonl import BadRecord, Json, clean, is_version, read_object
from reports.signature.kept import QUANTITIES

NAME = "signature.json"
SCHEMA, VERSION, READS = "gpusig.signature", "3.6.0", 3
# Raised by code that trusts the types of a signature when they are others.
MALFORMED = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)

# Results with a row a case, or several, which only the page shows.
_ON_THE_PAGE = {
    "overlap/ficco": ("cases",),
    "overlap/pair": ("pairs",),
    "overlap/trigger": (
        "exposed_tail",
        "first_byte",
        "library",
        "of_ideal",
        "remote",
        "staging_cost",
        "tiled",
        "tracking_cost",
    ),
}
_OF_PAIRS = ("micro/peer_matrix",)  # whose values grow with the square of the devices
_OF_A_VALUE = ("value", "unit", "ci_low", "ci_high", "n", "better", "primary", "grade", "tries")
_OF_SAMPLES = ("iterations", "deviation")  # of the variants that reports/model reads them of
_OF_A_POINT = ("x", "value", "ci_low", "ci_high")
# So deep an entry has a line of its own, where it has not only numbers and words.
_DEPTHS = {"programs": 4}


# ------------------------------------------------------------------ reading


def read(path: Path) -> Json:
    """The signature in a file, with what files of earlier versions lack. OSError where the file cannot be
    read, BadRecord where it is not a signature that this version reads; their texts don't name the file."""
    found = read_object(path)
    if found.get("schema") != SCHEMA:
        raise BadRecord("not a signature of gpusig")
    if not is_version(found.get("version"), READS):
        version = clean(str(found.get("version")))[:40]
        raise BadRecord(
            "version %s, and this reads %d.x; make it again with ./gpusig report" % (version, READS)
        )
    return completed(found)


@contextlib.contextmanager
def trusting(what: str, error: Type[ValueError], *more: int) -> Iterator[None]:
    """A block that trusts the types of a signature: if they are others, it ends with an `error`, of `more`
    arguments, that calls `what` malformed. An `error` raised by the block passes."""
    try:
        yield
    except error:
        raise
    except MALFORMED as why:
        raise error("%s is malformed: %s" % (what, in_words(why)), *more) from None


def in_words(why: Exception) -> str:
    """The reason without words of Python; a ValueError has its own."""
    if isinstance(why, KeyError):
        return "no field %s" % clean(str(why))[:200]
    if isinstance(why, ArithmeticError) or str(why) == "math domain error":
        return "a number is out of range"
    if isinstance(why, ValueError):
        return clean(str(why))[:200]
    return "nested too deeply" if isinstance(why, RecursionError) else "a field has the wrong type"


# ------------------------------------------------------------------ writing


def _text(value: Any, depth: int) -> str:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not depth or not any(isinstance(each, (dict, list)) for each in inner):
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    entries = [_text(each, depth - 1) for each in inner]
    if isinstance(value, dict):
        return "{\n%s}" % ",\n".join(
            "%s: %s" % (_text(name, 0), entry) for name, entry in zip(value, entries)
        )
    return "[\n%s]" % ",\n".join(entries)


def text_of(signature: Json, headline_quantities: set[tuple[str, str]]) -> str:
    """An entry or a row a line: two signatures differ in the lines that differ."""
    content = _written(signature, headline_quantities)
    return "{\n%s\n}\n" % ",\n".join(
        '"%s": %s' % (key, _text(content[key], _DEPTHS.get(key, 1))) for key in sorted(content)
    )


def _some(entry: Json, names: Sequence[str]) -> Json:
    return {name: entry[name] for name in names if name in entry}


def _value(entry: Json) -> Json:
    sampled = entry.get("variant") in measured.SAMPLED.get(entry["program"], ())
    return _some(entry, _OF_A_VALUE + _OF_SAMPLES * sampled)


def _program(section: Json, quantities: set[tuple[str, str, str]]) -> Json:
    """A program without what belongs to single cases."""
    name = section["program"]
    results = {
        key: value for key, value in section["results"].items() if key not in _ON_THE_PAGE.get(name, ())
    }
    curves = [
        dict(curve, points=[_some(point, _OF_A_POINT) for point in curve["points"]])
        for curve in section["curves"]
        if curve["derived"] in QUANTITIES.get(name, ())
    ]
    kept_facts = measured.FACTS.get(name, ())
    facts = {key: _some(own, kept_facts) for key, own in section["facts"].items()} if kept_facts else {}
    formulas = {
        quantity: formula
        for quantity, formula in section["formulas"].items()
        if (name, section["device"], quantity) in quantities
    }
    kept = {key: value for key, value in section.items() if key != "mechanism"}
    return dict(kept, results=results, curves=curves, facts=facts, formulas=formulas)


def _grouped(entries: list[Json], same: Sequence[str]) -> list[Json]:
    """One entry for those that are alike: the first, how many there are, and where: the values of every axis
    among them."""
    groups: dict[str, list[Json]] = {}
    for entry in entries:
        groups.setdefault(_text([entry[name] for name in same], 0), []).append(entry)
    found = []
    for alike in groups.values():
        where: dict[str, list[str]] = {}
        for name, _, value in (
            word.partition("=") for entry in alike for word in str(entry["key"] or "").split() if "=" in word
        ):
            values = where.setdefault(name, [])
            if value not in values:
                values.append(value)
        found.append(dict(alike[0], count=len(alike), where=where))
    return found


def _written(signature: Json, headline_quantities: set[tuple[str, str]]) -> Json:
    metrics = signature["metrics"]
    others = {
        name: entry
        for name, entry in metrics.items()
        if not entry["primary"]
        and entry["program"] not in _OF_PAIRS
        and (
            (entry["program"], entry["quantity"]) in headline_quantities
            or entry["quantity"] in QUANTITIES.get(entry["program"], ())
            or entry["quantity"] in measured.QUANTITIES.get(entry["program"], ())
            or entry["quantity"].endswith(CLIFF)
        )
    }
    quantities = {(entry["program"], entry["device"], entry["quantity"]) for entry in others.values()}
    return dict(
        signature,
        schema=SCHEMA,
        version=VERSION,
        metrics={
            name: _value(entry) if name in others else entry
            for name, entry in sorted(metrics.items())
            if entry["primary"] or name in others
        },
        programs={
            name: _program(section, quantities) for name, section in sorted(signature["programs"].items())
        },
        runs=[
            {name: value for name, value in run.items() if name != "argv"} for run in signature["runs"]
        ],  # they have paths
        not_measured=_grouped(signature["not_measured"], ("program", "device", "status", "cause", "reason")),
        invalid=_grouped(signature["invalid"], ("program", "device", "flags", "cause")),
    )
