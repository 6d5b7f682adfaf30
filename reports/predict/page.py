# SPDX-License-Identifier: BSD-3-Clause
"""A prediction in a terminal and as a page."""

from __future__ import annotations

from typing import Any, Optional

from reports.page.blocks import Cell, Column, Group, Head, Items, Page, Table, Text
from reports.page.blocks import columns, html, plain_texts, row, terminal, terms
from reports.page.blocks import PAGE, Drawing
from reports.page.svg import markup
from reports.predict.change import TOGETHER
from reports.predict.drawing import curve, tornado_bar
from reports.records.jsonl import Json
from reports.records.quantity import digits, human, listing, percent, plural, size

_ROWS = 24  # of variants, in a terminal
_KEYS = (12, 60)  # of a tornado, in a terminal and on a page
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NOTHING = 0.005  # a smaller change of all times is called none
_METHOD = (
    (
        "Model",
        "Programs run in virtual time on a model: the keys that ./gpusig model fits to the signature, or "
        "those of a simulated machine. Noise is left out, so one sample is exact.",
    ),
    (
        "Fastest",
        "Where a program names the best of its variants, those that move the same bytes and compute the same "
        "flops are ways to do one work: the fastest counts, before and after a change. Others count for "
        "themselves.",
    ),
    (
        "Change",
        "Time on the changed model / time on the model - 1: negative is faster. Of several, the "
        "geometric mean of the ratios.",
    ),
    (
        "Limits",
        "Where a rate that is raised brings less than 1 %, all other rates are raised with it, and each in "
        "turn is left out: those without which it brings less than half limit it.",
    ),
    (
        "Not measured",
        "Keys that no measurement gave are changed by a factor of 2, one by one; those that move a time by "
        "more than 1 % are named.",
    ),
)


def signed(ratio: Optional[float]) -> str:
    """ "-17 %" of a ratio of times, "0" where nothing changes."""
    if ratio is None:
        return "–"
    change = ratio - 1
    if abs(change) < 5e-4:
        return "0 %"
    return ("+" if change > 0 else "−") + (percent(abs(change)))


def less(ratio: float) -> str:
    """ "8.6 % less", for "time"."""
    return "%s %s" % (percent(abs(1 - ratio)), "less" if ratio < 1 else "more")


def _letter(index: int, found: Json) -> str:
    return "change" if len(found["alternatives"]) == 1 else _LETTERS[index % len(_LETTERS)]


def _name(alternative: Json) -> str:
    label, change = alternative["label"], alternative["change"]
    return (
        label
        if label == TOGETHER or label.replace(" ", "") == change.replace(" ", "")
        else "%s (%s)" % (label, change)
    )


# ------------------------------------------------------------------ the answer in sentences


def _sentences(found: Json) -> list[str]:
    said = []
    ranked = sorted((a for a in found["alternatives"]), key=lambda a: a["ratio"])
    single = [a for a in ranked if a["label"] != TOGETHER]
    if len(single) == 1:
        said.append(_effect(single[0]))
    elif single and single[0]["ratio"] > 1 - NOTHING:
        said.append("Of %d changes, none makes this work faster." % len(single))
    elif single:
        said.append("Of %d changes, the most for this work: %s" % (len(single), _effect(single[0])))
    storm = found["tornado"]
    if storm:
        said.append(_storm(storm))
    sweep = found["sweep"]
    if sweep:
        said.append(_pays(sweep))
    return said or ["The model as it is; --set KEY=2x shows what a change brings."]


def _effect(alternative: Json) -> str:
    ratio, name = alternative["ratio"], _name(alternative)
    more = alternative["with_more"]
    also = (
        "" if more is None else " It may bring more: %s time with other keys that may be larger." % less(more)
    )
    if abs(ratio - 1) < NOTHING:
        return "%s brings nothing here.%s" % (name, also)
    return "%s: %s time, %s times as fast.%s" % (name, less(ratio), digits(1 / ratio), also)


