# SPDX-License-Identifier: BSD-3-Clause
"""Machines that should be alike: which of them are outliers, by how much, in what, and what else is different
about them.

nodes.py reads, judge.py decides with what outliers.py computes, drift.py compares provenance, fleet.py puts
the answer together, and page.py shows it. docs/method/verdicts.md, "A fleet".
"""
