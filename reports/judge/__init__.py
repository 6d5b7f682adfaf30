# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts: compare, fleet, scorecard, preflight and advice for a question."""
