# SPDX-License-Identifier: BSD-3-Clause
"""python -m reports build DIR [--strict]: DIR/records.jsonl -> signature.json, metrics.csv, timings.csv and
report.html in DIR; prints the headline numbers.

python -m reports advise SIGNATURE...  which schedule for a GEMM with its communication, on which machine:
                                    reports/judge/advise.py; check-advise only checks the options
python -m reports compare BEFORE AFTER  has anything changed: reports/judge/compare/command.py
python -m reports export --to FORMAT SIGNATURE...  for other tools: reports/export/command.py
python -m reports scorecard MACHINE...  machines side by side: reports/judge/scorecard/command.py
python -m reports joins HISTORY RECORDS  may a run be one more of a history: reports/judge/compare/joins.py
python -m reports one-machine RECORDS...  whether their records are of one machine
python -m reports validate FILE     check every line of records, a signature, or advice, against the schema

Exit codes: 0 ok, 1 something measured was wrong or failed, or a file cannot be written, 2 usage, 3 no valid
metric, or with --strict a doubtful run, 77 no page: jinja2 is missing.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import List

from reports.judge import advise as advise_command
from reports.records import csv_files, validate
from reports.records.files import write_whole
from reports.signature.headline import headline
from reports.signature.machine import verdict
from reports.records.record_file import read
from reports.page.template import MissingDependency
from reports.signature.report import render
from reports.signature.signature import MixedMachines, Signature, build, check_one_machine

OK, WRONG, USAGE, NOTHING, NO_PAGE = 0, 1, 2, 3, 77
# Commands about signatures, each a module with main(arguments): one that is not asked is not loaded.
_JUDGING = {
    "compare": "reports.judge.compare.command",
    "export": "reports.export.command",
    "fleet": "reports.judge.fleet.command",
    "joins": "reports.judge.compare.joins",
    "preflight": "reports.judge.preflight.command",
    "scorecard": "reports.judge.scorecard.command",
}


def complain(text: str) -> None:
    print("gpusig: " + text, file=sys.stderr)


def write_all(folder: Path, signature: Signature) -> int:
    """OK, WRONG where a file could not be written, else NO_PAGE where the page cannot be made; each after a
    message. What cannot be written does not keep the others from it, and leaves no file of earlier
    records."""
    groups = [section.group for section in signature.sections]
    code = OK
    for name, text in (
        ("signature.json", signature.text),
        (csv_files.METRICS, lambda: csv_files.metrics_text(groups)),
        (csv_files.TIMINGS, lambda: csv_files.timings_text(groups)),
        ("report.html", lambda: render(signature)),
    ):
        path = folder / name
        try:
            write_whole(path, text())
            continue
        except OSError as why:
            complain("report: cannot write %s: %s" % (path, why.strerror))
            code = WRONG
        except MissingDependency as why:
            rest = "" if code else "; everything else is written"
            complain("report: %s%s. Where jinja2 is: ./gpusig report %s" % (why, rest, folder))
            code = code or NO_PAGE
        delete_stale(path)
    return code


def delete_stale(path: Path) -> None:
    if path.is_dir():
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as why:
        complain("report: %s is of earlier records, and cannot be deleted: %s" % (path, why.strerror))


def build_folder(folder: Path, strict: bool) -> int:
    source = folder / "records.jsonl"
    try:
        records = read(source)
    except OSError as why:
        complain("report: %s: %s" % (source, why.strerror))
        return USAGE
    if records.bad_records:
        count = sum(len(lines) for lines in records.bad_records.values())
        complain(
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
        complain("report: %s" % why)
        return USAGE
    written = write_all(folder, signature)
    print(headline(signature), end="")
    if signature.failed or written == WRONG:
        return WRONG
    if strict and verdict(signature).doubtful:
        return NOTHING
    if written == NO_PAGE:
        return NO_PAGE
    return OK if signature.json["metrics"] else NOTHING


def check_machine(sources: List[str]) -> int:
    """OK where the records of these files may be in one file."""
    try:
        check_one_machine([run for source in sources for run in read(Path(source)).runs()])
        return OK
    except (OSError, MixedMachines) as why:
        complain(str(why))
        return USAGE


def main(arguments: List[str]) -> int:
    if arguments in (["-h"], ["--help"]):
        print(__doc__, end="")
        return OK
    strict = arguments[:1] == ["build"] and "--strict" in arguments
    if strict:
        arguments.remove("--strict")
    if len(arguments) == 2 and arguments[0] == "build":
        return build_folder(Path(arguments[1]), strict)
    if arguments[:1] == ["one-machine"]:
        return check_machine(arguments[1:])
    if len(arguments) == 2 and arguments[0] == "validate":
        return validate.validate_file(Path(arguments[1]))
    if arguments and arguments[0] in _JUDGING:
        return importlib.import_module(_JUDGING[arguments[0]]).main(arguments[1:])
    if arguments[:1] in (["advise"], ["check-advise"]):
        return advise_command.main(arguments[1:], check_only=arguments[0] != "advise")
    complain(
        "usage: python -m reports build DIR [--strict] | advise SIGNATURE... | compare BEFORE AFTER | "
        "validate FILE"
    )
    return USAGE


if __name__ == "__main__":
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    sys.exit(main(sys.argv[1:]))
