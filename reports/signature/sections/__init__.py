# SPDX-License-Identifier: BSD-3-Clause
"""One module for each program that needs more than curves and tables. `generic` does the others."""

from __future__ import annotations

from collections import Counter
from typing import Dict, List, Mapping, Optional

from reports.records import cliffs
from reports.signature import tails
from reports.records.causes import GRADES
from reports.records.curves import Curve, why_invalid
from reports.records.quantity import plural
from reports.signature.sections import (
    attention,
    collective_overlap,
    collectives,
    contention,
    copies,
    copy_chunks,
    copy_command,
    copy_contention,
    copy_engines,
    copy_queue,
    ficco,
    gemm,
    generic,
    latency,
    launch,
    link_contention,
    memory,
    neighbour,
    node,
    occupancy,
    out_of_core,
    pair,
    pairs,
    peer_matrix,
    priority,
    reduce,
    shaping,
    simulated,
    small_gemm,
    storage,
    sustained,
    t3_figures,
    torus,
    trigger,
    units,
)
from reports.records.records import Group
from reports.signature.section import Figure, Section, SectionSpec

SPECS: Dict[str, SectionSpec] = {
    "topology/node": node.SPEC,
    "micro/memory": memory.SPEC,
    "micro/latency": latency.SPEC,
    "micro/sustained": sustained.MEMORY,
    "micro/copy_path": copies.SPEC,
    "micro/copy_engines": copy_engines.SPEC,
    "micro/copy_queue": copy_queue.SPEC,
    "micro/copy_chunks": copy_chunks.SPEC,
    "micro/copy_command": copy_command.SPEC,
    "micro/peer_matrix": peer_matrix.SPEC,
    "micro/link_contention": link_contention.SPEC,
    "micro/launch": launch.SPEC,
    "gemm/efficiency": gemm.EFFICIENCY,
    "gemm/sustained": sustained.GEMM,
    "gemm/split": gemm.SPLIT,
    "gemm/small_batch": small_gemm.FEW_ROWS,
    "gemm/grouped": small_gemm.EXPERTS,
    "gemm/attention": attention.SPEC,
    "micro/contention": contention.SPEC,
    "micro/copy_contention": copy_contention.SPEC,
    "micro/neighbour": neighbour.SPEC,
    "micro/storage": storage.SPEC,
    "micro/occupancy": occupancy.SPEC,
    "micro/priority": priority.SPEC,
    "micro/reduce": reduce.SPEC,
    "overlap/pair": pair.SPEC,
    "overlap/collective": collective_overlap.SPEC,
    "overlap/sustained": sustained.ALLREDUCE,
    "overlap/shaping": shaping.SPEC,
    "overlap/trigger": trigger.SPEC,
    "overlap/t3": t3_figures.SPEC,
    "overlap/out_of_core": out_of_core.SPEC,
    "overlap/units": units.SPEC,
    "overlap/ficco": ficco.SPEC,
    "collectives/allreduce": collectives.ALLREDUCE,
    "collectives/reduce_scatter": collectives.REDUCE_SCATTER,
    "collectives/allgather": collectives.ALLGATHER,
    "collectives/device_allreduce": collectives.DEVICE_ALLREDUCE,
    "collectives/device_allgather": collectives.DEVICE_ALLGATHER,
    "collectives/device_reduce_scatter": collectives.DEVICE_REDUCE_SCATTER,
    "collectives/device_all_to_all": collectives.DEVICE_ALL_TO_ALL,
    pairs.PROGRAM: pairs.SPEC,
    "topology/torus": torus.SPEC,
    "collectives/allreduce@simgrid": simulated.SPEC,
}


MANY_GRADED = 0.1  # of the valid values of a section


def rank(program: str) -> int:
    """Sections come in the order above, then the rest by name."""
    return list(SPECS).index(program) if program in SPECS else len(SPECS)


def spec_of(program: str) -> SectionSpec:
    """Programs on simulated ranks ("@simgrid") have a section of their own, whatever the program."""
    return SPECS.get(program, simulated.SPEC if "@" in program else generic.SPEC)


def method_of(program: str) -> str:
    """The page of docs/ that says how a program measures, and its heading where there is one."""
    folder, _, name = program.partition("@")[0].partition("/")
    if program not in SPECS:
        return "docs/method/README.md"
    heading = folder + name
    if folder == "collectives" and name != "pairs":
        heading = "devices-of-one-process" if name.startswith("device_") else "ranks"
    return "docs/method/%s.md#%s" % (folder, heading)


def sentence(text: str) -> str:
    """A capital at the start, unless the first word is a name with a digit such as f32."""
    first = text.split(":")[0].split(" ")[0]
    return text if any(c.isdigit() for c in first) else text[:1].upper() + text[1:]


def _caution(section: Section) -> str:
    """A remark if a sentence rests on values of which many are graded."""
    valid = [d for c, d in section.values() if not why_invalid(c, d)]
    counts = Counter(d.grade for d in valid if d.grade)
    if sum(counts.values()) <= MANY_GRADED * len(valid):
        return ""
    words = " and ".join(
        "%s %s" % (generic.plural_is(counts[grade]), grade) for grade in GRADES if counts[grade]
    )
    return " Of the %s, %s." % (plural(len(valid), "value"), words)


def figures_of(section: Section) -> List[Figure]:
    """The figures of a section's program; those of any program if it has none to draw."""
    return spec_of(section.group.program).figures(section) or generic.figures(section)


def section_of(group: Group, curves: List[Curve], others: Optional[Mapping[str, Group]] = None) -> Section:
    spec = spec_of(group.program)
    section = Section(
        group,
        curves,
        spec.title or sentence(group.program.replace("/", ": ").replace("_", " ")),
        others=others or {},
    )
    own = cliffs.look_for(group, curves)
    section.results = spec.results(section)
    if group.run.cliff:
        section.results["cliffs"] = cliffs.results_of(group, own)
    section.summary = sentence(spec.summary(section)) + cliffs.sentence(section.results.get("cliffs", ()))
    section.summary += tails.sentence_of(section) + _caution(section)
    section.findings = spec.findings(section)
    return section
