# SPDX-License-Identifier: BSD-3-Clause
"""Known machines, so that one run stands next to something: files of reports/known, each the headline numbers
of one run, and where they are from. reports/known/update makes them.

A file has "schema" ("gpusig.known"), "version", "name", "source" (records, or the device of a model),
"measured" (the day, null of a model), "gpusig" (the version that measured it), "identity" (as of RunNumbers)
and "signature", what is left of it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reports.records.causes import UNAVAILABLE
from reports.judge.compare import gpusig, sides
from reports.judge.compare.numbers import BadNumbers
from reports.records.jsonl import BadRecord, Json, clean, read_object
from reports.signature.machine import main_devices, name_of
from reports.records.metrics import shortened
from reports.records.quantity import listing
from reports.judge.scorecard.machines import KNOWN, Machine, machine_of
from reports.signature.signature_file import trusting

FOLDER = Path(__file__).resolve().parents[2] / "known"
SCHEMA, VERSION = "gpusig.known", "1.0.0"
_DIGITS = 6
# Fields that are kept of a value, of a device, and of the host of a measured machine; a model runs on any.
_OF_VALUE = (
    "value", "unit", "better", "condition", "ci_low", "ci_high", "run_low", "run_high", "run_degrees",
    "tries", "grade",
)  # fmt: skip
_OF_DEVICE = (
    "spec", "backend", "name", "vbios", "driver", "arch", "blas", "units", "slots_per_unit", "copy_engines",
    "memory_bytes", "l1_bytes", "l2_bytes", "llc_bytes",
)  # fmt: skip
_OF_HOST = "kernel architecture os cpu cpu_name virtual_machine cores_online memory_bytes".split()


# ------------------------------------------------------------------ making


def reduced(signature: Json, name: str, source: str) -> Json:
    """The part of a signature that ships: some kB, and nothing that names the machine it was measured on."""
    run = gpusig.run_of(signature, name, {})
    fields = signature["provenance"]["fields"]
    kept = () if signature["simulated"] else _OF_HOST
    values = {
        key: {part: entry[part] for part in _OF_VALUE if entry.get(part) is not None}
        for key, entry in signature["metrics"].items()
        if entry["primary"]
    }
    lacking = [e for e in signature["primary_missing"] if e["cause"] not in UNAVAILABLE]
    device = {
        "device": signature["device"],
        "simulated": signature["simulated"],
        "run_spread": signature["run_spread"],
        "devices": {
            key: {part: one[part] for part in _OF_DEVICE if one.get(part) is not None}
            for key, one in main_devices(signature).items()
        },
        "fields": {part: fields[part] for part in kept if fields.get(part) is not None},
        "primary_missing": [
            {key: value for key, value in entry.items() if key != "once"} for entry in lacking
        ],
    }
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "name": name,
        "source": source,
        "measured": run.started[:10] or None,
        "gpusig": str(fields.get("version") or "unknown"),
        "identity": run.identity,
        "signature": shortened(dict(device, metrics=values), _DIGITS),
    }


# ------------------------------------------------------------------ reading


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def _file(name: str) -> Json:
    if name not in names():
        raise BadNumbers(
            "scorecard: no known machine is called '%s'; known: %s" % (clean(name)[:60], listing(names(), 40))
        )
    try:
        found = read_object(FOLDER / (name + ".json"))
        if found.get("schema") != SCHEMA:
            raise BadNumbers("scorecard: %s%s is not the file of a known machine" % (KNOWN, name))
        return found
    except (OSError, BadRecord) as why:
        raise BadNumbers("scorecard: %s%s: %s" % (KNOWN, name, why)) from None


def source_of(name: str) -> str:
    return str(_file(name)["source"])


def signature_of(known: Json) -> Json:
    """As far as a scorecard reads one: no program has curves, and nothing else was looked for."""
    kept = known["signature"]
    metrics = {
        key: dict({"ci_low": None, "ci_high": None, "primary": True}, **entry)
        for key, entry in kept["metrics"].items()
    }
    return dict(
        {key: value for key, value in kept.items() if key != "fields"},
        metrics=metrics,
        provenance={
            "fields": dict(kept["fields"], version=known["gpusig"]),
            "environment": {},
            "changed_between_runs": {},
        },
        devices={key: dict({"state": {}}, **device) for key, device in kept["devices"].items()},
        runs=[],
        programs={},
        invalid=[],
        not_measured=[],
        unverified=False,
    )


def origin(known: Json) -> str:
    """ "measured 2026-11-27 by gpusig 0~git..., from reports/reference/h100/records.jsonl.xz" """
    how = "measured %s" % known["measured"] if known["measured"] else "a model's virtual time"
    return "%s, gpusig %s, from %s" % (how, known["gpusig"], known["source"])


def read(name: str) -> Machine:
    """BadNumbers where it is not there, or is no such file."""
    known, shown = _file(name), KNOWN + name
    with trusting("scorecard: %s" % shown, BadNumbers):
        signature = signature_of(known)
        run = gpusig.run_of(signature, shown, {})
        run = replace(run, identity=str(known["identity"]), started=str(known["measured"] or ""))
        side, paths = sides.Side(shown, [run]), [FOLDER / (name + ".json")]
        found = machine_of(shown, side, [signature], paths, signature["run_spread"])
        return replace(found, known=origin(known))


def of_its_sort(mine: Machine) -> list[Machine]:
    """Those of its sort: measured with measured, simulated with simulated, and not itself."""
    own = {(run.identity, run.device) for run in mine.runs}
    found = [machine for machine in map(read, names()) if machine.simulated == mine.simulated]
    return [machine for machine in found if (machine.runs[0].identity, machine.runs[0].device) not in own]


def table() -> str:
    """A line a machine."""
    known = {name: _file(name) for name in names()}
    about = {name: (name_of(signature_of(one)), origin(one)) for name, one in known.items()}
    return "".join("%s%s: %s; %s\n" % (KNOWN, name, *texts) for name, texts in about.items())
