# SPDX-License-Identifier: BSD-3-Clause
"""Amount of a long test that is run: a little (./gpusig test), more (--all), or everything (--lab).

A module whose first lines hold `# level: all` or `# level: lab` is run only there. What is asserted of
few seeds is what a right program almost always keeps: bounds here are exact quantiles of the binomial
distribution.
"""

from __future__ import annotations

import math
import os
import unittest
from typing import TypeVar

LAB = os.environ.get("GPUSIG_TEST_LAB") == "1"
ALL = LAB or os.environ.get("GPUSIG_TEST_ALL") == "1"
CHANCE = 0.025 if ALL else 1e-6  # of a false alarm, where a rate is as it should be

only_all = unittest.skipUnless(ALL, "only in ./gpusig test --all")
only_lab = unittest.skipUnless(LAB, "only in ./gpusig test --lab")

_T = TypeVar("_T")


def seeds(quick: _T, everything: _T, lab: _T) -> _T:
    """Number of seeds, or whatever else depends on the level."""
    return lab if LAB else everything if ALL else quick


def most(trials: int, rate: float) -> int:
    """Largest plausible count at this rate: a higher one means that the true rate is higher."""
    left, count = 1.0, -1  # the probability of more than `count`
    while left > CHANCE:
        count += 1
        left -= math.exp(
            math.lgamma(trials + 1)
            - math.lgamma(count + 1)
            - math.lgamma(trials - count + 1)
            + count * math.log(rate)
            + (trials - count) * math.log1p(-rate)
        )
    return count


def least(trials: int, rate: float) -> int:
    """Smallest plausible count at this rate: a lower one means that the true rate is lower."""
    return trials - most(trials, 1 - rate)
