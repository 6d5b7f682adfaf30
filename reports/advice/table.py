# SPDX-License-Identifier: BSD-3-Clause
"""Advice as text for a terminal of 80 columns: long facts are wrapped, and nothing is cut."""

from __future__ import annotations

import re
import textwrap
from typing import Sequence

from reports.advice.ask import COLD, COLUMNS, ROWS
from reports.advice.comparison import error_text
from reports.advice.measured import off, time_of, way_text
from reports.records.jsonl import Json
from reports.records.quantity import human, human_interval, listing, percent, ratio_text, way

WIDTH = 80
_FACT = 16  # columns of a fact's name
_CUTS = {ROWS: "rows of C", COLUMNS: "columns of C, which is then column-major"}
_WORDS = "words: ./gpusig help words"
_UNIT = re.compile(r"(?<=\d) (?=%|[mµun]?s\b)")
_TIED = "\u00a0"  # a space at which textwrap does not break


def wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Lines after the indentation `first`, then `rest`, or as many blanks. A schedule's name is not broken at
    its hyphens, and no number is parted from its unit."""
    rest = " " * len(first) if rest is None else rest
    lines = textwrap.wrap(
        _UNIT.sub(_TIED, text), WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    return [line.replace(_TIED, " ") for line in lines]


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns, with less space between them where they would be too wide."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= WIDTH else " "
    return [gap.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _by_rows(advice: Json) -> bool:
    return all(c["cut"] == ROWS for c in advice["candidates"])


def _rows(advice: Json) -> list[tuple[str, ...]]:
    measured = advice["pick"]["measured_s"] is not None
    cut = [] if _by_rows(advice) else ["cut"]
    rows = [("schedule", *cut, "copy method", *["measured"] * measured, "predicted", "")]
    times = [*["measured_s"] * measured, "predicted_s"]
    for c in advice["candidates"]:
        flag = "tie" if c["tie"] else ""
        words = (c[name] for name in ("schedule", *cut, "copy_method"))
        rows.append((*words, *(human(c[name], "s") for name in times), flag))
    return rows


def _ties(advice: Json) -> str:
    """Schedules that may be as fast as the pick."""
    others = [way_text(c) for c in advice["candidates"][1:] if c["tie"]]
    if not others:
        return "none"
    if len(others) + 1 == len(advice["candidates"]):
        return "all %d rows below may be: within the errors of both" % (len(others) + 1)
    return "%s may be: within the errors of both" % listing(others, len(others))


def _near(advice: Json, c: Json) -> str:
    """The reason for which a schedule may be as fast as the pick."""
    pick = advice["candidates"][0]
    ratio = time_of(c) / time_of(pick) - 1
    change = "%s %s" % (percent(abs(ratio)), "less" if ratio < 0 else "longer")
    name = way_text(c)
    if c["measured_s"] is not None:
        return "%s was measured to take %s, and the intervals overlap" % (name, change)
    told = "%s is predicted to take %s" % (name, change)
    if pick["measured_s"] is not None:
        return "%s than the measured pick, and may be off by %s" % (told, percent(off(advice)))
    return "%s, and ratios of predictions may be off by %s" % (told, percent(off(advice)))


def _decided(advice: Json) -> str:
    pick = advice["pick"]
    if advice["needs"]:
        told = ("%(reason)s: %(change)s chooses another schedule" % need for need in advice["needs"])
        return "not decided: not measured: " + "; and ".join(told)
    near = [c for c in advice["candidates"] if c["tie"] and c["schedule"] != pick["schedule"]]
    if near:
        more = "; %d more may be as fast" % (len(near) - 1) if len(near) > 1 else ""
        return "not decided: %s%s" % (_near(advice, near[0]), more)
    if pick["measured_s"] is not None:
        some = any(c["measured_s"] is None for c in advice["candidates"])
        rest = ", or is predicted to, by more than its error" if some else ""
        return "yes, measured in this run: every other schedule took longer, beyond the intervals" + rest
    least = "" if advice["scored"] else "at least "
    return "yes: every other schedule is predicted to be slower by more than ratios may be off, %s%s" % (
        least,
        percent(off(advice)),
    )


def _measured(pick: Json) -> str:
    interval = human_interval(*pick["measured_ci_s"], pick["measured_s"], "s")
    return "%s in this run (95 %%: %s)" % (human(pick["measured_s"], "s"), interval)


def question_text(question: Json) -> str:
    told = "%(op)s of %(m)d×%(n)d×%(k)d %(type)s among %(devices)d devices" % question
    return told + ", cold operands" * (question["operands"] == COLD)


def _bulk_copies(chunks: Sequence[Json]) -> list[tuple[str, str]]:
    return [("bulk " + way(c["direction"]), c["text"]) for c in chunks]


def chunks_table(device: str, chunks: Sequence[Json], notes: Sequence[str]) -> str:
    lines = wrapped("bulk copies of %s" % device) + [""]
    lines += [line for name, text in _bulk_copies(chunks) for line in wrapped(text, name.ljust(_FACT + 2))]
    lines += [""] * bool(notes) + [line for note in notes for line in wrapped(note, "note: ")]
    return "\n".join(lines + ["", _WORDS]) + "\n"


def table(advice: Json) -> str:
    pick = advice["pick"]
    facts = [
        ("decided", _decided(advice)),
        ("schedule", pick["schedule"]),
        *([] if _by_rows(advice) else [("cut", _CUTS[pick["cut"]])]),
        ("copy method", pick["copy_method"]),
        *([] if pick["measured_s"] is None else [("measured", _measured(pick))]),
        ("predicted", human(pick["predicted_s"], "s")),
        ("expected error", advice["expected_error_text"]),
        ("as fast", _ties(advice)),
        ("score", advice["score"]),
        ("why", advice["why"]),
    ]
    if advice["early"]:
        facts.append(("early sends", advice["early"]["text"]))
    facts += _bulk_copies(advice["chunks"])
    verb = "predicted for" if pick["measured_s"] is None else "measured in this run of"
    lines = wrapped("%s, %s %s" % (question_text(advice["question"]), verb, advice["device"])) + [""]
    lines += [line for name, text in facts for line in wrapped(text, name.ljust(_FACT + 2))]
    lines += ["", *aligned(_rows(advice)), *[""] * bool(advice["notes"])]
    lines += [line for note in advice["notes"] for line in wrapped(note, "note: ")]
    return "\n".join(lines + ["", _WORDS]) + "\n"


# ------------------------------------------------------------------ several machines


_LEGEND = (
    "Ratio: the time divided by that of the fastest machine. Expected error: half of the times that the run "
    'measured were closer to those of its model; "at least" means that it measured no schedules, so the '
    "error is that of fitted keys; of a measured time half its interval, at least 1 %. GEMM alone, "
    "transfers alone: the whole GEMM or the whole exchange, with nothing else running. Serial: one after the "
    "other."
)
_MORE = "All schedules of one machine: ./gpusig advise with its signature alone."
_COLUMNS = ("time", "ratio", "expected error", "GEMM alone", "transfers alone", "serial")


def _numbers(row: Json) -> tuple[str, ...]:
    parts = (human(row[name], "s") for name in ("gemm_s", "comm_s", "serial_s"))
    return human(time_of(row), "s"), ratio_text(row["ratio"]), error_text(row), *parts


def _machine_lines(comparison: Json) -> list[str]:
    """Label and fastest schedule of each machine, and its numbers below."""
    answers, rows = comparison["answers"], comparison["comparison"]["machines"]
    numbers = [_COLUMNS] + [_numbers(row) for row in rows[: len(answers)]]
    widths = [max(len(line[i]) for line in numbers) for i in range(len(_COLUMNS))]
    gap = "  " if sum(widths) + 2 * len(widths) <= WIDTH else " "
    aligned_numbers = [
        gap + gap.join(cell.rjust(width) for cell, width in zip(line, widths)) for line in numbers
    ]
    lines = [aligned_numbers[0]]
    for row, answer, line in zip(rows, answers, aligned_numbers[1:]):
        how = "predicted" if row["measured_s"] is None else "measured in this run"
        pick = way_text(answer["pick"])
        lines += [*wrapped("%s: %s; %s, %s" % (row["label"], row["name"], pick, how), "", "    "), line]
        if not answer["decided"]:
            lines += wrapped(_decided(answer), "    ")
        if answer["early"]:
            lines += wrapped(answer["early"]["text"], "    ")
    for row in rows[len(answers) :]:
        lines += wrapped("%s: %s; no answer: %s" % (row["label"], row["name"], row["reason"]), "", "    ")
    return lines


def comparison_table(comparison: Json) -> str:
    found, answers = comparison["comparison"], comparison["answers"]
    asked = question_text(comparison["question"])
    lines = wrapped("%s on %d machines" % (asked, len(found["machines"]))) + [""]
    lines += [line for sentence in found["sentences"] for line in wrapped(sentence, "", "  ")]
    lines += [line for note in found["notes"] for line in wrapped(note, "note: ")]
    lines += ["", *_machine_lines(comparison), "", *wrapped(_LEGEND), *wrapped(_MORE)]
    for row, answer in zip(found["machines"], answers):
        if answer["notes"]:
            lines += ["", *wrapped("notes on %s:" % row["label"])]
            lines += [line for note in answer["notes"] for line in wrapped(note, "- ")]
    return "\n".join(lines + ["", _WORDS]) + "\n"
