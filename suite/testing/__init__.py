# SPDX-License-Identifier: BSD-3-Clause
"""The tests of ./gpusig test, and how they are run."""
