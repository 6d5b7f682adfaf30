# SPDX-License-Identifier: BSD-3-Clause
"""Predictions of what a change of a machine brings: programs run on its model and on changed models."""
