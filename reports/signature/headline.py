# SPDX-License-Identifier: BSD-3-Clause
"""The end of a run in a terminal: what the machine is, its headline numbers, and how far they can be
trusted."""

from __future__ import annotations

import textwrap
from typing import List, Sequence, Tuple

from reports.signature import left_out, machine
from reports.signature.answers import TRUST, answers
from reports.records.groups import GROUPS, grouped
from reports.records.jsonl import Json
from reports.records.quantity import BOUND, half_width, number_and_unit, percent, plural, spell
from reports.signature.sections.collectives import best_table
from reports.signature.signature import Signature
from reports.records.spread import ASSUMED, sentence_of, source_of, told_interval

MAX_SKIPPED = 5
_MAX_STATE = 4  # lines
_MAX_LINES = 8  # of a text that names what records name
_LABEL = 50  # characters of the label of a number
_WAYS = {
    "host to device": "H2D",
    "device to host": "D2H",
    "device to device": "P2P",
    "within the device": "D2D",
}
_ASSUMED = " ~ marks a number with one try, whose interval is assumed from others."
WIDTH = 80  # the terminal that everyone has


def _cells(name: str, entry: Json, virtual: bool) -> List[str]:
    """Label, number, unit, half of the interval, share of the bound, condition."""
    number, unit = number_and_unit(entry["value"], entry["unit"])
    half = half_width(entry["value"], *told_interval(entry, virtual), entry["unit"])
    assumed = "~" if half and source_of(entry) == ASSUMED else ""
    share = percent(entry["share"]) if entry["share"] is not None and abs(entry["share"]) < 10 else ""
    condition = "; ".join(t for t in (entry.get("grade"), entry["condition"]) if t)
    for way, letters in _WAYS.items():
        condition = condition.replace(way, letters)
    return [spell(name.rpartition("/")[2]), number, unit, assumed + half, share, condition]


def _rows(rows: Sequence[Tuple[str, Json]], width: int, virtual: bool) -> List[str]:
    """One line a number, in columns; a label or a condition that does not fit ends in "…"."""
    table = [_cells(name, entry, virtual) for name, entry in rows]
    names, *widths = (max(map(len, column)) for column in list(zip(*table))[:-1])
    numbers = "".join(" %%%s%ds" % ("-" * (i == 1), w) for i, w in enumerate(widths) if w)
    names = max(1, min(names, _LABEL, width - len(numbers % tuple("" for w in widths if w)) - 4))
    lines = []
    for label, *cells, condition in table:
        shown = tuple(cell for cell, w in zip(cells, widths) if w)
        line = "  %-*s%s  " % (names, _fit(label, names), numbers % shown)
        lines.append(_fit((line + _fit(condition, width - len(line))).rstrip(), width))
    return lines


def _fit(text: str, width: int) -> str:
    """The text, or as many whole parts of it, or else letters, as `width` holds with an ellipsis."""
    if len(text) <= width:
        return text
    cut = text[: max(0, width - 1)]
    whole = max(cut.rfind(", "), cut.rfind("; ")) + 1
    return (cut[:whole] + " " if whole else cut) + "…" * (width > 0)


def _wrapped(text: str, width: int, indent: str, later: str = "") -> List[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=later or indent,
        max_lines=_MAX_LINES,
        placeholder=" …",
    )


def _bounds(signature: Signature) -> str:
    """The bounds that the shares are of."""
    names = dict.fromkeys(
        entry["bound_name"] or BOUND for entry in signature.primary.values() if entry["share"] is not None
    )
    return "Percentages are of %s." % ", or of ".join(names) if names else ""


def _table(signature: Signature) -> List[str]:
    """Fastest algorithm of the first collective at each size; the page has that of each."""
    of = {s.group.program: s for s in signature.sections if s.results.get("places")}
    section = next((of[program] for program in GROUPS["Collectives"] if program in of), None)
    if section is None:
        return []
    heads, rows = best_table(section.results["places"][0])
    return ["", section.title.partition(":")[0] + ", the fastest algorithm at each size"] + [
        "".join("%12s" % cell for cell in row[:-1]) + "  " + row[-1] for row in (heads, *rows)
    ]


def _widths(signature: Signature) -> str:
    """A sentence on ±, if it stands anywhere."""
    virtual = signature.json["simulated"]
    if any(told_interval(entry, virtual)[0] is not None for entry in signature.primary.values()):
        assumed = any(source_of(entry) == ASSUMED for entry in signature.primary.values())
        return "± is half of the " + sentence_of(signature.json["run_spread"]) + _ASSUMED * assumed
    return "Times of a model repeat exactly: there is no ±." if virtual else ""


def headline(signature: Signature, width: int = WIDTH) -> str:
    """Plain text, no line wider than `width`."""
    json = signature.json
    lines: List[str] = textwrap.wrap(machine.name_of(json), width)
    lines += textwrap.wrap(machine.sentence_of(json), width)
    state = ", ".join("%s %s" % (item.label, item.text) for item in machine.state_of(json))
    lines += textwrap.wrap(state, width, max_lines=_MAX_STATE, placeholder=" …")
    lines += [
        part
        for note in machine.warnings(json)
        if note.kind == "failed"
        for part in textwrap.wrap("** %s %s" % (note.head, note.text), width)
    ]
    for question, answer in answers(signature):
        lines += ["", question, *_wrapped(answer, width, "  ")]
    virtual = json["simulated"]
    for title, rows in grouped(signature.primary):
        lines += ["", title, *_rows(rows, width, virtual)]
    lines += _table(signature)
    if signature.primary:
        told = (_widths(signature), _bounds(signature), machine.unknown_nominal(json))
        lines += ["", *textwrap.wrap(" ".join(t for t in told if t), width)]
    skipped = left_out.skipped(json)
    lines += ["", *textwrap.wrap(machine.counts(signature) + ".", width)]
    for note in skipped[:MAX_SKIPPED]:
        lines += _wrapped(("%s: %s" % (note.head, note.text)).rstrip(": "), width, "  ", "    ")
    if len(skipped) > MAX_SKIPPED:
        lines.append(
            "  and %s in the report" % plural(len(skipped) - MAX_SKIPPED, "more such line", "more such lines")
        )
    lines += [
        part
        for note in machine.warnings(json)
        if note.kind != "failed"
        for part in textwrap.wrap("! %s %s" % (note.head, note.text), width, subsequent_indent="  ")
    ]
    lines += ["", TRUST, *_wrapped(machine.verdict(signature).text, width, "  ")]
    return "\n".join(lines) + "\n"
