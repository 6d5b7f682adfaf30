# SPDX-License-Identifier: BSD-3-Clause
"""The looks of pages and terminals: charts, blocks of text, templates. Knows no program."""
