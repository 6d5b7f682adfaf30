/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the advice share: curves and products as measured, and the two queues that a schedule is.
 */
#ifndef GPUSIG_ADVISE_MODEL_H
#define GPUSIG_ADVISE_MODEL_H

#include "lib/advise.h"

/* Value at x >= 0 of a curve with at least one point. Where y is a time that `grows` with x, it is linear between two points, as
 * a start-up cost and a bandwidth make it, and proportional to x above the last. Else it is linear in the logarithms, and the
 * last value stays. Below the first point that point's value: what starting costs stays. Sets *outside_p outside the points. */
double curve_at(const struct advise_curve *c, double x, bool grows, bool *outside_p);

/* -EINVAL unless x rises and both are positive; -ENOSPC when it is full. */
int curve_add(struct advise_curve *c, double x, double y);

/* Find the model under the products of one type; it has at least one. */
void gemm_prepare_model(struct advise_gemm *g);

/* Seconds of a product of a type that has at least one. */
double gemm_seconds(const struct advise_gemm *g, struct advise_shape shape, bool *outside_p);

/* A schedule: a queue of products and a queue of transfers on one device, each in order; an item may wait for one of the other
 * queue, by its index there, or -1. */
#define PIPELINE_ITEMS 50

struct pipeline_queue {
	unsigned items;
	double seconds[PIPELINE_ITEMS];
	int after[PIPELINE_ITEMS];
};

struct pipeline {
	struct pipeline_queue gemm, comm;
	double hop_s;                /* from the end of an item to the start of one that waits for it */
	double gemm_loss, comm_loss; /* time beside the other queue / alone, at least 1 */
	double tail_s;               /* after both */
};

void pipeline_add(struct pipeline_queue *q, double seconds, int after);

/* Seconds until both queues are empty and the tail is done. */
double pipeline_run(const struct pipeline *p);

/* The products that schedules are made of. */
enum advise_piece { PIECE_WHOLE, PIECE_SHARD, PIECE_REMOTE, PIECE_SMALL, PIECE_SLICE, PIECES };

/* A question with what it needs of the machine. */
struct advise_view {
	const struct advise_machine *machine;
	const struct advise_question *question;
	enum advise_link link;
	bool arriving;          /* transfers come before the products that need them, else after */
	double shard_bytes;     /* what one device has for all, or for each */
	double c_bytes;         /* all of C */
	double seconds[PIECES]; /* of the products, and whether they were outside those measured */
	bool outside[PIECES];
};
void schedule_view(struct advise_view *v, const struct advise_machine *m, const struct advise_question *q);

/* Fill the pipeline of a candidate whose schedule and mover are set; its other fields but `seconds` are set too. */
void schedule_build(const struct advise_view *v, struct advise_candidate *c, struct pipeline *p);

/* The fastest allreduce of so many bytes among the question's devices; NULL when none was measured among so many. */
const struct advise_allreduce *allreduce_best(const struct advise_view *v, double bytes, double *seconds_p, bool *outside_p);

/* Shared memory and priority for the pick, and the sentence. */
void advise_shape(const struct advise_view *v, struct advise_advice *a);
void advise_explain(const struct advise_view *v, struct advise_advice *a);

#endif
