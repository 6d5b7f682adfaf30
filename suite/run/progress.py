# SPDX-License-Identifier: BSD-3-Clause
"""Progress on stderr while programs run: a live bar on a terminal with rich, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Protocol

from suite import duration
from suite.saying import show

try:
    import rich.console
    import rich.live
    import rich.progress_bar
    import rich.table
    import rich.text
except ImportError:
    rich = None  # type: ignore[assignment]

_INDENT = " " * 4


class Progress(Protocol):
    """A display of progress: begin_pass; for each program of the pass begin, tick about once a second, and
    end; close at the end."""

    def begin_pass(self, name: str, count: int) -> None: ...

    def begin(self, name: str, question: str, budget_s: float) -> None: ...

    def tick(self) -> None: ...

    def end(self, name: str, line: str, bad: bool) -> None: ...

    def close(self) -> None: ...


def choose(total_s: float, watched: Path, part: str | None = None) -> Progress:
    """The display for this terminal. `watched`: the file in which the running program says which case it is
    at (bench/cases/case_progress.h). For a run that is a `part`, only failures stay on the screen."""
    if rich is not None and sys.stderr.isatty():
        return Live(total_s, watched, rich.console.Console(stderr=True), part)
    return _Plain() if part is None else _OnlyFailures()


class _Counter:
    """The place in a pass: "curves 3/22"."""

    def __init__(self, part: str = "") -> None:
        self._part = part
        self._pass, self._count, self._number = "", 0, 0

    def begin_pass(self, name: str, count: int) -> None:
        self._pass, self._count, self._number = name, count, 0

    def begin(self) -> None:
        self._number += 1

    @property
    def place(self) -> str:
        return (
            f"{self._part}{self._pass} {self._number:{len(str(self._count))}d}/{self._count}"
            if self._pass
            else ""
        )


class _Plain:
    def __init__(self) -> None:
        self._counter = _Counter()
        self._asked: set[str] = set()

    def begin_pass(self, name: str, count: int) -> None:
        self._counter.begin_pass(name, count)

    def begin(self, name: str, question: str, budget_s: float) -> None:
        self._counter.begin()
        place = f"[{self._counter.place}] " if self._counter.place else ""
        show(f"{place}{name} ({duration.show(budget_s)})")
        if question and name not in self._asked:
            show(question, _INDENT)
        self._asked.add(name)

    def tick(self) -> None:
        pass

    def end(self, name: str, line: str, bad: bool) -> None:
        show(line, _INDENT)

    def close(self) -> None:
        pass


class _OnlyFailures(_Plain):
    def begin(self, name: str, question: str, budget_s: float) -> None:
        pass

    def end(self, name: str, line: str, bad: bool) -> None:
        if bad:
            show(f"{name}: {line}")


class Live:
    """A bar over the whole budget, with the running case and the last headline number below. It is drawn only
    in tick(), as no thread of the driver may run during a measurement."""

    def __init__(
        self, total_s: float, watched: Path, console: "rich.console.Console", part: str | None = None
    ) -> None:
        self._counter = _Counter(part or "")
        self._only_failures = part is not None
        self._watched = watched
        self._begun = time.monotonic()
        self._total_s = total_s
        self._name = self._tail = ""
        self._live = rich.live.Live(console=console, auto_refresh=False, transient=True)
        self._live.start()

    def begin_pass(self, name: str, count: int) -> None:
        self._counter.begin_pass(name, count)

    def begin(self, name: str, question: str, budget_s: float) -> None:
        self._counter.begin()
        self._name = name
        self._draw(name + self._tail)

    def tick(self) -> None:
        now = read(self._watched)
        if now.get("last"):
            self._tail = "   " + headline(now["last"])
        case = f" {now['number']}/{now['of']} {now['key']}" if now else ""
        self._draw(self._name + case + self._tail)

    def _draw(self, line: str) -> None:
        elapsed_s = time.monotonic() - self._begun
        left_s = max(0.0, self._total_s - elapsed_s)
        bar = rich.table.Table.grid(padding=(0, 1))
        bar.add_row(
            rich.progress_bar.ProgressBar(self._total_s, min(elapsed_s, self._total_s), width=24),
            f"{duration.show(elapsed_s)}, {duration.show(left_s)} left",
            self._counter.place,
        )
        where = rich.text.Text(line, no_wrap=True, overflow="ellipsis")
        self._live.update(rich.console.Group(bar, where), refresh=True)

    def end(self, name: str, line: str, bad: bool) -> None:
        if self._only_failures and not bad:
            return
        self._live.console.print(f"{name}: {line}", style="red" if bad else "", markup=False, highlight=False)

    def close(self) -> None:
        self._live.stop()


def read(watched: Path) -> dict:
    """The program's progress; empty where there is none, or it is being written."""
    try:
        now = json.loads(watched.read_text(encoding="utf-8"))
        return now if isinstance(now, dict) and {"number", "of", "key"} <= set(now) else {}
    except (OSError, ValueError):
        return {}


def headline(last: dict) -> str:
    """Text of the last headline number: "triad bandwidth 31.2 GB/s" """
    return f"{str(last.get('metric')).replace('_', ' ')} {last.get('text')}"
