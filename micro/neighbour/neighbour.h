/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The neighbour, which keeps the last device of the list busy with a workload while this process
 * measures: another process (micro/neighbour/process.h), or where time is virtual, of which each
 * process has its own, a second stream of work of this one.
 *
 * Returns are c->status. The case owns what is opened, but for the process: neighbour_close().
 */
#ifndef GPUSIG_NEIGHBOUR_H
#define GPUSIG_NEIGHBOUR_H

#include "micro/contention/workload.h"
#include "micro/neighbour/process.h"

struct neighbour_spec {
	struct workload_spec work;
	const char *sees;  /* NEIGHBOUR_SEES_SAME: what this process does; or of
			      neighbour_sees_only() */
	const char *group; /* folder of the control group that it joins, or "none" */
};

struct neighbour {
	struct neighbour_process *process; /* NULL: in virtual time */
	struct workload work;              /* of this process */
	uint64_t pieces, samples;          /* that ended between begin and end */
};

/* In admit: 0 or the reason to skip the case. */
int neighbour_admit(const struct bench_case *c, const struct neighbour_spec *spec);
/* In setup. */
int neighbour_open(struct neighbour *n, struct bench_case *c, struct work_lanes *lanes,
		   const struct neighbour_spec *spec);
/* In teardown. */
void neighbour_close(struct neighbour *n);

/* It works from when neighbour_begin() returns, or in virtual time when the stream goes on, until
 * neighbour_end(). Meanwhile neighbour_keep() is called with the event that ends the stream's work,
 * or NULL again and again; where the neighbour is a process it does nothing. */
int neighbour_begin(struct neighbour *n, struct bench_case *c, struct dev_stream *stream);
int neighbour_keep(struct neighbour *n, struct bench_case *c, struct dev_event *end);
int neighbour_end(struct neighbour *n, struct bench_case *c);

/* In verify_mechanism, of the variants in `uses` (bit mask): that it worked. */
int neighbour_verify(const struct neighbour *n, struct bench_case *c, uint64_t uses);

/* Name and PCI address of the device that it works on. */
const char *neighbour_device(const struct neighbour *n);

#endif
