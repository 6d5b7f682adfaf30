# SPDX-License-Identifier: BSD-3-Clause
"""Has it changed? Two sides of several runs each, a verdict per metric, and one about all. Never measures.

Where numbers come from (gpusig.py, foreign/) and what is judged (verdict.py) are apart: numbers.py is between
them.
"""
