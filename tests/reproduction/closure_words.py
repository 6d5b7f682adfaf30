# SPDX-License-Identifier: BSD-3-Clause
"""The document of closure.py."""

from __future__ import annotations

import fnmatch
import re
import textwrap
from typing import Iterator

import closure_tables as tables
from closure_tables import percent, signed

HEAD = """# A model of a measured machine, and the machine

`./gpusig model SIGNATURE` makes a model of a machine from its signature; `--device sim:FILE` runs it. Here machines
are measured, their models are measured alike, and both are compared: what comes back, and what does not. A headline
number is *missed* where the model's differs by more than the bar. No fit reads overlap/* and collectives/device_*,
but for the copies of overlap/units (unit_bandwidth): their numbers are predictions. Of these programs also the times
of all variants of all cases are compared, and the *fastest way*: of the variants that do the same work, the one that
is fastest on the model. It is right where it is the fastest on the machine, too, or there within 2 % of it or within
the intervals of both.
<!-- not run: minutes -->
`python3 tests/reproduction/closure.py builtin forms host` writes this file, in about half an hour; the host should
be idle. Nothing here ran on a GPU.
"""
_WIDTH = 118
PARTS = {
    "builtin": (
        "Built-in models",
        "The signature is of `./gpusig run --device sim:NAME`, and that of its model of `./gpusig run --headline`. "
        "Fits see what a GPU reports as well, never the keys of the model.",
    ),
    "forms": (
        "Laws that the model may not have",
        "The built-in model a100 on four devices, of which something is changed. The truth is known: it is the "
        "changed machine. How far its model is off shows what a law costs that no fit has. Of two forms there is no "
        "result: where durations of every block vary (block_jitter_sigma = 0.05), and where they grow "
        "(drift_per_s = 0.02, in whose model blocks vary), a run takes many minutes, and was ended.",
    ),
    "host": (
        "A processor",
        "The machine that wrote this file, as two devices, and its model, which has the laws of a GPU. Both ran the "
        "same cases. In brackets: numbers that the model has within the interval of the machine's own samples.",
    ),
}
# Causes of misses, by the pattern of their names; the first that matches is shown. Found by hand, with
# the number's model and machine side by side.
CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        "builtin",
        "mi300x: collectives/device_reduce_scatter/*",
        "engine_cache is not known there: what engines write is not in the model's cache. With engine_cache = through the "
        "number is right",
    ),
    (
        "builtin",
        "t3-8: *",
        "memory queues, in which GEMMs wait behind copies (queue_wait_ns_per_kib, memory_control): no fit reads them. "
        "With these keys, memory_adds, tracker_entries and engine_weight set by hand 89 of 90 are right",
    ),
    (
        "forms",
        "a slow kernel: *",
        "the kernel that adds is slower than its traffic explains, which is in no key that a fit gives (slow_down)",
    ),
    (
        "host",
        "host: micro/copy_engines/*",
        "the device reports two engines, of which one answers, and the model has two",
    ),
    (
        "host",
        "host: micro/launch/*",
        "supposed: the host's thread waits for another one to wake up; value_ns is not fitted here",
    ),
    (
        "host",
        "host: *",
        "kernels, engines, both devices and the calls share two cores, and copies of what caches hold are faster "
        "([advice.md](advice.md#on-the-host)): no key of the model says so. Supposed of each number",
    ),
)


