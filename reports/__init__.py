# SPDX-License-Identifier: BSD-3-Clause
"""From records to a signature and a report. Reads what the programs wrote; never measures."""
