/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A round of the loop GEMM_i -> comm_i. The product of iteration i writes its result into the head of message i mod 2, and
 * comm_i sends that message; so comm_i and GEMM_{i+1} use different memory and may run at the same time, and GEMM_{i+2} waits
 * for comm_i. What of a message is longer than the result was filled before and stays as it is.
 */
#ifndef GPUSIG_SHAPING_LOOP_H
#define GPUSIG_SHAPING_LOOP_H

#include "lib/bench_product.h"
#include "overlap/shaping/message.h"
#include "overlap/shaping/model.h"

enum loop_queue { LOOP_SAME, LOOP_NORMAL, LOOP_URGENT };

/* What takes part in a round, and in which stream the communications are. */
struct loop_round {
	bool gemm, comm, claim;
	enum loop_queue queue;
};

struct loop {
	struct dev *dev;
	unsigned iterations;
	uint64_t claim_bytes; /* of a block of a product, where a round claims */
	bool tiled;
	struct product product;
	char *message[2];
	struct message comm;
	struct dev_kernel *stamp;
	struct dev_stream *queue[3]; /* by enum loop_queue; the first is the case's */
	struct dev_event *origin, *done[SHAPING_ITERATIONS_MOST], *sent[SHAPING_ITERATIONS_MOST];
	uint64_t *start_ns; /* PINNED */
	struct gate *gate;  /* holds a watched round while it is enqueued */
};

/* A round that was watched: nanoseconds since it was released. */
struct loop_trace {
	struct shaping_span gemm[SHAPING_ITERATIONS_MOST], comm[SHAPING_ITERATIONS_MOST];
	double resolution_ns; /* by so much a span may seem to begin late, for its end is an event's time and its beginning a stamp */
};

struct loop_plan {
	struct shape gemm;
	enum message_kind kind;
	uint64_t message_bytes, claim_bytes;
	uint32_t blocks; /* of the communication's kernels */
	unsigned iterations;
};

/* What the case then owns. Runs a product that claims, so that a claim which doesn't fit is -ENOTSUP. */
int loop_open(struct loop *l, struct bench_case *c, const struct loop_plan *plan);

/* Enqueue a round; the case's stream ends after all of it. */
int loop_enqueue(struct loop *l, const struct loop_round *r);

/* Run a round of products and communications, with a stamp at the beginning of each and an event at its end, and wait.
 * Nothing else may be queued. */
int loop_watch(struct loop *l, const struct loop_round *r, struct loop_trace *t_p);

/* Enqueue on the case's stream: what the round writes becomes wrong. Then, after a round: is it right again? */
int loop_spoil(struct loop *l, struct bench_case *c, const struct loop_round *r);
int loop_check(struct loop *l, struct bench_case *c, const struct loop_round *r);

#endif
