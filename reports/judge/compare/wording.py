# SPDX-License-Identifier: BSD-3-Clause
"""Sentences on single results of a comparison, alike in a terminal, on a page and in JUnit."""

from __future__ import annotations

import math
import os.path
from collections import Counter
from typing import Any, Callable, Sequence

from reports.page.blocks import plain_texts
from reports.judge.compare.answer import runs_text
from reports.judge.compare.numbers import DIFFERENCE
from reports.judge.compare.verdict import EQUIVALENT, IMPROVE, INCONCLUSIVE, INVALID, LIKELY, REGRESS
from reports.judge.compare.verdict import DRIFTING, LIKELY_BETTER, LIKELY_WORSE, WITHHELD
from reports.records.jsonl import Json
from reports.records.quantity import digits, listing, percent, plural, scale_of

VERDICTS = (REGRESS, LIKELY_WORSE, LIKELY_BETTER, IMPROVE, EQUIVALENT, INCONCLUSIVE, INVALID)
SIDES = ("before", "after")
DIFFERS = {
    "expected": "Declared to differ",
    "unexpected": "Differs and was not declared",
    "within": "Differs between runs of one side",
}
_VALUES, _VALUE = 3, 40  # values of a provenance field that are shown, and characters of one
_FIELDS = 12  # of provenance, of a kind
ARROWS = {"higher": " ↑", "lower": " ↓"}


def shown(comparison: Json, others: int) -> Json:
    """The comparison with plain texts and so many of its others."""
    known: Json = plain_texts(dict(comparison, others=comparison["others"][:others]))
    return known


def label_of(row: Json) -> str:
    return row["label"] or row["name"]


_TITLES = {
    REGRESS: "Regressions",
    LIKELY_WORSE: "Likely worse",
    IMPROVE: "Improvements",
    LIKELY_BETTER: "Likely better",
    INCONCLUSIVE: "Inconclusive, the largest loss first",
}


def size_of(row: Json) -> float:
    """Size of a change, so that half and double are as large; differences in the unit."""
    value = row["change"]["value"] if row["change"] else None
    if value is None:
        return 0.0
    return abs(value) if row["scale"] == DIFFERENCE else abs(math.log(value)) if value > 0 else math.inf


def _is_worse(row: Json) -> bool:
    none = 0.0 if row["scale"] == DIFFERENCE else 1.0
    change = row["change"]["value"] - none if row["change"] else 0.0
    return bool(change > 0 if row["better"] == "lower" else change < 0)


def blocks(rows: Sequence[Json]) -> list[tuple[str, list[Json]]]:
    """Metrics that changed or may have, by verdict, the largest change first; inconclusive ones that got
    worse before those that got better."""
    found = []
    for verdict, title in _TITLES.items():
        own = sorted((row for row in rows if row["verdict"] == verdict), key=lambda row: -size_of(row))
        if verdict == INCONCLUSIVE:
            own.sort(key=lambda row: (row["change"] is None, not _is_worse(row)))
        found += [(title, own)] * bool(own)
    return found


def equivalents(rows: Sequence[Json]) -> tuple[list[Json], str]:
    """The largest change first, and a line: "41 are equivalent within 2.0 %; largest change: memory latency
    -0.8 % (-1.2 to -0.3)"."""
    own = sorted((row for row in rows if row["verdict"] == EQUIVALENT), key=lambda row: -size_of(row))
    if not own:
        return [], ""
    count, largest = plural(len(own), "is", "are"), "%s %s" % (label_of(own[0]), change_text(own[0]))
    return own, "%s equivalent within %s; the largest change: %s" % (count, least_effects(own), largest)


def invalids(rows: Sequence[Json], names: Sequence[Sequence[str]] = ((), ())) -> list[tuple[list[Json], str]]:
    """Invalid metrics by reason, with a line; the reason of most metrics first."""
    found: dict[str, list[Json]] = {}
    for row in rows:
        if row["verdict"] == INVALID:
            why = "; ".join([row["reason"], *missing_texts(row, names)])
            found.setdefault(why, []).append(row)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    return [
        (own, "%d invalid, %s: %s" % (len(own), why, listing([label_of(row) for row in own], 20)))
        for why, own in ordered
    ]


