# SPDX-License-Identifier: BSD-3-Clause
"""`./gpusig run --history DIR`: one run more in a folder of them, such as one a night, for ./gpusig compare.

Each is a run of its own, in a folder named after the time at which it began, so that they are in order by
name. Without --seed its seed is that time, too: no two nights have the same data.
"""

from __future__ import annotations

import itertools
import os
import re
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from suite.run import one_machine, report, resume
from suite.command_error import BAD, CommandError
from suite.run.folder import WHOLE, create, refuse_links
from suite.run.resume import Options
from suite.run.run import Run, decide, find

SIGNATURE = report.FILES[0]


def run(options: Options, bin_dir: Path, sources: Path | None, history: Path) -> tuple[int, Path]:
    """Measure one more run of the history; its exit code, and its folder."""
    _refuse_run(history)
    decided, chosen = decide(options, find(bin_dir, sources))
    create(history)
    if others(history):
        one_machine.refuse_in_history(history, decided.device, chosen)
    night = create_night(history, datetime.now(timezone.utc))
    refuse_links(night)
    if options.seed is None:
        decided = replace(decided, seed=seed_of(night))
    code = Run(night, decided, resume.Lock(night), chosen, options.strict).go(None)
    return code, night


def _refuse_run(history: Path) -> None:
    for name in ("records.jsonl", "plan.json", WHOLE):
        if os.path.lexists(history / name):
            raise CommandError(
                f"{history} is a run, or holds those of --repeats: --history takes another folder"
            )


def create_night(history: Path, now: datetime) -> Path:
    """A new folder, such as 20261127T033000Z; a second one of the same second ends in -2."""
    for number in itertools.count(1):
        night = history / (f"{now:%Y%m%dT%H%M%SZ}" + (f"-{number}" if number > 1 else ""))
        try:
            night.mkdir()
            return night
        except FileExistsError:
            continue
        except OSError as error:
            raise CommandError(f"cannot make the folder {night}: {error.strerror}", BAD) from error
    raise AssertionError


def seed_of(night: Path) -> int:
    """A seed from the name of the folder: its second, then two digits for its number within that second."""
    when, _, number = night.name.partition("-")
    return int(re.sub("[^0-9]", "", when)) * 100 + int(number or 1) - 1


def others(history: Path, night: Path | None = None) -> list[Path]:
    """Runs of the history, except `night`, that have a signature that can be read."""
    found = []
    with suppress(OSError):
        for path in history.iterdir():
            with suppress(OSError):
                found += [path] * (path != night and (path / SIGNATURE).is_file())
    return found
