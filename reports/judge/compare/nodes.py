# SPDX-License-Identifier: BSD-3-Clause
"""compare --nodes: sides of nodes instead of runs, for a change that some nodes of a fleet have and others
have not.

Runs of one node are alike in all that differs between nodes, so a node counts once, with the median of its
runs. A node with runs on both sides would have to be compared with itself, and is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Sequence

from reports.judge.compare import provenance, verdict
from reports.judge.compare.numbers import BadNumbers, Number, RunNumbers, failed_in
from reports.judge.compare.sides import Side
from reports.judge.statistics import quantile
from reports.records.quantity import listing


def _number(runs: Sequence[RunNumbers], name: str) -> Number:
    values, number = verdict.values_of(runs, name), verdict.number_of(runs, name)
    present, differs = values.present, verdict.differs(runs, name)
    if differs:
        return replace(number, value=None, reason=differs)
    if not present or len(runs) - len(present) > verdict.MOST_MISSING * len(runs):
        return replace(number, value=None, reason=next(reason for reason in values.reasons if reason))
    return replace(
        number,
        value=quantile(present, 0.5),
        reason="",
        unavailable=False,
        contended=2 * values.contended > len(present),
    )


def _provenance(runs: Sequence[RunNumbers]) -> dict[str, str]:
    """Without what tells nodes apart: it differs between all of them."""
    fields = dict.fromkeys(field for run in runs for field in run.provenance if not provenance.is_own(field))
    return {
        field: " and ".join(dict.fromkeys(run.provenance.get(field, "unknown") for run in runs))
        for field in fields
    }


def _node(host: str, runs: Sequence[RunNumbers]) -> RunNumbers:
    names = dict.fromkeys(name for run in runs for name in run.numbers)
    return replace(
        runs[0],
        name=host,
        numbers={name: _number(runs, name) for name in names},
        identity="",
        started=min(run.started for run in runs),
        provenance=_provenance(runs),
        failed=tuple(failed_in(runs)),
    )


def of_nodes(side: Side) -> Side:
    """The side with a node in place of its runs."""
    runs_of: dict[str, list[RunNumbers]] = {}
    for run in side.runs:
        host = run.provenance.get(provenance.HOSTNAME, "")
        if not host:
            raise BadNumbers("%s does not say on which node it ran, which --nodes needs" % run.name)
        runs_of.setdefault(host, []).append(run)
    return replace(side, runs=[_node(host, runs) for host, runs in runs_of.items()])


def check(before: Side, after: Side) -> None:
    both = {node.name for node in before.runs} & {node.name for node in after.runs}
    if both:
        raise BadNumbers(
            "%s %s on both sides: compare runs of the same nodes without --nodes, each node alone"
            % (listing(sorted(both), 4), "is" if len(both) == 1 else "are")
        )
