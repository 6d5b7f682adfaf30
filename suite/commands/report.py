# SPDX-License-Identifier: BSD-3-Clause
"""./gpusig report DIR: DIR/records.jsonl -> signature.json, machine.model, metrics.csv, timings.csv and
report.html in DIR, and the headline numbers on stdout.

python -m suite.commands.report DIR [--strict] [PROGRAMS] does it in a process of its own, so that records
damaged in a way that their reader misses end that process and not the driver (suite/run/report.py). With the
folder PROGRAMS, what machine.model predicts of them is compared with what they measured
(reports/predict/check.py).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Optional

from reports.model import text as model_text
from reports.model.fit import NoModel
from reports.page.template import MissingDependency
from reports.predict import check
from reports.records import csv_files
from reports.records.files import as_json
from reports.records.jsonl import Json, Refused, clean
from reports.records.record_file import read
from reports.signature.headline import headline
from reports.signature.machine import command_of, name_of, verdict
from reports.signature.report import render
from reports.signature.signature_file import trusting
from reports.signature.signature import MixedMachines, Signature, build
from suite.command_error import BAD, CANNOT_RUN, INCONCLUSIVE, OK, USAGE, CommandError
from suite.commands import Place, options
from suite.commands.answer import write
from suite.run import report
from suite.saying import say


def _model_of(signature: Signature) -> str:
    with trusting("the signature", NoModel):
        return model_text.of(json.loads(signature.text()), name_of(signature.json))


def _predicted(folder: Path, programs: Optional[Path]) -> Optional[Json]:
    """Error of the model, which is written, in programs that it was not made of, simulated with the
    `programs`; without them, what an earlier report found."""
    try:
        return check.check(folder, programs) if programs else check.kept(folder)
    except (Refused, OSError) as why:
        reason = "%s: %s" % (why.filename, why.strerror) if isinstance(why, OSError) else str(why)
        say("report: nothing is predicted: %s" % clean(reason))
        return None


def write_all(folder: Path, signature: Signature, programs: Optional[Path] = None) -> int:
    """Write each file, after a message where that fails: then BAD, or CANNOT_RUN where only the page is
    missing for want of jinja2; else OK. A file that cannot be written does not stop the others; one of
    earlier records is deleted by suite/run/report.py."""
    groups = [section.group for section in signature.sections]
    code = OK
    is_new: set[str] = set()

    def page() -> str:
        nonlocal code
        signature.prediction = _predicted(folder, programs) if model_text.NAME in is_new else None
        if programs and signature.prediction:
            if not write(folder / check.NAME, as_json(signature.prediction), "report"):
                code = BAD
        return render(signature)

    for name, text in (
        ("signature.json", signature.text),
        (model_text.NAME, lambda: _model_of(signature)),
        (csv_files.METRICS, lambda: csv_files.metrics_text(groups)),
        (csv_files.TIMINGS, lambda: csv_files.timings_text(groups)),
        ("report.html", page),
    ):
        try:
            if write(folder / name, text(), "report"):
                is_new.add(name)
            else:
                code = BAD
        except NoModel:
            continue  # ./gpusig model says why
        except MissingDependency as why:
            rest = "" if code else "; everything else is written"
            say("report: %s%s. With jinja2: ./gpusig report %s" % (why, rest, folder))
            code = code or CANNOT_RUN
    return code


def build_folder(folder: Path, strict: bool, programs: Optional[Path] = None) -> int:
    source = folder / "records.jsonl"
    try:
        records = read(source)
    except OSError as why:
        say("report: %s: %s" % (source, why.strerror))
        return USAGE
    if records.bad_records:
        count = sum(len(lines) for lines in records.bad_records.values())
        say(
            "report: %d of %d lines could not be used: %s"
            % (
                count,
                records.lines,
                "; ".join(
                    "%s (%d)" % (reason, len(lines))
                    for reason, lines in list(records.bad_records.items())[:6]
                ),
            )
        )
    try:
        signature = build(records)
    except MixedMachines as why:
        say("report: %s" % why)
        return USAGE
    signature.command = command_of(folder)
    written = write_all(folder, signature, programs)
    print(headline(signature), end="")
    if programs and signature.prediction and signature.prediction["sentence"]:
        say(signature.prediction["sentence"])
    if signature.failed or written == BAD:
        return BAD
    if strict and verdict(signature).doubtful:
        return INCONCLUSIVE
    if written == CANNOT_RUN:
        return CANNOT_RUN
    return OK if signature.json["metrics"] else INCONCLUSIVE


def command(words: list[str], place: Place) -> int:
    given = options.parse("report", words, {})
    if not given.names:
        raise CommandError("report needs the folder of a run: ./gpusig report DIR")
    if len(given.names) > 1:
        raise CommandError(f"report takes one folder, not also '{given.names[1]}'")
    if not given.names[0]:
        raise CommandError("report: an empty name is not a folder")
    folder = place.cwd / given.names[0]
    if not (folder / "records.jsonl").is_file():
        raise CommandError(f"{given.names[0]} holds no records.jsonl")
    return OK if place.check_only else report.build(folder, given.strict)


if __name__ == "__main__":
    _, of_run, *of_child = sys.argv
    simulated_with = [Path(word) for word in of_child if word != "--strict"]
    sys.exit(build_folder(Path(of_run), "--strict" in of_child, *simulated_with))
