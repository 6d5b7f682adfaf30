# SPDX-License-Identifier: BSD-3-Clause
"""A comparison in a terminal: the answer, what else differs, the control, and a verdict for every judged metric.

The wording of its first half is also that of page.py and junit.py, so that one thing is said in one way.
"""

from __future__ import annotations

import math
import os.path
import textwrap
from collections import Counter
from typing import Any, Callable, Dict, List, Sequence, Tuple

from reports.compare.numbers import DIFFERENCE
from reports.compare.verdict import EQUIVALENT, IMPROVE, INCONCLUSIVE, INVALID, REGRESS, WITHHELD
from reports.jsonl import Json, clean
from reports.quantity import digits, listing, percent, plural, scale_of

VERDICTS = (REGRESS, IMPROVE, EQUIVALENT, INCONCLUSIVE, INVALID)
SIDES = ("before", "after")
DIFFERS = {"expected": "Declared to differ", "unexpected": "Differs and was not declared",
           "within": "Differs between runs of one side"}
WIDTH = 80  # the terminal that everyone has
OTHERS = 10  # rows that are described, not judged
_LONGEST, _UNIT = 1000, 20  # characters of a text, and of a unit, which stands in narrow columns
_VALUES, _VALUE = 3, 40  # values of a provenance field that are shown, and characters of one
_FIELDS = 12  # of provenance, of a kind
_CONTROLS = 5
_REPEATED = 2  # a note that more rows have is a footnote

# ------------------------------------------------------------------ wording


def plain(text: str, most: int = _LONGEST) -> str:
    """One line of text that neither a terminal nor XML can take for anything else."""
    text = clean(text)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)
    return text if len(text) <= most else text[:most] + "…"


def shown(comparison: Json, others: int) -> Tuple[Json, int]:
    """The comparison with plain texts and so many of its others, and how many were left out."""
    def walk(value: Any, most: int = _LONGEST) -> Any:
        if isinstance(value, str):
            return plain(value, most)
        if isinstance(value, dict):
            return {key: walk(inner, _UNIT if key == "unit" else _LONGEST) for key, inner in value.items()}
        return [walk(inner) for inner in value] if isinstance(value, list) else value

    known = walk(dict(comparison, others=comparison["others"][:others]))
    return known, comparison["others_count"] - len(known["others"])


def label_of(row: Json) -> str:
    return row["label"] or row["name"]


def blocks(rows: Sequence[Json]) -> List[Tuple[str, List[Json]]]:
    """Every row once: regressions, then the others in their groups."""
    found: Dict[str, List[Json]] = {"Regressions": [row for row in rows if row["verdict"] == REGRESS]}
    groups: Dict[str, List[Json]] = {}
    for row in rows:
        if row["verdict"] != REGRESS:
            groups.setdefault(row["group"] or "Others", []).append(row)
    return [block for block in (*found.items(), *groups.items()) if block[1]]


def counts_of(rows: Sequence[Json]) -> List[Tuple[str, int]]:
    counted = Counter(row["verdict"] for row in rows)
    return [(verdict, counted[verdict]) for verdict in VERDICTS]


def side_text(side: Json) -> str:
    """"driver 535: 8 runs of gpusig on AMD EPYC, host"."""
    where = ", ".join(t for t in (side["machine"], side["device"]) if t)
    return "%s: %s of %s%s" % (side["name"], plural(len(side["runs"]), "run"), side["source"] or "an unknown tool",
                               " on " + where if where else "")


def medians(row: Json) -> Tuple[str, str, str]:
    """Before, after, and the unit that both are in."""
    values = [row[side]["median"] for side in SIDES]
    factor, unit = scale_of(max((abs(v) for v in values if v is not None), default=0.0), row["unit"])
    before, after = ("–" if v is None else digits(v / factor) for v in values)
    return before, after, unit


def effect_text(effect: float, row: Json) -> str:
    """The size of an effect: "2.0 %", or in the unit where changes are differences."""
    return difference_text(effect, row["unit"]) if row["scale"] == DIFFERENCE else percent(effect)


