# SPDX-License-Identifier: BSD-3-Clause
"""The table of kinds."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Callable

from tests.attack import descriptors, faults, full_disk, kills, mutations, options, verdicts
from tests.attack.workplace import Workplace


@dataclass(frozen=True)
class Kind:
    """A function that tries one thing, which its random numbers decide; the failure, or None where everything
    held."""

    attempt: Callable[[Random, Workplace], str | None]
    count: int  # attempts of ./gpusig test


KINDS = {
    "kills": Kind(kills.attempt, 8),
    "full-disk": Kind(full_disk.attempt, 10),
    "descriptors": Kind(descriptors.attempt, 16),
    "mutations": Kind(mutations.attempt, 24),
    "options": Kind(options.attempt, 60),
    "faults": Kind(faults.attempt, 24),
    "verdicts": Kind(verdicts.attempt, 16),
}