def missing_among(rows: Sequence[Json], names: Sequence[Sequence[str]], most: int) -> list[str]:
    """Texts on the values that these metrics lack, each once."""
    return list(dict.fromkeys(text for row in rows for text in missing_texts(row, names)))[:most]


def counts_of(rows: Sequence[Json]) -> list[tuple[str, int]]:
    counted = Counter(row["verdict"] for row in rows)
    return [(verdict, counted[verdict]) for verdict in VERDICTS if counted[verdict] or verdict not in LIKELY]


def side_text(side: Json, noun: str = "run") -> str:
    """ "driver 535: 8 runs of gpusig on AMD EPYC, host"."""
    where = ", ".join(t for t in (side["machine"], side["device"]) if t)
    runs = plural(len(side["nights" if "nights" in side else "runs"]), noun)
    on = " on " + where if where else ""
    return "%s: %s of %s%s" % (side["name"], runs, side["source"] or "an unknown tool", on)


def medians(row: Json) -> tuple[str, str, str]:
    """Medians before and after, and the unit of both."""
    values = [row[side]["median"] for side in SIDES]
    factor, unit = scale_of(max((abs(v) for v in values if v is not None), default=0.0), row["unit"])
    before, after = ("–" if v is None else digits(v / factor) for v in values)
    return before, after, unit


def effect_text(effect: float, row: Json) -> str:
    """The size of an effect: "2.0 %", or in the unit where changes are differences."""
    return difference_text(effect, row["unit"]) if row["scale"] == DIFFERENCE else percent(effect)


def difference_text(value: float, unit: str) -> str:
    """ "0.03 s": the last zeros of a difference carry nothing."""
    factor, unit = scale_of(value, unit)
    value /= factor
    short = "%.3g" % value if 1e-4 <= abs(value) < 999.5 or not value else digits(value)
    return ("%s %s" % (short, unit)).strip()


def _difference_format(ends: Sequence[float], factor: float) -> Callable[[float], str]:
    """Formatter with two digits of the largest, as far as they carry anything."""
    largest = max(map(abs, ends)) / factor
    if not 1e-4 <= largest < 1e6:
        return lambda value: digits(value / factor)
    decimals = max(0, 1 - math.floor(math.log10(largest)))
    while decimals and all(round(v / factor, decimals) == round(v / factor, decimals - 1) for v in ends):
        decimals -= 1
    return lambda value: _signed("%+.*f" % (decimals, value / factor))


def _signed(number: str) -> str:
    """The number, a zero without its sign."""
    return number if float(number) else number[1:]


def change_format(row: Json) -> tuple[Callable[[float], str], str]:
    """Formatter of the change and the ends of its interval, of one precision, and the unit after it."""
    ends = [v for v in row["change"].values() if v is not None]
    if row["scale"] == DIFFERENCE:
        factor, unit = scale_of(max(map(abs, ends)), row["unit"])
        return _difference_format(ends, factor), " " + unit if unit else ""
    if not all(0.01 <= v <= 11 for v in ends[:1]):
        return digits, " times"
    largest = max(abs(100 * (v - 1)) for v in ends)
    decimals = 2 if largest < 0.995 else 1 if largest < 99.95 else 0
    return lambda value: _signed("%+.*f" % (decimals, 100 * (value - 1))), " %"


def change_text(row: Json) -> str:
    """ "-5.1 % (-6.0 to -4.2)"; an unknown limit is left open."""
    change = row["change"]
    if change is None:
        return "–"
    number, unit = change_format(row)
    low, high = (None if change[end] is None else number(change[end]) for end in ("low", "high"))
    if low is None:
        interval = "unbounded" if high is None else "up to " + high
    else:
        interval = low + " or more" if high is None else "%s to %s" % (low, high)
    return "%s%s (%s)" % (number(change["value"]), unit, interval)


def p_text(p: Any) -> str:
    if p is None:
        return "–"
    return "<0.0001" if p < 0.0001 else "%.*f" % (4 if p < 0.01 else 3 if p < 0.1 else 2, p)


def detectable_text(row: Json) -> str:
    """ "5.1 %", or "none" if so few runs find no effect."""
    return "none" if row["detectable"] is None else effect_text(row["detectable"], row)


