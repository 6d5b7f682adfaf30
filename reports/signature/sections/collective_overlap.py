# SPDX-License-Identifier: BSD-3-Clause
"""overlap/collective: which way to run a collective is fastest together with a GEMM, for which size."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from reports.page.charts import Cell, draw_heat
from reports.records.curves import by, valid_value, value_of, varying_axes, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import TAGS, digits, human, in_brackets, listing, plural, size, tag
from reports.records.records import Case
from reports.signature.section import Figure, Panels, Section, SectionSpec, table
from reports.signature.sections import generic
from reports.signature.sections.gemm import shape_text

FORMULA = (
    "S = time one after the other / time together; fraction of ideal = (S - 1) / (S_ideal - 1); "
    "S_ideal = (t_g + t_c) / max(t_g, t_c), of the same method"
)
QUANTITIES = ("S", "S_library", "S_ideal", "fraction_of_ideal", "CIL_gemm", "CIL_comm")
MAX_ROWS = 60

Places = Dict[str, List[Json]]  # a verdict in words -> its cases


def _method(case: Case, name: str) -> Optional[Json]:
    """A method as it was measured in this case; nothing if it was not, or is invalid."""
    time = value_of(case, "time", name)
    if time is None or time.value is None or why_invalid(case, time):
        return None
    return {
        "time_s": time.value,
        "ci_low": time.ci_low,
        "ci_high": time.ci_high,
        "graded": bool(time.grade),
        **{key: valid_value(case, key, name) for key in QUANTITIES},
        "exposed_tail_s": valid_value(case, "exposed_tail", name),
        "class": case.facts.get("class_" + name),
        "units_left": case.facts.get("units_left_" + name),
    }


def _gemm(section: Section, case: Case, varying: Sequence[str]) -> str:
    """The shape, and what else varies but the collective and its size."""
    others = [n for n in varying if n in case.axes and n not in ("shape", "collective", "size")]
    return " ".join([shape_text(section, case.key), *("%s %s" % (n, case.axes[n]) for n in others)])


def _row(section: Section, case: Case, names: Sequence[str], varying: Sequence[str]) -> Json:
    """`best`: the fastest methods as the program found them round by round, several where they tie; empty
    where fewer than two are valid."""
    methods = {name: found for name in names if (found := _method(case, name))}
    named = [n for n in str(case.facts.get("best_methods", "")).split(", ") if n in methods]
    return {
        "key": case.key,
        "collective": str(case.axes.get("collective", "")),
        "gemm": _gemm(section, case, varying),
        "bytes": case.axes.get("size"),
        "methods": methods,
        "best": named if len(methods) > 1 else [],
    }


def results(section: Section) -> Json:
    parts = section.group.run.references
    names = list(dict.fromkeys(v.name for c in section.cases for v in c.variants if v.name not in parts))
    varying = varying_axes(case.axes for case in section.cases)
    rows = [_row(section, case, names, varying) for case in section.cases if case.status == "ok"]
    return {"formula": FORMULA, "cases": [row for row in rows if row["methods"]]}


# ------------------------------------------------------------------ the sentence


def _verdict(row: Json) -> str:
    return listing(row["best"]) + (" (a tie)" if len(row["best"]) > 1 else "")


def _places(rows: List[Json], every: List[Json]) -> str:
    """The collectives of these cases, with the GEMM where a collective's verdict depends on it."""
    words = []
    for name, of in by(rows, lambda r: r["collective"]).items():
        whole = len(of) == sum(r["collective"] == name for r in every)
        words += [name] if whole else ["%s with %s" % (name, r["gemm"]) for r in of]
    return listing(words)


def _at_size(rows: List[Json]) -> str:
    """The methods and for which collectives, of the cases of one size."""
    verdicts: Places = by(rows, _verdict)
    if len(verdicts) == 1:
        return "%s for %s" % (next(iter(verdicts)), listing([*by(rows, lambda r: r["collective"])]))
    return ", ".join("%s for %s" % (verdict, _places(of, rows)) for verdict, of in verdicts.items())


