/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cost of an algorithm on a network: an exact count of its steps and link loads, and the time
 * that follows from it.
 *
 * All ranks do each step together. A step takes a fixed time, plus a time for each link of its
 * longest route, plus the bytes on its most loaded link divided by the bandwidth of a link. The
 * model has no packets, no adaptive routing and no overlap of steps. Loads do not depend on the
 * size, so time is a straight line over bytes. Where all messages of a step go equally far (ring,
 * bucket, recursive doubling, Swing) a simulation of independent ranks agrees within 2 %. Where
 * they do not (bruck, bine), simulated ranks run ahead of each other and finish up to 11 % earlier.
 *
 * Deficiencies as in Swing (arXiv 2401.09356), for D dimensions, p nodes and n bytes:
 *
 *     T(n) = log2(p) * step * Lambda + (n / D) / bandwidth * Psi * Xi   (+ routes)
 *
 * Lambda: steps / log2 p. Psi: bytes that the busiest port of a node sends, over n / D. The paper's
 * table neglects the chunk that a rank keeps, so the bytes are divided by (chunks - 1) / chunks
 * first. Xi: the cost of shared links, defined such that Psi * Xi * n / D is exactly the sum over
 * steps of the bytes on the worst link.
 */
#ifndef GPUSIG_COST_MODEL_H
#define GPUSIG_COST_MODEL_H

#include "collectives/schedules/schedule.h"
#include "topology/torus/links.h"

#include <stddef.h>

/* Consecutive equal steps. Loads are in chunks of a part. */
struct cost_model_run {
	uint32_t repeats;
	uint32_t links; /* on the longest route */
	double worst;   /* on the most loaded link */
	double port;    /* through the busiest port of a node */
};

struct cost_model {
	unsigned dims, parts;
	uint32_t nodes, chunks, steps;
	double links;       /* summed over steps */
	double worst, port; /* summed over steps, as a share of the vector */
	struct cost_model_run *runs;
	size_t run_count;
};

struct cost_model_costs {
	double step_s, link_s; /* per step, and per link of a route */
	double bytes_per_s;    /* of a link in one direction */
};

/* Opens the schedule of an allreduce. Errors of schedule_open(), and -ENOTSUP where it sends more
 * messages at once than network_ports(). */
int cost_model_open(const struct network *network, const char *algorithm, enum schedule_ports ports,
		    struct schedule **s_p);

/* The model of an allreduce. Errors of cost_model_open() and links_open(). */
int cost_model_make(const struct network *network, const char *algorithm, enum schedule_ports ports,
		    struct cost_model *p_p);

/* The same from an open schedule. `by_line` counts one line per dimension instead of every message;
 * schedule_by_line() must be true. */
int cost_model_count(const struct network *network, const struct schedule *s, bool by_line,
		     struct cost_model *p_p);
void cost_model_free(struct cost_model *p);

double cost_model_lambda(const struct cost_model *p);
double cost_model_psi(const struct cost_model *p);
double cost_model_xi(const struct cost_model *p);

/* Seconds at 0 bytes, seconds per byte, and total seconds. */
double cost_model_latency(const struct cost_model *p, const struct cost_model_costs *costs);
double cost_model_slope(const struct cost_model *p, const struct cost_model_costs *costs);
double cost_model_time(const struct cost_model *p, const struct cost_model_costs *costs,
		       double bytes);

#endif
