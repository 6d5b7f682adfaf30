# SPDX-License-Identifier: BSD-3-Clause
"""A table for runtimes: the times of all schedules at a grid of shapes, simulated on the model of a
signature. advise/advise.h reads it, and says what its lines are."""

from __future__ import annotations

import os
import textwrap
from concurrent.futures import ThreadPoolExecutor
from typing import Iterator, Mapping, NamedTuple, Sequence

from reports.advice.ask import PROGRAM, Adviser, AdviseError, Sides, Times, Work, measured_with
from reports.records.jsonl import clean, whole_in
from reports.signature.chunks import CHUNKS, ways_of

FORMAT = 1
MOST_VALUES, MOST_WAYS = 256, 64  # of a side, and of a grid, that advise/advise.h reads
_MOST_POINTS = 20000  # of a grid
_MOST_SIDE = (1 << 32) - 1
_LUMP = 64  # shapes in a process
_CHECKED = 3  # of the shapes of a grid, for what would be made up
_WIDTH = 100


class Grid(NamedTuple):
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]

    def points(self) -> list[Sides]:
        """In the order of the table."""
        return [(m, n, k) for m in self.m for n in self.n for k in self.k]


def _range(first: int, last: int) -> Iterator[int]:
    """Two points an octave, powers of two and 1.5 times these, and both ends."""
    yield first
    power = 1
    while power < last:
        yield from (x for x in (power, power * 3 // 2) if first < x < last)
        power *= 2
    yield last


def values_of(text: str) -> tuple[int, ...]:
    """The values of a side: "4096", "1024,4096" or "256:16384". ValueError for other texts."""
    found: set[int] = set()
    for part in text.split(","):
        ends = [whole_in(end) for end in part.split(":")]
        if len(ends) > 2 or any(end is None or not 1 <= end <= _MOST_SIDE for end in ends):
            raise ValueError(text)
        first, last = int(ends[0] or 0), int(ends[-1] or 0)
        if first > last:
            raise ValueError(text)
        found.update(_range(first, last))
    return tuple(sorted(found))


def check(grid: Grid) -> None:
    """AdviseError where it has more points than a table is for."""
    count = len(grid.m) * len(grid.n) * len(grid.k)
    if count > _MOST_POINTS or max(map(len, grid)) > MOST_VALUES:
        limits = count, _MOST_POINTS, MOST_VALUES
        raise AdviseError("a grid of %d shapes: at most %d, and %d values of a side" % limits)


def times_at(adviser: Adviser, grid: Grid, work: Work) -> dict[Sides, Times]:
    """The times at all points, as many processes at once as there are cores."""
    points = grid.points()
    lumps = [points[i : i + _LUMP] for i in range(0, len(points), _LUMP)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        parts = pool.map(lambda lump: adviser.times(lump, work), lumps)
        return {sides: times for part in parts for sides, times in part.items()}


def _lines(grid: Grid, work: Work, times: Mapping[Sides, Times]) -> Iterator[str]:
    ways = list(dict.fromkeys(way for own in times.values() for way in own))
    yield "grid %s %s %d" % work
    yield "ways " + " ".join("%s/%s" % way for way in ways)
    for name, values in zip("mnk", grid):
        yield "%s %s" % (name, " ".join(map(str, values)))
    for point in grid.points():
        own = times.get(point, {})
        yield " ".join("%.6g" % own[way] if way in own else "-" for way in ways)


def _head(adviser: Adviser, command: str, notes: Sequence[str]) -> Iterator[str]:
    yield "gpusig advice %d" % FORMAT
    told = "Times of %s on the model of %s, for advise/advise.h. %s" % (
        PROGRAM,
        adviser.signature["device"],
        clean(command),
    )
    for text in (told, *notes):
        yield from textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ")
    scored = PROGRAM in adviser.checked
    yield "error %.4g" % adviser.ratio_error() if scored else "error -"
    for way in ways_of(adviser.signature):
        advice = way["advice"]
        if advice["verdict"] == CHUNKS:
            values = advice["yield"], advice["chunk_byte"], advice["wait_s"], advice["rate_kept"]
            yield "chunk %s %s %d %.6g %.6g" % (way["direction"], *values)


def text(
    adviser: Adviser,
    grid: Grid,
    times: Mapping[Work, Mapping[Sides, Times]],
    command: str,
    notes: Sequence[str],
) -> str:
    lines = [line for work, own in times.items() for line in _lines(grid, work, own)]
    return "\n".join([*_head(adviser, command, notes), *lines, "end"]) + "\n"


def table(adviser: Adviser, grid: Grid, works: Sequence[Work], command: str, notes: Sequence[str]) -> str:
    """NoAnswer where no shape of an operation is possible, or its times would be made up."""
    times = {work: times_at(adviser, grid, work) for work in works}
    for work, own in times.items():
        possible = [sides for sides in grid.points() if own.get(sides)]
        adviser.predict((possible or grid.points())[:: max(1, len(possible) // _CHECKED)], work)
    devices = max(work.devices for work in works)
    return text(adviser, grid, times, command, [*notes, *filter(None, [measured_with(adviser, devices)])])
