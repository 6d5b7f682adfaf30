# SPDX-License-Identifier: BSD-3-Clause
"""Choose the device of a run."""

from __future__ import annotations

import re
from pathlib import Path

from suite.command_error import CANNOT_RUN, CommandError
from suite.run.programs import Backend, Program

# Vendors' GPUs first; a simulated device is never chosen for the user.
_GPUS = ("cuda", "hip")
_PREFERRED = (*_GPUS, "host")


def choose(requested: str | None, known: list[Backend]) -> tuple[str, str]:
    """The device, and a sentence with the reason for the choice."""
    if requested is not None:
        _check_exists(requested, known)
        return requested, "asked for"
    by_name = {backend.name: backend for backend in known}
    reasons = []
    for name in _PREFERRED:
        backend = by_name.get(name)
        if backend is not None and backend.devices > 0:
            return name, "; ".join(["the first one found", *reasons])
        if name != "host":
            reasons.append(
                f"no {name}: {backend.why or 'no device'}" if backend else f"no {name} in this build"
            )
    return "host", "; ".join(["always available", *reasons])


def of_user(device: str | None, cwd: Path) -> str | None:
    """The device with the path of a model file made absolute, as programs start in another folder. A model is
    a file where its name has a '/' or a '.', as in device/sim."""
    kind, _, rest = (device or "").partition(":")
    file = re.match(r"[^?:]*", rest)[0]
    return (
        f"{kind}:{cwd / file}{rest[len(file) :]}"
        if kind == "sim" and ("/" in file or "." in file)
        else device
    )


def one_rank_each(device: str) -> bool:
    """True if each rank has a device of its own; ranks on the host share its cores."""
    return device.partition(":")[0] not in ("host", "sim")


def _min_devices(program: Program, device: str) -> int:
    """The fewest devices that the program runs on."""
    return max(program.min_devices, 2 if "mpi" in program.needs and one_rank_each(device) else 1)


def is_virtual(device: str) -> bool:
    """True if the device is simulated, so that seconds of a program are not wall time."""
    return device.partition(":")[0] == "sim"


def _places(device: str) -> list[range]:
    """Numbers in a list of devices: 0 to 2 and 5 in "cuda:0-2,5"; empty where there is no list."""
    ranges = device.rpartition(":")[2].split(",")
    found = [re.fullmatch(r"(\d+)(?:-(\d+))?", text) for text in ranges]
    return [range(int(m[1]), int(m[2] or m[1]) + 1) for m in found if m] if all(found) else []


def count(device: str) -> int:
    """Number of devices: 8 in "cuda:0-7", 1 in "host", 2 in "sim:quiet:0,1"."""
    return sum(map(len, _places(device))) if _places(device) else 1


def highest(device: str) -> int:
    """The highest number in a list of devices; 0 without a list."""
    return max((place.stop - 1 for place in _places(device)), default=0)


def each_but_first(device: str) -> list[str]:
    """Every device of a list but its first: "cuda:1" and "cuda:2" of "cuda:0-2"."""
    kind = device.rpartition(":")[0]
    return [f"{kind}:{number}" for place in _places(device) for number in place][1:64]


def all_of(device: str, known: list[Backend]) -> str:
    """All devices of a kind of GPUs that is given without a list: "cuda:0-7" for "cuda"."""
    there = next((b.devices for b in known if b.name == device), 0)
    return f"{device}:0-{there - 1}" if device in _GPUS and there > 1 else device


def as_there(device: str, known: list[Backend], wanted: int) -> str:
    """The same list, or all devices where fewer exist than it names or than are wanted."""
    name, _, places = device.partition(":")
    there = next((b.devices for b in known if b.name == name), 0)
    if name not in _GPUS or not places or not there or there >= max(wanted, highest(device) + 1):
        return device
    return f"{name}:0-{there - 1}" if there > 1 else f"{name}:0"


def kept(chosen: list[Program], device: str) -> list[Program]:
    """Drop programs that need more devices than the run has."""
    left = [program for program in chosen if _min_devices(program, device) <= count(device)]
    if not left:
        needed = min(_min_devices(program, device) for program in chosen)
        raise CommandError(
            f"{chosen[0].name} needs {needed} devices, such as --device "
            f"{device.partition(':')[0]}:0-{needed - 1}",
            CANNOT_RUN,
        )
    return left


def _check_exists(requested: str, known: list[Backend]) -> None:
    """Raise an error that lists the devices of this machine. Where the build does not list any, the programs
    check."""
    if not known:
        return
    name = requested.split(":", 1)[0]
    here = " ".join(b.name for b in known if b.devices > 0) or "none"
    backend = next((b for b in known if b.name == name), None)
    if backend is None:
        kinds = " ".join(b.name for b in known)
        raise CommandError(f"unknown --device '{requested}'; this build has: {kinds}; found here: {here}")
    if backend.devices == 0:
        reason = backend.why or "no device"
        raise CommandError(
            f"--device '{requested}' is not available: {reason}; found here: {here}", CANNOT_RUN
        )
