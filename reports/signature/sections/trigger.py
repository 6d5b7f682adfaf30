# SPDX-License-Identifier: BSD-3-Clause
"""overlap/trigger: the gain of sending a band of a GEMM once its rows are counted, in software."""

from __future__ import annotations

import statistics
from typing import Dict, List, Optional, Tuple

from reports.records.curves import by, interval_of, value_of, why_invalid
from reports.records.jsonl import Json
from reports.records.quantity import digits, human, percent, spell, way
from reports.records.records import Case, Derived
from reports.signature.section import Bar, Bars, Figure, Section, SectionSpec, table
from reports.signature.sections import generic
from reports.signature.sections.gemm import shape_text
from reports.signature.sections.operands import COLD, is_cold

_TRIGGERED = ("triggered", "triggered_staggered")
_BY_BANDS = ("split", *_TRIGGERED)
_SENT = ("whole_then_send", "whole_tiled_then_send", *_BY_BANDS, "remote_store", "remote_add")
# Variant, quantity, and the time that it is divided into.
_REMOTE = (
    ("remote_store", "remote_gain", "the trigger"),
    ("remote_store", "S_tiled", "GEMM, then send"),
    ("remote_add", "add_gain", ""),
    ("remote_add", "S_tiled", "GEMM, then ring"),
)
_DOES = {"remote_store": "remote stores", "remote_add": "remote additions"}
_FIRST = {"first_of_whole": "whole", "first_of_split": "split", "first_of_triggered": "triggered"}

Place = Tuple[str, ...]


def _place(section: Section, case: Case) -> Place:
    """All that a case is but its bands."""
    axes = case.axes
    return (
        shape_text(section, case.key),
        str(axes.get("type", "")),
        way(str(axes.get("direction", ""))),
        str(axes.get("copy-method", "")),
        COLD if is_cold(case) else "",
    )


def _bands(case: Case) -> int:
    bands = case.facts.get("bands_sent", case.axes.get("bands"))
    return int(bands) if isinstance(bands, (int, float)) else 0


def _rows(section: Section, name: str, variants: Tuple[str, ...]) -> List[Json]:
    """Valid values of one quantity, with where they are from."""
    return [
        {"place": _place(section, c), "bands": _bands(c), "variant": d.variant, **interval_of(d)}
        for c, d in section.values(name)
        if d.variant in variants and not why_invalid(c, d)
    ]


def results(section: Section) -> Json:
    """`tiled` is against the same GEMM, `library` against another one."""
    tiled = _rows(section, "S_tiled", _TRIGGERED)
    return {
        "trigger": "software",
        "tiled": tiled,
        "best": max(tiled, key=lambda r: r["value"], default=None),
        "of_ideal": _rows(section, "fraction_of_ideal_tiled", _TRIGGERED),
        "library": _rows(section, "S", _BY_BANDS),
        "exposed_tail": _rows(section, "exposed_tail", _SENT),
        "first_byte": _rows(section, "time_to_first_byte", tuple(_FIRST)),
        "tracking_cost": _rows(section, "tracking_cost", ("gemm_counting",)),
        "staging_cost": _rows(section, "staging_cost", ("copy_then_add",)),
        "stagger_gain": _rows(section, "stagger_gain", ("triggered",)),
        "remote": [row for row, _, _ in _remote(section)],
        "formula": "S_tiled = seconds(whole_tiled_then_send) / seconds, the same GEMM; S = "
        "seconds(whole_then_send) / seconds, the library's GEMM; of a software trigger, T3's is hardware",
    }


def _words(place: Place) -> str:
    return ", ".join(filter(None, place))


def _where(row: Json) -> str:
    return _words((*row["place"], "%d bands" % row["bands"]))


def _verdict(row: Json) -> str:
    low, high = (row["value"] if row[end] is None else row[end] for end in ("ci_low", "ci_high"))
    return "gains" if low > 1 else "loses" if high < 1 else "makes no clear difference"


