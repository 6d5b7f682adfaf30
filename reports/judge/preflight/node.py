# SPDX-License-Identifier: BSD-3-Clause
"""The node: the evidence that suite/run/preflight.py collected, and the signature of the records it
measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from reports.judge.compare import gpusig, provenance
from reports.records.jsonl import Json, is_number
from reports.signature.kind import kinds_of_devices
from reports.signature.machine import main_devices
from reports.judge.preflight.reference import links_of_node
from reports.records.quantity import spell
from reports.records.record_file import read
from reports.signature.signature import MixedMachines, build


@dataclass(frozen=True)
class Measured:
    """One number of this node on one --device. Without a value: `reason`."""

    name: str  # as in a signature of that device
    device: str
    value: float | None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    better: str = ""
    key: str = ""  # of its case
    tries: int = 1  # that were made
    counted: int = 1  # of these; a contended one does not count where another is not
    contended: bool = False
    cause: str = ""
    reason: str = ""
    case: str = ""  # as of compare.numbers.Number

    @property
    def label(self) -> str:
        return spell(self.name.rpartition("/")[2])


class Failure(NamedTuple):
    """Cases of a program that failed."""

    program: str
    device: str
    reason: str

    @property
    def text(self) -> str:
        return "%s on %s: %s" % self


@dataclass
class Node:
    evidence: Json
    devices: list[Json] = field(default_factory=list)  # of the main --device
    links: Json = field(default_factory=dict)  # facts of topology/node
    provenance: dict[str, str] = field(default_factory=dict)
    memory_bytes: float = 0.0  # of the host
    measured: list[Measured] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)  # of the devices
    unreadable: str = ""  # why the records give no signature

    @property
    def name(self) -> str:
        return str(self.evidence.get("node") or "unknown")

    @property
    def spec(self) -> str:
        return str(self.evidence.get("device") or "")

    @property
    def simulated(self) -> bool:
        return self.spec.partition(":")[0] == "sim"


def number_in(source: Any, name: str) -> float | None:
    value = source.get(name) if isinstance(source, dict) else None
    return float(value) if is_number(value) else None


def _base(name: str) -> str:
    return name.partition("@")[0]


def _tries(records: Any) -> dict[tuple, int]:
    return {
        (group.program, group.device, key): len(tries)
        for group in records.groups.values()
        for key, tries in group.tries.items()
    }


def _keys(records: Any) -> dict[tuple, str]:
    """The case of each headline number that was measured, whatever came out."""
    found: dict[tuple, str] = {}
    for group in records.groups.values():
        for primary in group.run.primary:
            where = primary.where.items()
            cases = [case for case in group.cases.values() if where <= case.axes.items()]
            if len(cases) == 1:
                found["%s/%s" % (group.program, primary.metric), group.device] = cases[0].key
    return found


def _measured(signature: Json, keys: dict[tuple, str], tries: dict[tuple, int]) -> list[Measured]:
    found = []
    for name, entry in signature["metrics"].items():
        if entry.get("primary"):
            key = str(entry.get("key") or "")
            made = tries.get((entry["program"], entry["device"], key), 1), int(entry.get("tries", 1))
            values = (entry[part] for part in ("device", "value", "ci_low", "ci_high", "unit"))
            more = entry.get("grade") == "contended", "", "", gpusig.number_of(name, entry).case
            found.append(Measured(_base(name), *values, entry["better"] or "", key, *made, *more))
    for entry in signature["primary_missing"]:
        name = "%s/%s" % (entry["program"], entry["metric"])
        key = keys.get((name, entry["device"]), "")
        found.append(
            Measured(
                name,
                entry["device"],
                None,
                key=key,
                tries=tries.get((entry["program"], entry["device"], key), 0),
                counted=0,
                contended="once" in entry,
                cause=entry["cause"],
                reason=str(entry["reason"]),
            )
        )
    return found


def _failed(signature: Json) -> list[Failure]:
    failed = (e for e in signature["not_measured"] if e["status"] == "failed")
    return list(dict.fromkeys(Failure(e["program"], e["device"], e["reason"]) for e in failed))


def _main(signature: Json, spec: str) -> Json:
    """The same with the --device that was chosen as the main one, whichever has more cases."""
    specs = {name.rpartition("[")[0] for name in signature["devices"]}
    return dict(signature, device=spec if spec in specs else signature["device"])


def of_records(path: Path, evidence: Json) -> Node:
    """OSError where the records cannot be read; what they hold is judged, whatever it is."""
    node, records = Node(evidence), read(path)
    try:
        signature = _main(build(records).json, node.spec)
    except MixedMachines as why:
        node.unreadable = str(why)
        return node
    node.devices, node.links = list(main_devices(signature).values()), links_of_node(signature)
    node.kinds = kinds_of_devices(signature)
    node.provenance = provenance.of_signature(signature, {})
    node.memory_bytes = number_in(signature["provenance"]["fields"], "memory_bytes") or 0.0
    node.measured, node.failed = _measured(signature, _keys(records), _tries(records)), _failed(signature)
    return node
