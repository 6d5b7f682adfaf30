# SPDX-License-Identifier: BSD-3-Clause
"""The four checks in their order as one answer, as JSON (schema/preflight.schema.json) and as text."""

from __future__ import annotations

from dataclasses import asdict
from typing import Callable, Sequence

from reports.records.files import as_json
from reports.records.jsonl import Json
from reports.records.metrics import shortened
from reports.judge.preflight import devices, speed, state, usage
from reports.judge.preflight.node import Node, number_in
from reports.judge.preflight.outcome import BAD, EXITS, HEALTHY, UNKNOWN, Check, of_all
from reports.judge.preflight.reference import Reference
from reports.records.quantity import bounded, human, percent

SCHEMA, VERSION = "gpusig.preflight", "1.0.0"


def _reference_json(reference: Reference | None) -> Json | None:
    if reference is None:
        return None
    return {
        "name": reference.name,
        "runs": reference.runs,
        "machine": reference.machine,
        "hosts": reference.hosts[:64],
        "device": reference.spec,
        "notes": reference.notes,
    }


def _row_json(row: speed.Row) -> Json:
    measured, expected = row.measured, row.expected

    def relative(logarithm: float | None) -> float | None:
        return speed.relative(expected.better, logarithm) if expected and logarithm is not None else None

    return {
        "name": measured.name,
        "device": measured.device,
        "unit": measured.unit or (expected.unit if expected else ""),
        **{name: getattr(measured, name) for name in ("value", "low", "high", "tries", "contended")},
        "reference": expected.value if expected else None,
        "deviation": expected.deviation if expected else None,
        "noise_from": expected.source if expected else None,
        "worse": relative(row.worse),
        "allowed": relative(row.allowed),
        "outcome": row.outcome,
        "reason": row.reason,
    }


def _check_json(check: Check) -> Json:
    found = {name: getattr(check, name) for name in ("name", "outcome", "reason")}
    return dict(found, reasons=[asdict(reason) for reason in check.reasons], notes=check.notes)


def answer(node: Node, reference: Reference | None, factors: Sequence[str]) -> Json:
    rows = speed.rows_of(node, reference)
    checks = [
        devices.check(node, reference),
        usage.check(node, reference),
        state.check(node, reference, factors),
        speed.check(node, reference, rows),
    ]
    outcome = of_all(checks)
    return shortened(
        {
            "schema": SCHEMA,
            "version": VERSION,
            "node": node.name,
            "device": node.spec,
            "simulated": node.simulated,
            "elapsed_s": number_in(node.evidence, "elapsed_s"),
            "reference": _reference_json(reference),
            "outcome": outcome,
            "exit": EXITS[outcome],
            "checks": [_check_json(check) for check in checks],
            "metrics": [_row_json(row) for row in rows],
        }
    )


# ------------------------------------------------------------------ as lines of text


def _metric_line(row: Json) -> str:
    name = bounded(row["name"].rpartition("/")[2] + ("@" + row["device"] if row["of_another"] else ""), 34)
    if row["value"] is None:
        return "  %-34s %s" % (name, (row["reason"] or "no value")[:42])
    ratio = ""
    if row["worse"] is not None:
        ratio = "%+.1f %% of %s" % (100 * row["worse"], percent(row["allowed"]))
    return "  %-34s %12s %18s %10s" % (name, human(row["value"], row["unit"]), ratio, row["outcome"])


def _table(found: Json) -> list[str]:
    lines = []
    for check in found["checks"]:
        lines.append("%-10s %-8s %s" % (check["name"], check["outcome"], check["reason"]))
        lines += ["%-10s %-8s %s" % ("", "note", note) for note in check["notes"]]
    rows = [dict(row, of_another=row["device"] != found["device"]) for row in found["metrics"]]
    if rows:
        lines += ["", "  %-34s %12s %18s %10s" % ("number", "here", "worse of allowed", "outcome")]
        lines += [_metric_line(row) for row in rows]
    return lines


def text(found: Json, quiet: bool = False, verbose: bool = False) -> str:
    """A line a reason, each of which stands alone; one line where the node is healthy, none with `quiet`."""
    start = "gpusig preflight: %s: " % found["node"]
    reasons = [(r["outcome"], r["text"]) for check in found["checks"] for r in check["reasons"]]
    lines = [start + said for outcome, said in reasons if outcome == BAD]
    lines += [start + "unknown: " + said for outcome, said in reasons if outcome == UNKNOWN]
    if found["simulated"] and not quiet:
        lines.append(start + "simulated: this says nothing about a machine")
    if found["outcome"] == HEALTHY and not quiet:
        took = "" if found["elapsed_s"] is None else " (%.0f s)" % found["elapsed_s"]
        lines.append(start + "healthy: " + "; ".join(check["reason"] for check in found["checks"]) + took)
    if not quiet and (verbose or found["reference"] is None):
        lines += _table(found)
    return "".join(line + "\n" for line in lines)


FORMATS: dict[str, Callable[..., str]] = {"text": text, "json": lambda found, **_: as_json(found)}
