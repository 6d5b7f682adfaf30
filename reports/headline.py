# SPDX-License-Identifier: BSD-3-Clause
"""The end of a run in a terminal: what the machine is, its headline numbers, and what is missing."""

from __future__ import annotations

import textwrap
from typing import List

from reports import machine
from reports.quantity import human_interval, number_and_unit, percent, plural, spell
from reports.signature import Signature

BAR = 9
NAME = 28  # with it a row is as wide as the terminal
MAX_SKIPPED = 5
STATE = 4  # lines
WIDTH = 80  # the terminal that everyone has


def _bar(share: float) -> str:
    """Eighths of a character, a full bar is 100 %."""
    eighths = int(round(min(max(share, 0.0), 1.0) * BAR * 8))
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(BAR)


def _row(name: str, entry: dict, width: int) -> str:
    label = spell(name.rpartition("/")[2])
    number, unit = number_and_unit(entry["value"], entry["unit"])
    interval = human_interval(entry["ci_low"], entry["ci_high"], entry["value"], entry["unit"])
    share = entry["value"] / entry["bound"] if entry["bound"] else None
    right = "%s %5s" % (_bar(share), percent(share)) if share is not None else ""
    label = label if len(label) <= width else label[:width - 1] + "…"
    return ("  %-*s %8s %-8s %-15s %s" % (width, label, number, unit, interval, right)).rstrip()


def _bounds(signature: Signature) -> str:
    """The bound that a full bar stands for."""
    names = dict.fromkeys(entry["bound_name"] or "bound" for entry in signature.primary.values() if entry["bound"])
    return "bars: share of the %s" % ", or of the ".join(names) if names else ""


def headline(signature: Signature, width: int = WIDTH) -> str:
    """Fifteen to thirty lines of plain text."""
    json = signature.json
    lines: List[str] = textwrap.wrap(machine.name_of(json), width)
    lines += textwrap.wrap(machine.sentence_of(json), width)
    state = ", ".join("%s %s" % (item.label, item.text) for item in machine.state_of(json))
    lines += textwrap.wrap(state, width)[:STATE]
    lines += [part for note in machine.warnings(json) if note.kind == "failed"
              for part in textwrap.wrap("** %s %s" % (note.head, note.text), width)]
    primary = signature.primary
    if primary:
        name_width = min(NAME, max(len(spell(n.rpartition("/")[2])) for n in primary))
        order = [s.group.program for s in signature.sections]
        ranked = sorted(primary.items(), key=lambda item: order.index(item[1]["program"]))
        lines += [""] + [_row(name, entry, name_width) for name, entry in ranked]
        lines += textwrap.wrap("  " + _bounds(signature), width, subsequent_indent="  ") if _bounds(signature) else []
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
    return "\n".join(lines) + "\n"