def difference_text(value: float, unit: str) -> str:
    factor, unit = scale_of(value, unit)
    return ("%s %s" % (_short(value / factor), unit)).strip()


def _short(value: float) -> str:
    """0.03, not 0.0300: the last digits of a difference carry nothing."""
    return "%.3g" % value if 1e-4 <= abs(value) < 999.5 or not value else digits(value)


def _difference_format(ends: Sequence[float], factor: float) -> Callable[[float], str]:
    """Two digits of the largest, as far as they carry anything."""
    largest = max(map(abs, ends)) / factor
    if not 1e-4 <= largest < 1e6:
        return lambda value: digits(value / factor)
    decimals = max(0, 1 - math.floor(math.log10(largest)))
    while decimals and all(round(v / factor, decimals) == round(v / factor, decimals - 1) for v in ends):
        decimals -= 1
    return lambda value: _signed("%+.*f" % (decimals, value / factor))


def _signed(number: str) -> str:
    """Without the sign of a zero."""
    return number if float(number) else number[1:]


def change_format(row: Json) -> Tuple[Callable[[float], str], str]:
    """How ends of the change are written, and what follows the first. One precision for value and interval."""
    ends = [v for v in row["change"].values() if v is not None]
    if row["scale"] == DIFFERENCE:
        factor, unit = scale_of(max(map(abs, ends)), row["unit"])
        return _difference_format(ends, factor), " " + unit if unit else ""
    if not all(0.01 <= v <= 11 for v in ends[:1]):
        return digits, " times"
    largest = max(abs(100 * (v - 1)) for v in ends)
    decimals = 2 if largest < 0.995 else 1 if largest < 99.95 else 0

    def relative(value: float) -> str:
        return _signed("%+.*f" % (decimals, 100 * (value - 1)))
    return relative, " %"


def change_text(row: Json) -> str:
    """"-5.1 % (-6.0 to -4.2)"; a limit that is not known is left open."""
    change = row["change"]
    if change is None:
        return "–"
    number, unit = change_format(row)
    low, high = (None if change[end] is None else number(change[end]) for end in ("low", "high"))
    interval = ("unbounded" if low is None and high is None else "up to %s" % high if low is None
                else "%s or more" % low if high is None else "%s to %s" % (low, high))
    return "%s%s (%s)" % (number(change["value"]), unit, interval)


def p_text(p: Any) -> str:
    if p is None:
        return "–"
    return "<0.0001" if p < 0.0001 else "%.*f" % (4 if p < 0.01 else 3 if p < 0.1 else 2, p)


def finds_text(row: Json) -> str:
    """The least effect that so many runs would find."""
    return "finds none" if row["detectable"] is None else "finds %s" % effect_text(row["detectable"], row)


def verdict_text(row: Json) -> str:
    """Only "equivalent" says that nothing moved, and within what."""
    within = " within %s" % effect_text(row["least_effect"], row) if row["verdict"] == EQUIVALENT else ""
    return row["verdict"] + within


def repeats_text(row: Json) -> str:
    """What would decide an inconclusive metric."""
    if row["verdict"] != INCONCLUSIVE or row["reason"] == WITHHELD:
        return ""
    if row["repeats"] is None:
        return "How many runs a side would decide: unknown, or more than 100."
    return "needs %s a side" % plural(row["repeats"], "run")


def present(side: Json) -> int:
    return sum(value is not None for value in side["values"])


def missing_of(side: Json) -> Dict[str, List[int]]:
    """Each reason why values of a side are missing, with the places of its runs."""
    found: Dict[str, List[int]] = {}
    for place, (value, reason) in enumerate(zip(side["values"], side["reasons"])):
        if value is None:
            found.setdefault(reason or "no reason given", []).append(place)
    return found


