# SPDX-License-Identifier: BSD-3-Clause
"""Measurements that advice is made of, and the cost of those that are missing and would decide."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import NamedTuple

from reports.records.jsonl import Json, is_number
from reports.records.quantity import human

CONTENTION = "micro/copy_contention"


class Input(NamedTuple):
    program: str
    options: str  # LINK: the direction that tells of transfers over the link; KIND: the type of the GEMM
    what: str


# By the names of advise/advise.h.
_LOSS = "--type KIND --direction LINK --copy-method "
_PEERS = "--type KIND --direction peer,exchange --copy-method "
INPUTS = {
    "contention-engine": Input(CONTENTION, _LOSS + "engine", "the contention of GEMMs and engine copies"),
    "contention-kernel": Input(
        CONTENTION, _LOSS + "kernel:1,kernel", "the contention of GEMMs and kernel copies"
    ),
    "both-ways-engine": Input(CONTENTION, _PEERS + "engine", "the loss of opposite engine copies"),
    "both-ways-kernel": Input(CONTENTION, _PEERS + "kernel:1,kernel", "the loss of opposite kernel copies"),
    "ingress": Input("collectives/device_allreduce", "", "the rate of concurrent sends to all peers"),
    "additions": Input("micro/memory", "--op triad", "the time to add received data"),
    "peer-copies": Input("micro/copy_path", "--direction peer", "copies between devices"),
}
DIRECTIONS = {"peer": "exchange", "up": "up", "down": "down"}  # of the copies that tell what transfers lose


def _cases(options: str) -> int:
    return math.prod(1 + word.count(",") for word in options.split())


def _case_s(signature: Json, program: str) -> float | None:
    """Seconds of a case of the program in this run, or of one of any program; None where nothing is known."""
    spent: dict[bool, list[float]] = {True: [0.0, 0.0], False: [0.0, 0.0]}
    for run in signature.get("runs", []):
        cases = sum(int(run["cases"].get(word) or 0) for word in ("ok", "failed"))
        if is_number(run["elapsed_s"]) and cases:
            spent[run["program"] == program][0] += run["elapsed_s"]
            spent[run["program"] == program][1] += cases
    seconds, cases = spent[True] if spent[True][1] else spent[False]
    return seconds / cases if cases else None


def need(signature: Json, name: str, link: str, kind: str, path: Path) -> Json:
    """The program that measures a missing input, about how many seconds it takes, and the commands."""
    entry = INPUTS[name]
    options = entry.options.replace("LINK", DIRECTIONS[link]).replace("KIND", kind)
    case_s, folder = _case_s(signature, entry.program), path if path.is_dir() else path.parent
    # At the priority of the run, which would else have changed while measuring.
    nice = signature["provenance"]["fields"].get("nice")
    words = ["nice", "-n", str(nice)] if is_number(nice) and nice else []
    words += ["bin/" + entry.program, "--device", str(signature["device"]), *options.split()]
    out = shlex.quote(str(folder / "records.jsonl"))
    commands = "%s --out %s && ./gpusig report %s" % (shlex.join(words), out, shlex.quote(str(folder)))
    if len(signature["devices"]) < 2 and name == "peer-copies":
        commands = "./gpusig run with --device of all devices that take part"
    return {
        "input": name,
        "what": entry.what,
        "program": entry.program,
        "options": options,
        "cost_s": None if case_s is None else case_s * _cases(options),
        "command": commands,
    }


def text(entry: Json) -> str:
    cost = "" if entry["cost_s"] is None else "about %s: " % human(entry["cost_s"], "s")
    program = " ".join(filter(None, (entry["program"], entry["options"])))
    return "%s, by %s (%s%s)" % (entry["what"], program, cost, entry["command"])
