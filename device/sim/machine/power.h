/* SPDX-License-Identifier: BSD-3-Clause
 *
 * POWER, which a device has where the model has idle_watt; other models know neither power nor
 * heat, and their clock stands still.
 *
 *   energy        idle_watt all the time; joule_per_flop * f^2 for every flop of GEMMs and kernels
 *                 (their definition's, not those of padded tiles), and joule_per_byte for every
 *                 byte that passes the device's memory. f is the clock, as a part of clock_hz: a
 *                 lower clock takes a lower voltage, so that the power of flops goes with f^3
 *   clock         what computes takes 1 / f as long; memory, links and latencies keep their times
 *   cap           a controller looks at every operation that ends 10 ms or more after the last one
 *                 that it looked at, and sets the f at which what ran since then would have taken
 *                 cap_watt; at most 1, and at least a tenth. What memory takes does not follow f
 *   temperature   ambient_celsius + kelvin_per_watt * power is where it goes, with the time
 *                 constant thermal_s. It starts where idle_watt leads
 *   heat          from limit_celsius on, until it is 5 K less, the cap is what keeps it there:
 *                 (limit_celsius - ambient_celsius) / kelvin_per_watt, if that is less
 *
 * So the part f of the rate that a limit of W leaves to flops alone, at P flop/s at the full clock,
 * solves idle_watt + joule_per_flop * P * f^3 = W. An operation starts with the clock of that
 * moment and keeps it. Its bytes count when it starts, its flops when it ends, also if it fails.
 */
#ifndef GPUSIG_SIM_POWER_H
#define GPUSIG_SIM_POWER_H

#include <stdbool.h>

struct op;
struct sim_dev;

struct sim_power {
	double clock; /* f */
	double celsius;
	double watt;         /* of what the controller looked at last */
	double joule;        /* since the device was opened, up to `since_ns` */
	double since_ns;     /* when the controller looked last */
	double flops, bytes; /* since then */
	double hot_ns;       /* how long heat has held the clock */
	unsigned busy;       /* operations that have started and not ended */
	bool hot;
};

/* The device has no operations. */
void sim_power_open(struct sim_dev *d);

/* A copy, fill or launch starts; it ends. */
void sim_power_begin(struct op *op);
void sim_power_end(const struct op *op);

/* True if the model has this law. `now`: the state at this moment, which is a read alone. */
bool sim_power_now(struct sim_dev *d, struct sim_power *now);

#endif
