# SPDX-License-Identifier: BSD-3-Clause
"""From a signature's curves to the lines that advise/advise.h reads, and its answer in words."""
