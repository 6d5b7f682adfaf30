# SPDX-License-Identifier: BSD-3-Clause
"""The end of a run in a terminal: what the machine is, its headline numbers, and how far they can be trusted."""

from __future__ import annotations

import textwrap
from typing import List

from reports import machine
from reports.groups import grouped
from reports.jsonl import Json
from reports.quantity import half_width, number_and_unit, percent, plural, spell
from reports.signature import Signature
from reports.spread import sentence_of, shown_interval

MAX_SKIPPED = 5
STATE = 4  # lines
_NUMBERS = 31  # the column where numbers end; a long label takes of the space before its number
WIDTH = 80  # the terminal that everyone has


def _row(name: str, entry: Json, width: int) -> List[str]:
    """One line, or two where the condition does not fit."""
    number, unit = number_and_unit(entry["value"], entry["unit"])
    share = percent(entry["share"]) if entry["share"] is not None and abs(entry["share"]) < 10 else ""
    label = spell(name.rpartition("/")[2])
    line = "  %s %*s %-7s%7s%6s  " % (label, _NUMBERS - len(label), number, unit,
                                      half_width(entry["value"], *shown_interval(entry), entry["unit"]), share)
    condition, capacity = "; ".join(t for t in (entry.get("grade"), entry["condition"]) if t), width - 6
    condition = condition if len(condition) <= capacity else condition[:capacity - 1] + "…"
    if len(line) + len(condition) <= width:
        return [(line + condition).rstrip()]
    return [line.rstrip(), "      " + condition]


def _bounds(signature: Signature) -> str:
    """What the shares are of."""
    names = dict.fromkeys(entry["bound_name"] or "bound" for entry in signature.primary.values() if entry["share"] is not None)
    return "Percentages are shares of the %s." % ", or of the ".join(names) if names else ""


def headline(signature: Signature, width: int = WIDTH) -> str:
    """Plain text, no line wider than `width`."""
    json = signature.json
    lines: List[str] = textwrap.wrap(machine.name_of(json), width)
    lines += textwrap.wrap(machine.sentence_of(json), width)
    state = ", ".join("%s %s" % (item.label, item.text) for item in machine.state_of(json))
    lines += textwrap.wrap(state, width)[:STATE]
    lines += [part for note in machine.warnings(json) if note.kind == "failed"
              for part in textwrap.wrap("** %s %s" % (note.head, note.text), width)]
    for title, rows in grouped(signature):
        lines += ["", title] + [line for name, entry in rows for line in _row(name, entry, width)]
    if signature.primary:
        lines += [""] + textwrap.wrap("± is half of the %s %s" % (sentence_of(json["run_spread"]), _bounds(signature)), width)
    else:
        lines += ["", "  no valid headline number"]
    skipped = machine.skipped(json)
    lines += ["", *textwrap.wrap(machine.counts(signature) + ".", width)]
    for note in skipped[:MAX_SKIPPED]:
        lines.append(textwrap.shorten("  %s: %s" % (note.head, note.text), width, placeholder=" …").rstrip(": "))
    if len(skipped) > MAX_SKIPPED:
        lines.append("  and %s in the report" % plural(len(skipped) - MAX_SKIPPED, "more such line", "more such lines"))
    lines += [part for note in machine.warnings(json) if note.kind != "failed"
              for part in textwrap.wrap("! %s %s" % (note.head, note.text), width, subsequent_indent="  ")]
    return "\n".join(lines + ["", *textwrap.wrap(machine.verdict(signature).text, width)]) + "\n"
