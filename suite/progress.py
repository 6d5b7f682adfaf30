# SPDX-License-Identifier: BSD-3-Clause
"""Progress on stderr while programs run: a live line on a terminal with rich, plain lines elsewhere."""
from __future__ import annotations

import sys
import time
from typing import Protocol

from suite import duration

try:
    import rich.console
    import rich.progress
except ImportError:
    rich = None  # type: ignore[assignment]


class Progress(Protocol):
    """begin, tick about once a second, end; for each program. close at the end."""

    def begin(self, number: int, count: int, name: str, question: str, budget_s: float) -> None: ...

    def tick(self) -> None: ...

    def end(self, name: str, line: str, bad: bool) -> None: ...

    def close(self) -> None: ...


def choose(total_s: float) -> Progress:
    if rich is not None and sys.stderr.isatty():
        return _Live(total_s)
    return _Plain()


class _Plain:
    def __init__(self) -> None:
        self._place = ""

    def begin(self, number: int, count: int, name: str, question: str, budget_s: float) -> None:
        self._place = f"[{number:{len(str(count))}d}/{count}]"
        self._say(f"{self._place} {name}{question and ': '}{question} ({duration.show(budget_s)})")

    def tick(self) -> None:
        pass

    def end(self, name: str, line: str, bad: bool) -> None:
        self._say(f"{' ' * len(self._place)} {line}")

    def close(self) -> None:
        pass

    @staticmethod
    def _say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class _Live:
    """One bar over the whole budget. Drawn only when asked: no thread of the driver runs during a measurement."""

    def __init__(self, total_s: float) -> None:
        columns = rich.progress
        self._bar = columns.Progress(
            columns.TextColumn("{task.fields[place]}", style="dim"),
            columns.BarColumn(bar_width=24),
            columns.TextColumn("{task.fields[clock]}"),
            columns.TextColumn("[bold]{task.fields[name]}[/] {task.fields[question]}"),
            console=rich.console.Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        self._begun = time.monotonic()
        self._total_s = total_s
        self._task = self._bar.add_task("run", total=total_s, place="", clock="", name="", question="")
        self._bar.start()

    def begin(self, number: int, count: int, name: str, question: str, budget_s: float) -> None:
        self._bar.update(self._task, place=f"{number}/{count}", name=name, question=question)
        self.tick()

    def tick(self) -> None:
        elapsed = time.monotonic() - self._begun
        left = max(0.0, self._total_s - elapsed)
        clock = f"{duration.show(elapsed)}, {duration.show(left)} left"
        self._bar.update(self._task, completed=min(elapsed, self._total_s), clock=clock)
        self._bar.refresh()

    def end(self, name: str, line: str, bad: bool) -> None:
        style = "red" if bad else ""
        self._bar.console.print(f"{name}: {line}", style=style, markup=False, highlight=False)
        self.tick()

    def close(self) -> None:
        self._bar.stop()
