# SPDX-License-Identifier: BSD-3-Clause
"""A comparison as JUnit XML, which continuous integration shows: a test case for every judged metric, and one
for the control."""

from __future__ import annotations

from xml.etree import ElementTree

from reports.judge.compare.wording import (
    SIDES,
    change_text,
    control_text,
    detectable_text,
    effect_text,
    label_of,
    medians,
    missing_texts,
    p_text,
    provenance_texts,
    repeats_text,
    shown,
    side_text,
    verdict_text,
)
from reports.judge.compare.verdict import INCONCLUSIVE, INVALID, LIKELY_BETTER, LIKELY_WORSE, REGRESS
from reports.records.jsonl import Json

SUITE = "gpusig.compare"
_ELEMENTS = {  # the others pass
    REGRESS: "failure",
    INVALID: "error",
    INCONCLUSIVE: "skipped",
    LIKELY_WORSE: "skipped",
    LIKELY_BETTER: "skipped",
}
_CONTROL = {"moved": "error", "unknown": "skipped", "none": "skipped"}


def _details(row: Json) -> str:
    """All that is known of a metric, in lines."""
    before, after, unit = medians(row)
    title = ", ".join(t for t in (label_of(row), row["condition"]) if t)
    numbers = ("%s -> %s %s" % (before, after, unit)).rstrip()
    return "\n".join(
        [
            title,
            "%s, %s" % (numbers, change_text(row)),
            "adjusted p %s, minimum detectable effect %s, least effect that matters %s"
            % (p_text(row["p_adjusted"]), detectable_text(row), effect_text(row["least_effect"], row)),
            *missing_texts(row),
        ]
    )


def _message(row: Json) -> str:
    parts = "%s: %s" % (verdict_text(row), change_text(row)), row["reason"], repeats_text(row)
    return "; ".join(part.rstrip(".") for part in parts if part)


def _case(
    suite: ElementTree.Element, classname: str, name: str, outcome: tuple[str | None, str], text: str
) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=classname, name=name, time="0")
    element, message = outcome
    if element:
        ElementTree.SubElement(case, element, message=message)
    ElementTree.SubElement(case, "system-out").text = text


def _properties(suite: ElementTree.Element, known: Json, warnings: list[str]) -> None:
    listed = [("outcome", known["outcome"]["verdict"]), ("sentence", known["outcome"]["sentence"])]
    listed += [(side, side_text(known[side])) for side in SIDES]
    listed += [("provenance", text) for text in warnings]
    holder = ElementTree.SubElement(suite, "properties")
    for name, value in listed:
        ElementTree.SubElement(holder, "property", name=name, value=value)


def _cases(suite: ElementTree.Element, known: Json) -> None:
    for row in known["metrics"]:
        element = _ELEMENTS.get(row["verdict"])
        _case(
            suite,
            "%s.%s" % (SUITE, row["group"] or "Others"),
            row["name"],
            (element, _message(row)),
            _details(row),
        )
    control, outcome = known["control"], known["outcome"]
    _case(
        suite,
        SUITE,
        "control",
        (_CONTROL.get(control["verdict"]), control_text(control)),
        "\n".join(
            [control_text(control)]
            + ["%s: %s" % (label_of(row), change_text(row)) for row in control["metrics"]]
        ),
    )
    # Without it a comparison that judged nothing would pass, and wrong results without a number.
    if outcome["verdict"] in _ELEMENTS and not (
        outcome["verdict"] == REGRESS and any(row["verdict"] == REGRESS for row in known["metrics"])
    ):
        _case(
            suite,
            SUITE,
            "outcome",
            (_ELEMENTS[outcome["verdict"]], outcome["sentence"]),
            "\n".join(outcome["reasons"]),
        )


def junit(comparison: Json) -> str:
    """One document; it has no time of its own, so that the same comparison gives the same bytes."""
    known = shown(comparison, 0)
    root = ElementTree.Element("testsuites", name=SUITE)
    suite = ElementTree.SubElement(root, "testsuite", name=SUITE, time="0")
    said = provenance_texts(known["provenance"])
    _properties(suite, known, said)
    _cases(suite, known)
    for holder in (root, suite):
        holder.set("tests", str(len(suite.findall("testcase"))))
        for element, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            holder.set(attribute, str(len(suite.findall("testcase/" + element))))
    outcome = known["outcome"]
    ElementTree.SubElement(suite, "system-out").text = "\n".join(
        [outcome["sentence"], *outcome["reasons"], *said]
    )
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n%s\n' % ElementTree.tostring(root, encoding="unicode")