def _storm(storm: Json) -> str:
    keys = [one for one in storm["keys"] if one["ratio"] is not None and one["ratio"] < 0.9995]
    step = percent(storm["step"])
    if not keys:
        return "No key brings anything when it is changed by %s." % step
    best = keys[0]
    others = ["%s (%s)" % (one["key"], signed(one["ratio"])) for one in keys[1:3]]
    then = ", then %s" % listing(others) if others else ""
    return "This work is short of %s: %s better, it takes %s time%s." % (
        best["key"],
        step,
        less(best["ratio"]),
        then,
    )


def value_text(key: str, value: float) -> str:
    """A value of a key in the unit that its name ends in."""
    if key.endswith("_ns"):
        return human(value * 1e-9, "s")
    if key.endswith("_bytes"):
        return size(value)
    if key.endswith("_bandwidth"):
        return human(value, "byte/s")
    return human(value, "flop/s") if key.startswith("flops_") else digits(value)


def _value(sweep: Json, value: float) -> str:
    """A value and its factor."""
    text = value_text(sweep["key"], value)
    return "%s (%s)" % (text, factor_text(value / sweep["base"])) if sweep["base"] else text


def factor_text(factor: float) -> str:
    return "%.3gx" % factor


def _pays(sweep: Json) -> str:
    least, key = percent(sweep["least"]), sweep["key"]
    if sweep["pays"] == "no":
        return "%s does not pay: the first doubling brings less than %s." % (key, least)
    if sweep["pays"] == "yes":
        return "%s pays to the end of the range: each doubling brings %s or more." % (key, least)
    if sweep["pays"] == "short":
        return "%s: the range holds no doubling, so it is not known where it stops paying." % key
    return "%s stops paying at %s: the next doubling brings less than %s." % (
        key,
        _value(sweep, sweep["pays_to"]),
        least,
    )


def _assumed(found: Json) -> list[str]:
    """Keys that stand before any number, as they were not measured."""
    lack = found["error"]["unmeasured"]
    names = [key["key"] for key in lack["keys"]] if lack else []
    return ["Assumed, as nobody measured it, and it matters here: %s." % listing(names, 8)] * bool(names)


def _error_text(found: Json) -> list[str]:
    error, said = found["error"], []
    if error["compared"]:
        said.append(
            "Model against measured, in %s of the same case: off by %s in the median, %s at most; %s"
            % (
                plural(error["compared"], "time"),
                percent(error["median"]),
                percent(error["largest"]),
                "the fastest way is the same in %d of %d cases."
                % (error["same_fastest"], error["fastest_compared"])
                if error["fastest_compared"]
                else "no fastest way to compare.",
            )
        )
    elif _is_measured(found):
        instead = error["measured_instead"]
        said.append(
            "None of these cases was measured, so the error of the model is not known for them.%s"
            % (" The signature has %s." % instead if instead else "")
        )
    else:
        said.append(
            "The model is fitted to no measurement, and how far it is from a real machine is not known."
        )
    looked = error["cases"]
    few = " in %s" % plural(looked, "case") if looked < len(found["cases"]) else ""
    if error["keys"]:
        worst = [
            "%s ±%s (%s)" % (key["key"], percent(key["error"]), signed(key["ratio"])) for key in error["keys"]
        ]
        said.append("Fitted keys whose own errors move the times%s: %s." % (few, listing(worst, 8)))
    lack = error["unmeasured"]
    if lack and lack["count"]:
        keys = lack["keys"]
        matter = ["%s (%s: %s)" % (key["key"], key["change"], signed(key["ratio"])) for key in keys]
        said.append(
            "%s of the model were not measured and are assumed; %s"
            % (
                plural(lack["count"], "key"),
                "times depend on %s%s." % (listing(matter, 8), few)
                if keys
                else "no time depends on one by more than 1 %%%s." % few,
            )
        )
    if _is_measured(found) and found["machine"]["simulated"]:
        said.append("The signature is of a simulated machine: nothing here is a measurement.")
    return said


