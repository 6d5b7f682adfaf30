# SPDX-License-Identifier: BSD-3-Clause
"""Which device a run is about."""
from __future__ import annotations

import re

from suite.programs import Backend, Program
from suite.refusal import CANNOT_RUN, Refusal

# Vendors' GPUs first; a simulated device is never chosen for the user.
_PREFERRED = ("cuda", "hip", "host")


def choose(requested: str | None, known: list[Backend]) -> tuple[str, str]:
    """The device and the sentence that says why it is that one."""
    if requested is not None:
        _must_exist(requested, known)
        return requested, "asked for"
    by_name = {backend.name: backend for backend in known}
    reasons = []
    for name in _PREFERRED:
        backend = by_name.get(name)
        if backend is not None and backend.devices > 0:
            return name, "; ".join(["the first that is here", *reasons])
        if name != "host":
            reasons.append(f"no {name}: {backend.why or 'no device'}" if backend else f"no {name} in this build")
    return "host", "; ".join(["what is always here", *reasons])


def one_rank_each(device: str) -> bool:
    """Ranks take a device each where a device has a memory of its own; on the host they share the cores."""
    return device.partition(":")[0] not in ("host", "sim")


def _least(program: Program, device: str) -> int:
    """Devices without which the program is left out of a run."""
    return max(program.min_devices, 2 if "mpi" in program.needs and one_rank_each(device) else 1)


def is_virtual(device: str) -> bool:
    """Simulated: what a program calls seconds says nothing about how long it takes."""
    return device.partition(":")[0] == "sim"


def count(device: str) -> int:
    """How many devices a list names: "cuda:0-7" 8, "host" 1, "sim:quiet:0,1" 2."""
    ranges = device.rpartition(":")[2].split(",")
    found = [re.fullmatch(r"(\d+)(?:-(\d+))?", text) for text in ranges]
    return sum(int(m[2] or m[1]) - int(m[1]) + 1 for m in found if m) if all(found) else 1


def kept(chosen: list[Program], device: str) -> list[Program]:
    """What compares several devices is no part of a run on fewer."""
    left = [program for program in chosen if _least(program, device) <= count(device)]
    if not left:
        least = min(_least(program, device) for program in chosen)
        raise Refusal(f"{chosen[0].name} needs {least} devices, such as --device {device.partition(':')[0]}:0-{least - 1}",
                      CANNOT_RUN)
    return left


def _must_exist(requested: str, known: list[Backend]) -> None:
    """An absent device is an error that lists what is there. A build that does not say is left to the programs."""
    if not known:
        return
    name = requested.split(":", 1)[0]
    here = " ".join(b.name for b in known if b.devices > 0) or "none"
    backend = next((b for b in known if b.name == name), None)
    if backend is None:
        kinds = " ".join(b.name for b in known)
        raise Refusal(f"--device '{requested}' is unknown; this build knows: {kinds}; here: {here}")
    if backend.devices == 0:
        raise Refusal(f"--device '{requested}' is not here: {backend.why or 'no device'}; here: {here}", CANNOT_RUN)
