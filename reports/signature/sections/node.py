# SPDX-License-Identifier: BSD-3-Clause
"""topology/node: the tree as nested boxes, how far apart processors are, the other facts as they were
found."""

from __future__ import annotations

from typing import Dict, List

from reports.signature import core_latency, nics
from reports.records.jsonl import Json, is_number
from reports.signature.link_drawing import draw_links
from reports.signature.links import between, findings_of, links_of, to_host
from reports.records.quantity import axis_value, listing, plural, spell
from reports.records.records import Derived
from reports.signature.section import Figure, Finding, Panels, Section, SectionSpec, Table, table
from reports.signature.sections import generic
from reports.page.topology_drawing import draw_tree


LONGEST = 400


def _pairs(section: Section) -> core_latency.Pairs:
    found: Dict[core_latency.Pair, Derived] = {}
    for case in section.cases:
        found.update(core_latency.pairs_of(case))
    return found


def results(section: Section) -> Json:
    facts = {case.key: dict(case.facts) for case in section.group.cases.values() if case.facts}
    pairs = _pairs(section)
    return {"facts": facts, **({"core_latency": core_latency.results(pairs)} if pairs else {})}


def _all(section: Section) -> Dict[str, object]:
    return {name: value for facts in section.results["facts"].values() for name, value in facts.items()}


def summary(section: Section) -> str:
    facts = _all(section)
    nouns = {"packages": "package", "numa_nodes": "NUMA node", "cores": "core"}
    nouns["hardware_threads"] = "hardware thread"
    counts = {noun: facts.get(key) for key, noun in nouns.items()}
    parts = [plural(int(n), noun) for noun, n in counts.items() if is_number(n) and n > 0]
    if is_number(facts.get("memory_bytes")):
        parts.append(axis_value(facts["memory_bytes"], "byte") + " of memory")
    devices = sum(name.startswith("device_") for name in facts)
    if not parts and devices:
        parts.append(plural(devices, "device"))
    text = listing(parts, 6)
    if not text:
        return generic.nothing(section)
    virtual = section.group.run.provenance.get("virtual_machine") in (1, "true", "True")
    sentences = [
        "The node has %s." % text,
        nics.sentence(facts),
        core_latency.sentence(_pairs(section), virtual),
    ]
    return " ".join(filter(None, sentences))


def fact_text(name: str, value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "unknown", True: "yes", False: "no"}[value]
    if not is_number(value):
        text = str(value)
        return text if len(text) <= LONGEST else text[:LONGEST] + "…"
    return axis_value(value, "byte" if name.endswith("bytes") or name.startswith("cache_") else "")


def _link_figures(facts: Dict[str, object]) -> List[Figure]:
    """A drawing; and a row a device: its way to the host, and what joins it to each other one."""
    found = links_of(facts)
    tables: List[Figure] = []
    devices = found.devices
    nodes = {d: int(facts["numa_node_%d" % d]) for d in devices if is_number(facts.get("numa_node_%d" % d))}
    drawn = draw_links(found, nodes)
    if drawn:
        caption = "The devices: above them the host's memory, below them the links from one to another."
        tables.append(Panels([drawn], caption, wide=True))
    if devices:
        ways = {one: [between(found, one, other) for other in devices if other != one] for one in devices}
        alike = len({way for own in ways.values() for way in own}) == 1
        others = ["each other device"] if alike else [found.name(d) for d in devices if len(devices) > 1]
        rows = [
            [found.name(one), str(nodes.get(one, "–")), to_host(found, one)]
            + (ways[one][:1] if alike else [*ways[one][:place], "–", *ways[one][place:]][: len(others)])
            for place, one in enumerate(devices)
        ]
        heads = ["device", "NUMA node", "host", *others]
        caption = (
            "Links of the devices, as the driver reports them. PCIe: generation and lanes; an idle link "
            "below its maximum was read again during a copy."
        )
        tables.append(Table(heads, rows, caption, len(heads)))
    errors = found.errors.items()
    names = dict.fromkeys(name for _, counts in errors for name in counts if name != "unknown")
    if names:
        rows = [[found.name(device), *(n.get(name, "–") for name in names)] for device, n in sorted(errors)]
        heads = ["device", *map(spell, names)]
        tables.append(Table(heads, rows, "Memory errors that the devices report."))
    return tables


def findings(section: Section) -> List[Finding]:
    facts = _all(section)
    return findings_of(facts) + nics.findings(facts)


def figures(section: Section) -> List[Figure]:
    shown: List[Figure] = []
    facts = _all(section)
    trees = [draw_tree(str(facts[name])) for name in facts if name == "tree"]
    if any(trees):
        caption = "Parts of the machine, nested. Of identical ones one is drawn, with their number."
        shown.append(Panels([t for t in trees if t], caption, wide=True))
    shown += core_latency.figures(_pairs(section), str(facts.get("core_latency_not_measured") or ""))
    shown += _link_figures(facts) + nics.figures(facts)
    rows = [{"fact": name.replace("_", " "), "found": fact_text(name, v)} for name, v in facts.items()]
    return shown or table(rows, words=2)


SPEC = SectionSpec("Topology of this node", results, summary, figures, findings)