# ------------------------------------------------------------------ tables


def _seconds(value: Optional[float]) -> str:
    return human(value, "s")


def _cells(one: Json, found: Json, drawn: bool) -> list[Any]:
    cells: list[Any] = []
    if _compared(found):
        cells.append(_seconds(one["measured_s"]))
    if _compared(found) and _has_space(found):
        cells.append("–" if one["model_error"] is None else signed(1 + one["model_error"]))
    cells.append(_seconds(one["model_s"]))
    several = len(found["alternatives"]) > 1
    for seconds in one["changed_s"]:
        ratio = seconds / one["model_s"] if seconds and one["model_s"] else None
        if not several:
            cells += [_seconds(seconds), signed(ratio)]
        else:
            cells.append(Cell(signed(ratio), _seconds(seconds) if drawn else ""))
    return cells


def _is_measured(found: Json) -> bool:
    return bool(found["machine"]["fitted"])


def _compared(found: Json) -> bool:
    return found["error"]["compared"] > 0


def _has_space(found: Json) -> bool:
    """True where a line has space for how far the model is off."""
    return len(found["alternatives"]) < 3


def _heads(first: str, found: Json) -> list[Column]:
    heads = [Column(first)]
    if _compared(found):
        heads += columns("measured", css="")
    if _compared(found) and _has_space(found):
        heads += columns("model off", css="")
    heads += columns("model", css="")
    if len(found["alternatives"]) == 1:
        return heads + columns("changed", "change", css="")
    return heads + columns(*(_letter(i, found) for i in range(len(found["alternatives"]))), css="")


def _short(found: Json) -> dict[str, str]:
    """Keys of the cases without what all of them have: by their keys."""
    split = [case["case"].split(" ") for case in found["cases"]]
    same = {word for word in (split[0] if split else ()) if all(word in words for words in split)}
    kept = {" ".join(words): " ".join(w for w in words if w not in same) for words in split}
    return {key: short or key for key, short in kept.items()} if len(split) > 1 else kept


def _chooses(found: Json) -> bool:
    return any(len(one["of"]) > 1 for case in found["cases"] for one in case["fastest"])


def _fastest(found: Json, drawn: bool) -> Table:
    rows, short = [], _short(found)
    for case in found["cases"]:
        for one in case["fastest"]:
            ways = [way for way in one["ways"][1:] if way]
            fastest = " → ".join(dict.fromkeys(ways)) if len(one["of"]) > 1 else one["of"][0]
            rows.append(row(Cell(short[case["case"]] or "all", fastest), *_cells(one, found, drawn)))
    name = "The fastest way of each case" if _chooses(found) else "Each time"
    return Table(name, _heads("case", found), rows, "numbers", titled=True, most=(60, 2000))


def _variants(found: Json, drawn: bool) -> list[Any]:
    if not _chooses(found):
        return []  # each has a row already
    rows: list[Any] = []
    for case in found["cases"]:
        if case["reason"] or len(case["variants"]) < 2:
            continue
        rows.append(Head(case["case"], level=1))
        rows += [row(one["variant"], *_cells(one, found, drawn)) for one in case["variants"]]
    table = Table("Every variant", _heads("variant", found), rows, "numbers", most=(_ROWS, 4000))
    return [table] if rows else []


def _alternatives(found: Json) -> list[Any]:
    rows = []
    for i, one in enumerate(found["alternatives"]):
        rows.append(
            row(
                "%s: %s" % (_letter(i, found), _name(one)) if len(found["alternatives"]) > 1 else _name(one),
                signed(one["ratio"]),
                "%sx" % digits(1 / one["ratio"]),
                notes=one["remarks"],
            )
        )
    heads = [Column("change of the machine"), *columns("time", "speed", css="")]
    return [Table("What each change brings", heads, rows, "numbers")] if rows else []