def summary(section: Section) -> str:
    best = section.results["best"]
    if best is None:
        return generic.nothing(section)
    rows, verdict = section.results["tiled"], _verdict(best)
    alike = sum(_verdict(r) == verdict for r in rows)
    effect = verdict + (" in %d of %d cases" % (alike, len(rows)) if len(rows) > 1 else "")
    text = (
        "A software trigger %s: at best, GEMM and send are %s times as fast as the same GEMM followed by the "
        "send (%s)" % (effect, digits(best["value"]), _where(best))
    )
    library = _at_best(section, "library", best["variant"])
    if library is not None:
        text += (
            "; they are %s times as fast as the library's GEMM, a different one, followed by the send"
            % digits(library)
        )
    split = _at_best(section, "library", "split")
    if split is not None:
        text += "; one library GEMM for each band, each sent when it ends, is %s times as fast as %s" % (
            digits(split),
            "the library's GEMM followed by the send" if library is None else "that",
        )
    first = _first_byte_share(section)
    if first is not None:
        text += (
            "; the first byte arrives after %s of the time that it takes when the whole is sent at the end"
            % percent(first)
        )
    costs = [r["value"] for r in section.results["tracking_cost"]]
    if costs:
        text += "; with counting, a GEMM takes %s times as long (median)" % digits(statistics.median(costs))
    return text + "."


def _at_best(section: Section, rows: str, variant: str) -> Optional[float]:
    """The value of a variant in the best case."""
    best = section.results["best"]
    return _same(section.results[rows], dict(best, variant=variant))


def _same(rows: List[Json], like: Json) -> Optional[float]:
    """The value of the row with the place, bands and variant of another."""
    keys = ("place", "bands", "variant")
    return next((r["value"] for r in rows if all(r[key] == like[key] for key in keys)), None)


def _first_byte_share(section: Section) -> Optional[float]:
    """The first byte of the best case, over that of sending the whole."""
    whole, triggered = (_at_best(section, "first_byte", v) for v in ("first_of_whole", "first_of_triggered"))
    return triggered / whole if whole and triggered is not None else None


# ------------------------------------------------------------------ figures


def _places(section: Section) -> Dict[Place, List[Case]]:
    timed = [case for case in section.cases if any(d.name == "time" for d in case.derived)]
    return by(sorted(timed, key=_bands), lambda case: _place(section, case))


def _bars_of(section: Section, cases: List[Case]) -> List[Bar]:
    """Sending the whole, of the first case only; then the variants that depend on the bands, of every
    case."""
    bars = []
    for i, case in enumerate(cases):
        for variant in _SENT:
            derived = value_of(case, "time", variant)
            if derived is None or (i and variant not in _BY_BANDS):
                continue
            if variant == "remote_add" and case.axes.get("direction") != "ring":
                continue  # it adds what the others only send
            label = spell(variant) + (", %d bands" % _bands(case) if variant in _BY_BANDS else "")
            bars.append(generic.bar_of(case, derived, label))
    longest = max((b.value for b in bars), default=0.0)
    for bar in bars:
        bar.of, bar.of_name = longest, "longest here"
    return bars


def _gain_table(section: Section) -> List[Figure]:
    """S_tiled of what is triggered and its share of ideal, then S; a value that is not valid is a dash."""
    rows = [
        {
            "case": _words(r["place"]),
            "bands": "%d" % r["bands"],
            "variant": spell(r["variant"]),
            "S, same GEMM": digits(r["value"]),
            "the trigger": _verdict(r),
            "of ideal": percent(_same(section.results["of_ideal"], r)),
            "against the library's GEMM": human(_same(section.results["library"], r)),
        }
        for r in section.results["tiled"]
    ]
    caption = (
        "S: serial time / overlapped time. In the last column two different GEMMs are compared; a dash "
        "there: not measured, or S is above what overlap alone can give."
    )
    return table(rows[: generic.MAX_BARS], caption)


def _first_table(section: Section) -> List[Figure]:
    first, tail = section.results["first_byte"], section.results["exposed_tail"]
    tails = {"whole": "whole_then_send", "split": "split", "triggered": "triggered"}
    rows = []
    for place, bands in sorted({(r["place"], r["bands"]) for r in first}):
        at = {"place": place, "bands": bands}
        seconds = {"first byte, %s" % word: _same(first, dict(at, variant=v)) for v, word in _FIRST.items()}
        seconds.update({"tail, %s" % word: _same(tail, dict(at, variant=v)) for word, v in tails.items()})
        shown = {head: human(value, "s") for head, value in seconds.items()}
        rows.append({"case": _words(place), "bands": "%d" % bands, **shown})
    caption = (
        "First byte: from the release of the streams to the end of the first copy. Tail: time minus that of "
        "the GEMM alone; it is below zero if medians differ by chance."
    )
    return table(rows[: generic.MAX_BARS], caption)


