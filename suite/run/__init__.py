# SPDX-License-Identifier: BSD-3-Clause
"""Measure: divide the time, start the programs, keep their records."""
