# SPDX-License-Identifier: BSD-3-Clause
"""Fitness of this node for the next job: judges what suite/run/preflight.py collected on it against a
reference. Never measures.

reference.py reads what is expected, node.py what was found; devices.py, usage.py, state.py and speed.py are
the four checks, each with the reasons for its outcome; threshold.py says how much worse a number of a healthy
node may look.
"""
