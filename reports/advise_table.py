# SPDX-License-Identifier: BSD-3-Clause
"""Advice as text for a terminal of 80 columns: long facts are wrapped, and nothing is cut."""

from __future__ import annotations

import re
import textwrap
from typing import List, Optional, Sequence, Tuple

from reports.jsonl import Json
from reports.quantity import human, listing, size

WIDTH = 80
_FACT = 16  # columns of a fact's name
_WORDS = "words: ./gpusig help words"
_UNIT = re.compile(r"(?<=\d) (?=%|[mµun]?s\b)")
_TIED = "\u00a0"  # a space at which textwrap does not break
_PRIORITIES = {"high": "high for the transfers", "normal": "as it is", None: "not measured"}


def wrapped(text: str, first: str = "", rest: Optional[str] = None) -> List[str]:
    """Lines after the indentation `first`, then `rest`, or as many blanks. A schedule's name is not broken at its hyphens, and no
    number is parted from its unit."""
    rest = " " * len(first) if rest is None else rest
    lines = textwrap.wrap(_UNIT.sub(_TIED, text), WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace(_TIED, " ") for line in lines]


def aligned(rows: Sequence[Tuple[str, ...]]) -> List[str]:
    """Columns, with less space between them where they would be too wide."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= WIDTH else " "
    return [gap.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _rows(advice: Json) -> List[Tuple[str, ...]]:
    rows = [("schedule", "copy method", "predicted", "GEMMs", "transfers", "")]
    for c in advice["candidates"]:
        rows.append((c["schedule"], c["copy_method"], human(c["predicted_s"], "s"), human(c["gemm_s"], "s"),
                     human(c["comm_s"], "s"), ", ".join(["tie"] * c["tie"] + ["extrapolated"] * c["extrapolated"])))
    return rows


def _shared(shared: Optional[int]) -> str:
    if shared is None:
        return "not measured"
    return "%s a block of the GEMM" % size(shared) if shared else "as it is"


def _ties(advice: Json) -> str:
    """The other schedules that are predicted to take as long as the fastest, within the expected error."""
    pick = advice["pick"]
    tied = [c for c in advice["candidates"] if c["tie"]]
    others = ["%s by %s" % (c["schedule"], c["copy_method"]) for c in tied
              if (c["schedule"], c["copy_method"]) != (pick["schedule"], pick["copy_method"])]
    if not others:
        return "none"
    if len(tied) == len(advice["candidates"]):
        return "all %d rows below: their predictions do not differ by more than the expected error" % len(tied)
    return "%s: within the expected error of the fastest" % listing(others, len(others))


def question_text(question: Json) -> str:
    return "%s of %d×%d×%d %s among %d devices" % (
        question["op"], question["m"], question["n"], question["k"], question["type"], question["devices"])


def table(advice: Json) -> str:
    pick, best = advice["pick"], advice["allreduce"]
    summed = "not measured for this number of devices"
    if best:
        summed = "%s for %s: %s" % (best["algorithm"], size(advice["message_bytes"]), human(best["predicted_s"], "s"))
    facts = [("schedule", pick["schedule"]), ("copy method", pick["copy_method"]), ("predicted", human(pick["predicted_s"], "s")),
             ("expected error", advice["expected_error_text"]), ("as fast", _ties(advice)), ("score", advice["score"]),
             ("shared memory", _shared(advice["shared_bytes"])), ("priority", _PRIORITIES[advice["priority"]]),
             ("allreduce", summed), ("why", advice["why"])]
    lines = wrapped("%s, predicted for %s" % (question_text(advice["question"]), advice["device"])) + [""]
    lines += [line for name, text in facts for line in wrapped(text, name.ljust(_FACT + 2))]
    lines += ["", *aligned(_rows(advice)), *[""] * bool(advice["notes"])]
    lines += [line for note in advice["notes"] for line in wrapped(note, "note: ")]
    return "\n".join(lines + ["", _WORDS]) + "\n"