def _tornado(found: Json, drawn: bool) -> list[Any]:
    storm = found["tornado"]
    if not storm:
        return []
    reach = max([abs(1 - one["ratio"]) for one in storm["keys"] if one["ratio"] is not None] + [1e-9])
    rows = []
    for one in storm["keys"]:
        if one["ratio"] is None:
            continue
        graph = markup(tornado_bar(one, reach)) if drawn else ""
        rows.append(row(one["key"], _step(one), Cell(drawing=graph), signed(one["ratio"])))
    refused = ["%s (%s)" % (one["key"], one["reason"]) for one in storm["keys"] if one["ratio"] is None]
    said = "Each of %d keys by %s in the direction that may be better, a count by at least 1. %s" % (
        storm["tried"],
        percent(storm["step"]),
        "This work depends on %d of them." % len(rows),
    )
    heads = [
        Column("key"),
        *columns("change", css=""),
        Column("", "word graph", drawn=True),
        *columns("time", css=""),
    ]
    return [
        Text(said, "question"),
        Table("What each key brings", heads, rows, "numbers", most=_KEYS),
        *[Text("Refused: %s." % listing(refused, 6))] * bool(refused),
    ]


def _step(one: Json) -> str:
    name, _, value = one["change"].partition("=")
    if value.endswith("x"):
        return "×%s" % value[:-1]
    return "%s → %s" % (value_text(name, one["before"]), value_text(name, float(value)))


def _sweep(found: Json, drawn: bool) -> list[Any]:
    sweep = found["sweep"]
    if not sweep:
        return []
    base = sweep["base"]
    rows = [
        row(
            value_text(sweep["key"], one["value"]),
            factor_text(one["value"] / base) if base else "",
            signed(one["ratio"]),
            notes=[one["reason"]] if one["reason"] else [],
        )
        for one in sweep["points"]
    ]
    heads = [Column(sweep["key"]), *columns("factor", "time", css="")]
    drawing = [Drawing(markup(curve(sweep)), sweep["key"])] if drawn else []
    return [*drawing, Table("Time by %s" % sweep["key"], heads, rows, "numbers", titled=True)]


def _lost(found: Json) -> list[Any]:
    lost = ["%s: %s" % (case["case"], case["reason"]) for case in found["cases"] if case["reason"]]
    return [Items(lost)] if lost else []


def _page(found: Json, drawn: bool) -> Page:
    machine = found["machine"]
    about = "%s, %s: model %s" % (
        machine["name"],
        plural(_count(machine["devices"]), "device"),
        "fitted to its signature" if _is_measured(found) else "as it is",
    )
    line = " ".join([found["program"], *found["options"]])
    parts = [
        Group("section", "What it brings", _alternatives(found), "changes"),
        Group("section", "What this machine is short of", _tornado(found, drawn), "tornado"),
        Group("section", "Where it stops paying", _sweep(found, drawn), "sweep"),
        Group("section", "Times", [_fastest(found, drawn)], "times"),
        Group("section", "Variants", _variants(found, drawn), "variants"),
        Group("section", "How sure this is", [Items(_error_text(found))], "error"),
        Group("section", "Without a time", _lost(found), "lost"),
        Group("section", "How to read this", [terms(_METHOD)], "reading", only=PAGE),
    ]
    footer = "gpusig predict %s. Predicted by models: nothing was measured for it." % found["version"]
    question = "What would a change of this machine bring for %s?" % found["program"]
    said, why = _sentences(found), _assumed(found)
    return Page("predict", "compare predict", [about, line], question, said, why, parts, footer)


def _count(devices: str) -> int:
    total = 0
    for part in devices.split(","):
        first, _, last = part.partition("-")
        total += int(last) - int(first) + 1 if last else 1
    return total


def table(found: Json) -> str:
    return terminal(_page(plain_texts(found), False))


def render(found: Json, line: str = "") -> str:
    """Raises template.MissingDependency where jinja2 is not installed."""
    known = plain_texts(found)
    running = "gpusig predict · %s · %s" % (known["machine"]["name"], known["program"])
    return html(_page(known, True), ("compare.css", "predict.css"), running, line)
