# SPDX-License-Identifier: BSD-3-Clause
"""One module for each program that deserves more than curves and tables. The others are served by `generic`."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional

from reports.curves import Curve
from reports.effects import (advice, collectives, contention, copies, ficco, gemm, generic, latency, launch, memory, node,
                             occupancy, pair, priority, reduce, shaping, simulated, torus, trigger)
from reports.records import Group
from reports.section import Effect, Section

EFFECTS: Dict[str, Effect] = {
    "topology/node": node.EFFECT,
    "micro/memory": memory.EFFECT,
    "micro/latency": latency.EFFECT,
    "micro/copy_path": copies.EFFECT,
    "micro/launch": launch.EFFECT,
    "gemm/efficiency": gemm.EFFICIENCY,
    "gemm/split": gemm.SPLIT,
    "micro/contention": contention.EFFECT,
    "micro/occupancy": occupancy.EFFECT,
    "micro/priority": priority.EFFECT,
    "micro/reduce": reduce.EFFECT,
    "overlap/pair": pair.EFFECT,
    "overlap/shaping": shaping.EFFECT,
    "overlap/trigger": trigger.EFFECT,
    advice.PROGRAM: advice.scored(ficco.EFFECT),
    "collectives/allreduce": collectives.ALLREDUCE,
    "collectives/reduce_scatter": collectives.REDUCE_SCATTER,
    "collectives/allgather": collectives.ALLGATHER,
    "collectives/device_allreduce": collectives.DEVICES,
    "topology/torus": torus.EFFECT,
    "collectives/allreduce@simgrid": simulated.EFFECT,
}


def rank(program: str) -> int:
    """Sections come in the order above, then the rest by name."""
    return list(EFFECTS).index(program) if program in EFFECTS else len(EFFECTS)


def effect_of(program: str) -> Effect:
    """What ran on simulated ranks ("@simgrid") is told apart from what ran on this machine, whatever the program."""
    return EFFECTS.get(program, simulated.EFFECT if "@" in program else generic.EFFECT)


def sentence(text: str) -> str:
    """A capital at the start, unless the first word is a name with a digit such as f32."""
    first = text.split(":")[0].split(" ")[0]
    return text if any(c.isdigit() for c in first) else text[:1].upper() + text[1:]


def section_of(group: Group, curves: List[Curve], beside: Optional[Mapping[str, Group]] = None) -> Section:
    effect = effect_of(group.program)
    section = Section(group, curves, effect.title or sentence(group.program.replace("/", ": ").replace("_", " ")),
                      beside=beside or {})
    section.findings = effect.findings(section)
    section.reading = sentence(effect.reading(section))
    return section
