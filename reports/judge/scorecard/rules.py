# SPDX-License-Identifier: BSD-3-Clause
"""Run rules: what has to hold before the numbers of a machine count in an offer, and what its signatures say
of each.

docs/FOR-BUYERS.md explains them. A rule that no signature can show, such as who measured, is a statement of
the seller.
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from reports.records.causes import CONTENDED, SOAK, UNAVAILABLE
from reports.judge.compare import provenance
from reports.records.jsonl import Json
from reports.records.quantity import listing, plural
from reports.judge.scorecard.machines import Machine
from reports.records.state import telemetry_of

LEAST_RUNS = 3
YES, NO, UNKNOWN = "yes", "no", "unknown"
_STATED = ("sm_clock_max", "memory_clock_max", "power_limit")  # of a GPU's telemetry
_SHOWN = 2  # of a list


class Finding(NamedTuple):
    holds: str
    text: str  # the reason, or what is stated; may be empty


class Rule(NamedTuple):
    """`check` returns a Finding, or the reason for which the rule does not hold; "" if it holds."""

    rule: str
    check: Callable[[Machine], Finding | str]


def _runs(machine: Machine) -> Finding:
    return Finding(YES if len(machine.runs) >= LEAST_RUNS else NO, "%d" % len(machine.runs))


def _complete(machine: Machine) -> str:
    lost = list(machine.side.left_out)
    for run, signature in zip(machine.runs, machine.signatures):
        bad = sorted({r["program"] for r in signature["runs"] if r["status"] in ("killed", "interrupted")})
        lost += ["%s: %s did not finish" % (run.name, listing(bad, _SHOWN))] if bad else []
    return listing(lost, _SHOWN)


def _measured(machine: Machine) -> str:
    return "a model in virtual time" * machine.simulated


def _verified(machine: Machine) -> str:
    failed = {e["program"] for s in machine.signatures for e in s["not_measured"] if e["status"] == "failed"}
    if failed:
        return "failed: %s" % listing(sorted(failed), _SHOWN)
    return "results were not checked" * any(s["unverified"] for s in machine.signatures)


def _missing(machine: Machine) -> list[Json]:
    return [entry for signature in machine.signatures for entry in signature["primary_missing"]]


def _primary(machine: Machine) -> list[Json]:
    return [e for s in machine.signatures for e in s["metrics"].values() if e["primary"]]


def _no_soak(machine: Machine) -> str:
    return "a soak: its timings are not used" * any(entry["cause"] == SOAK for entry in _missing(machine))


def _headline(machine: Machine) -> str:
    """Missing headline numbers, except those that the device cannot have."""
    lost = sorted({entry["metric"] for entry in _missing(machine) if entry["cause"] not in UNAVAILABLE})
    if lost:
        return "%s missing, such as %s" % (plural(len(lost), "is", "are"), listing(lost, _SHOWN))
    return "" if _primary(machine) else "there is none"


def _alone(machine: Machine) -> str:
    count = sum(entry.get("grade") == CONTENDED for entry in _primary(machine))
    count += sum(entry["cause"] == CONTENDED for entry in _missing(machine))
    return "%s contended" % plural(count, "headline value") if count else ""


def _cool(machine: Machine) -> str:
    invalid = [entry for signature in machine.signatures for entry in signature["invalid"]]
    count = sum(int(entry.get("count", 1)) for entry in invalid if "throttled" in entry["flags"])
    return "%s throttled" % plural(count, "value") if count else ""


def _changed(machine: Machine, kinds: Sequence[str]) -> list[str]:
    """Fields of these kinds that differ between the machine's runs."""
    fields = {f for run in machine.runs for f in run.provenance if f.partition(":")[0] in kinds}
    return sorted(f for f in fields if len({run.provenance.get(f, "unknown") for run in machine.runs}) > 1)


def _unchanged(machine: Machine) -> str:
    inside = {f for s in machine.signatures for f in s["provenance"]["changed_between_runs"]}
    between = _changed(machine, [k for k in provenance.KINDS if k != "options"])
    return listing(sorted({*inside, *between}), _SHOWN)


def _options(machine: Machine) -> Finding | str:
    changed = _changed(machine, ("options",))
    if changed:
        return listing(changed, _SHOWN)
    own = [pair for pair in sorted(machine.runs[0].provenance.items()) if pair[0].startswith("options:")]
    if not own:
        return Finding(UNKNOWN, "no plan.json next to the signature")
    return Finding(YES, ", ".join("%s: %s" % (field.partition(": ")[2], value) for field, value in own))


def versions(machine: Machine) -> list[str]:
    return sorted({str(s["provenance"]["fields"].get("version") or "unknown") for s in machine.signatures})


def _device_stated(machine: Machine) -> str:
    if machine.simulated:
        return "a model"
    device = next(iter(machine.signatures[0]["devices"].values()), {})
    names = [n for n in ("name", "driver") if not device.get(n)] if machine.kind != "host" else []
    return "%s not known" % listing(names) if names else ""


def _limits_stated(machine: Machine) -> Finding | str:
    if machine.simulated:
        return "a model"
    if machine.kind == "host":
        governor = machine.signatures[0]["provenance"]["fields"].get("governor")
        return Finding(YES, "governor %s" % governor) if governor else "no frequency governor is known"
    device = next(iter(machine.signatures[0]["devices"].values()), {})
    known = {sample.name: sample for sample in telemetry_of(device) if sample.value is not None}
    lacking = [name.replace("_", " ") for name in _STATED if name not in known]
    if lacking:
        return "%s not known" % listing(lacking)
    return Finding(YES, ", ".join(known[name].text for name in _STATED))


RULES: tuple[Rule, ...] = (
    Rule("three runs or more", _runs),
    Rule("measured, not simulated", _measured),
    Rule("no soak", _no_soak),
    Rule("every run is complete", _complete),
    Rule("nothing failed, and results were checked", _verified),
    Rule("no headline number is missing", _headline),
    Rule("nobody else used the machine (no contended number)", _alone),
    Rule("not throttled", _cool),
    Rule("nothing changed within or between its runs", _unchanged),
    Rule("budget, seed and options are stated, and alike in all runs", _options),
    Rule("device and driver are stated", _device_stated),
    Rule("clocks and power limit are stated", _limits_stated),
)
ONE_VERSION = "one version of gpusig on all machines"
STATEMENTS = (
    "who measured, when, and for whom",
    "that the settings are those of the machine as it will be delivered",
    "that every run is included, not only the best ones",
)


def _finding(rule: Rule, machine: Machine) -> Finding:
    found = rule.check(machine)
    return found if isinstance(found, Finding) else Finding(NO if found else YES, found)


def check(machines: Sequence[Machine]) -> list[Json]:
    """Findings of every rule, by machine."""
    found = [(rule.rule, {machine.name: _finding(rule, machine) for machine in machines}) for rule in RULES]
    own = {machine.name: versions(machine) for machine in machines}
    every = {version for held in own.values() for version in held}
    holds = UNKNOWN if "unknown" in every else YES if len(every) == 1 else NO
    found.append((ONE_VERSION, {name: Finding(holds, listing(held)) for name, held in own.items()}))
    return [
        {
            "rule": rule,
            "machines": {name: {"holds": one.holds, "text": one.text[:300]} for name, one in said.items()},
        }
        for rule, said in found
    ]


def broken(rules: Sequence[Json], name: str) -> list[str]:
    return [rule["rule"] for rule in rules if rule["machines"][name]["holds"] != YES]
