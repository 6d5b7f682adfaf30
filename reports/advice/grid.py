# SPDX-License-Identifier: BSD-3-Clause
"""A table for runtimes: the times of all schedules at a grid of shapes, simulated on the model of a
signature. advise/advise.h reads it, and says what its lines are."""

from __future__ import annotations

import math
import os
import statistics
import textwrap
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from typing import Iterator, Mapping, NamedTuple, Sequence

from reports.advice.ask import (
    PROGRAM,
    ROWS,
    Adviser,
    AdviseError,
    NoAnswer,
    Sides,
    Times,
    Work,
    corrected_by,
    measured_with,
)
from reports.records.jsonl import clean, whole_in
from reports.records.quantity import percent
from reports.signature.chunks import CHUNKS, ways_of

FORMAT = 1
MOST_VALUES = 256  # of a side, that advise/advise.h reads
_MOST_POINTS = 20000  # of a grid
_MOST_SIDE = 1 << 24  # of a GEMM, in the programs
_AN_OCTAVE, _MOST_AN_OCTAVE = 4, 64  # points
_LUMP = 64  # shapes in a process
_TRIED = 32  # shapes between the points, for the error of interpolation
_CHECKED = 3  # of the shapes of a grid, for what would be made up
_WIDTH = 100


class Grid(NamedTuple):
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]

    def points(self) -> list[Sides]:
        """In the order of the table."""
        return [(m, n, k) for m in self.m for n in self.n for k in self.k]


