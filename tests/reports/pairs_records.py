# SPDX-License-Identifier: BSD-3-Clause
"""Records of collectives/pairs with a known truth: which link carries how much."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Optional, Sequence, Tuple

from record_writer import Writer, axis, headline, value

RATE, LATENCY = 25e9, 1.5e-6
AXES = {
    "scope": "between",
    "pairing": "round-robin",
    "rounds": "all",
    "concurrent": "yes",
    "window": 16,
    "size": 1 << 20,
}
Rate = Callable[[int, int], float]


def pairs(
    nodes: int,
    rate: Rate = lambda a, b: RATE,
    latency: Rate = lambda a, b: LATENCY,
    noise: float = 0.01,
    hosts: Optional[Sequence[str]] = None,
    place: str = "between nodes",
    flags: Sequence[Any] = (),
    own: Any = None,
    only: Callable[[int, int], bool] = lambda a, b: True,
    adapters: Sequence[Tuple[str, float]] = (),
    **more: Any,
) -> Writer:
    """rate(from, to) and latency(first, second); `only` some pairs; `own`: other axes of the case;
    `adapters`: names, after "adapter_rate ", and rates."""
    case = {**AXES, **(own or {})}
    w = Writer(
        "collectives/pairs",
        [
            headline(
                "pairs_min_bandwidth",
                "min_bandwidth",
                {"scope": "between", "concurrent": "yes", "size": 1 << 20},
            )
        ],
        [axis(name, "byte" if name == "size" else "", [word]) for name, word in case.items()],
        **more,
    )
    w.lines[0]["job"] = {"library": "Open MPI v4.1.4", "processes": nodes, "hosts": nodes}

    def measured(name: str, variant: str, number: float, unit: str) -> Any:
        return value(
            name, variant, number, unit, ci_low=number * (1 - noise), ci_high=number * (1 + noise), rounds=20
        )

    links = []
    for a, b in itertools.combinations(range(nodes), 2):
        if only(a, b):
            name = "link_%%s %d-%d" % (a, b)
            links += [
                measured(name % "bandwidth", "forward", rate(a, b), "byte/s"),
                measured(name % "bandwidth", "backward", rate(b, a), "byte/s"),
                measured(name % "bandwidth", "both_ways", rate(a, b) + rate(b, a), "byte/s"),
                measured(name % "latency", "round_trip", latency(a, b), "s"),
            ]
    rates = sorted(d["value"] for d in links if d["variant"] in ("forward", "backward"))
    middle = rates[len(rates) // 2]
    derived = [
        *links,
        value("min_bandwidth", None, rates[0], "byte/s"),
        value("median_bandwidth", None, middle, "byte/s"),
        *(measured("adapter_rate " + name, "both_ways", rate, "byte/s") for name, rate in adapters),
    ]
    line = w.case(
        case,
        [w.variant(v, 1e-2) for v in ("forward", "backward", "both_ways", "round_trip")],
        derived,
        flags=flags,
    )
    if flags:
        line["validity"]["valid"] = all(flag["flag"] == "contended" for flag in flags)
    every = nodes - 1 + nodes % 2
    line["facts"] = {
        "ranks": nodes,
        "nodes": nodes,
        "rounds": every,
        "rounds_of_all_pairs": every,
        "pairs": len(links) // 4,
        "place": place,
        "transport": "host memory",
        "hosts": " ".join(hosts or ["n%d" % (i + 1) for i in range(nodes)]),
    }
    return w.end()
