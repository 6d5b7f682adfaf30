# SPDX-License-Identifier: BSD-3-Clause
"""A run as signature.json and report.html: a section for each program."""
