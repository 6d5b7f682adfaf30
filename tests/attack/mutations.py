# SPDX-License-Identifier: BSD-3-Clause
"""Files that are read again, with any byte or any value changed: a few words say what is wrong, or it makes
no difference."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from random import Random
from typing import Callable

from tests.attack import judge, kills
from tests.attack.workplace import FEW, How, Ran, Workplace, keys, simulated

STRANGE = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**53,
    2**64,
    -(2**63),
    1e30,
    -1e30,
    1e308,
    float("nan"),
    float("inf"),
    1e-30,
    "",
    "x",
    "\0",
    "\ud800",
    "é" * 300,
    "x" * 5000,
    "18446744073709551616",
    "../../x",
    "-1",
    "*",
    [],
    [[]],
    {},
    {"a": {}},
    ["a", 1],
)
_INSERTED = (b"\0", b"\n", b"\r\n", b"\xff\xfe", b"{", b"[" * 100000, b'"', b"9" * 5000, b"x" * 100000)
_HOW = How(patience_s=20)
_MODEL = {
    "units": 8,
    "slots_per_unit": 8,
    "copy_engines": 2,
    "memory_bytes": "16G",
    "llc_bytes": "4M",
    "l1_bytes": "32K",
    "l1_bandwidth": 60e9,
    "l1_latency_ns": 30,
    "memory_bandwidth": 200e9,
    "link_up_bandwidth": 20e9,
    "memory_latency_ns": 500,
    "launch_ns": 2000,
    "clock_hz": 1e9,
    "jitter_sigma": 0.01,
    "seed": 3,
    "gemm_tile": 64,
    "lacks": "priority gemm",
    "slow_down": "gemm 2",
    "peer_bandwidth 0>1": 1e9,
    "flops_bf16": 1e12,
}
ADVISE = "--m 512 --n 512 --k 512 --devices 2 --op ag-gemm --type f32".split()


def attempt(chance: Random, place: Workplace) -> str | None:
    subject = chance.choice((_of_run, _of_run, _of_report, _of_advice, _of_keys, _of_model, _of_fit))
    return subject(chance, place)


def _of_run(chance: Random, place: Workplace) -> str | None:
    run = _copied(place)
    names = [
        "records.jsonl",
        "plan.json",
        "lock",
        "signature.json",
        "logs/micro-latency.done",
        "logs/progress.json",
    ]
    changed = _change(chance, run / chance.choice(names[:2] + names))
    ran = place.run(place.driver("run", "--resume", "run", *chance.choice(([], kills._BUDGET))), _HOW)
    return _judged(changed, ran) or judge.nothing_left(place)


def _of_report(chance: Random, place: Workplace) -> str | None:
    run = _copied(place)
    changed = _change(
        chance, run / chance.choice(("records.jsonl", "records.jsonl", "plan.json", "signature.json"))
    )
    return _judged(
        changed, place.run(place.driver("report", "run", *chance.choice(([], ["--strict"]))), _HOW)
    )


def _of_advice(chance: Random, place: Workplace) -> str | None:
    changed = _change(chance, _copied(place) / "signature.json")
    signatures = chance.choice(
        (["run"], ["run/signature.json"], ["run", str(place.completed)], [str(place.completed), "run"])
    )
    words = [
        *signatures,
        *ADVISE,
        *chance.choice((["--format", "table"], ["--format", "json"], ["--compile"])),
    ]
    return _judged(changed, place.run(place.driver("advise", *words), _HOW))


def _of_fit(chance: Random, place: Workplace) -> str | None:
    """A model is made of a changed signature, which the simulator reads, or an error is told."""
    changed = _change(chance, _copied(place) / "signature.json")
    ran = place.run(place.driver("model", chance.choice(("run", "run/signature.json"))), _HOW)
    if ran.code != 0 or ran.interrupted:
        return _judged(changed, ran)
    model = place.folder / "fitted.model"
    model.write_text(ran.out, encoding="utf-8")
    listed = place.run(place.program("micro/latency", f"sim:{model}", "--list"), _HOW)
    # A signature may say that the device lacks what the program needs.
    if f"{model}:" in listed.err:
        return listed.says(f"{changed}: the simulator refuses the model")
    return _judged(changed, ran) or judge.ended(listed)


def _of_keys(chance: Random, place: Workplace) -> str | None:
    name = chance.choice(kills.PROGRAMS)
    device = simulated(place.programs / name)
    listed, records = place.folder / "keys", place.folder / "records.jsonl"
    listed.write_text("".join(f"{key}\n" for key in keys(place.programs / name, device)), encoding="utf-8")
    changed = _change(chance, listed)
    words = [chance.choice(("--done", "--cases")), str(listed), "--out", str(records)]
    ran = place.run(place.program(name, device, *FEW, *words), _HOW)
    return _judged(changed, ran) or judge.whole(records)


def _of_model(chance: Random, place: Workplace) -> str | None:
    name, model, records = (
        chance.choice(kills.PROGRAMS),
        place.folder / "a.model",
        place.folder / "records.jsonl",
    )
    lines = dict(chance.sample(list(_MODEL.items()), chance.randint(1, len(_MODEL))))
    values = (-1, 0, 1, 1e-300, 1e300, "nan", "inf", "", "x", "1e", "4G", 2**63, 2**64, "x" * 5000)
    for key in chance.sample(list(lines), min(len(lines), chance.randint(0, 2))):
        lines[key] = chance.choice(values)
    model.write_text("".join(f"{key} = {value}\n" for key, value in lines.items()), encoding="utf-8")
    changed = _change(chance, model) if chance.random() < 0.5 else f"{lines}"
    several = simulated(place.programs / name).removeprefix("sim")
    cases = place.folder / "cases"
    cases.write_text(keys(place.programs / name, f"sim{several}")[0] + "\n", encoding="utf-8")
    ran = place.run(
        place.program(name, f"sim:{model}{several}", *FEW, "--cases", str(cases), "--out", str(records)), _HOW
    )
    return _judged(changed, ran) or judge.whole(records)


def _copied(place: Workplace) -> Path:
    return Path(shutil.copytree(place.completed, place.folder / "run"))


def _judged(changed: str, ran: Ran) -> str | None:
    problem = judge.ended(ran, *((2,) if ran.interrupted else ())) or judge.brief(ran)
    return f"{changed}: {problem}" if problem else None


def _change(chance: Random, path: Path) -> str:
    """Change a file in one way or several; the words say how."""
    done = []
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        change = chance.choice((*_CHANGES, *((_value,) * 4 if path.suffix in (".json", ".jsonl") else ())))
        done.append(f"{change.__name__.strip('_')} of {path.name} {change(chance, path)}")
        if not path.is_file():
            break
    return ", ".join(done)


def _flipped_bits(chance: Random, path: Path) -> str:
    content = bytearray(path.read_bytes())
    places = [chance.randrange(len(content)) for _ in range(chance.choice((1, 3, 30)))] if content else []
    for at in places:
        content[at] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    return f"at {places[:3]}"


def _a_cut(chance: Random, path: Path) -> str:
    content = path.read_bytes()
    begin, end = sorted(chance.randint(0, len(content)) for _ in range(2))
    path.write_bytes(content[:begin] + chance.choice((b"", content[end:])))
    return f"at {begin}"


def _an_insertion(chance: Random, path: Path) -> str:
    content = path.read_bytes()
    at = chance.randint(0, len(content))
    what = chance.choice((*_INSERTED, chance.randbytes(50)))
    path.write_bytes(content[:at] + what + content[at:])
    return f"of {what[:10]!r} at {at}"


def _lines_in_disorder(chance: Random, path: Path) -> str:
    lines = path.read_bytes().splitlines(keepends=True)
    chance.shuffle(lines)
    path.write_bytes(b"".join(lines + lines[: chance.randint(0, len(lines))]))
    return ""


def _something_else(chance: Random, path: Path) -> str:
    """In place of the file: nothing, a folder, links."""
    path.unlink(missing_ok=True)
    kind = chance.choice(
        ("nothing", "an empty file", "a folder", "a link to nothing", "a link to itself", "a full device")
    )
    if kind == "an empty file":
        path.touch()
    elif kind == "a folder":
        path.mkdir()
    elif kind != "nothing":
        os.symlink(
            {"a link to nothing": "nowhere", "a link to itself": path.name, "a full device": "/dev/full"}[
                kind
            ],
            path,
        )
    return f"by {kind}"


def _value(chance: Random, path: Path) -> str:
    """A value of one JSON object by a strange one."""
    text = path.read_text("utf-8", "surrogateescape")
    lines = text.splitlines() if path.suffix == ".jsonl" else [text]
    number = chance.randrange(len(lines)) if lines else 0
    try:
        value = json.loads(lines[number])
        where, target = _place(chance, value)
    except (ValueError, IndexError):
        return "that is no JSON any more"
    strange = chance.choice(STRANGE)
    if chance.random() < 0.2:
        strange = "nothing"
        del target[where]
    else:
        target[where] = strange
    lines[number] = json.dumps(value)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", "surrogateescape")
    return f"'{where}' by {str(strange)[:40]!r}"


def _place(chance: Random, value: object) -> tuple[object, object]:
    """A key or an index with what it belongs to; IndexError where there is none."""
    target, where = None, None
    while isinstance(value, (dict, list)) and value and (target is None or chance.random() < 0.8):
        target, where = value, chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        value = target[where]
    if target is None:
        raise IndexError("nothing to change")
    return where, target


_CHANGES: tuple[Callable[[Random, Path], str], ...] = (
    _flipped_bits,
    _a_cut,
    _an_insertion,
    _lines_in_disorder,
    _something_else,
)
