# SPDX-License-Identifier: BSD-3-Clause
"""The machine of a prediction: a signature with the model that is fitted to it, or a simulated one."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from reports.model import text
from reports.model.fit import NoModel
from reports.predict.change import refuse
from reports.records.csv_files import METRICS
from reports.records.jsonl import BadRecord, Json, Refused, clean, is_number, real_in
from reports.signature import signature_file
from reports.signature.machine import name_of

SIM = "sim:"
_TIME = "time"
_KEY = re.compile(r"(?!like\b)(\w+(?: \d+>\d+)?) = (?:.*±([0-9.]+) %)?")
_SPEC = re.compile(r"sim:([^?]*?(?:\?.*?)?)(?::([0-9,-]+))?\Z", re.DOTALL)


class Fitted(NamedTuple):
    """Keys as a file of ./gpusig model has them. `errors`: by the names of those that have a value;
    `missing`: the reasons of those that have none; `at_least`: those with a value of which nothing that was
    measured reached the limit."""

    errors: dict[str, Optional[float]]
    missing: dict[str, str]
    at_least: list[str]


class Machine(NamedTuple):
    name: str
    spec: str  # of its model, without "sim:" and devices
    devices: str  # that take part, as in a spec
    fitted: Optional[Fitted] = None
    simulated: bool = True
    times: dict[tuple[str, str, str], float] = {}  # measured, by program, case and variant; seconds


def simulated(given: str) -> Machine:
    """A machine as --device names it: "sim:h100:0-7"."""
    match = _SPEC.match(given)
    if match is None or not match[1]:
        raise refuse("'%s' names no simulated machine, as sim:h100:0-7 does" % clean(given)[:60])
    return Machine(given, match[1], match[2] or "0")


def measured(path: Path, given: str, folder: Path, made: Optional[str] = None) -> Machine:
    """The machine of a signature; its model is written to `folder`. `made`: the text of the model, instead of
    that of the signature."""
    file = path / signature_file.NAME if path.is_dir() else path
    try:
        signature = signature_file.read(file)
    except OSError as why:
        tried = clean(str(Path(given) / file.name) if path.is_dir() else given)
        hint = "; a simulated machine is sim:h100:0-7" if not path.exists() else ""
        raise refuse("%s: %s%s" % (tried, why.strerror, hint)) from None
    except BadRecord as why:
        hint = (
            "; a model file is sim:%s:0-7" % clean(given) if path.is_file() and path.suffix != ".json" else ""
        )
        raise Refused("predict: %s: %s%s" % (clean(given), why, hint), 1) from None
    with signature_file.trusting("predict: " + clean(given), Refused, 1):
        try:
            return of_signature(signature, file, folder, made)
        except NoModel as why:
            raise Refused("predict: %s: %s" % (clean(given), why), 77) from None


def of_signature(signature: Json, file: Path, folder: Path, made: Optional[str] = None) -> Machine:
    """The same of a signature that was read from `file`. NoModel where it has too little."""
    name = name_of(signature)
    model = _model(signature, name, file) if made is None else made
    (folder / text.NAME).write_text(model, encoding="utf-8")
    count = len(signature["devices"])
    return Machine(
        name,
        str(folder / text.NAME),
        "0" if count == 1 else "0-%d" % (count - 1),
        fitted_in(model),
        any(device.get("virtual_time") is True for device in signature["devices"].values()),
        {**_times_in(signature), **_times_next_to(file)},
    )


def _model(signature: Json, name: str, file: Path) -> str:
    """The model of a signature: that of its report where it is as new and as it was made, for a fit takes
    seconds."""
    made = file.with_name(text.NAME)
    try:
        if file.name == signature_file.NAME and made.stat().st_mtime >= file.stat().st_mtime:
            model = made.read_text(encoding="utf-8")
            if text.is_whole(model):
                return model
    except (OSError, UnicodeDecodeError):
        pass
    return text.of(signature, name)


def fitted_in(model: str) -> Fitted:
    """The keys of the text of a fitted model, whose remarks are those of reports/model/text.py."""
    found = Fitted({}, {}, [])
    for line in model.splitlines():
        key = _KEY.match(line)
        if key:
            found.errors[key[1]] = float(key[2]) / 100 if key[2] else None
            found.at_least.extend([key[1]] * ("  # at least: " in line))
    remarks = re.sub(r"\n# (?!As in|Whole)", " ", model)  # unfold those of several lines
    for names, reason in re.findall(r"^# As in \w+: ([^:]*): (.*)", remarks, re.M):
        found.missing.update((name.strip(), reason) for name in names.split(","))
    return found


def _times_in(signature: Json) -> dict[tuple[str, str, str], float]:
    """The times that the signature itself keeps: "overlap/ficco/time{op=ag-gemm,...,variant=serial}"."""
    found = {}
    for name, entry in signature["metrics"].items():
        match = re.match(r"(.*)/%s\{(.*)\}\Z" % _TIME, name, re.DOTALL)
        if match and is_number(entry.get("value")):
            words = match[2].split(",")
            variant = [word[8:] for word in words if word.startswith("variant=")]
            key = " ".join(word for word in words if not word.startswith("variant="))
            found[match[1], key, variant[0] if variant else ""] = float(entry["value"])
    return found


def times_in_csv(metrics: Path) -> Iterator[tuple[dict[str, str], float]]:
    """Rows of metrics.csv that are valid times, with their seconds. OSError where the file cannot be read;
    csv.Error, UnicodeDecodeError or KeyError where it is no such file."""
    with metrics.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            value = (
                real_in(row["value"] or "") if row["quantity"] == _TIME and row["valid"] == "yes" else None
            )
            if value:
                yield row, value


def _times_next_to(signature: Path) -> dict[tuple[str, str, str], float]:
    """Those of the metrics.csv in the folder of a signature; none where there is no such file."""
    try:
        rows = times_in_csv(signature.with_name(METRICS))
        return {(row["program"], row["case"], row["variant"]): value for row, value in rows}
    except (OSError, csv.Error, UnicodeDecodeError, KeyError):
        return {}
