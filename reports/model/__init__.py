# SPDX-License-Identifier: BSD-3-Clause
"""From measurement to model: the keys of a simulated machine (device/sim/model/model.h), fitted to a
signature."""
