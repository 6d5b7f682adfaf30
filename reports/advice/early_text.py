# SPDX-License-Identifier: BSD-3-Clause
"""Gain of sending C before its GEMM ends, in a sentence, and where that was measured."""

from __future__ import annotations


from reports.advice.comparison import ratio_text
from reports.advice.early import AMONG_DEVICES, PROGRAM, points_of
from reports.advice.lines import why_missing
from reports.records.jsonl import Json, is_number
from reports.records.quantity import digits, listing, percent

_NAMES = {
    "trigger": "a trigger (software)",
    "trigger-staggered": "a staggered trigger (software)",
    "split": "a GEMM for each band",
    "remote-store": "remote stores",
}
_ARE_MANY = ("remote-store",)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _error(error: float | None) -> str:
    return "an error of unknown size" if error is None else "the error of %s" % percent(error)


def _clause(way: Json) -> str:
    """Gain of a way, and whether it pays."""
    do = "they do" if way["way"] in _ARE_MANY else "it does"
    verdict = {True: "", False: ": %s not pay" % do, None: ", within %s" % _error(way["error"])}[way["pays"]]
    return _gain(way) + verdict


def _gain(way: Json) -> str:
    return "%s %sx" % (_NAMES[way["way"]], ratio_text(way["gain"]))


def _gains(ways: list[Json], best: str | None) -> str:
    """The best first, else the fastest."""
    ways = sorted(ways, key=lambda way: (way["way"] != best, way["predicted_s"]))
    first = ways[0]
    if first["pays"] is False:
        said = "Nothing that %s measures is expected to gain over whole-then-send for this shape: %s"
        return said % (PROGRAM, ", ".join(map(_gain, ways)))
    error = ", within " + _error(first["error"]) if first["pays"] is None else ""
    said = "%s expected to gain %sx over whole-then-send for this shape%s"
    text = said % (_subject(first["way"]), ratio_text(first["gain"]), error)
    return "; ".join([text, *map(_clause, ways[1:])])


def _subject(way: str) -> str:
    """ "A trigger (software) is"."""
    return _capital(_NAMES[way]) + (" are" if way in _ARE_MANY else " is")


def _against_pick(early: Json, pick: Json) -> str:
    if early["best"] is None:
        return ""
    best, ratio, subject = _NAMES[early["best"]], early["over_pick"], _subject(early["best"])
    name = "the pick, %s by %s" % (pick["schedule"], pick["copy_method"])
    if early["beats_pick"] is None:
        said = subject, name, ratio_text(ratio), _error(early["over_pick_error"])
        return " %s not distinguishable from %s: %sx, within %s." % said
    if early["beats_pick"]:
        return " %s predicted to be %s times as fast as %s." % (subject, ratio_text(ratio), name)
    return " %s, is predicted to be %s times as fast as %s." % (_capital(name), ratio_text(1 / ratio), best)


def _unknown(ways: list[Json], reason: str) -> list[str]:
    """Ways without a known gain, and the reason."""
    lost = [_NAMES[way["way"]] for way in ways if not way["points"]]
    if len(lost) == len(ways):
        return [
            "the gain of a trigger or of remote stores is not known: %s has no value for this type%s"
            % (PROGRAM, reason)
        ]
    far: dict[tuple[str, ...], list[str]] = {}
    for way in ways:
        if way["extrapolated"]:
            place = tuple(digits(x) for x in (way["send_over_gemm"], *way["measured"]))
            far.setdefault(place, []).append(_NAMES[way["way"]])
    found = [
        "no prediction for %s: scattering C takes %s of the time of its GEMM, and %s to %s were measured"
        % (listing(names, len(names)), *place)
        for place, names in far.items()
    ]
    return found + ["not measured: %s" % listing(lost, len(lost))] * bool(lost)


def early_text(early: Json, pick: Json, reason: str) -> str:
    """`reason`: why there is no value at all, in brackets."""
    known = [way for way in early["ways"] if way["gain"] is not None]
    text = _gains(known, early["best"]) + "." + _against_pick(early, pick) if known else ""
    rest = _unknown(early["ways"], reason)
    return " ".join([text] * bool(text) + [_capital(part) + "." for part in rest])


def _where(signature: Json, way: Json, kind: str) -> tuple[str | None, int | None]:
    """Direction and devices of a way's points."""
    for p in points_of(signature):
        if (p["way"], p["copy_method"], p["type"]) == (way["way"], way["copy_method"], kind):
            return p["direction"], int(p["devices"]) if is_number(p["devices"]) else None
    return None, None


def _note(direction: str, devices: int | None, question: Json, signature: Json) -> str:
    """Devices that stand for those of the question; empty where these were measured."""
    text, asked = "the gain of sending C early was measured ", question["devices"]
    if direction in AMONG_DEVICES:
        measured = "an unknown number of" if devices is None else devices
        said = "among %s devices, not among %d (direction %s)" % (measured, asked, direction)
        return "" if devices == asked else text + said
    if direction == "peer":
        return text + "from one device to another (direction peer), not among %d" % asked
    why = why_missing(signature, PROGRAM, "type=%s direction=peer" % question["type"])
    said = "in the direction %s, because %s has no value between devices%s"
    return text + said % (direction, PROGRAM, why)


def complete(signature: Json, advice: Json, question: Json) -> list[str]:
    """Add to advice where the gains were measured, and the sentence. Returns what is assumed."""
    early, kind = advice["early"], question["type"]
    if early is None:
        return []
    for way in early["ways"]:
        way["direction"], way["devices"] = _where(signature, way, kind) if way["points"] else (None, None)
    early["text"] = early_text(early, advice["pick"], why_missing(signature, PROGRAM, "type=" + kind))
    places = dict.fromkeys((way["direction"], way["devices"]) for way in early["ways"] if way["direction"])
    return [note for note in (_note(*place, question, signature) for place in places) if note]
