# SPDX-License-Identifier: BSD-3-Clause
"""What ./gpusig test runs."""
