# SPDX-License-Identifier: BSD-3-Clause
"""What this machine is, in one sentence, and what a reader must know before any number: warnings and omissions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Tuple

from reports.jsonl import Json, is_number
from reports.quantity import listing, plural, size, spell
from reports.signature import Signature


@dataclass(frozen=True)
class Note:
    """One thing left out, or one warning: a headline and its reason."""

    kind: str  # failed, invalid, skipped, warning
    head: str
    text: str = ""


def _number(source: Json, *keys: str) -> float:
    return next((float(source[k]) for k in keys if is_number(source.get(k)) and source[k] > 0), 0.0)


def main_device(signature: Json) -> Json:
    found = [d for name, d in signature["devices"].items() if name.rpartition("[")[0] == signature["device"]]
    return found[0] if found else {}


def name_of(signature: Json) -> str:
    """The device's own name; a CPU's without the maker's ornaments."""
    device, fields = main_device(signature), signature["provenance"]["fields"]
    name = str(device.get("name") or fields.get("cpu") or "Unknown machine")
    return re.sub(r"\((R|TM|tm|r)\)", "", name).replace("  ", " ").strip()[:160]


def sentence_of(signature: Json) -> str:
    device, fields = main_device(signature), signature["provenance"]["fields"]
    count = len([n for n in signature["devices"] if n.rpartition("[")[0] == signature["device"]])
    parts: List[str] = []
    if device:
        units, slots, engines = (_number(device, k) for k in ("units", "slots_per_unit", "copy_engines"))
        text = "%s measured as %s" % (plural(count, "device"), signature["device"]) if count > 1 else signature["device"]
        if units:
            text += ": %s" % plural(int(units), "unit") + (" of %s" % plural(int(slots), "slot") if slots else "")
        if engines:
            text += ", %s" % plural(int(engines), "copy engine")
        parts.append(text)
        caches = [(label, _number(device, key)) for label, key in (("L1", "l1_bytes"), ("L2", "l2_bytes"), ("LLC", "llc_bytes"))]
        known = ["%s %s" % (label, size(value)) for label, value in caches if value]
        if known:
            parts.append(", ".join(known))
    if signature["simulated"]:
        return "; ".join(parts) + "; a model in virtual time."
    cores = _number(fields, "cores_online", "cores")
    memory = _number(fields, "memory_bytes")
    host = ", ".join(t for t in (plural(int(cores), "core") if cores else "",
                                 "%s memory" % size(memory) if memory else "") if t)
    if device.get("backend") not in ("host", None) and fields.get("cpu"):
        host = "%s (%s)" % (fields["cpu"], host)
    if host:
        parts.append(host)
    if fields.get("kernel"):
        parts.append("Linux %s" % fields["kernel"])
    if fields.get("virtual_machine") in (1, "true", "True", True):
        parts.append("virtual machine")
    return "; ".join(parts) + "." if parts else "Nothing is known of it: there is no run record."


# ------------------------------------------------------------------ what to know first


def warnings(signature: Json) -> List[Note]:
    notes: List[Note] = []
    if signature["simulated"]:
        notes.append(Note("failed", "Simulated: not a measurement.",
                          "These numbers come from a model in virtual time and say nothing about a real machine."))
    contended = sorted({e["program"] for e in signature["invalid"] if "contended" in e["flags"]})
    if contended:
        count = sum("contended" in e["flags"] for e in signature["invalid"])
        notes.append(Note("warning", "Contended.", "Something else used this machine while %s of %s were taken; they are left "
                          "out, and the rest deserves doubt." % (plural(count, "value"), listing(contended))))
    changed = signature["provenance"]["changed_between_runs"]
    if changed:
        notes.append(Note("warning", "Changed while measuring.", "%s between the runs collected here: %s." % (
            "This differs" if len(changed) == 1 else "These differ", listing(sorted(changed), 6))))
    killed = [r["program"] for r in signature["runs"] if r["status"] in ("killed", "interrupted")]
    if killed:
        notes.append(Note("warning", "Incomplete.", "%s did not finish." % listing(list(dict.fromkeys(killed)))))
    shares = str(main_device(signature).get("shares") or "")
    if shares:
        notes.append(Note("warning", "Mind:", shares.rstrip(".") + "."))
    return notes


def _by_flags(entries: List[Json]) -> Dict[Tuple[str, str], List[Json]]:
    groups: Dict[Tuple[str, str], List[Json]] = {}
    for entry in entries:
        label = listing([flag.replace("_", " ") for flag in entry["flags"]]) or "no value"
        groups.setdefault((entry["program"], label), []).append(entry)
    return groups


def _without_flags(entry: Json) -> str:
    """The reason, less the flag words that the heading has said already."""
    text = "; " + entry["reason"]
    for flag in entry["flags"]:
        text = text.replace("; %s: " % flag, "; ")
    return text[2:]


def _brief(text: str, most: int = 160) -> str:
    return text if len(text) <= most else text[:most - 1].rstrip() + "…"


def left_out(signature: Json) -> List[Note]:
    """Failed, invalid, skipped, missing, unreadable: counted by program and reason, the worst first."""
    notes: List[Note] = []
    for status in ("failed", "skipped"):
        groups: Dict[Tuple[str, str], List[Json]] = {}
        for entry in signature["not_measured"]:
            if entry["status"] == status:
                groups.setdefault((entry["program"], entry["reason"]), []).append(entry)
        for (program, reason), entries in groups.items():
            first = entries[0]["key"] if status == "failed" or len(entries) == 1 else ""
            notes.append(Note(status, "%s: %s %s" % (program, plural(len(entries), "case"), status),
                              _brief("%s%s" % (first + ": " if first else "", reason))))
        if status == "failed":
            for (program, flag), entries in _by_flags(signature["invalid"]).items():
                example = _without_flags(entries[0])
                notes.append(Note("invalid", "%s: %s invalid, %s" % (program, plural(len(entries), "value"), flag),
                                  "%s%s" % ("such as: " if len(entries) > 1 else "", _brief(example))))
    for entry in signature["primary_missing"]:
        notes.append(Note("skipped", "%s has no value" % spell(entry["metric"]), _brief(entry["reason"])))
    for run in signature["runs"]:
        late = run["cases"].get("out_of_budget", 0)
        if late:
            notes.append(Note("skipped", "%s: %s not reached" % (run["program"], plural(late, "case")), "the time budget was spent"))
        if run["status"] not in ("ok", "invalid") and run["reason"]:
            notes.append(Note("failed" if run["status"] == "failed" else "skipped", "%s: %s" % (run["program"], run["status"]),
                              _brief(run["reason"])))
    for entry in signature["unusable"]:
        notes.append(Note("invalid", "%s could not be used" % plural(entry["lines"], "line"),
                          "%s (first: line %d)" % (_brief(entry["reason"]), entry["first_line"])))
    return notes


def counts(signature: Signature) -> str:
    """"214 cases ok, 2 skipped; 530 valid values, 3 invalid" """
    total: Dict[str, int] = {"ok": 0, "failed": 0, "skipped": 0}
    for section in signature.json["programs"].values():
        for status, count in section["cases"].items():
            total[status] += count
    values = len([m for m in signature.json["metrics"].values() if m["key"] or not m["primary"]])
    parts = ["%s ok" % plural(total["ok"], "case")] + ["%d %s" % (n, s) for s, n in total.items() if n and s != "ok"]
    text = ", ".join(parts) + "; %s" % plural(values, "metric")
    invalid = len(signature.json["invalid"])
    return text + (", %s invalid" % plural(invalid, "value") if invalid else "")
