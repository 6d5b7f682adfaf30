# SPDX-License-Identifier: BSD-3-Clause
"""Installing and building, before a command runs."""
