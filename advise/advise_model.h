/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of the advice: measured curves and GEMMs, and a schedule as two queues.
 */
#ifndef GPUSIG_ADVISE_MODEL_H
#define GPUSIG_ADVISE_MODEL_H

#include "advise/advise.h"

/* Sorts the values, of which there is at least one, and gives the smallest that more than this
 * share of them do not exceed, or the largest. */
double upper_quantile(double *values, unsigned count, double share);

/* Value at x >= 0 of a curve with at least one point. Where y is a time that `grows` with x, it is
 * linear between two points, as a start-up cost plus a bandwidth term, and proportional to x above
 * the last point. Else it is linear in the logarithms, and constant above the last point. Below the
 * first point it is that point's value, for the start-up cost remains. Sets *outside_p when x is
 * outside the points. */
double curve_at(const struct advise_curve *c, double x, bool grows, bool *outside_p);

/* Append a point. -EINVAL unless x rises and both are positive; -ENOSPC when the curve is full. */
int curve_add(struct advise_curve *c, double x, double y);

/* Limits of GEMMs besides arithmetic, and bytes of an element of A and B, and of C. */
struct gemm_limits {
	double cache_bytes, byte_per_s; /* byte_per_s: of memory; 0: unknown */
	double element_bytes, result_bytes;
	double units; /* of the device; 0: unknown */
};

/* Fit the model of one type's GEMMs; it has at least one sample. */
void gemm_prepare_model(struct advise_gemm *g, const struct gemm_limits *limits);

/* Tiles that could run besides those of this GEMM: slots for the blocks of a copy kernel. */
double gemm_free_tiles(const struct advise_gemm *g, struct advise_shape s);

/* The part of this GEMM's time after which its last wave begins. Blocks of a kernel that is
 * launched meanwhile wait for that, because a device begins those of a launch before those of a
 * later one. */
double gemm_share_until_last_wave(const struct advise_gemm *g, struct advise_shape s);

/* The bytes of memory that a GEMM moves at least: its matrices once, or none where they fit in the
 * cache. C counts twice where the GEMM adds to it. */
double gemm_memory_bytes(const struct advise_gemm *g, struct advise_shape s);

/* Predicted seconds of a GEMM of a type with at least one sample. */
double gemm_seconds(const struct advise_gemm *g, struct advise_shape shape, bool *outside_p);

/* Relative error of predicting the measured GEMMs near this one from the others; far from all of
 * them, the bound that nine of ten keep. */
double gemm_error_near(const struct advise_gemm *g, struct advise_shape shape);

/* Time concurrent with the other side / time alone, at least 1. */
struct concurrent_loss {
	double gemm, copy;
};

/* The losses of a GEMM that moves memory at `traffic` byte/s alone, and of copies by so many blocks
 * (of an engine 1), interpolated between those measured: by the logarithm of blocks, and linearly
 * by traffic, where a GEMM without traffic is not slowed by copies unless one was measured. */
struct concurrent_loss contention_loss(const struct advise_contention *c, double blocks,
				       double traffic);

/* A schedule: a queue of GEMMs and a queue of transfers on one device, each in order. An item
 * may wait for one of the other queue, given by its index there, or -1. */
#define PIPELINE_ITEMS 50

struct pipeline_queue {
	unsigned items;
	double seconds[PIPELINE_ITEMS];
	int after[PIPELINE_ITEMS];
};

struct pipeline {
	struct pipeline_queue gemm, comm;
	struct concurrent_loss loss[PIPELINE_ITEMS]; /* while that GEMM and a transfer run */
	double until_slots_s[PIPELINE_ITEMS];        /* of that GEMM: blocks of transfers wait */
	bool gemm_first; /* of a GEMM and a transfer that one event releases, the GEMM begins */
	double hop_s;    /* delay from the end of an item to the start of a dependent one */
	double tail_s;   /* after both */
};

void pipeline_add(struct pipeline_queue *q, double seconds, int after);

/* Seconds until both queues are empty and the tail is done. */
double pipeline_run(const struct pipeline *p);

/* The GEMMs that schedules consist of. */
enum advise_piece { PIECE_WHOLE, PIECE_SHARD, PIECE_REMOTE, PIECE_SMALL, PIECE_SLICE, PIECES };

/* A question to the schedules where an input was not measured. As given; slowdown as if both sides
 * took turns, or as if neither slowed the other; opposite copies that take turns; peers that share
 * nothing; additions that take as long as the copies. */
struct hypothesis {
	enum advise_input input; /* ADVISE_INPUTS: none */
	bool free;               /* of two ends the one at which nothing is lost */
	bool crowded; /* blocks of a copy kernel find no room beside the tiles of a GEMM */
};

/* A question, and what it needs of the machine. */
struct advise_view {
	const struct advise_machine *machine;
	const struct advise_question *question;
	struct hypothesis hypothesis;
	enum advise_link link;
	bool arriving;          /* transfers come before the GEMMs that need them, else after */
	double shard_bytes;     /* bytes of one device for all others, or for each other */
	double c_bytes;         /* all of C */
	double traffic[PIECES]; /* byte/s of memory that the GEMMs move; 0 within the cache */
	double free_tiles[PIECES];
	double waves_before_last[PIECES]; /* as a share of the GEMM's time */
	double seconds[PIECES]; /* of the GEMMs; outside: whether they are outside those measured */
	bool outside[PIECES];
	double error[PIECES]; /* of `seconds`, relative */
};
void schedule_view(struct advise_view *v, const struct advise_machine *m,
		   const struct advise_question *q);

/* Predict a candidate whose schedule and copy method are set: sets its other fields but `tie`.
 * Gives the seconds of the additions after GEMMs and transfers. */
double schedule_predict(const struct advise_view *v, struct advise_candidate *c);

/* The fastest allreduce of so many bytes among the question's devices; NULL when none was
 * measured among so many. */
const struct advise_allreduce *allreduce_best(const struct advise_view *v, double bytes,
					      double *seconds_p, bool *outside_p);

/* Set the error of a way's gain. */
void early_prepare(struct advise_gain *g);

/* Set `needs` and `decided`; the candidates are there, and their ties. */
void advise_find_needs(const struct advise_view *v, struct advise_advice *a);

/* Set what sending C early gains; the candidates are there. */
void early_advise(const struct advise_view *v, struct advise_advice *a);

/* Set shared memory, priority and allreduce for the first candidate; write the reason. */
void advise_pick_settings(const struct advise_view *v, struct advise_advice *a);
void advise_explain(struct advise_advice *a);

#endif