def _model_table(section: Section) -> List[Figure]:
    """Values that the record calls a model."""
    found = [d for _, d in section.values("t3_model_read_ratio", "t3_model_write_ratio")]
    pairs = dict.fromkeys((d.formula or spell(d.name), digits(d.value)) for d in found)
    caption = (
        "Counted, not measured: bytes that the hardware of T3 (arXiv 2401.16677) would move. The trigger "
        "measured here is software."
    )
    return table([{"model": model, "sequential / T3": ratio} for model, ratio in pairs], caption)


# ------------------------------------------------------------------ without a copy


def _fastest_bands(section: Section) -> Dict[Place, int]:
    """The number of bands with which the trigger is fastest, by place."""
    found: Dict[Place, int] = {}
    for place, cases in _places(section).items():
        timed = [(value_of(case, "time", "triggered"), _bands(case)) for case in cases]
        times = [(derived.value, bands) for derived, bands in timed if derived and derived.value]
        if times:
            found[place] = min(times)[1]
    return found


def _remote(section: Section) -> List[Tuple[Json, Case, Derived]]:
    """Gains of GEMMs that write their tiles where they are sent; of each place in as many bands as the
    trigger likes best."""
    fastest = _fastest_bands(section)
    found = []
    for variant, name, against in _REMOTE:
        for case, d in section.values(name):
            place, bands = _place(section, case), _bands(case)
            if d.variant != variant or why_invalid(case, d) or fastest.get(place, bands) != bands:
                continue
            adder = "the ring by trigger" if case.axes.get("direction") == "ring" else "additions by kernels"
            row = {"place": place, "bands": bands, "variant": variant, "against": against or adder}
            found.append(({**row, **interval_of(d)}, case, d))
    return found


def _reading(rows: List[Json]) -> str:
    """The cases in which each gains and loses, and the best and the worst of them."""
    said = []
    for (variant, against), of in by(rows, lambda r: (r["variant"], r["against"])).items():
        gains, loses = (sum(_verdict(r) == v for r in of) for v in ("gains", "loses"))
        best, worst = max(of, key=lambda r: r["value"]), min(of, key=lambda r: r["value"])
        text = "%s gain over %s in %d of %d cases and lose in %d" % (
            _DOES[variant],
            against,
            gains,
            len(of),
            loses,
        )
        text += (
            ", from %s (%s) to %s (%s)"
            % (digits(worst["value"]), _where(worst), digits(best["value"]), _where(best))
            if len(of) > 1
            else " (%s, %s)" % (digits(best["value"]), _where(best))
        )
        said.append(text)
    text = "; ".join(said)
    return text[:1].upper() + text[1:] + "."


def _remote_bars(section: Section) -> List[Figure]:
    rows = _remote(section)
    order = list(dict.fromkeys((r["variant"], r["against"]) for r, _, _ in rows))
    rows.sort(key=lambda r: (order.index((r[0]["variant"], r[0]["against"])), -r[0]["value"]))
    bars = []
    for row, case, derived in rows:
        label = "%s, against %s: %s" % (spell(row["variant"]), row["against"], _where(row))
        bar = generic.bar_of(case, derived, label)
        bar.of, bar.of_name = max(r["value"] for r, _, _ in rows), "largest here"
        bars.append(bar)
    caption = (
        "Without a copy: the time of the alternative / the time of a GEMM that writes its tiles directly to "
        "the receiver; above 1 is a gain. In the number of bands with which the triggered send is fastest. "
    )
    caption += _reading([row for row, _, _ in rows])
    caption += generic.hidden_text(len(bars) - generic.MAX_BARS, "bar")
    return [Bars(bars[: generic.MAX_BARS], caption, "variant", "of the largest")] if bars else []


def figures(section: Section) -> List[Figure]:
    shown: List[Figure] = []
    for place, cases in list(_places(section).items())[: generic.MAX_PANELS]:
        bars = _bars_of(section, cases)
        if bars:
            caption = "Software trigger: time of GEMM and send, %s." % _words(place)
            shown.append(Bars(bars, caption, "variant", "of the longest"))
    shown += _remote_bars(section) + _gain_table(section)
    return shown + _first_table(section) + _model_table(section)


SPEC = SectionSpec("Track and trigger in software", results, summary, figures)
