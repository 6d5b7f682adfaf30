# SPDX-License-Identifier: BSD-3-Clause
"""The options of every command."""