def _by_size(rows: List[Json]) -> str:
    """The same of every size; neighbours of one verdict are joined."""
    parts: List[Tuple[str, List[float]]] = []
    for bytes_, of in sorted(by(rows, lambda r: r["bytes"]).items()):
        text = _at_size(of)
        if parts and parts[-1][0] == text:
            parts[-1][1].append(bytes_)
        else:
            parts.append((text, [bytes_]))
    return "; ".join(
        "%s %s %s" % ("from" if sizes[1:] else "at", " to ".join(map(size, _ends(sizes))), text)
        for text, sizes in parts
    )


def _ends(sizes: List[float]) -> List[float]:
    return sizes if len(sizes) == 1 else [sizes[0], sizes[-1]]


def summary(section: Section) -> str:
    found = section.results["cases"]
    if not found:
        return generic.nothing(section)
    names = list(dict.fromkeys(name for row in found for name in row["methods"]))
    rows = [row for row in found if row["best"]]
    if not rows:
        return "No method is called the best: %s alone was measured." % listing(names)
    text = "of %s, fastest together with a GEMM: %s" % (listing(names), _by_size(rows))
    lost = [row for row in rows if all((row["methods"][n]["S"] or 1.0) < 1.0 for n in row["best"])]
    if lost:
        of = plural(len(rows), "case")
        text += ". In %d of %s it is faster one after the other" % (len(lost), of)
    return text + "."


# ------------------------------------------------------------------ figures


def _name(row: Json) -> str:
    return "%s %s, %s" % (row["collective"], size(row["bytes"]), row["gemm"])


def _cell(row: Json, name: str) -> Optional[Cell]:
    found = row["methods"].get(name)
    if not found:
        return None
    least = min(method["time_s"] for method in row["methods"].values())
    note = "%s: %s%s" % (
        name,
        human(found["time_s"], "s"),
        in_brackets(found["ci_low"], found["ci_high"], found["time_s"], "s"),
    )
    return Cell(found["time_s"] / least, True, note, found["graded"])


def _table(rows: List[Json]) -> List[Figure]:
    by_library = any(m["S_library"] for row in rows for m in row["methods"].values())
    lines = [
        {
            "case": _name(row),
            "method": name,
            "fastest": "" if name not in row["best"] else "tie" if row["best"][1:] else "yes",
            "time": human(m["time_s"], "s") + tag(True, m["graded"]),
            "class": str(m["class"] or "–"),
            "S": human(m["S"]),
            **({"S over the library": human(m["S_library"])} if by_library else {}),
            "S ideal": human(m["S_ideal"]),
            "fraction": human(m["fraction_of_ideal"]),
            "CIL GEMM": human(m["CIL_gemm"]),
            "CIL collective": human(m["CIL_comm"]),
            "exposed": human(m["exposed_tail_s"], "s"),
            "units left": "–" if m["units_left"] is None else digits(m["units_left"]),
        }
        for row in rows
        for name, m in row["methods"].items()
    ]
    caption = (
        "Fastest: the least time together; a tie is a time that, round by round, is within noise or 1 % of "
        "it. S: over the same method one after the other. Class: the side that takes over 1.15 times as long "
        "alone. CIL: time of one side while the other runs / its time alone. Exposed: time together - that "
        "of the GEMM alone. Units left: those that hold no block of the collective, where that is known."
    )
    return table(
        lines[:MAX_ROWS], caption + generic.hidden_text(len(lines) - MAX_ROWS, "row", "the records"), 3
    )


def figures(section: Section) -> List[Figure]:
    rows = section.results["cases"]
    if not rows:
        return []
    names = list(dict.fromkeys(name for row in rows for name in row["methods"]))
    heat = draw_heat(
        [_name(row) for row in rows],
        names,
        [[_cell(row, name) for name in names] for row in rows],
        "collective, GEMM",
        "method",
        what="time together / the fastest's",
    )
    caption = (
        "Time of the GEMM and the collective together / that of the fastest method of the row. –: not "
        "measured, or invalid. " + TAGS
    )
    return [Panels([heat], caption, wide=True), *_table(rows)]


SPEC = SectionSpec("A GEMM concurrent with a collective: method by size", results, summary, figures)
