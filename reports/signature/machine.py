# SPDX-License-Identifier: BSD-3-Clause
"""A machine in one sentence, what to know first, and how far a run of it can be trusted."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Dict, List

from reports.records.causes import CONTENDED, FEW_SAMPLES, GRADES, NOISY, NOT_RUN, SOAK, UNAVAILABLE
from reports.records.jsonl import BadRecord, Json, is_number, read_object
from reports.records.quantity import listing, plural, size
from reports.records.placement import in_words
from reports.records.state import Item, items

if TYPE_CHECKING:
    from reports.signature.signature import Signature  # which takes every section with it


@dataclass(frozen=True)
class Note:
    """One skipped thing, or one warning: a headline and its reason."""

    kind: str  # failed, invalid, skipped, warning
    head: str
    text: str = ""


def _number(source: Json, *keys: str) -> float:
    return next((float(source[k]) for k in keys if is_number(source.get(k)) and source[k] > 0), 0.0)


def main_devices(signature: Json) -> Dict[str, Json]:
    """Those of the main --device by name, in its order."""
    return {
        name: d for name, d in signature["devices"].items() if name.rpartition("[")[0] == signature["device"]
    }


def main_device(signature: Json) -> Json:
    return next(iter(main_devices(signature).values()), {})


def unknown_nominal(signature: Json) -> str:
    """A sentence on the nominal rates that the device lacks; older records say nothing of them."""
    nominal = main_device(signature).get("nominal")
    why = nominal.get("unknown") if isinstance(nominal, dict) else None
    return "Nominal rates are unknown: %s." % str(why)[:200] if why else ""


def _processor(fields: Json) -> object:
    """lscpu's name where it has one: what identifies a processor may be numbers."""
    return fields.get("cpu_name") or fields.get("cpu")


def latest(runs: List[Json]) -> List[Json]:
    """The last run of every program and device: an interrupted run that was resumed does not count."""
    return list({(r["program"], r["device"]): r for r in runs}.values())


def name_of(signature: Json) -> str:
    """The device's own name; a CPU's without the maker's ornaments."""
    device, fields = main_device(signature), signature["provenance"]["fields"]
    own = _processor(fields) if device.get("backend") == "host" else device.get("name")
    name = str(own or device.get("name") or _processor(fields) or "Unknown machine")
    return re.sub(r"\((R|TM|tm|r)\)", "", name).replace("  ", " ").strip()[:160]


_CACHES = {"l1_bytes": "L1 %s a unit", "l2_bytes": "L2 %s a unit", "llc_bytes": "LLC %s"}


def sentence_of(signature: Json) -> str:
    device, fields = main_device(signature), signature["provenance"]["fields"]
    count = len(main_devices(signature))
    parts: List[str] = []
    if device:
        units, slots, engines = (_number(device, k) for k in ("units", "slots_per_unit", "copy_engines"))
        text = "%s measured as " % plural(count, "device") if count > 1 else ""
        text += signature["device"]
        if units:
            text += ": " + plural(int(units), "unit")
            text += " of %s" % plural(int(slots), "slot") if slots else ""
        if engines:
            text += ", %s" % plural(int(engines), "copy engine")
        parts.append(text)
        if device.get("arch"):
            parts.append(str(device["arch"])[:40])
        if device.get("driver") and device["driver"] != "Linux %s" % fields.get("kernel"):
            parts.append("driver %s" % str(device["driver"])[:80])
        caches = [(text, _number(device, key)) for key, text in _CACHES.items()]
        known = [text % size(value) for text, value in caches if value]
        parts += [", ".join(known)] * bool(known)
    if signature["simulated"]:
        return "; ".join(parts) + "; a model in virtual time."
    cores = _number(fields, "cores_physical", "cores_online", "cores")
    memory = _number(fields, "memory_bytes")
    known = [plural(int(cores), "core")] * bool(cores) + ["%s memory" % size(memory)] * bool(memory)
    host = ", ".join(known)
    if device.get("backend") not in ("host", None) and _processor(fields):
        host = "on %s (%s)" % (_processor(fields), host)
    if host:
        parts.append(host)
    if fields.get("kernel"):
        parts.append("Linux %s" % fields["kernel"])
    if fields.get("virtual_machine") in (1, "true", "True", True):
        parts.append("virtual machine")
    return "; ".join(parts) + "." if parts else "Nothing is known about it: there is no run record."


def state_of(signature: Json) -> List[Item]:
    """Telemetry of the main device, the first of several, when its last program started."""
    return items(main_device(signature))


# Options that ask for what plan.json holds.
_TEXTS = (("device", "--device"), ("only", "--only"), ("shapes", "--shape"), ("types", "--type"))
_SWITCHES = (("full", "--full"), ("headline", "--headline"))


