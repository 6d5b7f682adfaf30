# SPDX-License-Identifier: BSD-3-Clause
"""signature.json: what of a signature is written, in at most LIMIT bytes, and how it is read back.

Written are the headline numbers, the values of those quantities and of what advice is made from, and results such as fits.
All other values are in metrics.csv, and facts, mechanisms and samples in the records. Where there are too many, the values
written are spread evenly over all, and their whole number is stated.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Sequence, Set, Tuple

from reports.curves import numbered_variants
from reports.jsonl import Json, is_number
from reports.metrics import metric_name, of_many
from reports.packing import pack, split_columns, spread, unpack

SCHEMA, VERSION, READS = "gpusig.signature", "2.2.0", "2."
# What code that trusts the types of a signature raises where they are others.
MALFORMED = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
LIMIT = 200_000  # bytes


class Level(NamedTuple):
    """The most of everything."""

    values: int  # of a quantity
    entries: int  # of a list
    letters: int = 2000  # of a text
    programs: int = 1000  # and ten times as many headline numbers


# The first with which the file keeps its limit is taken; the last is for records that nobody measured.
_LEVELS = (Level(256, 256), Level(256, 64), Level(256, 32), Level(128, 32), Level(64, 32), Level(32, 16), Level(16, 8),
           Level(8, 4, 500), Level(0, 0, 100, 50), Level(0, 0, 30, 10))

# What advise_machine.py reads: quantities without a headline number, facts, results; and results that only the page shows.
_FOR_ADVICE = {
    "gemm/split": ("flop_rate",),
    "micro/copy_path": ("bandwidth", "both_ways_time_ratio"),
    "micro/launch": ("stream_hop_time", "time"),
    "micro/memory": ("bandwidth",),
    "micro/occupancy": ("flop_rate", "time"),
    "micro/priority": ("wait_ratio",),
    "overlap/shaping": ("normalised_time",),
    "collectives/allreduce": ("bandwidth",),
    "collectives/device_allreduce": ("bandwidth", "bus_bandwidth"),
}
_FACTS = {"gemm/split": ("m", "n", "k"), "collectives/allreduce": ("devices",), "collectives/device_allreduce": ("devices",)}
_RESULTS_FOR_ADVICE = {"gemm/efficiency": ("rates",), "micro/copy_contention": ("cil", "copies"),
                       "micro/copy_path": ("saturation",), "overlap/trigger": ("early_sends",)}
_ON_THE_PAGE = {"overlap/ficco": {"advice": ("table",)}}

_LISTS = ("runs", "primary_missing", "findings", "not_measured", "invalid", "bad_records")
_FIELDS = ("value", "ci_low", "ci_high", "n", "unit", "better")  # of every value; null is a value of them
_OF_A_CURVE = ("program", "device", "quantity", "labels", "unit", "better", "primary")
_NOT_WRITTEN = ("program", "device", "quantity", "labels", "primary", "bound", "bound_name", "share")


# ------------------------------------------------------------------ text


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _dump_rows(value: Any) -> str:
    """Rows of tables in lines of their own, all else in one line."""
    if not isinstance(value, dict):
        return _dump(value)
    parts = []
    for key in sorted(value):
        rows = value[key] if key == "rows" and isinstance(value[key], list) else []
        text = "[\n%s]" % ",\n".join("   " + _dump(row) for row in rows) if rows else _dump_rows(value[key])
        parts.append("%s:%s" % (_dump(key), text))
    return "{%s}" % ",".join(parts)


def _dump_entries(value: Any) -> str:
    if isinstance(value, dict) and value and "rows" not in value:
        return "{\n" + ",\n".join("  %s: %s" % (_dump(key), _dump_rows(value[key])) for key in sorted(value)) + "}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join("  " + _dump_rows(item) for item in value) + "]"
    return _dump_rows(value)


def text_of(signature: Json, headline_quantities: Set[Tuple[str, str]]) -> str:
    """One entry or row a line, keys in order: two signatures differ in the lines that differ."""
    text = ""
    for level in _LEVELS:
        content = _condensed(signature, headline_quantities, level)
        text = "{\n" + ",\n".join("%s: %s" % (_dump(key), _dump_entries(content[key])) for key in sorted(content)) + "\n}\n"
        if len(text.encode("utf-8")) <= LIMIT:
            break
    return text


# ------------------------------------------------------------------ what is written


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[:letters] + "… (%d characters)" % len(text)


def _brief(value: Any, letters: int) -> Any:
    """Long texts are cut; floats without a fraction become integers, which are shorter."""
    if isinstance(value, str):
        return _cut(value, letters)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    if isinstance(value, dict):
        return {_cut(name, letters): _brief(inner, letters) for name, inner in value.items()}
    return [_brief(item, letters) for item in value] if isinstance(value, list) else value


def _table(place: Tuple[Any, ...], entries: List[Json], most: int) -> Json:
    """The values of one quantity: labels and fields that differ are columns, in this order."""
    program, device, quantity, names = place
    extra = sorted({name for entry in entries for name in entry} - set(_FIELDS) - set(_NOT_WRITTEN))
    kept = spread(entries, most)
    labels = [entry["labels"] for entry in kept]
    fields = [{name: entry.get(name) for name in (*_FIELDS, *extra)} for entry in kept]
    where, label_columns = split_columns(labels, names) if kept else ({}, [])
    same, field_columns = split_columns(fields, (*_FIELDS, *extra)) if kept else ({}, [])
    rows = [[own[name] for name in label_columns] + [values[name] for name in field_columns]
            for own, values in zip(labels, fields)]
    table = {"program": program, "device": device, "quantity": quantity, "labels": list(names), "where": where,
             "same": {name: value for name, value in same.items() if value is not None}, "fields": field_columns, "rows": rows}
    return dict(table, of=len(entries)) if len(kept) < len(entries) else table


def _values(signature: Json, headline_quantities: Set[Tuple[str, str]], most: int) -> List[Json]:
    tables: Dict[Tuple[Any, ...], List[Json]] = {}
    for entry in signature["metrics"].values():
        if entry["primary"]:
            continue
        program, quantity = entry["program"], entry["quantity"]
        if (program, quantity) in headline_quantities or quantity in _FOR_ADVICE.get(program, ()):
            tables.setdefault((program, entry["device"], quantity, tuple(entry["labels"])), []).append(entry)
    return [_table(place, entries, most) for place, entries in tables.items()]


def _program(section: Json, kept: Set[Tuple[str, str, str]], level: Level) -> Json:
    """A program without its curves, which are among the values, and without what belongs to single cases."""
    program = section["program"]
    left_out = ("curves", "facts", "mechanism", "results", "formulas")
    entry = {name: value for name, value in section.items() if name not in left_out}
    results = dict(section["results"])
    for name, inner in _ON_THE_PAGE.get(program, {}).items():
        if isinstance(results.get(name), dict):
            results[name] = {key: value for key, value in results[name].items() if key not in inner}
    results = {name: pack(of_many(value), level.values if name in _RESULTS_FOR_ADVICE.get(program, ()) else level.entries)
               for name, value in results.items()}
    facts = {key: {name: own[name] for name in _FACTS[program] if name in own} for key, own in section["facts"].items()
             } if program in _FACTS else {}
    formulas = {quantity: formula for quantity, formula in section["formulas"].items()
                if (program, section["device"], quantity) in kept}
    return dict(entry, results=results, facts=pack(facts, level.values), formulas=formulas)


def _grouped(entries: List[Json], same: Sequence[str], most: int) -> List[Json]:
    """One entry for those that are alike: the first, how many there are, and where: the values of every axis among them."""
    groups: Dict[Tuple[str, ...], List[Json]] = {}
    for entry in entries:
        groups.setdefault(tuple(_dump(entry[name]) for name in same), []).append(entry)
    found = []
    for alike in groups.values():
        words: Dict[str, Dict[str, None]] = {}
        for word in (word for entry in alike for word in str(entry["key"] or "").split() if "=" in word):
            name, _, value = word.partition("=")
            words.setdefault(name, {})[value] = None
        where = {name: spread(list(values), max(most, 8)) for name, values in list(words.items())[:max(most, 8)]}
        found.append(dict(alike[0], count=len(alike), where=where))
    return found


def _device_list(devices: Dict[str, Json]) -> Json:
    """Of devices that are alike, the first, and of the others what differs from it."""
    packed: Dict[str, Json] = {}
    first: Json = {}
    for name, device in devices.items():
        if first and first["device"].keys() == device.keys():
            packed[name] = dict(_difference(first["device"], device), like=first["name"])
        else:
            packed[name] = device
            first = first or {"name": name, "device": device}
    return packed


def _difference(one: Json, other: Json) -> Json:
    """What of the other is not as in the first; of its state the samples that differ."""
    found = {key: value for key, value in other.items() if one[key] != value}
    state = found.get("state")
    if isinstance(state, dict) and isinstance(one["state"], dict) and state.keys() == one["state"].keys():
        found["state"] = {key: value for key, value in state.items() if one["state"][key] != value}
    return found


def _runs(signature: Json) -> Tuple[Json, List[Json]]:
    """The options that all runs have in common, and the runs with those of their own. Their commands are in the records."""
    runs = signature["runs"]
    shared = {name: value for name, value in (runs[0]["options"].items() if runs else ())
              if all(run["options"].get(name, _dump) == value for run in runs)}
    brief = []
    for run in runs:
        own = {name: value for name, value in run["options"].items() if name not in shared}
        cases = {name: count for name, count in run["cases"].items() if count}
        brief.append(dict({name: value for name, value in run.items() if name != "argv"}, options=own, cases=cases))
    return shared, brief


def _first(entries: Json, most: int) -> Json:
    return dict(list(entries.items())[:most])


def _condensed(signature: Json, headline_quantities: Set[Tuple[str, str]], level: Level) -> Json:
    values = _values(signature, headline_quantities, level.values) if level.values else []
    kept = {(table["program"], table["device"], table["quantity"]) for table in values}
    options, runs = _runs(signature)
    primary = {name: entry for name, entry in signature["metrics"].items() if entry["primary"]}
    programs = {name: _program(section, kept, level) for name, section in _first(signature["programs"], level.programs).items()}
    content = dict(signature, schema=SCHEMA, version=VERSION, values=values, options=options, programs=programs,
                   metrics=_first(primary, 10 * level.programs),
                   devices=_device_list(_first(signature["devices"], level.programs)))
    left_out = {name: len(whole) - len(content[name]) for name, whole in (
        ("programs", signature["programs"]), ("metrics", primary), ("devices", signature["devices"]))}
    content["left_out"] = {name: count for name, count in left_out.items() if count}
    content["provenance"] = {name: _first(part, level.programs) for name, part in signature["provenance"].items()}
    content["not_measured"] = _grouped(signature["not_measured"], ("program", "device", "status", "reason"), level.entries)
    content["invalid"] = _grouped(signature["invalid"], ("program", "device", "flags"), level.entries)
    content["runs"] = pack(runs, max(level.entries, 32))
    for name in _LISTS[1:]:
        some = spread(content[name], max(level.entries, 32))
        content[name] = some if len(some) == len(content[name]) else {"list": some, "of": len(content[name])}
    return _brief(content, level.letters)


# ------------------------------------------------------------------ reading


def restored(content: Json, values: bool = True) -> Json:
    """The signature with every value written among its metrics, and with curves; without `values`, which are most of it, only
    its headline numbers, and no programs. Raises ValueError, KeyError, TypeError or AttributeError where it is malformed."""
    signature = {name: value for name, value in content.items() if name not in ("values", "options", "left_out")}
    for name in _LISTS:
        signature[name] = unpack(content[name])
    signature["runs"] = [dict(run, options={**content["options"], **run["options"]}) for run in signature["runs"]]
    signature["devices"] = _restored_devices(content["devices"])
    if not values:
        return dict(signature, programs={})
    entries = [entry for table in content["values"] for entry in _entries_of(table)]
    signature["metrics"] = dict(content["metrics"], **{_name_of(entry, content["device"]): entry for entry in entries})
    by_program: Dict[Tuple[str, str], List[Json]] = {}
    for entry in entries:
        by_program.setdefault((entry["program"], entry["device"]), []).append(entry)
    signature["programs"] = {}
    for name, section in content["programs"].items():
        own = by_program.get((section["program"], section["device"]), [])
        signature["programs"][name] = dict(section, results=unpack(section["results"]), facts=unpack(section["facts"]),
                                           curves=curves_of_values(own, section["axis"]))
    return signature


def _entries_of(table: Json) -> List[Json]:
    where, labels = table["where"], [str(name) for name in table["labels"]]
    columns = [name for name in labels if name not in where]
    common = dict({name: None for name in _FIELDS}, **table["same"])
    common.update(primary=False, program=table["program"], device=table["device"], quantity=table["quantity"])
    found = []
    for row in table["rows"]:
        if len(row) != len(columns) + len(table["fields"]):
            raise ValueError("a row of %d values under %d names" % (len(row), len(columns) + len(table["fields"])))
        place = {**where, **dict(zip(columns, row))}
        fields = {name: value for name, value in zip(table["fields"], row[len(columns):]) if value is not None or name in _FIELDS}
        found.append({**common, **fields, "labels": {name: place[name] for name in labels}})
    return found


def _name_of(entry: Json, main: str) -> str:
    return metric_name(entry["program"], entry["quantity"], entry["labels"],
                       "" if entry["device"] in (main, "none") else "@" + entry["device"])


def _restored_devices(packed: Json) -> Json:
    devices: Json = {}
    for name, device in packed.items():
        first = devices.get(device.get("like"), {})
        devices[name] = {**first, **{key: value for key, value in device.items() if key != "like"}}
        if first.get("state") and device.get("state"):
            devices[name]["state"] = {**first["state"], **device["state"]}
    return devices


def curves_of_values(entries: Sequence[Json], axis: Json) -> List[Json]:
    """The same curves as of the cases, of the values that are there; see reports/curves.py."""
    numbered = {} if axis["name"] else numbered_variants(e["labels"]["variant"] for e in entries if e["labels"].get("variant"))
    found: Dict[Tuple[Any, ...], Json] = {}
    for entry in entries:
        fixed = {name: value for name, value in entry["labels"].items() if name not in ("variant", axis["name"])}
        variant, along, unit = str(entry["labels"].get("variant") or ""), axis["name"], axis["unit"]
        if along and is_number(entry["labels"].get(along)):
            x = float(entry["labels"][along])
        elif variant in numbered:
            along, x = numbered[variant]
            variant, unit = "", ""
        else:
            continue
        curve = found.setdefault((entry["quantity"], variant, along, _dump(fixed)), {
            "derived": entry["quantity"], "variant": variant or None, "where": fixed, "axis": along, "axis_unit": unit,
            "unit": entry["unit"], "points": []})
        curve["points"].append(dict({name: value for name, value in entry.items() if name not in _OF_A_CURVE}, x=x))
    for curve in found.values():
        curve["points"].sort(key=lambda point: point["x"])
    return list(found.values())