def missing_texts(row: Json) -> List[str]:
    """"6 of 8 values before: contended"."""
    texts = []
    for side in SIDES:
        reasons = missing_of(row[side])
        if reasons:
            said = "; ".join("%s (%s)" % (reason, plural(len(places), "run")) if len(reasons) > 1 else reason
                             for reason, places in reasons.items())
            texts.append("%d of %s %s: %s" % (present(row[side]), plural(len(row[side]["values"]), "value"), side, said))
    return texts


def values_text(values: Sequence[str], others: Sequence[str], most: int = _VALUE) -> str:
    """Some values of a provenance field. Long ones start shortly before the first character in which they and `others` differ."""
    common = len(os.path.commonprefix([*values, *others])) if len({*values, *others}) > 1 else 0

    def cut(value: str) -> str:
        start = common - most // 2 if len(value) > most and common > most // 2 else 0
        return ("…" if start else "") + value[start:start + most] + ("…" if len(value) > start + most else "")

    return listing([cut(value) or "empty" for value in values], _VALUES) or "unknown"


def differs_text(entry: Json) -> str:
    """"535.1 -> 550.2", or what one side holds of several values."""
    if "side" in entry:
        return values_text(entry["values"], ())
    before, after = entry["before"], entry["after"]
    return "%s -> %s" % (values_text(before, after), values_text(after, before))


def provenance_texts(provenance: Json) -> List[Tuple[bool, str]]:
    """(whether it is a warning, text) of what differs besides the metrics."""
    texts = []
    for kind, said in DIFFERS.items():
        entries = provenance[kind]
        for entry in entries[:_FIELDS]:
            side = " %s" % entry["side"] if "side" in entry else ""
            texts.append((kind != "expected", "%s: %s%s %s" % (said, entry["field"], side, differs_text(entry))))
        if len(entries) > _FIELDS:
            texts.append((kind != "expected", "%s: %s" % (said, plural(len(entries) - _FIELDS, "more field"))))
    return texts or [(False, "No recorded provenance differs.")]


def control_text(control: Json) -> str:
    if control["verdict"] == "none":
        return control["text"] or "No control: no metric was named that should not move."
    return "Control %s%s" % (control["verdict"], ": " + control["text"] if control["text"] else ".")


def least_effects(rows: Sequence[Json]) -> str:
    """"2.0 %", or "2.0 % to 6.1 %" where metrics have their own; in units where changes are differences."""
    ratios = sorted({row["least_effect"] for row in rows if row["scale"] != DIFFERENCE})
    texts = [percent(v) for v in (ratios if len(ratios) < 2 else (ratios[0], ratios[-1]))]
    units = dict.fromkeys(effect_text(row["least_effect"], row) for row in rows if row["scale"] == DIFFERENCE)
    return ", ".join([" to ".join(texts)] * bool(texts) + ["%s as a difference" % listing(list(units))] * bool(units))


# ------------------------------------------------------------------ layout


