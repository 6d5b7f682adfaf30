# SPDX-License-Identifier: BSD-3-Clause
"""What is installed and built before a command."""
