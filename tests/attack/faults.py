# SPDX-License-Identifier: BSD-3-Clause
"""Devices, drivers, limits and folders that fail: a reason and a documented exit code, and no wrong result
that counts."""

from __future__ import annotations

import functools
import os
import re
import resource
import subprocess
from random import Random

from tests.attack import judge, kills, mutations
from tests.attack.full_disk import can_mount
from tests.attack.workplace import FEW, HOME, How, Ran, Workplace, keys, simulated

_ONCE = ["--min-samples", "2", "--max-samples", "2"]
# All that these measure is checked.
_CHECKED = (
    "micro/copy_path",
    "micro/latency",
    "micro/memory",
    "micro/peer_matrix",
    "micro/reduce",
    "gemm/efficiency",
    "overlap/pair",
    "overlap/out_of_core",
    "overlap/units",
    "collectives/device_reduce_scatter",
)
_ON_FAKES = (
    "micro/latency",
    "micro/copy_path",
    "micro/launch",
    "micro/memory",
    "micro/reduce",
    "topology/node",
)
_RESULTS = {
    "cuda": (
        "CUDA_ERROR_OUT_OF_MEMORY",
        "CUDA_ERROR_INVALID_VALUE",
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_NOT_SUPPORTED",
        "999",
    ),
    "hip": (
        "hipErrorOutOfMemory",
        "hipErrorInvalidValue",
        "hipErrorLaunchFailure",
        "hipErrorNotSupported",
        "999",
    ),
}
_SETTINGS = {
    "FAKE_GPUS": ("0", "1", "8"),
    "FAKE_MEMORY_BYTES": ("0", "4096", "1000000", "50000000"),
    "FAKE_QUEUE": ("64", "300"),
    "FAKE_DRIVER_VERSION": ("0", "11000", "11070", "12000"),
    "FAKE_LOST": ("0", "1", "5", "20"),
    "FAKE_CLOCK_REASONS": ("0", "0xffffffff"),
    "FAKE_THERMAL_NS": ("1000000",),
    "FAKE_ALGORITHMS": ("0", "1"),
    "FAKE_BOARD": ("pcie_width=0", "ecc_uncorrected=7", "p2p=0", "1.pcie_width=1"),
    "FAKE_SERIAL": ("none",),
    "FAKE_KERNEL_FAIL": ("chase", "read", "copy", "empty", "write"),
}


def attempt(chance: Random, place: Workplace) -> str | None:
    scene = chance.choice(
        (_wrong_results, _failing_device, _failing_driver, _failing_driver, _limits, _limits, _folders)
    )
    return scene(chance, place)


def _one_case(chance: Random, place: Workplace, name: str, device: str) -> list[str]:
    """Options for one of the first cases of a device."""
    listed = place.folder / "cases"
    listed.write_text(f"{chance.choice(keys(place.programs / name, device)[:4])}\n", encoding="utf-8")
    return ["--cases", str(listed), "--out", str(place.folder / "records.jsonl")]


def _on_model(chance: Random, place: Workplace, name: str, text: str, more: list[str]) -> Ran:
    (place.folder / "a.model").write_text(f"like = quiet\n{text}", encoding="utf-8")
    several = simulated(place.programs / name).removeprefix("sim")
    case = _one_case(chance, place, name, simulated(place.programs / name))
    return place.run(place.program(name, f"sim:./a.model{several}", *more, *case))


def _kept(place: Workplace, ran: Ran) -> str | None:
    return (
        judge.ended(ran)
        or judge.brief(ran)
        or judge.whole(place.folder / "records.jsonl")
        or judge.nothing_left(place)
    )


def _wrong_results(chance: Random, place: Workplace) -> str | None:
    """Every kernel's result is wrong."""
    ran = _on_model(chance, place, chance.choice(_CHECKED), "corrupt_launch_every = 1\n", FEW)
    cases = [row for row in judge.rows(place.folder / "records.jsonl") if row["kind"] == "case"]
    counted = [row["key"] for row in cases if row["status"] == "ok"]
    if ran.code != 1 or counted:
        return ran.says(f"every result is wrong, and {counted or 'none'} count as right")
    return _kept(place, ran)


def _failing_device(chance: Random, place: Workplace) -> str | None:
    faults = ("fail_alloc_at", "fail_launch_at", "fail_copy_at", "corrupt_copy_every", "corrupt_launch_every")
    text = "".join(
        f"{fault} = {int(2 ** chance.uniform(0, 8))}\n"
        for fault in chance.sample(faults, chance.choice((1, 1, 2)))
    )
    ran = _on_model(chance, place, chance.choice((*_CHECKED, *kills.PROGRAMS)), text, FEW)
    problem = _kept(place, ran)
    return f"{' '.join(text.split())}: {problem}" if problem else None


