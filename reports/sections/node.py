# SPDX-License-Identifier: BSD-3-Clause
"""topology/node: the tree as nested boxes, the other facts as they were found."""

from __future__ import annotations

from typing import Dict, List

from reports.jsonl import Json, is_number
from reports.quantity import axis_value, listing, plural
from reports.section import Figure, Panels, Section, SectionSpec, Table
from reports.sections import generic
from reports.topology_drawing import draw_tree


LONGEST = 400


def results(section: Section) -> Json:
    return {"facts": {case.key: dict(case.facts) for case in section.group.cases.values() if case.facts}}


def _all(section: Section) -> Dict[str, object]:
    return {name: value for facts in section.results["facts"].values() for name, value in facts.items()}


def summary(section: Section) -> str:
    facts = _all(section)
    parts = []
    for key, noun in (("packages", "package"), ("numa_nodes", "NUMA node"), ("cores", "core"),
                      ("hardware_threads", "hardware thread")):
        if is_number(facts.get(key)) and facts[key] > 0:
            parts.append(plural(int(facts[key]), noun))
    if is_number(facts.get("memory_bytes")):
        parts.append(axis_value(facts["memory_bytes"], "byte") + " of memory")
    devices = sum(name.startswith("device_") for name in facts)
    if not parts and devices:
        parts.append(plural(devices, "device"))
    text = listing(parts, 6)
    return text[0].upper() + text[1:] + "." if text else generic.nothing(section)


def fact_text(name: str, value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "unknown", True: "yes", False: "no"}[value]
    if not is_number(value):
        text = str(value)
        return text if len(text) <= LONGEST else text[:LONGEST] + "…"
    return axis_value(value, "byte" if name.endswith("bytes") or name.startswith("cache_") else "")


def figures(section: Section) -> List[Figure]:
    shown: List[Figure] = []
    facts = _all(section)
    trees = [draw_tree(str(facts[name])) for name in facts if name == "tree"]
    if any(trees):
        shown.append(Panels([t for t in trees if t], "What contains what; alike siblings of a large machine are drawn once "
                                                     "and counted.", wide=True))
    if not shown and facts:
        shown.append(Table(["fact", "found"], [[name.replace("_", " "), fact_text(name, v)] for name, v in facts.items()], "", 2))
    return shown or generic.figures(section)


SPEC = SectionSpec("What this node looks like", results, summary, figures)
