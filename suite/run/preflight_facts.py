# SPDX-License-Identifier: BSD-3-Clause
"""Facts of the kernel about a node, read before a preflight opens any device: devices on the bus, processes
that have them open, memory, load.

Reads /sys and /proc alone, and starts nothing.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Iterator

_VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD"}
_CLASSES = ("0300", "0302", "0380", "1200")  # displays, 3D controllers, processing accelerators
_DEVICE_FILE = re.compile(r"/dev/(nvidia[0-9]+|kfd|dri/renderD[0-9]+)\Z")
# They have devices open to watch them, by what the kernel calls them: at most 15 characters.
_DAEMONS = (
    "nvidia-persiste",
    "nv-hostengine",
    "dcgm",
    "nv-fabricmanage",
    "nvidia-powerd",
    "nvidia-device-p",
    "nvsm",
    "Xorg",
    "Xwayland",
    "gnome-shell",
    "amd-smi",
    "rocm_smi",
    "rdc",
    "amdgpu_exporter",
)
# Variables by which a user or a container runtime narrows what a driver shows.
_VISIBLE = (
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
)
_LARGEST = 3
_LOOK_S = 0.25


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def pci_devices(sys_dir: Path = Path("/sys")) -> list[dict]:
    """Graphics devices and accelerators of the vendors, with AMD's memory and how much of it is in use."""
    found = []
    try:
        folders = sorted((sys_dir / "bus/pci/devices").iterdir())
    except OSError:
        return []
    for folder in folders:
        vendor, kind = _VENDORS.get(_text(folder / "vendor")), _text(folder / "class").removeprefix("0x")[:4]
        if vendor is None or kind not in _CLASSES:
            continue
        one: dict = {"address": folder.name, "vendor": vendor, "class": kind}
        for name, file in (
            ("memory_used_bytes", "mem_info_vram_used"),
            ("memory_bytes", "mem_info_vram_total"),
        ):
            number = _text(folder / file)
            if number.isdigit():
                one[name] = int(number)
        found.append(one)
    return found


def visible_by(environment: dict[str, str]) -> str:
    """Variables that hide devices from the driver, with their values; "" without any."""
    return ", ".join(
        f"{name}={environment[name][:60]}"
        for name in _VISIBLE
        if environment.get(name) not in (None, "", "all", "void")
    )


def _processes(proc: Path) -> Iterator[Path]:
    try:
        yield from (
            folder for folder in proc.iterdir() if folder.name.isdigit() and int(folder.name) != os.getpid()
        )
    except OSError:
        return


def holders(proc: Path = Path("/proc")) -> tuple[list[dict], bool]:
    """Processes that have a device open, except known daemons, and whether some could not be read."""
    found, unseen = [], False
    for folder in _processes(proc):
        try:
            targets = {os.readlink(entry.path) for entry in os.scandir(folder / "fd")}
            uid = folder.stat().st_uid
        except PermissionError:
            unseen = True
            continue
        except OSError:
            continue  # it ended
        devices = sorted(target for target in targets if _DEVICE_FILE.match(target))
        name = _text(folder / "comm")
        if devices and not name.startswith(_DAEMONS):
            found.append({"pid": int(folder.name), "name": name, "uid": uid, "device": " ".join(devices[:8])})
    return found[:32], unseen


def _meminfo(proc: Path) -> dict[str, int]:
    lines = (line.split() for line in _text(proc / "meminfo").splitlines())
    return {
        words[0].rstrip(":"): 1024 * int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()
    }


def host(proc: Path = Path("/proc")) -> dict:
    memory = _meminfo(proc)
    found: dict = {"cores": os.cpu_count()}
    for name, key in (
        ("memory_bytes", "MemTotal"),
        ("memory_available_bytes", "MemAvailable"),
        ("shared_memory_bytes", "Shmem"),
    ):
        if key in memory:
            found[name] = memory[key]
    return found


def _ticks_of(folder: Path) -> int:
    """Processor time of a process, user and system, in ticks."""
    words = _text(folder / "stat").rpartition(")")[2].split()
    return (
        int(words[11]) + int(words[12])
        if len(words) > 12 and words[11].isdigit() and words[12].isdigit()
        else 0
    )


def _ticks(proc: Path) -> tuple[int, int, dict[Path, int]]:
    """Ticks of all cores, busy and in all, and those of each process."""
    first = _text(proc / "stat").partition("\n")[0].split()[1:9]
    numbers = [int(word) for word in first if word.isdigit()]
    idle = sum(numbers[3:5])  # and what waits for a disk
    return sum(numbers) - idle, sum(numbers), {folder: _ticks_of(folder) for folder in _processes(proc)}


def busy(seconds: float = _LOOK_S, proc: Path = Path("/proc")) -> dict:
    """The share of all cores in use now, and the processes that use most. A load average would still count a
    job that has just ended."""
    before = _ticks(proc)
    time.sleep(seconds)
    after = _ticks(proc)
    used = sorted(
        ((ticks - before[2].get(folder, 0), folder) for folder, ticks in after[2].items()),
        key=lambda one: -one[0],
    )
    share = (after[0] - before[0]) / (after[1] - before[1]) if after[1] > before[1] else None
    return {
        "share": share,
        "processes": [
            {"pid": int(folder.name), "name": _text(folder / "comm")}
            for ticks, folder in used[:_LARGEST]
            if ticks > 0
        ],
    }


def largest(proc: Path = Path("/proc")) -> list[dict]:
    """The processes with the most memory of their own."""
    page = os.sysconf("SC_PAGE_SIZE")
    found = []
    for folder in _processes(proc):
        words = _text(folder / "statm").split()
        if len(words) > 2 and words[1].isdigit() and words[2].isdigit():
            found.append((page * (int(words[1]) - int(words[2])), folder))
    found.sort(key=lambda one: -one[0])
    return [
        {"pid": int(folder.name), "name": _text(folder / "comm"), "memory_bytes": size}
        for size, folder in found[:_LARGEST]
    ]