def _failing_driver(chance: Random, place: Workplace) -> str | None:
    vendor, name = chance.choice(list(_RESULTS)), chance.choice(_ON_FAKES)
    folder = (place.programs / name).resolve().parents[2] / "fakes"
    if not folder.is_dir():
        return f"{folder} is missing: make fakes"
    chosen = chance.sample(list(_SETTINGS), chance.choice((0, 0, 1, 2)))
    settings = {setting: chance.choice(_SETTINGS[setting]) for setting in chosen}
    for _ in range(chance.choice((0, 1, 1)) if settings else 1):
        count = chance.choice(("", f":{int(2 ** chance.uniform(0, 6))}"))
        settings["FAKE_FAIL"] = f"{chance.choice(functions(vendor))}{count}={chance.choice(_RESULTS[vendor])}"
    kept = {"LD_LIBRARY_PATH": str(folder), "GPUSIG_KERNEL_CACHE": str(place.folder)}
    device, first = chance.choice((vendor, f"{vendor}:0,1")), place.folder / "cases"
    listed = place.run(place.program(name, device, "--list"), How(environment=kept))
    first.write_text(listed.out.splitlines()[0] + "\n", encoding="utf-8")
    command = place.program(
        name, device, *_ONCE, "--cases", str(first), "--out", str(place.folder / "records.jsonl")
    )
    problem = _kept(place, place.run(command, How(environment={**kept, **settings})))
    return f"{settings}: {problem}" if problem else None


@functools.lru_cache(maxsize=None)
def functions(vendor: str) -> tuple[str, ...]:
    """Names of the functions of a vendor's libraries that the fakes have."""
    text = "".join(path.read_text("utf-8") for path in sorted((HOME / "tests" / "fakes").glob("*.c")))
    names = {
        "cuda": r"\b((?:cu|nvrtc|nvml|cublasLt)[A-Z]\w+)\(",
        "hip": r"\b((?:hip|hiprtc|rocblas_|rsmi_)\w+)\(",
    }[vendor]
    return tuple(sorted(set(re.findall(names, text))))


def _limits(chance: Random, place: Workplace) -> str | None:
    """Little memory, few descriptors, a small stack, few processes where the user has such a limit."""
    kinds = {
        resource.RLIMIT_AS: int(2 ** chance.uniform(23, 31)),
        resource.RLIMIT_DATA: int(2 ** chance.uniform(20, 29)),
        resource.RLIMIT_NOFILE: chance.randint(3, 24),
        resource.RLIMIT_STACK: int(2 ** chance.uniform(16, 22)),
        **({resource.RLIMIT_NPROC: chance.randint(0, 40)} if os.geteuid() else {}),
    }
    limit = chance.choice(list(kinds))
    name = chance.choice((*kills.PROGRAMS, "gemm/efficiency"))
    device = chance.choice((simulated(place.programs / name), *(("host",) if name in kills.DRIVEN else ())))
    command = place.program(name, device, *_ONCE, *_one_case(chance, place, name, device))
    how = How(limits={limit: kinds[limit]})
    if place.run([str(place.programs / name), "--version"], how).code != 0:
        return None  # not even its libraries can be loaded
    problem = _kept(place, place.run(command, how))
    return f"limits {how.limits}: {problem}" if problem else None


def _folders(chance: Random, place: Workplace) -> str | None:
    """Places that can't be read or written."""
    disk = place.folder / "disk"
    disk.mkdir()
    if can_mount():
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", disk], check=True)
    bad = chance.choice((str(disk), str(disk / "x") if can_mount() else "/proc/x", "/proc/version/x"))
    name = chance.choice(kills.DRIVEN)
    needed = ("--out", "--done", "--cases", "run --resume", "report", "advise")
    option = chance.choice((*needed, "--progress", "run --out", "cache", "TMPDIR"))
    how = How(environment={"cache": {"GPUSIG_KERNEL_CACHE": bad}, "TMPDIR": {"TMPDIR": bad}}.get(option, {}))
    if option in ("report", "advise"):
        command = place.driver(option, bad, *(mutations.ADVISE if option == "advise" else ()))
    elif option in ("run --out", "cache", "TMPDIR"):
        command = place.driver(
            "run", "--device", "sim", "--only", name, "--out", bad if option == "run --out" else "run"
        )
    elif option == "run --resume":
        command = place.driver("run", "--resume", bad)
    else:
        command = place.program(name, "sim", *_ONCE, option, bad)
    ran = place.run(command, how)
    if option in needed and ran.code not in (1, 2):
        return ran.says(f"{option} {bad} is no error")
    return _kept(place, ran)
