# SPDX-License-Identifier: BSD-3-Clause
"""How anything is shown: charts, blocks of text, templates. Knows no program."""