def verdict_text(row: Json) -> str:
    """ "equivalent within 2.0 %", or the verdict alone."""
    within = " within %s" % effect_text(row["least_effect"], row) if row["verdict"] == EQUIVALENT else ""
    return row["verdict"] + within


def repeats_text(row: Json) -> str:
    """ "needs 12 runs a side", of an inconclusive metric or a likely one."""
    is_likely = row["verdict"] in LIKELY
    if row["verdict"] != INCONCLUSIVE and not is_likely or row["reason"] in (WITHHELD, DRIFTING):
        return ""
    if row["repeats"] is None:
        return "How many runs would decide: unknown, or more than 100."
    wanted = runs_text(row["repeats"], *(len(row[side]["values"]) for side in SIDES))
    return "%s %s" % ("confirm with" if is_likely else "needs", wanted)


def present(side: Json) -> int:
    return sum(value is not None for value in side["values"])


def missing_of(side: Json) -> dict[str, list[int]]:
    """Each reason why values of a side are missing, with the places of its runs."""
    found: dict[str, list[int]] = {}
    for place, (value, reason) in enumerate(zip(side["values"], side["reasons"])):
        if value is None:
            found.setdefault(reason or "no reason given", []).append(place)
    return found


def missing_texts(row: Json, names: Sequence[Sequence[str]] = ((), ())) -> list[str]:
    """ "6 of 8 values before: contended (run-3 and run-4)"; `names` of the runs of each side."""
    texts = []
    for side, runs in zip(SIDES, names):
        count, said = len(row[side]["values"]), []
        for reason, places in missing_of(row[side]).items():
            named = listing([runs[i] for i in places if i < len(runs)]) or plural(len(places), "run")
            said.append("%s (%s)" % (reason, "all runs" if len(places) == count else named))
        if said:
            held = "%d of %s" % (present(row[side]), plural(count, "value"))
            texts.append("%s %s: %s" % (held, side, "; ".join(said)))
    return texts


def values_text(values: Sequence[str], others: Sequence[str], most: int = _VALUE) -> str:
    """Some values of a provenance field. Long ones start shortly before the first character in which they and
    `others` differ."""
    common = len(os.path.commonprefix([*values, *others])) if len({*values, *others}) > 1 else 0

    def cut(value: str) -> str:
        start = common - most // 2 if len(value) > most and common > most // 2 else 0
        left, right = "…" * bool(start), "…" * (len(value) > start + most)
        return left + value[start : start + most] + right

    return listing([cut(value) or "empty" for value in values], _VALUES) or "unknown"


def differs_text(entry: Json) -> str:
    """ "535.1 -> 550.2", or the values within one side."""
    if "side" in entry:
        return values_text(entry["values"], ())
    before, after = entry["before"], entry["after"]
    return "%s -> %s" % (values_text(before, after), values_text(after, before))


def provenance_texts(provenance: Json) -> list[str]:
    """Lines on what differs besides the metrics."""
    texts = []
    for kind, said in DIFFERS.items():
        for entry in provenance[kind][:_FIELDS]:
            side = " %s" % entry["side"] if "side" in entry else ""
            texts.append("%s: %s%s %s" % (said, entry["field"], side, differs_text(entry)))
        more = len(provenance[kind]) - _FIELDS
        texts += ["%s: %s" % (said, plural(more, "more field"))] * (more > 0)
    return texts or ["No recorded provenance differs."]


def control_text(control: Json) -> str:
    if control["verdict"] == "none":
        return control["text"] or "No control: no metric was named that should not move."
    return "Control %s%s" % (control["verdict"], ": " + control["text"] if control["text"] else ".")


def least_effects(rows: Sequence[Json]) -> str:
    """ "2.0 %", or "2.0 % to 6.1 %" if metrics have their own; in units if changes are differences."""
    ratios = sorted({row["least_effect"] for row in rows if row["scale"] != DIFFERENCE})
    units = dict.fromkeys(effect_text(row["least_effect"], row) for row in rows if row["scale"] == DIFFERENCE)
    texts = [" to ".join(map(percent, dict.fromkeys((ratios[0], ratios[-1]))))] if ratios else []
    texts += ["%s as a difference" % listing(list(units))] * bool(units)
    return ", ".join(texts)