def command_of(folder: Path) -> str:
    """The command that measures the same again, by the decisions in plan.json; empty where there are none,
    or where the programs were started by a command of the user's."""
    try:
        plan = read_object(folder / "plan.json")
    except (OSError, BadRecord):
        return ""
    texts = {key: plan.get(key) for key, _ in _TEXTS}
    if plan.get("setting") or not is_number(plan.get("budget_s")) or not texts["device"]:
        return ""
    words = ["./gpusig", "run"]
    for key, option in _TEXTS:
        values = texts[key] if isinstance(texts[key], list) else [texts[key]]
        words += [word for value in values if value for word in (option, shlex.quote(str(value)))]
    words += ["--soak" if plan.get("soak") else "--budget", "%gs" % plan["budget_s"]]
    words += ["--seed", shlex.quote(str(plan.get("seed")))]
    return " ".join(words + [option for key, option in _SWITCHES if plan.get(key) is True])


# ------------------------------------------------------------------ what to know first


def graded(signature: Json, grade: str) -> List[str]:
    """The values with this grade; a headline number is one of them under another name."""
    return [name for name, m in signature["metrics"].items() if m.get("grade") == grade and not m["primary"]]


def _program(metric: str) -> str:
    return "/".join(metric.split("/")[:2])


def _disturbed(signature: Json) -> List[Note]:
    def flagged(flag: str) -> List[Json]:
        return [e for e in signature["invalid"] if flag in e["flags"]]

    notes = []
    lost, kept = flagged(CONTENDED), graded(signature, CONTENDED)
    if lost or kept:
        programs = sorted({e["program"] for e in lost} | {_program(name) for name in kept})
        text = "Something else used this machine while %s of %s were taken. " % (
            plural(len(lost) + len(kept), "value"),
            listing(programs),
        )
        found = ["%s kept, marked, because a repeat agrees" % plural(len(kept), "is", "are")] if kept else []
        if lost:
            lack = "one" if kept else "a repeat that agrees"
            found.append("%s not used, for lack of %s" % (plural(len(lost), "is", "are"), lack))
        notes.append(Note("warning", "Contended.", text + "; ".join(found) + ". Repeat on an idle machine."))
    throttled = flagged("throttled")
    if throttled:
        text = "The device held its clock back while %s of %s were taken; they are not used."
        programs = sorted({e["program"] for e in throttled})
        text %= (plural(len(throttled), "value"), listing(programs))
        notes.append(Note("warning", "Throttled.", text))
    return notes


def _moved(placements: List[Json]) -> Note:
    text = (
        "This machine's cores were in %s while it was measured, %s from core to core (in %s measurements of "
        "a case). What several cores do together takes longer in some; a number tried in several is that of "
        "the most frequent."
    )
    places = in_words([place["core_latency_s"] for place in placements])
    tries = listing([str(place["tries"]) for place in placements])
    return Note("warning", "Moved.", text % (plural(len(placements), "place"), places, tries))


# Capabilities that only models have (device/dev_tracking.h), in words.
_OF_NO_DEVICE = {
    "memory_adds": "memory that adds",
    "tracker": "a tracker",
    "memory_control": "a memory controller that distinguishes computing from communication",
}


def _simulated(signature: Json) -> Note:
    text = "These numbers come from a model in virtual time and say nothing about a real machine."
    listed = [d.get("capabilities") for d in signature["devices"].values()]
    named = [name for capabilities in listed if isinstance(capabilities, list) for name in capabilities]
    unreal = [words for name, words in _OF_NO_DEVICE.items() if name in named]
    if unreal:
        text += " The model has hardware that no device has: %s." % listing(unreal)
    if signature["unverified"]:
        text += " The model has no data, so no result was verified."
    return Note("failed", "Simulated: not a measurement.", text)


def warnings(signature: Json) -> List[Note]:
    notes: List[Note] = []
    if signature["simulated"]:
        notes.append(_simulated(signature))
    notes += [Note("warning", finding["head"], finding["text"]) for finding in signature["findings"]]
    notes += _disturbed(signature)
    if len(signature["placements"]) > 1:
        notes.append(_moved(signature["placements"]))
    changed = signature["provenance"]["changed_between_runs"]
    if changed:
        text = "%s between the runs collected here: %s."
        text %= ("This differs" if len(changed) == 1 else "These differ", listing(sorted(changed), 6))
        notes.append(Note("warning", "Changed while measuring.", text))
    killed = [r["program"] for r in latest(signature["runs"]) if r["status"] in ("killed", "interrupted")]
    if killed:
        text = "%s did not finish." % listing(list(dict.fromkeys(killed)))
        notes.append(Note("warning", "Incomplete.", text))
    shares = str(main_device(signature).get("shares") or "")
    if shares:
        notes.append(Note("warning", "Shared.", "This device shares %s." % shares.rstrip(".")))
    return notes


@dataclass(frozen=True)
class Verdict:
    """A sentence that says how far a run can be trusted."""

    doubtful: bool
    text: str


