# SPDX-License-Identifier: BSD-3-Clause
"""A prediction with everything that a page may show, as reports/predict/answer.py gives it."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

Json = Dict[str, Any]
SHARE = (1.0, 0.83, 0.7)  # of the time, on the model and on each changed model


def _row(variant: str, seconds: float, measured: Optional[float]) -> Json:
    return {
        "variant": variant,
        "measured_s": measured,
        "model_s": seconds,
        "model_error": None if measured is None else seconds / measured - 1,
        "changed_s": [seconds * share for share in SHARE],
    }


def _case(number: int, word: str) -> Json:
    serial = 1e-3 / number
    variants = [_row(name, serial * (1 + i / 9), serial) for i, name in enumerate(("serial", "shard", word))]
    best = {
        **variants[0],
        "of": [row["variant"] for row in variants],
        "ways": ["serial"] * 3 + ["shard", word],
    }
    return {
        "case": "op=ag-gemm shape=g%d type=%s" % (number, word),
        "reason": "",
        "fastest": [best],
        "variants": variants,
    }


def full(word: str = "bf16") -> Json:
    """`word` stands where a machine or a user gives the words."""
    changes: List[Json] = [
        {"label": word, "change": "peer_bandwidth=2x,%s=2x" % word, "ratio": 1.0, "with_more": 0.9,
         "remarks": ["peer_bandwidth brings nothing alone: it needs %s raised with it" % word]},
        {"label": "copy_engines=2x", "change": "copy_engines=2x", "ratio": 0.83, "with_more": None,
         "remarks": []},
        {"label": "all together", "change": "", "ratio": 0.7, "with_more": None, "remarks": []},
    ]  # fmt: skip
    keys = ("flops_bf16", "gemm_efficiency", "injection_bandwidth", "copy_ns", "units")
    tornado = [
        {"key": key, "change": key + "=1.1x", "before": 5e11, "ratio": 0.9 + i / 50, "reason": ""}
        for i, key in enumerate(keys)
    ]
    points = [{"value": 1e11 * 2**i, "ratio": 1 / (1 + i / 3), "reason": ""} for i in range(6)]
    lost = {
        "case": "op=gemm-rs shape=g1",
        "reason": word + " is not supported",
        "fastest": [],
        "variants": [],
    }
    return {
        "schema": "gpusig.predict",
        "version": "1.0.0",
        "exit": 0,
        "machine": {"name": "A machine", "devices": "0-7", "fitted": True, "simulated": True},
        "program": "overlap/ficco",
        "options": ["--shape", word],
        "alternatives": changes,
        "cases": [_case(number, word) for number in range(1, 17)] + [lost],
        "error": {
            "compared": 48,
            "measured_instead": "",
            "median": 0.03,
            "largest": 0.1,
            "same_fastest": 15,
            "fastest_compared": 16,
            "cases": 3,
            "keys": [{"key": "flops_bf16", "error": 0.08, "ratio": 0.93}],
            "unmeasured": {"count": 9, "keys": [{"key": word, "change": word + "=2x", "ratio": 0.8}]},
        },
        "sweep": {
            "key": "memory_bandwidth", "base": 1e11, "points": points, "pays": "at", "pays_to": 8e11,
            "least": 0.05,
        },
        "tornado": {"step": 0.1, "tried": 50, "keys": tornado},
    }  # fmt: skip
