# SPDX-License-Identifier: BSD-3-Clause
"""A test class for ReFrame 4 that works as it is: it starts ./gpusig run for the programs of a run and holds
the headline numbers against that run.

A bound is where another run of the same machine is expected, which the signature states where repeats
showed how much numbers move; else the interval of the median, and at least LEAST_ALONE. One number outside
fails the test, so bounds are wider by as much as keeps the chance of any false failure where that of one
number was. Only worse is a failure, where better is known.
"""

from __future__ import annotations

import re
from pathlib import Path
from pprint import pformat
from statistics import NormalDist
from typing import Any, Sequence

from reports.judge.compare.numbers import BadNumbers
from reports.judge.compare.verdict import Settings
from reports.export.runs import Run, Value
from reports.records.quantity import plural

LEAST, LEAST_ALONE = Settings.least_effect, 0.05  # share of the value that compare ignores; without repeats
_CONFIDENCE = 0.95
_HEADLINE_BUDGET = 48  # seconds, as ./gpusig run --headline has it; LIMIT times as long is hung
_LIMIT = 30
_FRONT_DOOR = Path(__file__).resolve().parents[2] / "gpusig"

_CLASS = """# Made by ./gpusig export --to reframe from the run of {started} on {node}: {model}.
#
#   reframe -c THIS_FILE -r                     -S gpusig=PATH, -S device=cuda:0, -S budget=2m change how it
# is run
#
# {bounds}
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.exceptions import SanityError


@rfm.simple_test
class {name}(rfm.RunOnlyRegressionTest):
    descr = {descr!r}
    valid_systems = ['*']
    valid_prog_environs = ['*']
    sourcesdir = None
    time_limit = '{limit}m'

    gpusig = variable(str, value={front_door!r})
    device = variable(str, value={device!r})
    budget = variable(str, value='')
    programs = {programs}
    simulated = {simulated}
    # Variable of the test: the number of a signature, and its unit.
    numbers = {numbers}
    reference = {{'*': {reference}}}

    @run_before('run')
    def set_command(self):
        self.executable = self.gpusig
        self.executable_opts = ['run', '--headline', '--no-install', '--device', self.device]
        self.executable_opts += ['--out', 'gpusig-run']
        self.executable_opts += ['--budget', self.budget] if self.budget else []
        for program in self.programs:
            self.executable_opts += ['--only', program]

    def signature(self):
        path = os.path.join(self.stagedir, 'gpusig-run', 'signature.json')
        if not os.path.isfile(path):
            raise SanityError('gpusig wrote no signature.json; what it said is in %s' % self.stderr)
        with open(path, encoding='utf-8') as stream:
            return json.load(stream)

    @sanity_function
    def results_are_right(self):
        found = self.signature()
        if found['simulated'] != self.simulated:
            raise SanityError('one is simulated, and the other is measured')
        failed = [entry for entry in found['not_measured'] if entry['status'] == 'failed']
        if failed:
            raise SanityError('; '.join('%s: %s' % (entry['program'], entry['reason']) for entry in failed))
        if not any(name in found['metrics'] for name, _ in self.numbers.values()):
            raise SanityError('no number of the reference was measured')
        return True

    def number(self, name):
        found = self.signature()
        if name not in found['metrics']:
            raise SanityError('%s has no valid value here' % name)
        return found['metrics'][name]['value']

    @run_before('performance')
    def set_numbers(self):
        self.perf_variables = {{variable: sn.make_performance_function(self.number, unit, name)
                               for variable, (name, unit) in self.numbers.items()}}
"""


def _identifier(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]+", "_", text).strip("_") or "unnamed"


def _variables(values: Sequence[Value]) -> dict[str, Value]:
    """By its metric alone where no other has that name."""
    found: dict[str, Value] = {}
    shared = {value.metric for value in values if sum(other.metric == value.metric for other in values) > 1}
    for value in values:
        name = _identifier(value.name if value.metric in shared else value.metric)
        while name in found:
            name += "_"
        found[name] = value
    return found


def widening(count: int) -> float:
    """Factor on intervals of `count` numbers for all of them to hold as often as one did, with normal
    noise."""
    tail = (1 - _CONFIDENCE) / 2
    return NormalDist().inv_cdf(1 - tail / count) / NormalDist().inv_cdf(1 - tail)


def _side(value: Value, end: Any, wider: float) -> float:
    """As a fraction of the value, or itself where that is 0, as ReFrame takes it."""
    least = LEAST if value.of_runs else LEAST_ALONE
    half = abs(end - value.value) * wider if end is not None else 0.0
    return max(half / abs(value.value), least) if value.value else max(half, least)


def reference_of(value: Value, wider: float) -> tuple[float, Any, Any, str]:
    """ReFrame refuses a bound on the other side of 0; that nothing may be is no bound less."""
    low, high = _side(value, value.low, wider), _side(value, value.high, wider)
    low, high = (min(low, 1.0) if value.value > 0 else low), (min(high, 1.0) if value.value < 0 else high)
    below = None if value.better == "lower" else -float("%.4g" % low)
    above = None if value.better == "higher" else float("%.4g" % high)
    return value.value, below, above, value.unit or "1"


def _bounds(values: Sequence[Value], wider: float) -> str:
    of_runs = sum(value.of_runs for value in values)
    return (
        "Bounds: of %d of %s the 95 %% interval of what another run gives, else that of the\n"
        "# median and at least %.0f %%; %.2f times as wide, because one of them fails the test; never below "
        "%.0f "
        "%%." % (of_runs, plural(len(values), "number"), 100 * LEAST_ALONE, wider, 100 * LEAST)
    )


def _literal(value: Any, indent: int) -> str:
    return pformat(value, width=116 - indent, sort_dicts=False).replace("\n", "\n" + " " * indent)


def export(runs: Sequence[Run]) -> tuple[str, list[str]]:
    if len(runs) > 1:
        raise BadNumbers("a ReFrame test has one run as its reference, not %d" % len(runs))
    (run,) = runs
    if not run.values:
        raise BadNumbers("%s has no headline number to compare others with" % run.name)
    variables, wider = _variables(run.values), widening(len(run.values))
    programs = list(dict.fromkeys(value.program.partition("@")[0] for value in run.values))
    numbers = {name: (value.name, value.unit or "1") for name, value in variables.items()}
    reference = {name: reference_of(value, wider) for name, value in variables.items()}
    text = _CLASS.format(
        started=run.started.isoformat() if run.started else "an unknown time",
        node=run.node,
        model=run.model,
        bounds=_bounds(run.values, wider),
        name="gpusig_" + _identifier(run.node),
        descr="headline numbers of " + run.model,
        limit=_LIMIT * _HEADLINE_BUDGET // 60,
        front_door=str(_FRONT_DOOR),
        device=run.device,
        simulated=run.simulated,
        programs=_literal(programs, 15),
        numbers=_literal(numbers, 14),
        reference=_literal(reference, 22),
    )
    return text, ["%s: do not keep it as a reference: %s" % (run.name, run.verdict)] if run.doubtful else []
