# SPDX-License-Identifier: BSD-3-Clause
"""Records and what is read of them: one reader of JSON that may be hostile, values, curves."""
