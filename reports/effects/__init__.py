# SPDX-License-Identifier: BSD-3-Clause
"""One module for each program that deserves more than curves and tables. The others are served by `generic`."""

from __future__ import annotations

from typing import Dict, List

from reports.curves import Curve
from reports.effects import contention, copies, gemm, generic, launch, memory, node, occupancy, priority, reduce
from reports.records import Group
from reports.section import Effect, Section

EFFECTS: Dict[str, Effect] = {
    "topology/node": node.EFFECT,
    "micro/memory": memory.EFFECT,
    "micro/copy_path": copies.EFFECT,
    "micro/launch": launch.EFFECT,
    "gemm/efficiency": gemm.EFFICIENCY,
    "gemm/split": gemm.SPLIT,
    "micro/contention": contention.EFFECT,
    "micro/occupancy": occupancy.EFFECT,
    "micro/priority": priority.EFFECT,
    "micro/reduce": reduce.EFFECT,
}


def rank(program: str) -> int:
    """Sections come in the order above, then the rest by name."""
    return list(EFFECTS).index(program) if program in EFFECTS else len(EFFECTS)


def effect_of(program: str) -> Effect:
    return EFFECTS.get(program, generic.EFFECT)


def sentence(text: str) -> str:
    """A capital at the start, unless the first word is a name with a digit such as f32."""
    first = text.split(":")[0].split(" ")[0]
    return text if any(c.isdigit() for c in first) else text[:1].upper() + text[1:]


def section_of(group: Group, curves: List[Curve]) -> Section:
    effect = effect_of(group.program)
    section = Section(group, curves, effect.title or sentence(group.program.replace("/", ": ").replace("_", " ")))
    section.findings = effect.findings(section)
    section.reading = sentence(effect.reading(section))
    return section