def _prose(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def cause(part: str, machine: str, name: str) -> str:
    own = f"{machine}: {name}"
    return next(
        (why for where, pattern, why in CAUSES if where == part and fnmatch.fnmatchcase(own, pattern)), ""
    )


def _causes(part: str, missed: list[tuple[str, str]]) -> Iterator[str]:
    """The causes of those numbers of machines that are missed, by machine."""
    found: dict[str, dict[str, int]] = {}
    for machine, name in missed:
        why = cause(part, machine, name) or "not known"
        own = found.setdefault(machine, {})
        own[why] = own.get(why, 0) + 1
    for machine, own in found.items():
        for why, count in own.items():
            yield _prose(f"- {machine}, {count}: {why}.", "  ")
    yield ""


def _table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def _of(good: int, count: int) -> str:
    return f"{good} of {count}"


def _summary(part: str, pairs: list) -> list[list[str]]:
    bar, rows = tables.BARS[part], []
    for pair in pairs:
        name = pair.machine.name + (f": {pair.machine.change}" if pair.machine.change else "")
        if pair.after is None:
            rows.append([name, "**no model**", pair.why, "", "", ""])
            continue
        found = tables.rows(pair.before, pair.after)
        known = [abs(row.off) for row in found if row.after is not None]
        within = _of(sum(row.within(bar) for row in found), len(found))
        if part == "host":
            within += f" ({sum(row.within(bar) or row.in_interval() for row in found)})"
        far = max((row for row in found if row.after is not None), key=lambda row: abs(row.off), default=None)
        errors = [error for own in tables.times(pair.before, pair.after).values() for error in own]
        chosen = tables.choices(pair.before, pair.after)
        rows.append(
            [
                name,
                within,
                percent(tables.median(known)),
                f"{far.name} {signed(far.off)}" if far else "-",
                f"{percent(tables.median(errors))} of {len(errors)}",
                _of(sum(choice.good for choice in chosen), len(chosen)),
            ]
        )
    return rows


def _misses(part: str, pairs: list) -> Iterator[str]:
    off: dict[str, list[str]] = {}
    missed = []
    for pair in (pair for pair in pairs if pair.after is not None):
        for row in tables.misses(tables.rows(pair.before, pair.after), tables.BARS[part]):
            how = signed(row.off) if row.after is not None else f"missing: {row.why}"
            own = "" if part == "host" else f"{pair.machine.name} "
            inside = " (in its interval)" if part == "host" and row.in_interval() else ""
            off.setdefault(row.name, []).append(own + how + inside)
            missed.append((pair.machine.name, row.name))
    yield f"### Missed by more than {100 * tables.BARS[part]:.0f} %\n"
    if not off:
        yield "None.\n"
        return
    yield from _table(["number", "off"], [[name, ", ".join(off[name])] for name in sorted(off)])
    yield "Causes, by machine:\n"
    yield from _causes(part, missed)


def _unseen(pairs: list) -> Iterator[str]:
    errors: dict[str, list[float]] = {}
    good: dict[str, list[bool]] = {}
    loss: dict[str, float] = {}
    for pair in (pair for pair in pairs if pair.after is not None):
        for program, own in tables.times(pair.before, pair.after).items():
            errors.setdefault(program, []).extend(own)
        for choice in tables.choices(pair.before, pair.after):
            good.setdefault(choice.program, []).append(choice.good)
            loss[choice.program] = max(loss.get(choice.program, 0.0), choice.loss)
    yield "### Programs that no fit reads\n"
    rows = []
    for program in sorted(errors):
        middle, own = tables.median(errors[program]), good.get(program, [])
        rows.append(
            [
                program,
                str(len(errors[program])),
                percent(middle) + (" **miss**" if middle > tables.UNSEEN_BAR else ""),
                percent(tables.median([statistics_tail(errors[program])])),
                _of(sum(own), len(own)) if own else "-",
                percent(loss[program]) if own else "-",
            ]
        )
    head = ["program", "times", "off, median", "off, 9 of 10 within", "fastest way right", "largest loss"]
    yield from _table(head, rows)


def statistics_tail(errors: list[float]) -> float:
    return sorted(map(abs, errors))[min(len(errors) - 1, int(0.9 * len(errors)))]


def _keys(pairs: list) -> Iterator[str]:
    off: dict[str, list[str]] = {}
    count = good = 0
    for pair in (pair for pair in pairs if pair.after is not None):
        for name, truth, fitted in tables.keys(pair.before.truth, pair.model):
            count += 1
            if tables.same_key(truth, fitted):
                good += 1
            else:
                said = "as in the default" if fitted is None else f"{fitted} for"
                off.setdefault(name, []).append(f"{pair.machine.name} {said} {truth}")
    yield "### Keys against the truth\n"
    yield (
        f"{good} of {count} keys of the models are within 5 % of those of the machine, or the same. The others,\n"
        "and those that no fit gives:\n"
    )
    yield from _table(["key", "fitted, for the truth"], [[name, ", ".join(own)] for name, own in off.items()])


def _not_fitted(pairs: list) -> Iterator[str]:
    whole = "\n".join(re.sub(r"\n# (?!As in |Whole )", " ", pair.model) for pair in pairs)
    lines = re.findall(r"^# As in \w+: (.*)$", whole, re.M)
    if lines:
        yield "Keys of the default, because they were not measured:\n"
        yield from (_prose(f"- {line}", "  ") for line in dict.fromkeys(lines))
        yield ""


def _verdict(part: str, pairs: list) -> str:
    """A sentence with what was asked for."""
    found = [row for pair in pairs if pair.after for row in tables.rows(pair.before, pair.after)]
    bar = tables.BARS[part]
    seen = [row for row in found if not tables.unseen(row.program)]
    good = sum(row.within(bar) for row in (seen if part == "host" else found))
    errors = [e for p in pairs if p.after for own in tables.times(p.before, p.after).values() for e in own]
    chosen = [c for p in pairs if p.after for c in tables.choices(p.before, p.after)]
    middle, right = tables.median(errors), sum(c.good for c in chosen)
    return (
        f"{_of(good, len(seen if part == 'host' else found))} headline numbers"
        f"{' of programs that fits read' if part == 'host' else ''} are within {100 * bar:.0f} %. "
        f"Times of programs that no fit reads are off by {percent(middle)} in the median of {len(errors)}, "
        f"and the fastest way is right in {_of(right, len(chosen))} cases"
        f"{f' ({100 * right / len(chosen):.0f} %)' if chosen else ''}."
    )


def document(found: dict[str, list]) -> Iterator[str]:
    yield HEAD
    for part, pairs in found.items():
        title, said = PARTS[part]
        yield f"## {title}\n"
        yield _prose(said) + "\n"
        yield _prose(_verdict(part, pairs)) + "\n"
        head = ["machine", f"within {100 * tables.BARS[part]:.0f} %", "off, median", "farthest"]
        head += ["times of unseen programs, median", "fastest way right"]
        yield from _table(head, _summary(part, pairs))
        yield from _misses(part, pairs)
        yield from _unseen(pairs)
        if part == "builtin":
            yield from _keys(pairs)
        if part == "host":
            yield from _not_fitted(pairs)
