# SPDX-License-Identifier: BSD-3-Clause
"""python -m reports preflight STEP [OPTION]...   what suite/run/preflight.py asks before, while and after it
measures. expects   what the reference expects: its --device and the programs of its numbers
again     which cases want a repeat
judge     the answer
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import List, Sequence

from reports.judge.command_line import Parser, factor
from reports.judge.compare.numbers import BadNumbers
from reports.judge.preflight import reference, speed
from reports.judge.preflight.answer import FORMATS, answer
from reports.judge.preflight.node import Node, evidence_of, of_records

OK, USAGE = 0, 2


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser("preflight")
    parser.add_argument("step", choices=("expects", "again", "judge"))
    parser.add_argument("--cwd", type=Path, default=Path.cwd())
    parser.add_argument("--reference")
    parser.add_argument("--noise")
    parser.add_argument("--factor", action="append", type=factor, default=[])
    parser.add_argument("--evidence", type=Path)
    parser.add_argument("--records", type=Path)
    parser.add_argument("--format", choices=sorted(FORMATS), default="text")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args(list(arguments))


def _node(given: argparse.Namespace) -> Node:
    try:
        return of_records(given.records, evidence_of(given.evidence))
    except OSError as why:
        raise BadNumbers("preflight: its records cannot be read: %s" % why.strerror) from None


def main(arguments: List[str]) -> int:
    try:
        given = parse(arguments)
        expected = reference.read(given.cwd, given.reference, given.noise)
        if given.step == "expects":
            programs = sorted(
                {reference.program_of(name) for name in (expected.expected if expected else ())}
            )
            print(
                json.dumps(
                    {
                        "device": expected.spec if expected else "",
                        "devices": len(expected.devices) if expected else 0,
                        "programs": programs,
                    }
                )
            )
            return OK
        node = _node(given)
        if given.step == "again":
            print(json.dumps(speed.again(node, expected)))
            return OK
        found = answer(node, expected, given.factor)
        print(FORMATS[given.format](found, quiet=given.quiet, verbose=given.verbose), end="")
        return found["exit"]
    except BadNumbers as why:
        print("gpusig: %s" % why, file=sys.stderr)
        return USAGE