def wrapped(text: str, first: str = "", rest: str = "") -> List[str]:
    """A word longer than a line stays whole, so that it can be copied."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest or " " * len(first), break_long_words=False,
                         break_on_hyphens=False)


def _heading(row: Json, right: str) -> List[str]:
    """The label with its condition at the left, and the verdict at the right of the last line that has space for it."""
    label, condition = label_of(row), row["condition"]
    whole = "%s, %s" % (label, condition) if condition else label
    capacity = WIDTH - len(right) - 4
    if len(whole) <= capacity:
        return ["  %-*s  %s" % (capacity, whole, right)] if right else ["  " + whole]
    below = wrapped(condition, "    ") if condition else []
    if len(label) <= capacity:
        return [("  %-*s  %s" % (capacity, label, right)).rstrip()] + below
    return wrapped(label, "  ", "    ") + below + [("%*s" % (WIDTH, right))] * bool(right)


def _numbers(row: Json, judged: bool) -> List[str]:
    before, after, unit = medians(row)
    parts = ["%11s -> %-15s" % (before, ("%s %s" % (after, unit)).strip()), "%-26s" % change_text(row)]
    if judged:
        parts += ["p %-8s" % p_text(row["p_adjusted"]), finds_text(row)]
    line = " ".join(parts).rstrip()
    return [line] if len(line) <= WIDTH else wrapped("  ".join(part.strip() for part in parts), "    ")


def _notes(row: Json) -> List[str]:
    """What is said under a row. Without what the verdict has said already."""
    unknown = repeats_text(row) if row["repeats"] is None else ""
    return [note for note in (row["reason"], *missing_texts(row), unknown) if note]


def _row(row: Json, footnotes: Dict[str, int]) -> List[str]:
    notes = _notes(row)
    right = ("** " if row["verdict"] == REGRESS else "") + verdict_text(row)
    if row["repeats"] is not None and repeats_text(row):
        right += ", " + repeats_text(row)
    right += "".join(" [%d]" % footnotes[note] for note in notes if note in footnotes)
    lines = _heading(row, right) + _numbers(row, True)
    return lines + [line for note in notes if note not in footnotes for line in wrapped(note, "      ")]


def _judged(rows: Sequence[Json], least: str, rate: float) -> List[str]:
    if not rows:
        return ["", "No metric was judged."]
    counted = Counter(note for row in rows for note in _notes(row))
    repeated = [note for note, count in counted.items() if count > _REPEATED]
    footnotes = {note: number for number, note in enumerate(repeated, 1)}
    said = ", ".join("%d %s" % (count, verdict) for verdict, count in counts_of(rows) if count)
    lines = [""] + wrapped("%s: %s" % (plural(len(rows), "judged metric"), said))
    for title, block in blocks(rows):
        lines += ["", *wrapped(title)] + [line for row in block for line in _row(row, footnotes)]
    lines += [""] * bool(footnotes) + [line for note, number in footnotes.items() for line in wrapped(note, "[%d] " % number)]
    return lines + [""] + wrapped(
        "Medians of the runs, and the change with its interval. p is adjusted over the judged metrics (rate %s). \"finds\" is "
        "the least effect that so many runs would find with 90 %%. Least effect that matters: %s." % (percent(rate), least))


def _described(rows: Sequence[Json], hidden: int) -> List[str]:
    if not rows:
        return []
    lines = ["", *wrapped("Described by effect, not judged: the largest of %s" % plural(len(rows) + hidden, "other metric"))]
    for row in rows:
        named = row if row["condition"] else dict(row, label=row["name"])  # "bandwidth" alone may be any
        lines += _heading(named, "") + _numbers(row, False)
        lines += [line for note in missing_texts(row) for line in wrapped(note, "      ")]
    return lines + ["  and %d more" % hidden] * bool(hidden)


def _control(control: Json) -> List[str]:
    lines = wrapped(control_text(control), "! " if control["verdict"] == "moved" else "", "  ")
    for row in control["metrics"][:_CONTROLS]:
        lines += wrapped("%s  %s" % (label_of(row), change_text(row)), "    ", "      ")
    more = len(control["metrics"]) - _CONTROLS
    return lines + ["    and %d more" % more] * (more > 0)


def table(comparison: Json) -> str:
    """Plain text of lines up to 80 columns; only a single longer word makes a longer one."""
    known, hidden = shown(comparison, OTHERS)
    outcome, settings = known["outcome"], known["settings"]
    lines = wrapped(outcome["sentence"]) + [line for reason in outcome["reasons"] for line in wrapped(reason, "  ")]
    lines += [""] + [line for side in SIDES for line in wrapped("%-6s  %s" % (side, side_text(known[side])), "", "  ")]
    for warning, text in provenance_texts(known["provenance"]):
        lines += wrapped(text, "! " if warning else "", "  ")
    lines += _control(known["control"])
    lines += _judged(known["metrics"], least_effects(known["metrics"]), settings["rate"])
    return "\n".join(lines + _described(known["others"], hidden)) + "\n"