def _range(first: int, last: int, points: int) -> Iterator[int]:
    """Both ends, and between them so many points an octave: 4, 5, 6, 7, 8, 10, ... times a power of two."""
    yield first
    power = 1
    while power < last:
        octave = (power * (points + i) // points for i in range(points))
        yield from (x for x in octave if first < x < last)
        power *= 2
    yield last


def values_of(text: str) -> tuple[int, ...]:
    """The values of a side: "4096", "1024,4096", "256:16384", or "256:16384:8" with so many points an octave.
    ValueError for other texts."""
    found: set[int] = set()
    for part in text.split(","):
        words = [whole_in(word) for word in part.split(":")]
        first, last = words[0], words[min(1, len(words) - 1)]
        points = words[2] if len(words) > 2 else _AN_OCTAVE
        if len(words) > 3 or first is None or last is None or points is None:
            raise ValueError(text)
        if not (1 <= first <= last <= _MOST_SIDE and 1 <= points <= _MOST_AN_OCTAVE):
            raise ValueError(text)
        found.update(_range(first, last, points))
    return tuple(sorted(found))


def check(grid: Grid) -> None:
    """AdviseError where it has more points than a table is for."""
    count = len(grid.m) * len(grid.n) * len(grid.k)
    if count > _MOST_POINTS or max(map(len, grid)) > MOST_VALUES:
        limits = count, _MOST_POINTS, MOST_VALUES
        raise AdviseError("a grid of %d shapes: at most %d, and %d values of a side" % limits)


def _times(adviser: Adviser, points: Sequence[Sides], work: Work) -> dict[Sides, Times]:
    """As many processes at once as there are cores."""
    lumps = [points[i : i + _LUMP] for i in range(0, len(points), _LUMP)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        parts = pool.map(lambda lump: adviser.times(lump, work), lumps)
        return {sides: times for part in parts for sides, times in part.items()}


def times_at(adviser: Adviser, grid: Grid, work: Work) -> dict[Sides, Times]:
    """The times at all points."""
    return _times(adviser, grid.points(), work)


# ------------------------------------------------------------------ between the points


def _corners(grid: Grid, sides: Sides) -> Iterator[tuple[Sides, float]]:
    """The points around a shape that is on none, and their shares, as in advise/advise.c."""
    around = []
    for values, side in zip(grid, sides):
        above = bisect_right(values, side)
        low, high = values[above - 1], values[min(above, len(values) - 1)]
        share = 0.0 if low == high else math.log(side / low) / math.log(high / low)
        around.append([(low, 1 - share)] + [(high, share)] * (share > 0))
    of_m, of_n, of_k = around
    for m, a in of_m:
        for n, b in of_n:
            yield from (((m, n, k), a * b * c) for k, c in of_k)


def interpolated(grid: Grid, times: Mapping[Sides, Times], sides: Sides) -> Times:
    """The times that a table gives for a shape: of the ways that are possible at all points around."""
    corners = [(times.get(point, {}), share) for point, share in _corners(grid, sides)]
    ways = [way for way in corners[0][0] if all(way in own for own, _ in corners)]
    return {way: math.exp(sum(share * math.log(own[way]) for own, share in corners)) for way in ways}


def _middles(grid: Grid) -> list[Sides]:
    """Shapes in the middle between points, of all sizes."""
    m, n, k = (
        values if len(values) == 1 else [(a + b) // 2 for a, b in zip(values, values[1:]) if b > a + 1]
        for values in grid
    )
    found = [(a, b, c) for a in m for b in n for c in k]
    return found[:: max(1, len(found) // _TRIED)] if len(grid.points()) > 1 else []


def off_between(adviser: Adviser, grid: Grid, work: Work, times: Mapping[Sides, Times]) -> list[float]:
    """Relative errors of ratios between the times of the chosen and of each other way, in the middle between
    points."""
    found = []
    for sides, true in _times(adviser, _middles(grid), work).items():
        told = interpolated(grid, times, sides)
        known = [way for way in told if way in true]
        best = min(known, key=lambda way: told[way], default=None)
        for way in known if best else ():
            if way != best:
                ratio = told[way] / told[best] / (true[way] / true[best])  # type: ignore[index]
                found.append(math.expm1(abs(math.log(ratio))))
    return found


# ------------------------------------------------------------------ the text


def _lines(grid: Grid, work: Work, times: Mapping[Sides, Times]) -> Iterator[str]:
    ways = list(dict.fromkeys(way for own in times.values() for way in own))
    yield "grid %s %s %d" % work[:3]
    yield "ways " + " ".join("/".join(way[: 2 + (way.cut != ROWS)]) for way in ways)
    for name, values in zip("mnk", grid):
        yield "%s %s" % (name, " ".join(map(str, values)))
    for point in grid.points():
        own = times.get(point, {})
        yield " ".join("%.6g" % own[way] if way in own else "-" for way in ways)


def _head(adviser: Adviser, command: str, notes: Sequence[str], off: Sequence[float]) -> Iterator[str]:
    yield "gpusig advice %d" % FORMAT
    told = "Times of %s on the model of %s, for advise/advise.h. %s" % (
        PROGRAM,
        adviser.signature["device"],
        clean(command),
    )
    for note in (told, *notes):
        yield from textwrap.wrap(note, _WIDTH, initial_indent="# ", subsequent_indent="# ")
    error = math.hypot(adviser.ratio_error(), statistics.median(off) if off else 0.0)
    yield "error %.4g" % error if PROGRAM in adviser.checked else "error -"
    for way in ways_of(adviser.signature):
        advice = way["advice"]
        if advice["verdict"] == CHUNKS:
            values = advice["yield"], advice["chunk_byte"], advice["wait_s"], advice["rate_kept"]
            yield "chunk %s %s %d %.6g %.6g" % (way["direction"], *values)


def text(
    adviser: Adviser,
    grid: Grid,
    times: Mapping[Work, Mapping[Sides, Times]],
    command: str = "",
    notes: Sequence[str] = (),
    off: Sequence[float] = (),
) -> str:
    """The table. `off`: the errors of ratios between its points."""
    lines = [line for work, own in times.items() for line in _lines(grid, work, own)]
    return "\n".join([*_head(adviser, command, notes, off), *lines, "end"]) + "\n"


def table(adviser: Adviser, grid: Grid, works: Sequence[Work], command: str, notes: Sequence[str]) -> str:
    """The table of all works of which a shape is possible and whose times would not be made up; a remark says
    why others are left out. NoAnswer where there are others alone."""
    times: dict[Work, Mapping[Sides, Times]] = {}
    off, refused = [], []
    for work in works:
        try:
            own = times_at(adviser, grid, work)
            possible = [sides for sides in grid.points() if own.get(sides)]
            adviser.predict((possible or grid.points())[:: max(1, len(possible) // _CHECKED)], work)
        except NoAnswer as why:
            refused.append((work, why))
            continue
        times[work] = own
        off += off_between(adviser, grid, work, own)
    if not times:
        raise refused[0][1]
    said = [*notes, measured_with(adviser, max(work.devices for work in works))]
    said += ["No grid of %s %s: %s" % (work.op, work.type, clean(str(why))) for work, why in refused]
    said += dict.fromkeys(corrected_by(adviser, work.op) for work in times)
    if off:
        of_off = percent(statistics.median(off)), percent(max(off))
        said.append(
            "Ratios between ways are off by %s in the median between the points, %s at most." % of_off
        )
    return text(adviser, grid, times, command, [note for note in said if note], off)
