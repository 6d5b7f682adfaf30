/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run: the program, its options, devices, axes and the point of the current case. This is the
 * lowest layer of the harness (bench/run/), and all that the layers share; what each of them keeps
 * is its own, declared in its header:
 *
 *     bench/run/         options, devices, the point, resources, notes
 *     bench/sampling/    variants, samples, checks of results, rounds, surroundings
 *     bench/quantities/  derived quantities, their validity, headline numbers
 *     bench/cases/       which cases, in which order, and those that are added
 *     bench/output/      records and tables
 *     bench/bench.c      the run
 *
 * A file includes headers of its own layer and of those above it in this list
 * (tests/lint/layers.py). Programs include bench/bench.h and none of these.
 */
#ifndef GPUSIG_RUN_H
#define GPUSIG_RUN_H

#include "bench/run/options.h"
#include "lib/err.h"

#include <signal.h>

enum bench_exit {
	BENCH_OK = 0,
	BENCH_BAD = 1,
	BENCH_USAGE = 2,
	BENCH_INVALID = 3,
	BENCH_CANNOT = 77
};

struct bench_run {
	const struct bench *b;
	struct bench_options o;
	int argc;
	char **argv;
	char id[48];
	bool interrupted; /* by a signal, before the last case had ended */
	struct dev_set set;
	bool is_default_device;              /* no --device was given */
	char default_devices[40];            /* its spec, where there are several */
	char skipped_backends[4 * ERR_TEXT]; /* why the default is no other backend */
	struct axis_capacities known;
	bool gpu_class, simulated_lists; /* which default lists; neither: those of a CPU */
	bool time_only; /* a device has no results to check, and --check off was not given */
	struct axis_list axes[BENCH_AXES];
	size_t axis_count, variant_count;
	uint64_t selected; /* variants the user wants, bit mask */
	double start_s;    /* on the device's clock */
	/* The current case. */
	struct bench_case c;
	struct axis_value point[BENCH_AXES];
	char key[512];
	/* Kept by the layers. */
	struct resources *resources;
	struct notes *notes;
	struct sampling *sampling;
	struct surroundings *surroundings;
	struct checks *checks;
	struct quantities *quantities;
	struct cases *cases;
	struct output *output;
};

/* The signal that ends the run after the current sample, SIGINT or SIGTERM, or 0. A second one ends
 * the process, as does the first after 10 s in which the run did not end: a library may never
 * return. */
extern volatile sig_atomic_t bench_interrupted;

/* Seconds on the device's clock. */
double bench_time(struct bench_run *r);
bool bench_virtual(const struct bench_run *r);

#endif
