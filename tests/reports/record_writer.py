# SPDX-License-Identifier: BSD-3-Clause
"""Records as the programs write them, line by line."""

from __future__ import annotations

import json
import random
from statistics import median
from typing import Any, Dict, List, Optional, Sequence

Json = Dict[str, Any]

L1, L2, LLC = 32 << 10, 1 << 20, 32 << 20  # per unit, per unit, whole
UNITS = 2
CHECKED = {"status": "ok", "detail": "", "timed": 200, "checked": 20, "untimed": 30, "by_fingerprint": 5}


class Writer:
    """One program start: a run record, cases, an end."""

    def __init__(
        self,
        program: str,
        primary: Sequence[Json] = (),
        axes: Sequence[Json] = (),
        spec: str = "host",
        run: str = "r1",
        simulated: bool = False,
        hostname: str = "node1",
        seed: int = 1,
        references: Sequence[str] = (),
        device: Optional[Json] = None,
    ) -> None:
        self.program, self.run, self.spec = program, run, spec
        self.state = {
            name: r for name, r in (device or {}).get("state", {}).items() if name in ("power", "throttle")
        }
        self.random = random.Random("%s %d" % (program, seed))
        self.lines: List[Json] = [
            dict(
                self._head("run"),
                question="what?",
                formula="bytes / time",
                timed="the copy",
                limits=None,
                started=None if simulated else "2026-01-02T03:04:05+00:00",
                argv=["bin/" + program],
                device=[
                    {
                        "spec": spec,
                        "backend": "sim" if simulated else "host",
                        "index": 0,
                        "name": "A (R) CPU",
                        "bus": "",
                        "uuid": None,
                        "serial": None,
                        "vbios": None,
                        "driver": "Linux 6.1.0",
                        "blas": "",
                        "shares": "",
                        "capabilities": ["gemm"],
                        "units": UNITS,
                        "slots_per_unit": 4,
                        "copy_engines": 1,
                        "memory_bytes": 1 << 34,
                        "shared_per_unit_bytes": 65536,
                        "shared_per_block_bytes": 49152,
                        "l1_bytes": L1,
                        "l2_bytes": L2,
                        "llc_bytes": LLC,
                        "virtual_time": simulated,
                        "arch": "",
                        "gemm_types": ["f32", "f64"],
                        "shared_reserved_bytes": 0,
                        "state": {},
                        **(device or {}),
                    }
                ],
                options={
                    "seed": "18446744073709551615",
                    "budget_s": None,
                    "goal": 0.01,
                    "min_samples": 10,
                    "max_samples": 200,
                    "check": True,
                    "check_when": "rounds",
                    "full": False,
                },
                axes=list(axes),
                variants=[],
                references=list(references),
                primary=list(primary),
                provenance={
                    "hostname": hostname,
                    "kernel": "6.1.0",
                    "cpu": "A (R) CPU",
                    "cores_online": 2,
                    "governor": None,
                    "virtual_machine": True,
                    "memory_bytes": 1 << 34,
                    "version": "abc",
                    "affinity": "0-1",
                    "environment": {"OMP_NUM_THREADS": "2"},
                },
            )
        ]

    def _head(self, kind: str) -> Json:
        return {
            "schema": "gpusig.record",
            "version": "1.1.0",
            "kind": kind,
            "run": self.run,
            "program": self.program,
        }

    def variant(self, name: str, seconds: float, moved: Optional[float] = None, noise: float = 0.002) -> Json:
        drawn = [1 + noise * self.random.uniform(-1, 1) for _ in range(20)]
        samples = [seconds * d / median(drawn) for d in drawn]
        ordered = sorted(samples)
        return {
            "name": name,
            "iterations": 10,
            "samples_s": samples,
            "round": list(range(20)),
            "n": 20,
            "retaken": 0,
            "disturbed": 0,
            "median_s": seconds,
            "ci_low_s": ordered[5],
            "ci_high_s": ordered[14],
            "min_s": ordered[0],
            "p95_s": ordered[18],
            "max_s": ordered[19],
            "lag1": 0.0,
            "drift": 0.0,
            "converged": True,
            "model": {"bytes": moved, "flops": None, "messages": None},
        }

    def case(
        self,
        axes: Json,
        variants: Sequence[Json] = (),
        derived: Sequence[Json] = (),
        status: str = "ok",
        flags: Sequence[Json] = (),
        **more: Any,
    ) -> Json:
        key = " ".join("%s=%s" % item for item in axes.items())
        rates = [
            value(
                "bandwidth",
                v["name"],
                v["model"]["bytes"] / v["median_s"],
                "byte/s",
                ci_low=v["model"]["bytes"] / v["ci_high_s"],
                ci_high=v["model"]["bytes"] / v["ci_low_s"],
            )
            for v in variants
            if v["model"]["bytes"]
        ]
        line = dict(
            self._head("case"),
            device=self.spec,
            case=axes,
            key=key,
            status=status,
            elapsed_s=0.5,
            variants=list(variants),
            derived=rates + list(derived),
            check=dict(CHECKED),
            mechanism=[],
            facts={},
            clock_hz={"before": None, "after": None},
            state=self.state,
            validity={"valid": not flags, "flags": list(flags)},
            **more,
        )
        self.lines.append(line)
        return line

    def end(self, status: str = "ok") -> "Writer":
        counts = {"total": 1, "ok": 1, "failed": 0, "skipped": 0, "already_done": 0, "out_of_budget": 0}
        self.lines.append(
            dict(self._head("end"), status=status, exit=0, cases=counts, reason="", elapsed_s=1.0)
        )
        return self

    def text(self) -> str:
        return "".join(json.dumps(line) + "\n" for line in self.lines)


def unstarted(program: str, status: str, reason: str) -> str:
    """Record that the driver appends for a program that wrote nothing itself."""
    w = Writer("any/program", run="none-1-2")
    end = dict(
        w.end(status).lines[-1],
        program=program,
        exit=77 if status == "skipped" else 1,
        reason=reason,
        by="driver",
    )
    return json.dumps(end) + "\n"


def value(name: str, variant: Optional[str], number: Optional[float], unit: str = "", **more: Any) -> Json:
    entry = {
        "name": name,
        "variant": variant,
        "value": number,
        "ci_low": None,
        "ci_high": None,
        "rounds": None,
        "observations": None,
        "modelled": False,
        "unit": unit,
        "formula": name + " as measured",
        "bound": None,
        "bound_name": None,
        "share": None,
        "valid": number is not None,
    }
    entry.update(more)
    return entry


def retimed(line: Json, name: str, seconds: float) -> None:
    """Give a variant of a case another time, and the value that states it."""
    for variant in (v for v in line["variants"] if v["name"] == name):
        factor = seconds / variant["median_s"]
        variant.update(
            {key: factor * variant[key] for key in variant if key.endswith("_s") and key != "samples_s"}
        )
        variant.update(median_s=seconds, samples_s=[factor * s for s in variant["samples_s"]])
    for entry in (d for d in line["derived"] if (d["name"], d["variant"]) == ("time", name)):
        entry["value"] = seconds


def headline(
    metric: str,
    derived: str,
    where: Optional[Json] = None,
    variant: Optional[str] = None,
    unit: str = "byte/s",
    better: str = "higher",
) -> Json:
    return {
        "metric": metric,
        "derived": derived,
        "variant": variant,
        "where": where or {},
        "unit": unit,
        "better": better,
    }


def axis(name: str, unit: str, values: Sequence[Any]) -> Json:
    return {"name": name, "unit": unit, "values": list(values)}
