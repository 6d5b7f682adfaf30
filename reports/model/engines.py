# SPDX-License-Identifier: BSD-3-Clause
"""Copy engines: how many there are, and which copy a free one takes (device/sim/machine/engines.h)."""

from __future__ import annotations

from typing import Iterator, Optional

from reports.model.key import Key, Missing
from reports.model.measured import Measured

_ORDERS = ("ready_first", "enqueued_first", "stream_first", "round_robin")
_TO_HOST = ("up", "down")
_LAWS = ("host_engines", "engine_order", "engine_priority", "engine_sticky", "engine_switch_ns")
_MOST_ENGINES = 64  # of a model
_NEXT_TO_NOTHING = 0.01  # of copy_ns


def _ways(measured: Measured, program: str) -> list[dict]:
    return measured.results(program).get("ways") or []


def _answer(way: Optional[dict]) -> Optional[int]:
    """Engines that answered in this direction; None where it was not measured, or not the same each time."""
    engines = (way or {}).get("engines")
    if not engines:
        return None
    low, high = engines.get("ci_low") or engines["value"], engines.get("ci_high") or engines["value"]
    value = round(engines["value"])
    return value if abs(low - value) < 0.5 and abs(high - value) < 0.5 else None


def _counts(measured: Measured, by: dict[str, dict]) -> Iterator[Key | Missing]:
    counted = {d: n for d, n in ((d, _answer(by.get(d))) for d in ("local", "peer", "both")) if n}
    stated = measured.attribute("copy_engines")
    most = max(counted.values(), default=None)
    answered = "; %s answered in micro/copy_engines" % most if most else ""
    if stated is not None and stated <= _MOST_ENGINES:
        yield Key("copy_engines", int(stated), "reported by the device" + answered)
    elif most:
        limited = any(by[d].get("at_least") for d in counted)
        yield Key("copy_engines", most, "micro/copy_engines" + (": at least" if limited else ""))
    else:
        yield Missing(
            ("copy_engines",), "the device does not report it, and micro/copy_engines did not count them"
        )
    total = int(stated) if stated is not None else most
    of_host = {d: n for d, n in ((d, _answer(by.get(d))) for d in _TO_HOST) if n}
    if not of_host or total is None:
        yield Missing(("host_engines",), "micro/copy_engines has no count for copies to and from the host")
        return
    host = max(of_host.values())
    words = ", ".join("%d %s" % (n, d) for d, n in of_host.items())
    all_of_them = host >= total or any(by[d].get("at_least") for d in of_host)
    source = "micro/copy_engines: %s, of %d" % (words, total)
    yield Key("host_engines", 0 if all_of_them else host, source + (": all" if all_of_them else ""))


def _sticky(by: dict[str, dict]) -> Iterator[Key | Missing]:
    said = {d: str(way.get("sticky") or "") for d, way in by.items()}
    yes, no = ([d for d, word in said.items() if word == wanted] for wanted in ("yes", "no"))
    if yes and no:
        why = "micro/copy_engines: streams keep their engine %s, and do not %s" % (
            " and ".join(yes),
            " and ".join(no),
        )
        yield Missing(("engine_sticky",), why)
    elif yes or no:
        source = "micro/copy_engines: who waits behind a bulk copy, %s" % ", ".join(yes or no)
        yield Key("engine_sticky", int(bool(yes)), source)
    else:
        words = sorted(set(said.values()) - {""})
        why = "micro/copy_engines cannot tell: %s" % ("; ".join(words) or "not measured")
        yield Missing(("engine_sticky",), why)


def _queue(measured: Measured) -> Iterator[Key | Missing]:
    ways = _ways(measured, "micro/copy_queue")
    orders = {str(w.get("direction")): w.get("order") for w in ways if w.get("order") in _ORDERS}
    told = sorted(set(orders.values()))
    if len(told) == 1:
        yield Key("engine_order", told[0], "micro/copy_queue: turns %s" % ", ".join(orders))
    else:
        words = "; ".join("%s %s" % (w.get("direction"), w.get("order")) for w in ways if w.get("order"))
        yield Missing(
            ("engine_order",), "micro/copy_queue found no one order: %s" % (words or "not measured")
        )
    effects = {str(w.get("direction")): w.get("priority") for w in ways}
    known = {d: e for d, e in effects.items() if e in ("yes", "no effect here")}
    if len(set(known.values())) == 1:
        counts = "yes" in known.values()
        yield Key("engine_priority", int(counts), "micro/copy_queue: priority_effect %s" % ", ".join(known))
    else:
        words = "; ".join("%s %s" % (d, e) for d, e in effects.items() if e)
        why = "micro/copy_queue found no one effect of priority: %s" % (words or "not measured")
        yield Missing(("engine_priority",), why)


def _switch(measured: Measured, found: dict) -> Iterator[Key | Missing]:
    """The mean of the directions, by weight of their intervals. What is within its interval, or next to
    nothing of a copy, is 0."""
    values = measured.all("micro/copy_queue/switch_time", variant="switch")
    if not values:
        yield Missing(("engine_switch_ns",), "micro/copy_queue has no switch_time")
        return
    halves = [max(abs(v.value) * v.error * 1e9, 1e-3) for v in values]
    weights = [1 / half**2 for half in halves]
    value = sum(w * v.value * 1e9 for w, v in zip(weights, values)) / sum(weights)
    half = 1 / sum(weights) ** 0.5
    source = "micro/copy_queue switch_time, %d directions" % len(values)
    if value <= max(half, _NEXT_TO_NOTHING * float(found.get("copy_ns") or 0)):
        yield Key("engine_switch_ns", 0, source + ": %.3g ns, within %.3g" % (value, half))
    else:
        yield Key("engine_switch_ns", value, source, half / value)


def keys(measured: Measured, found: dict) -> Iterator[Key | Missing]:
    if measured.device.get("copy_engines") == 0:
        yield Key("copy_engines", 0, "reported by the device: units make its copies")
        yield Missing(_LAWS, "the device has no copy engines")
        return
    by = {str(way.get("direction")): way for way in _ways(measured, "micro/copy_engines")}
    yield from _counts(measured, by)
    yield from _sticky(by)
    yield from _queue(measured)
    yield from _switch(measured, found)
