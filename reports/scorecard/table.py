# SPDX-License-Identifier: BSD-3-Clause
"""A scorecard in a terminal. The wording of single values is also that of page.py."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from reports.compare.numbers import DIFFERENCE
from reports.compare.table import WIDTH, difference_text, plain, wrapped
from reports.jsonl import Json
from reports.quantity import digits, half_width, human, listing, percent, plural
from reports.scorecard.metrics import BEST, DESCRIBED, EQUAL, OPEN
from reports.scorecard.rules import YES

NAME = 22  # characters of a machine's name
LEFT_OUT = 40  # numbers that could not be compared, in a terminal
VERDICTS = {BEST: "best", EQUAL: "equal", OPEN: "not told apart", DESCRIBED: "neither is better"}

# ------------------------------------------------------------------ wording


def shown(card: Json) -> Json:
    """With plain texts."""
    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return plain(value)
        if isinstance(value, dict):
            return {plain(key): walk(inner) for key, inner in value.items()}
        return [walk(inner) for inner in value] if isinstance(value, list) else value

    return walk(card)


def value_text(held: Json, unit: str) -> str:
    width = half_width(held["value"], held["low"], held["high"], unit)
    return "%s%s" % (human(held["value"], unit), " " + width if width else "")


def _ratio_format(value: float) -> Callable[[float], str]:
    """Of a value and its ends."""
    return (lambda v: "%.3f" % v) if 0.9 <= value < 1.1 else (lambda v: "%.2f" % v) if value < 9.995 else digits


def ratio_text(ratio: Optional[Json], scale: str, unit: str) -> str:
    """"0.86 (0.84 to 0.88)"; nothing of a machine against itself."""
    if ratio is None:
        return "–"
    number = (lambda v: difference_text(v, unit)) if scale == DIFFERENCE else _ratio_format(ratio["value"])
    if ratio["low"] is None or ratio["high"] is None:
        return "%s (interval not known)" % number(ratio["value"])
    return "%s (%s to %s)" % (number(ratio["value"]), number(ratio["low"]), number(ratio["high"]))


def verdict_text(row: Json) -> str:
    best = listing([_short(name) for name in row["best"]], 3)
    return {BEST: "best: %s" % best, EQUAL: "equal: %s" % best, OPEN: "not told apart: %s" % best}.get(
        row["verdict"], VERDICTS.get(row["verdict"], row["verdict"]))


def _short(name: str) -> str:
    return name if len(name) <= NAME else name[:NAME - 1] + "…"


def seconds_text(own: Json) -> str:
    if own["seconds"] is None:
        return "no answer"
    return value_text({"value": own["seconds"], "low": own["low"], "high": own["high"]}, "s")


def money_text(own: Json) -> str:
    return "–" if own["price"] is None else "%s %s" % ("{:,.10g}".format(own["price"]), own["currency"])


def cost_text(own: Json) -> str:
    """Of what is rented, money; of what is bought, money times seconds: it only compares."""
    if own["time_price"] is None:
        return "–"
    unit = own["currency"][:-2] if own["currency"].endswith("/h") else own["currency"] + " s"
    return "%s %s" % (digits(own["time_price"]), unit)


# ------------------------------------------------------------------ layout


def _heading(left: str, right: str) -> List[str]:
    if len(left) + len(right) + 4 <= WIDTH:
        return [("  %-*s  %s" % (WIDTH - len(right) - 4, left, right)).rstrip()]
    return wrapped(left, "  ", "    ") + ([("%*s" % (WIDTH, right))] if len(right) <= WIDTH else wrapped(right, "    "))


def _cells(name: str, value: str, ratio: str, note: str = "") -> List[str]:
    line = "    %-*s  %-20s  %s" % (NAME, _short(name), value, ratio)
    lines = [line.rstrip()] if len(line) <= WIDTH else wrapped("%s  %s  %s" % (name, value, ratio), "    ", "      ")
    return lines + (wrapped(note, "      ") if note else [])


def _row(row: Json) -> List[str]:
    arrow = {"higher": " ↑", "lower": " ↓"}.get(row["better"], "")
    lines = _heading("%s%s%s" % (row["label"], arrow, ", " + row["condition"] if row["condition"] else ""), verdict_text(row))
    for name, held in row["machines"].items():
        ratio = row["ratios"][name]
        is_reference = name == row["reference"]
        text = "= 1" if is_reference and row["scale"] != DIFFERENCE else "= 0" if is_reference else ratio_text(
            ratio, row["scale"], row["unit"])
        lines += _cells(name, value_text(held, row["unit"]), text, held["reason"])
    for name, reason in row["not_compared"].items():
        lines += wrapped("%s is not compared: %s" % (_short(name), reason), "    ", "      ")
    return lines


def _counts(counts: List[Json], names: List[str]) -> List[str]:
    lines = ["", "%-16s %-*s %8s %8s %8s %8s" % ("", NAME, "", "best", "tie", "behind", "of")]
    for entry in counts:
        for place, name in enumerate(names):
            own = entry["machines"][name]
            lines.append("%-16s %-*s %8d %8d %8d %8d" % ("" if place else entry["group"][:16], NAME, _short(name), own["best"],
                                                         own["shared"], own["behind"], own["numbers"]))
    return lines


def _numbers(card: Json) -> List[str]:
    lines, group = [], ""
    for row in card["metrics"]:
        if row["group"] != group:
            group = row["group"]
            lines += ["", group]
        lines += _row(row)
    base = card["settings"]["base"]
    against = "of %s" % base if base else "of the best value"
    return lines + [""] + wrapped(
        "Values with half of their 95 %% interval, then how many times as good as that %s, with its interval: below 1 is worse, "
        "whether higher (↑) or lower (↓) is better. Where a value may be 0 or less it is the difference. Better than another: "
        "the whole interval is beyond %s, and at most %s of all such claims are expected to be false." % (
            against, percent(card["settings"]["least_effect"]), percent(card["settings"]["rate"])))


def _left_out(card: Json) -> List[str]:
    rows = card["not_compared"]
    if not rows:
        return []
    lines = ["", "Could not be compared"]
    for row in rows[:LEFT_OUT]:
        lines += wrapped("%s: %s" % (row["label"], row["why"]), "  ", "    ")
    return lines + ["  and %d more" % (len(rows) - LEFT_OUT)] * (len(rows) > LEFT_OUT)


def _line(line: Json) -> List[str]:
    lines = _heading(line["text"], verdict_text(line) if line["best"] else "")
    for name, own in line["machines"].items():
        speed = "" if own["speed"] is None else "= 1" if name == line["reference"] else ratio_text(own["speed"], "", "")
        lines += _cells(name, seconds_text(own), speed, "; ".join([own["reason"]] * bool(own["reason"]) + own["notes"]))
    return lines


def _workload(mix: Optional[Json]) -> List[str]:
    if mix is None:
        return []
    lines = ["", *wrapped("The mix of %s: times with half of their 95 %% interval, and the speed" % mix["file"])]
    for line in mix["items"]:
        lines += _line(line)
    lines += [""] + _line(dict(mix["total"], text="Total of all %s" % plural(len(mix["items"]), "item")))
    if mix["common"] is not None:
        lines += _line(dict(mix["common"], text="Total of the %d items that all machines answer" % mix["common_items"]))
    return lines


def _price(prices: Optional[Json]) -> List[str]:
    if prices is None:
        return []
    lines = ["", *wrapped("Price and power of %s; speed by %s" % (prices["file"], prices["speed"]))]
    for name, own in prices["machines"].items():
        power = human(own["power"], "W")
        parts = ["price " + money_text(own), "power " + power + (" (%s)" % own["power_source"] if own["power_source"] else "")]
        if own["seconds"] is not None:
            parts += ["time " + human(own["seconds"], "s"), "time x price " + cost_text(own),
                      "energy " + human(own["energy"], "J")]
        beaten = own["beaten_by"]
        parts.append("beaten by %s" % listing(beaten) if beaten else "no other machine beats it")
        lines += wrapped("%s: %s" % (name, "; ".join(parts)), "  ", "    ")
    return lines + [part for note in prices["notes"] for part in wrapped(note, "! ", "  ")]


def _rules(card: Json) -> List[str]:
    lines = ["", "Run rules, as far as signatures show them"]
    for entry in card["rules"]:
        said: Dict[str, List[str]] = {}
        for name, found in entry["machines"].items():
            text = found["holds"] + (" (%s)" % found["text"] if found["text"] and found["holds"] != YES else "")
            said.setdefault(text, []).append(_short(name))
        answers = "; ".join("%s %s" % (listing(names, 8), text) for text, names in said.items())
        lines += wrapped("%s: %s" % (entry["rule"], answers), "  ", "    ")
    return lines + wrapped("The seller states besides: %s." % listing(card["statements"]), "  ", "    ")


def _machines(card: Json) -> List[str]:
    lines = [""]
    for machine in card["machines"]:
        started = sorted(run["started"] for run in machine["runs"] if run["started"])
        lines += wrapped("%s: %s; %s%s; gpusig %s" % (
            machine["name"], machine["device"], plural(len(machine["runs"]), "run"),
            " from %s" % started[0][:10] if started else "", listing(machine["versions"])), "", "  ")
    return lines + [part for note in card["notes"] for part in wrapped(note, "! ", "  ")]


def table(card: Json) -> str:
    """Plain text of lines up to 80 columns; only a single longer word makes a longer one."""
    known = shown(card)
    names = [machine["name"] for machine in known["machines"]]
    lines = [part for sentence in known["sentences"] for part in wrapped(sentence)]
    lines += _machines(known) + (_counts(known["counts"], names) if known["metrics"] else [])
    lines += _workload(known["workload"]) + _price(known["price"])
    lines += (_numbers(known) if known["metrics"] else []) + _left_out(known) + _rules(known)
    return "\n".join(lines) + "\n"
