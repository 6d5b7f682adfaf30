/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an algorithm costs on a network: an exact count of its steps and link loads, and the time that follows.
 *
 * The model goes step by step, all ranks together: a step takes a fixed time, a time for each link of its longest way,
 * and the bytes on its most loaded link divided by the bandwidth of a link. Nothing else: no packets, no adaptive
 * routing, no overlap of steps. Loads do not depend on the size, so that time is a straight line over bytes. Where all
 * messages of a step go equally far (ring, bucket, recursive doubling, Swing) a simulation of independent ranks agrees
 * within 2 %; where they do not (bruck, bine), ranks run ahead of each other there and finish up to 11 % earlier.
 *
 * Deficiencies as in Swing (arXiv 2401.09356), for D dimensions, p nodes and n bytes:
 *
 *     T(n) = log2(p) * step * Lambda + (n / D) / bandwidth * Psi * Xi   (+ ways)
 *
 * Lambda: steps over log2 p. Psi: bytes that the busiest port of a node sends, over n / D; the paper's table neglects
 * the block that never travels, so bytes are divided by (blocks - 1) / blocks first. Xi: the rest, what sharing of
 * links costs, so that Psi * Xi * n / D is exactly the sum over steps of the bytes on the worst link.
 */
#ifndef GPUSIG_PROFILE_H
#define GPUSIG_PROFILE_H

#include "collectives/schedules/schedule.h"
#include "topology/torus/links.h"

#include <stddef.h>

/* Steps that look alike. Loads are in blocks of a part. */
struct profile_run {
	uint32_t repeats;
	uint32_t links;  /* on the longest way */
	double worst;    /* on the most loaded link */
	double port;     /* through the busiest port of a node */
};

struct profile {
	unsigned dims, parts;
	uint32_t nodes, blocks, steps;
	double links;        /* summed over steps */
	double worst, port;  /* summed over steps, as a share of the vector */
	struct profile_run *runs;
	size_t run_count;
};

struct profile_costs {
	double step_s, link_s; /* per step and per link of a way */
	double bytes_per_s;    /* of a link in one direction */
};

/* Of an allreduce. -EINVAL or -ENOTSUP as schedule_open(), -ENOTSUP and -ENOMEM as links_open(). */
int profile_make(const struct network *network, const char *algorithm, enum schedule_ports ports, struct profile *p_p);

/* The same from a schedule that is open. `by_line` counts one line per dimension instead of every message, and needs
 * schedule_by_line(). */
int profile_count(const struct network *network, const struct schedule *s, bool by_line, struct profile *p_p);
void profile_free(struct profile *p);

double profile_lambda(const struct profile *p);
double profile_psi(const struct profile *p);
double profile_xi(const struct profile *p);

/* Seconds at 0 bytes, seconds per byte, and seconds in all. */
double profile_latency(const struct profile *p, const struct profile_costs *costs);
double profile_slope(const struct profile *p, const struct profile_costs *costs);
double profile_time(const struct profile *p, const struct profile_costs *costs, double bytes);

#endif
