# SPDX-License-Identifier: BSD-3-Clause
"""Attempts to make gpusig lose what was measured, crash, hang or give a wrong number. Each is named by its
kind and seed."""
