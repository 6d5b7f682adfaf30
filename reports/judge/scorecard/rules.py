# SPDX-License-Identifier: BSD-3-Clause
"""Run rules: what has to hold before the numbers of a machine count in an offer, and what its signatures say
of each.

docs/FOR-BUYERS.md explains them. A rule that no signature can show, such as who measured, is a statement of
the seller.
"""

from __future__ import annotations

from collections import Counter
from typing import Callable, NamedTuple, Sequence

from reports.records.causes import CONTENDED, SOAK, UNAVAILABLE
from reports.judge.compare import provenance
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
    rule: str
    check: Callable[[Machine], Finding]


def _runs(machine: Machine) -> Finding:
    return Finding(YES if len(machine.runs) >= LEAST_RUNS else NO, "%d" % len(machine.runs))


def _complete(machine: Machine) -> Finding:
    lost = list(machine.side.left_out)
    for run, signature in zip(machine.runs, machine.signatures):
        bad = sorted({r["program"] for r in signature["runs"] if r["status"] in ("killed", "interrupted")})
        lost += ["%s: %s did not finish" % (run.name, listing(bad, _SHOWN))] if bad else []
    return Finding(NO, listing(lost, _SHOWN)) if lost else Finding(YES, "")


def _measured(machine: Machine) -> Finding:
    return Finding(NO, "a model in virtual time") if machine.simulated else Finding(YES, "")


def _verified(machine: Machine) -> Finding:
    failed = sorted(
        {e["program"] for s in machine.signatures for e in s["not_measured"] if e["status"] == "failed"}
    )
    if failed:
        return Finding(NO, "failed: %s" % listing(failed, _SHOWN))
    return (
        Finding(NO, "results were not checked")
        if any(s["unverified"] for s in machine.signatures)
        else Finding(YES, "")
    )


def _no_soak(machine: Machine) -> Finding:
    soaked = [s for s in machine.signatures if any(e["cause"] == SOAK for e in s["primary_missing"])]
    return Finding(NO, "a soak: its timings are not used") if soaked else Finding(YES, "")


def _headline(machine: Machine) -> Finding:
    """Missing headline numbers, except those that the device cannot have."""
    counted = Counter(
        e["metric"] for s in machine.signatures for e in s["primary_missing"] if e["cause"] not in UNAVAILABLE
    )
    if counted:
        return Finding(
            NO,
            "%s missing, such as %s" % (plural(len(counted), "is", "are"), listing(sorted(counted), _SHOWN)),
        )
    return (
        Finding(YES, "")
        if any(e["primary"] for s in machine.signatures for e in s["metrics"].values())
        else Finding(NO, "there is none")
    )


def _alone(machine: Machine) -> Finding:
    kept = sum(
        e.get("grade") == CONTENDED for s in machine.signatures for e in s["metrics"].values() if e["primary"]
    )
    lost = sum(e["cause"] == CONTENDED for s in machine.signatures for e in s["primary_missing"])
    return (
        Finding(NO, "%s contended" % plural(kept + lost, "headline value"))
        if kept + lost
        else Finding(YES, "")
    )


def _cool(machine: Machine) -> Finding:
    count = sum(
        int(e.get("count", 1)) for s in machine.signatures for e in s["invalid"] if "throttled" in e["flags"]
    )
    return Finding(NO, "%s throttled" % plural(count, "value")) if count else Finding(YES, "")


def _values(machine: Machine, kinds: Sequence[str]) -> dict[str, list[str]]:
    """Fields of these kinds that differ between the machine's runs."""
    fields = dict.fromkeys(f for run in machine.runs for f in run.provenance if f.partition(":")[0] in kinds)
    found = {f: list(dict.fromkeys(run.provenance.get(f, "unknown") for run in machine.runs)) for f in fields}
    return {f: values for f, values in found.items() if len(values) > 1}


def _unchanged(machine: Machine) -> Finding:
    inside = sorted({f for s in machine.signatures for f in s["provenance"]["changed_between_runs"]})
    changed = sorted({*inside, *_values(machine, [k for k in provenance.KINDS if k != "options"])})
    return Finding(NO, listing(changed, _SHOWN)) if changed else Finding(YES, "")


def _options(machine: Machine) -> Finding:
    changed = _values(machine, ("options",))
    if changed:
        return Finding(NO, listing(sorted(changed), _SHOWN))
    own = {f: v for f, v in machine.runs[0].provenance.items() if f.startswith("options:")}
    return (
        Finding(YES, ", ".join("%s %s" % (f.partition(": ")[2], v) for f, v in sorted(own.items())))
        if own
        else Finding(UNKNOWN, "no plan.json next to the signature")
    )


def versions(machine: Machine) -> list[str]:
    return sorted({str(s["provenance"]["fields"].get("version") or "unknown") for s in machine.signatures})


def _device_stated(machine: Machine) -> Finding:
    if machine.simulated:
        return Finding(NO, "a model")
    device = next(iter(machine.signatures[0]["devices"].values()), {})
    names = [n for n in ("name", "driver") if not device.get(n)] if machine.kind != "host" else []
    return Finding(NO, "%s not known" % listing(names)) if names else Finding(YES, "")


def _limits_stated(machine: Machine) -> Finding:
    if machine.simulated:
        return Finding(NO, "a model")
    device = next(iter(machine.signatures[0]["devices"].values()), {})
    if machine.kind == "host":
        governor = machine.signatures[0]["provenance"]["fields"].get("governor")
        return (
            Finding(YES, "governor %s" % governor)
            if governor
            else Finding(NO, "no frequency governor is known")
        )
    known = {sample.name: sample for sample in telemetry_of(device) if sample.value is not None}
    lacking = [name.replace("_", " ") for name in _STATED if name not in known]
    return (
        Finding(NO, "%s not known" % listing(lacking))
        if lacking
        else Finding(YES, ", ".join(known[name].text for name in _STATED))
    )


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
    "that all runs that were made are there, not only the best ones",
)


def check(machines: Sequence[Machine]) -> list[dict[str, object]]:
    """Findings of every rule, by machine."""
    found: list[dict[str, object]] = []
    for rule in RULES:
        said = {machine.name: rule.check(machine) for machine in machines}
        found.append(
            {
                "rule": rule.rule,
                "machines": {
                    name: {"holds": finding.holds, "text": finding.text[:300]}
                    for name, finding in said.items()
                },
            }
        )
    own = {machine.name: versions(machine) for machine in machines}
    every = sorted({version for held in own.values() for version in held})
    holds = UNKNOWN if "unknown" in every else YES if len(every) == 1 else NO
    found.append(
        {
            "rule": ONE_VERSION,
            "machines": {name: {"holds": holds, "text": listing(held)} for name, held in own.items()},
        }
    )
    return found


def broken(rules: Sequence[dict[str, object]], name: str) -> list[str]:
    return [str(rule["rule"]) for rule in rules if rule["machines"][name]["holds"] != YES]  # type: ignore[index]
