# SPDX-License-Identifier: BSD-3-Clause
"""Runs as JUnit XML, within the schema of Apache Ant's report (JUnit.xsd): a suite for each program of each
run.

A case is that the program ran, each headline number, and each group of alike cases or values that are failed,
skipped or invalid. What failed or gave a wrong result is a failure, a program that was killed an error, and a
number that is flagged or missing is skipped, with the reason. The schema has no place for numbers but the
properties of a suite.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Sequence
from xml.etree import ElementTree

from reports.export.runs import UNKNOWN, Run, moment_of
from reports.records.jsonl import Json, is_number
from reports.signature.machine import latest
from reports.records.quantity import human, human_interval, plural

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# In UTC; the schema wants a time also of what never began.
_TIME, _NEVER = "%Y-%m-%dT%H:%M:%S", "1970-01-01T00:00:00"
_ENDED = {
    "failed": ("failure", "failed"),
    "killed": ("error", "killed"),
    "interrupted": ("error", "interrupted"),
    "skipped": ("skipped", ""),
}
_COUNTS = (("failure", "failures"), ("error", "errors"), ("skipped", "skipped"))


class Case(NamedTuple):
    """`element` is empty where it passed."""

    name: str
    element: str = ""
    kind: str = ""
    message: str = ""


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _place(entry: Json) -> tuple[str, str]:
    return str(entry["program"]), str(entry["device"])


def _ran(ended: Json) -> Case:
    status = str(ended.get("status") or "")
    element, kind = _ENDED.get(status, ("", ""))
    return Case("run", element, kind, str(ended.get("reason") or status) if element else "")


def _key(entry: Json) -> str:
    """The first of several cases that are alike."""
    count = int(entry.get("count", 1))
    return str(entry["key"]) + (" and %d more" % (count - 1) if count > 1 else "")


def _unmeasured(entry: Json) -> Case:
    name, reason = "run" if entry["key"] is None else _key(entry), str(entry["reason"])
    if entry["status"] != "failed":
        return Case(name, "skipped", "", reason)
    return Case(name, "failure", str(entry["cause"]).replace("_", " "), reason)


def _invalid(entry: Json) -> Case:
    """Flagged values that are alike."""
    what = " ".join(str(part) for part in (entry["derived"], entry["variant"]) if part)
    return Case("%s: %s" % (what, _key(entry)), "skipped", "", str(entry["reason"]))


def _cases(run: Run, place: tuple[str, str], ended: Json) -> list[Case]:
    unmeasured = [entry for entry in run.signature["not_measured"] if _place(entry) == place]
    found = [] if any(entry["key"] is None for entry in unmeasured) else [_ran(ended)]
    found += map(_unmeasured, unmeasured)
    found += [Case(value.metric) for value in run.values if (value.program, value.device) == place]
    found += [
        Case(missing.metric, "skipped", "", missing.reason)
        for missing in run.missing
        if (missing.program, missing.device) == place
    ]
    return found + [_invalid(entry) for entry in run.signature["invalid"] if _place(entry) == place]


def _properties(run: Run, place: tuple[str, str]) -> list[tuple[str, str]]:
    listed = [
        ("node", run.node),
        ("device", place[1]),
        ("model", run.model),
        ("gpusig", run.field("version")),
        ("driver", run.driver),
        ("simulated", "yes" if run.simulated else "no"),
        ("run", run.verdict),
    ]
    for value in run.values:
        if (value.program, value.device) != place:
            continue
        interval = human_interval(value.low, value.high, value.value, value.unit)
        parts = human(value.value, value.unit), interval, value.condition, value.grade
        listed.append((value.metric, repr(value.value)))
        listed.append((value.metric + ".unit", value.unit or "1"))
        listed.append((value.metric + ".words", "; ".join(filter(None, parts))))
    return listed


def _element(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, {name: _xml(text) for name, text in attributes.items()})


def _suite(
    root: ElementTree.Element,
    run: Run,
    name: str,
    ended: Json,
    listed: list[tuple[str, str]],
    cases: list[Case],
) -> None:
    elapsed, started = ended.get("elapsed_s"), moment_of(str(ended.get("started") or "")) or run.started
    suite = _element(
        root,
        "testsuite",
        name=name or UNKNOWN,
        package="gpusig",
        id=str(len(root)),
        hostname=run.node,
        timestamp=started.strftime(_TIME) if started else _NEVER,
        time="%.6f" % elapsed if is_number(elapsed) else "0",
    )
    holder = _element(suite, "properties")
    for key, value in listed:
        _element(holder, "property", name=key, value=value)
    classname = "gpusig.%s" % name.replace("/", ".")
    for case in cases:
        one = _element(suite, "testcase", classname=classname, name=case.name, time="0")
        if case.element:
            more: dict[str, Any] = {"type": case.kind} if case.kind else {}
            _element(one, case.element, message=case.message, **more)
    suite.set("tests", str(len(suite.findall("testcase"))))
    for element, attribute in _COUNTS:
        suite.set(attribute, str(len(suite.findall("testcase/" + element))))
    _element(suite, "system-out").text = _xml("%s: %s" % (run.name, run.verdict))
    _element(suite, "system-err")


def _of_run(root: ElementTree.Element, run: Run) -> None:
    ended = {_place(entry): entry for entry in latest(run.signature["runs"])}  # the last time each ran
    unstarted = [_place(entry) for entry in run.signature["not_measured"] if entry["key"] is None]
    for place in dict.fromkeys([*sorted(ended), *sorted(unstarted)]):
        known = ended.get(place, {})
        _suite(root, run, place[0], known, _properties(run, place), _cases(run, place, known))
    bad = [
        "%s: %s" % (plural(int(entry["lines"]), "line"), entry["reason"])
        for entry in run.signature["bad_records"]
    ]
    if bad:  # what these lines held may be missing everywhere else
        case = Case("every line can be read", "error", "bad records", "; ".join(bad))
        _suite(root, run, "records", {}, [], [case])


def export(runs: Sequence[Run]) -> tuple[str, list[str]]:
    """It has no time of its own: the same runs give the same bytes."""
    root = ElementTree.Element("testsuites")
    for run in runs:
        _of_run(root, run)
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n%s\n' % ElementTree.tostring(root, encoding="unicode"), []
