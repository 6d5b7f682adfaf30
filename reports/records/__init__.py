# SPDX-License-Identifier: BSD-3-Clause
"""Records and what is read of them: one reader for JSON that may be damaged or hostile, values, curves, metrics."""
