# SPDX-License-Identifier: BSD-3-Clause
"""collectives/allreduce on simulated ranks: its sources built with SimGrid's smpicc, on a torus that
topology/torus writes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from suite.setup import building
from suite.command_error import CANNOT_RUN, CommandError
from suite.run.programs import Program

REAL, NAME = "collectives/allreduce", "collectives/allreduce@simgrid"
NEEDS = "smpirun"
SHAPE = "8x8"
ALGORITHMS = "swing-b,swing-l,rd-b,rd-l,bucket,ring"
MIN_S, LIMIT_S = (
    4.0,
    120.0,
)  # of wall time; no budget shortens what is simulated, for the ranks' own time is virtual
HOME = Path(__file__).resolve().parents[2]
_BUILD_LIMIT_S, _ANSWER_LIMIT_S = 300, 60
# A flow's rate is what max-min sharing leaves it, and a message takes the latency of its way and no more:
# SimGrid's own factors stand for TCP on Ethernet. Sends wait for their receiver, as the model's steps do, and
# no message is copied aside, which takes half the memory and a third of the time. Ranks compute in no time.
CONFIGURATION = (
    "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:no",
    "--cfg=network/TCP-gamma:0",
    "--cfg=smpi/send-is-detached-thresh:0",
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/host-speed:1Gf",
    "--log=root.thres:error",
)


def offered(found: list[Program]) -> list[Program]:
    """The simulated program, where collectives/ is built. A missing SimGrid is reported when its turn
    comes."""
    real = next((p for p in found if p.name == REAL and not p.unbuilt and not p.error), None)
    if real is None:
        return []
    return [
        Program(NAME, real.path, "what do the same ranks do on a simulated torus?", (NEEDS,), times=False)
    ]


def kept(chosen: list[Program], device: str) -> list[Program]:
    """Drop the simulated ranks from a run on another device: they run on the host."""
    left = [p for p in chosen if p.name != NAME or device.partition(":")[0] == "host"]
    if not left:
        raise CommandError(f"{NAME} runs on the host, not on {device}", CANNOT_RUN)
    return left


def build() -> Path:
    """Path of the program that `make smpi` builds."""
    program = building.folder() / "smpi" / REAL
    with building.Lock() as lock:
        lock.be_alone()
        made = building.make("smpi", limit_s=_BUILD_LIMIT_S)
    if made.returncode != 0 or not program.is_file():
        said = (made.stderr.strip().splitlines() or ["no message"])[-1]
        raise CommandError(f"make smpi failed: {said}"[:300], CANNOT_RUN)
    return program


def emit(torus: Path, shape: str, folder: Path) -> tuple[Path, Path]:
    """Write platform and hostfile of a torus into the folder, with topology/torus."""
    words = [
        str(torus.resolve()),
        "--shape",
        shape,
        "--algorithm",
        "swing-b",
        "--size",
        "32",
        "--emit",
        "simgrid",
    ]
    done = subprocess.run(
        words,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_ANSWER_LIMIT_S,
        check=False,
    )
    platform, hosts = (folder.resolve() / f"torus-{shape}.{suffix}" for suffix in ("xml", "hosts"))
    if done.returncode != 0 or not platform.is_file() or not hosts.is_file():
        raise CommandError(f"topology/torus wrote no platform: {done.stderr.strip()[-200:]}", CANNOT_RUN)
    return platform, hosts


def nodes(shape: str) -> int:
    count = 1
    for side in shape.split("x"):
        count *= int(side)
    return count


def launcher(shape: str, platform: Path, hosts: Path) -> list[str]:
    """smpirun and its options before the program. Every rank has its own globals: no -no-privatize."""
    return [
        "smpirun",
        "-np",
        str(nodes(shape)),
        "-platform",
        str(platform),
        "-hostfile",
        str(hosts),
        *CONFIGURATION,
    ]


def command(program: Program, folder: Path, options: list[str], full: bool, budget_s: float) -> list[str]:
    """The whole command; `options` are those of every program. Raises CommandError where it cannot be
    prepared."""
    if budget_s < MIN_S:
        raise CommandError(
            f"simulating takes some seconds, and its share of the budget is {budget_s:.1f} s", CANNOT_RUN
        )
    try:
        binary = build()
        words = launcher(SHAPE, *emit(program.path.parents[1] / "topology" / "torus", SHAPE, folder))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(f"cannot be prepared: {error}"[:300], CANNOT_RUN) from error
    sizes = "32,2K,128K" if full else "32,128K"
    # An interval needs six samples; in virtual time they are all equal.
    return [
        *words,
        str(binary),
        "--shape",
        SHAPE,
        "--ports",
        "all",
        "--algorithm",
        ALGORITHMS,
        "--size",
        sizes,
        *options,
        "--min-samples",
        "6",
        "--max-samples",
        "6",
        "--warm-up",
        "0",
    ]


def installed() -> bool:
    return shutil.which(NEEDS) is not None


def times(output: str) -> dict[tuple[str, int], float]:
    """Seconds by (algorithm, size), from the JSON that the program printed."""
    found = {}
    for line in filter(
        lambda text: text.startswith("{"), output.splitlines()
    ):  # smpirun prints lines of its own
        record = json.loads(line)
        if record.get("kind") == "case" and record["status"] == "ok":
            found.update({(v["name"], record["case"]["size"]): v["median_s"] for v in record["variants"]})
    return found
