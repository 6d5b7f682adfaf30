/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The internals of an exchange: a rank's messages, with their places in memory. Only
 * exchange_plan.c and exchange.c include it.
 */
#ifndef GPUSIG_EXCHANGE_INTERNALS_H
#define GPUSIG_EXCHANGE_INTERNALS_H

#include "collectives/ranks/exchange.h"

#include <mpi.h>

enum buffer { BUFFER_IN, BUFFER_OUT, BUFFER_SCRATCH, BUFFERS };

/* A message of this rank. */
struct transfer {
	int peer, tag;
	int count; /* elements */
	bool send, reduce;
	/* See struct arrivals. A send takes its data from `in`. A receive adds `in` to the received
	 * data, instead of adding the received data to `out`. */
	bool from_input;
	enum buffer buffer; /* where it is sent from or received */
	uint64_t offset;    /* in that buffer, in bytes */
	uint64_t target;    /* offset of its first span in the vector, in bytes */
	/* Its ranges of the vector, in the step's spans. Several are packed in scratch memory. */
	uint32_t spans, first_span;
};

struct exchange_step {
	struct transfer *transfers; /* receives first */
	struct schedule_span *spans;
	uint32_t count, receives;
};

/* Chunks that have arrived. The input vector need not be copied to `out` before the first step: a
 * chunk stays in `in` until data arrives for it. That data is received in its place in `out`, and
 * the chunk from `in` is added to it there. This works when no message has chunks of both kinds.
 * Otherwise, and when steps are not prepared, `in` is copied to `out` first. */
struct arrivals {
	bool *arrived, *arriving; /* by part and chunk: before this step, and after it */
	bool mixed;
};

struct exchange {
	const struct schedule *schedule;
	enum schedule_kind kind;
	uint32_t rank;
	uint64_t elements, element_bytes, grain;
	struct device_vectors *device; /* NULL: vectors in host memory */
	MPI_Datatype type;
	MPI_Op op;
	uint32_t step_count;
	struct exchange_step *prepared; /* NULL: each step is computed when it runs, in `current` */
	struct exchange_step current;
	unsigned max_transfers; /* of a step */
	struct schedule_message *messages;
	struct schedule_range *ranges;
	MPI_Request *requests;
	char *scratch; /* NULL on a device, whose vectors have staging memory */
	uint64_t scratch_elements;
	bool copies_input;
	struct arrivals arrivals; /* while steps are prepared */
	struct exchange_traffic traffic;
};

/* Computes the transfers of step `number`. `step` has the capacity for the largest step.
 * -EOVERFLOW. */
int exchange_load_step(struct exchange *x, uint32_t number, struct exchange_step *step);

#endif