_MANY_INVALID = 0.1  # of all values
_MANY_GRADED = 0.1  # of the headline numbers
# Causes for which there is something to do, in words.
SOAKED, TOO_FEW, DISTURBED, DID_NOT_RUN = "soaked", "too few samples", "noisy or contended", "did not run"
_WORDS = {SOAK: SOAKED, FEW_SAMPLES: TOO_FEW, NOISY: DISTURBED, CONTENDED: DISTURBED, NOT_RUN: DID_NOT_RUN}


def words_of(cause: str) -> str:
    return _WORDS.get(cause, "invalid")


def _grades_text(signature: Signature) -> str:
    """ "5 noisy, 2 contended" of the headline numbers; empty where none is either."""
    found = Counter(entry["grade"] for entry in signature.primary.values() if entry.get("grade"))
    return ", ".join("%d %s" % (found[grade], grade) for grade in GRADES if found[grade])


def _against(signature: Signature, causes: Counter) -> List[str]:
    """Reasons not to trust this run."""
    valid, invalid, missing = len(signature.primary), len(signature.json["invalid"]), sum(causes.values())
    values, grades = invalid + len(signature.json["metrics"]), _grades_text(signature)
    count = sum(bool(entry.get("grade")) for entry in signature.primary.values())
    found = []
    if missing:
        of = plural(valid + missing, "headline number is", "headline numbers are")
        why = ", ".join("%d %s" % (n, cause) for cause, n in causes.most_common())
        found.append("%d of %s valid (%s%s)" % (valid, of, why, grades and "; of the others " + grades))
    elif count > _MANY_GRADED * valid:
        of = plural(valid, "headline number is", "headline numbers are")
        found.append("%d of %s noisy or contended (%s)" % (count, of, grades))
    if invalid > _MANY_INVALID * values:
        found.append("%d of %d values are invalid" % (invalid, values))
    return found


def verdict(signature: Signature) -> Verdict:
    """Doubtful where something failed, a headline number is missing that this machine supports, more than a
    tenth of them are noisy or contended, or more than a tenth of all values are invalid. What is wrong with
    the machine leaves them valid, but a baseline would hide it."""
    missing = [e["cause"] for e in signature.json["primary_missing"]]
    causes = Counter(words_of(cause) for cause in missing if cause not in UNAVAILABLE)
    found, valid, grades = _against(signature, causes), len(signature.primary), _grades_text(signature)
    if signature.failed:
        crashed = signature.crashed
        what = "%s crashed" % listing(crashed) if crashed else "Something failed or gave a wrong result"
        text = "%s: do not use this run until that is understood%s."
        return Verdict(True, text % (what, "".join("; " + reason for reason in found)))
    if causes[SOAKED]:
        text = "This run is a soak: it looked for wrong results and found none. Its timings are not used."
        return Verdict(True, text)
    if found:
        advice = ["repeat it on an idle machine"] * bool(causes[DISTURBED] or grades)
        advice += ["give it a larger --budget"] * bool(causes[DID_NOT_RUN] or causes[TOO_FEW])
        head = (
            "Use this run with care, and do not keep it as a baseline"
            if valid or not causes
            else "Nothing is known about this machine"
        )
        told = filter(None, (" and ".join(found if valid else found[:1]), " and ".join(advice)))
        return Verdict(True, "%s: %s." % (head, "; ".join(told)))
    if not valid:
        return Verdict(False, "This run has no headline numbers: its programs or options left them out.")
    faults = dict.fromkeys(finding["head"].rstrip(".").lower() for finding in signature.json["findings"])
    if faults:
        text = (
            "The numbers of this run can be trusted, but as a baseline they would hide what is wrong with "
            "the machine: %s."
        )
        return Verdict(False, text % listing(list(faults)))
    text = (
        "This run is good enough to keep as a baseline: %s valid, and nothing failed%s; a verdict on a later "
        "change needs several such runs (--repeats 8)."
    )
    are = plural(valid, "headline number is", "headline numbers are")
    return Verdict(False, text % (are, grades and " (%s: mind their intervals)" % grades))


def counts(signature: Signature) -> str:
    """ "214 cases ok, 2 skipped; 530 valid values, 3 invalid" """
    total: Dict[str, int] = {"ok": 0, "failed": 0, "skipped": 0}
    for section in signature.json["programs"].values():
        for status, count in section["cases"].items():
            total[status] += count
    parts = ["%s ok" % plural(total.pop("ok"), "case")] + ["%d %s" % (n, s) for s, n in total.items() if n]
    text = ", ".join(parts) + "; %s" % plural(len(signature.json["metrics"]), "metric")
    whole = len([e for e in signature.json["not_measured"] if e["key"] is None])
    text += "; %s did not run" % plural(whole, "program") if whole else ""
    invalid = len(signature.json["invalid"])
    found = {grade: len(graded(signature.json, grade)) for grade in GRADES}
    marked = ["%d %s" % (count, grade) for grade, count in found.items() if count]
    return ", ".join([text, *marked, *["%s invalid" % plural(invalid, "value")] * bool(invalid)])
