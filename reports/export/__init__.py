# SPDX-License-Identifier: BSD-3-Clause
"""The headline numbers of runs in the formats of tools that people run already: a module a format, each a
function from runs to text. docs/ADAPTERS.md says what of each format is used."""
