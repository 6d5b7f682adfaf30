/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Something that keeps one resource busy, piece by piece, in a stream of its own: the units' arithmetic, memory, a copy
 * engine, copying units, or a matrix product. Two of them at once show who slows whom.
 */
#ifndef GPUSIG_CONTENTION_ACTOR_H
#define GPUSIG_CONTENTION_ACTOR_H

#include "lib/bench_product.h"

enum actor_kind { ACTOR_COMPUTE, ACTOR_MEMORY, ACTOR_ENGINE, ACTOR_KERNEL, ACTOR_GEMM, ACTOR_KINDS };

/* The kinds' words, in order. */
extern const char *const actor_names[ACTOR_KINDS];

struct actor {
	enum actor_kind kind;
	struct dev_stream *stream;
	struct dev_event *begin, *end, *step[2]; /* for the user */
	struct dev_kernel *kernel;
	float *out;
	uint64_t bytes; /* of one array; 0: has none */
	char *array[3]; /* each as large as the last-level cache, so that memory is really used; the first is written */
	float *result;  /* the tile that the first array shall hold afterwards */
	struct product product;
	uint32_t repeats; /* of its work in a piece */
};

/* Everything is the case's (lib/bench_own.h). Runs the work alone to see how often a piece must repeat it to take a millisecond
 * at least. -ENOTSUP where the device can't do this kind. */
int actor_open(struct actor *a, struct bench_case *c, enum actor_kind kind);

/* Enqueue one piece on the actor's stream: its operations are a sixteenth of what fits into a queue at most. */
int actor_piece(struct actor *a, struct bench_case *c);

/* The work of a piece: a copy's bytes count once, a triad's three times. */
void actor_model(const struct actor *a, const struct bench_case *c, struct bench_model *m);

/* Enqueue on c->stream: what the actor wrote becomes wrong. Then, after a piece: is it right again? Of arrays the last
 * MiB is compared. */
int actor_spoil(const struct actor *a, struct bench_case *c);
int actor_check(const struct actor *a, struct bench_case *c);

#endif
