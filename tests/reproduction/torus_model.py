# SPDX-License-Identifier: BSD-3-Clause
"""bin/topology/torus as numbers, and how numbers are written in docs/reproduction/swing.md."""

from __future__ import annotations

import json
import math
import subprocess

from simulate import TORUS

KIB, MIB = 1 << 10, 1 << 20
FITTED = ("0.455us", "0.4us")  # a step, a hop: fitted to the run times that the paper prints for 32 B
SIZES = (32, 2 * KIB, 128 * KIB, 2 * MIB, 32 * MIB)
SWEEP = tuple(32 * 2**k for k in range(25))  # 32 B to 512 MiB
LINK_RATE = 50e9  # byte/s in one direction, the 400 Gb/s of the paper
NEAR = 0.1
LAST_DIGIT = 0.005  # half of it, of a paper's ratio
EQUAL = 1e-9  # exact times that differ by less are a tie
ONE = ":1"  # behind the name of an algorithm that runs on one port
ALGORITHMS = "ring,bucket,rd-l,rd-b,rd-mirrored,swing-l,swing-b"

# Swing is the faster of its latency and its bandwidth variant. The paper runs the first on one port, as Psi =
# D log2 p in its table says; with the schedules of this project it can use all.
ONE_PORT, ALL_PORTS = ("swing-l" + ONE, "swing-b"), ("swing-l", "swing-b")
KNOWN = (
    "ring",
    "bucket",
    "rd-l",
    "rd-b",
)  # what the paper compares with: plain recursive doubling has one port


class Model:
    """topology/torus, asked once for each network. `algorithm` of its methods may end in ONE."""

    def __init__(self, step: str, hop: str, bandwidth: float = LINK_RATE) -> None:
        self._costs = ["--step", step, "--hop", hop, "--bandwidth", "%d" % bandwidth]
        self._known: dict[tuple[str, str, int], dict[str, float]] = {}

    def learn(self, shape: str, algorithms: str, sizes: tuple[int, ...], suffix: str = "") -> None:
        words = [
            str(TORUS),
            "--shape",
            shape,
            "--algorithm",
            algorithms,
            "--size",
            ",".join(map(str, sizes)),
            *self._costs,
        ]
        done = subprocess.run(
            [*words, "--ports", "1" if suffix else "all", "--format", "json"],
            capture_output=True,
            text=True,
            check=True,
        )
        for record in map(json.loads, done.stdout.splitlines()):
            if record["kind"] == "case" and record["status"] == "ok":
                place = record["case"]
                values = {d["name"]: d["value"] for d in record["derived"]}
                self._known[shape, place["algorithm"] + suffix, place["size"]] = values

    def of(self, shape: str, algorithm: str, size: int) -> dict[str, float]:
        if (shape, algorithm, size) not in self._known:
            # A ring needs a cycle through all nodes.
            names = (
                ALGORITHMS
                if "x" in shape and shape.count("x") == 1 or ":" in shape
                else ALGORITHMS.partition(",")[2]
            )
            sizes = tuple({*SWEEP, *SIZES})
            self.learn(shape, names, sizes)
            self.learn(shape, "swing-l,rd-l", sizes, ONE)
        return self._known[shape, algorithm, size]

    def time(self, shape: str, algorithm: str, size: int) -> float:
        return self.of(shape, algorithm, size)["time"]

    def best(self, shape: str, algorithms: tuple[str, ...], size: int) -> tuple[float, str]:
        """The smallest time, and all algorithms that have it."""
        times = {}
        for name in algorithms:
            try:
                times[name] = self.time(shape, name, size)
            except KeyError:
                continue
        least = min(times.values())
        names = [name.replace(ONE, "") for name, time in times.items() if time <= least * (1 + EQUAL)]
        return least, names[0] if len(names) == 1 else "tie of " + " and ".join(names)

    def peak_share(self, shape: str, algorithm: tuple[str, ...], size: int) -> float:
        return size / self.best(shape, algorithm, size)[0] / (dims(shape) * LINK_RATE)


def dims(shape: str) -> int:
    return shape.rpartition(":")[2].count("x") + 1


def nodes(shape: str) -> int:
    return math.prod(map(int, shape.rpartition(":")[2].split("x")))


def gain(
    model: Model, shape: str, size: int, swing: tuple[str, ...] = ALL_PORTS, others: tuple[str, ...] = KNOWN
) -> float:
    """Time of the best of the others / time of Swing."""
    return model.best(shape, others, size)[0] / model.best(shape, swing, size)[0]


# ------------------------------------------------------------------ what a paper says, and what was found


def gain_error(found: float, paper: float) -> float:
    """Relative error of the gain: 0.5 where 1.3 was found for 1.2, as where 0.7 was found for 0.8."""
    return (found - 1) / (paper - 1) - 1


def near_gain(found: float, paper: float) -> bool:
    """Within 10 % of the paper's gain, or equal to the two digits that it prints. A ratio of times within
    10 % says little: 1.2 is 1.1, too, which is half of its gain."""
    return abs(gain_error(found, paper)) <= NEAR or abs(found - paper) <= LAST_DIGIT


# ------------------------------------------------------------------ words


def time_text(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.4g} us"


def size_text(size: float) -> str:
    return (
        f"{size / MIB:.4g} MiB"
        if size >= MIB
        else f"{size / KIB:.4g} KiB"
        if size >= KIB
        else f"{size:.4g} B"
    )


def verdict(good: bool) -> str:
    return "yes" if good else "**miss**"


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in (heads, ["---"] * len(heads), *rows)] + [""]
