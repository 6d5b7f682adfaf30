# SPDX-License-Identifier: BSD-3-Clause
"""Machines of any kind side by side: ./gpusig scorecard. Nothing is measured."""
