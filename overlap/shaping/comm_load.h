/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communication of one pipeline iteration of overlap/shaping: a message of every device.
 *
 * On one device it is a STAND-IN: kernels with few blocks and no shared memory, like those of a
 * collective. They move through the device's own memory what a collective of this message moves
 * there: all-to-all copies it (1 read, 1 write); allreduce copies it, as if it arrived, and adds
 * the device's own (2 more reads, 1 more write). No link is used.
 *
 * On several devices it is the COLLECTIVE, on all of them, as a direct exchange by such kernels.
 * All-to-all: every device writes part e of its message into device e. Allreduce: every device
 * writes part e into device e, which adds the parts that arrive to its own (reduce-scatter), and
 * then writes its sum into every device (all-gather). A device sends to its next neighbour first.
 * Or it is the vendor's allreduce or all-to-all.
 *
 * Each begins with an empty kernel, so that it becomes ready after the next GEMM has its slots,
 * like a library's collective. Otherwise chance would decide which of the two starts first.
 *
 * Order. A device is done when all devices have sent everything. It starts the next collective
 * after that, so no memory is written that anybody still reads. The vendor orders its own.
 */
#ifndef GPUSIG_COMM_LOAD_H
#define GPUSIG_COMM_LOAD_H

#include "bench/graph/bench_graph.h"
#include "lib/err.h"

struct comm_load {
	/* Set by the caller. */
	bool all_to_all; /* else allreduce */
	uint64_t bytes;  /* of a message; a multiple of comm_load_grain() */
	uint32_t blocks; /* of each kernel */
	/* Set by comm_load_open(). */
	uint32_t devices;
	uint64_t part_bytes;               /* of a message: what a device sends each other one */
	struct dev_comm *library;          /* NULL: there is none, or it fails here: */
	char library_why[ERR_TEXT];        /* in its own words, else "" */
	char *result[DEV_MAX];             /* by device: where messages and sums arrive */
	char *staging[DEV_MAX];            /* allreduce: parts of others, until they are added */
	float *wanted, *found, *magnitude; /* on the host, for a check */
};

/* One communication in a graph. */
struct comm_call {
	/* Set by the caller. */
	bool by_library;
	const uint32_t *lanes;       /* by device */
	uint32_t after[DEV_MAX];     /* by device: the node that makes the message */
	char *message[DEV_MAX];      /* by device */
	uint64_t *start_ns[DEV_MAX]; /* NULL, or where a kernel writes the start time */
	/* Set by comm_load_add(), by device: the node before the first that communicates; the last
	 * one. */
	uint32_t begin[DEV_MAX], end[DEV_MAX];
};

/* Messages are multiples of this on so many devices. */
uint64_t comm_load_grain(size_t devices);

/* Over the case's devices, which have peer access; the case owns what this opens. Returns
 * c->status. */
int comm_load_open(struct comm_load *load, struct bench_case *c);
/* The library does not do this here, for the reason in err_text(). */
void comm_load_drop_library(struct comm_load *load);

/* Adds the communication to a graph. With start times, a kernel writes them. GEMMs then start with
 * such a kernel too, so one more empty kernel keeps the order. */
void comm_load_add(const struct comm_load *load, struct work_graph *g, struct comm_call *call);

/* Enqueue on c->stream: make what arrived wrong. */
int comm_load_poison(const struct comm_load *load, struct bench_case *c);

/* Checks on every device that what was sent from `message` arrived or is summed. The vendor adds in
 * an order of its own, so its sums may be off by rounding. */
int comm_load_check(const struct comm_load *load, struct bench_case *c, char *const *message,
		    bool by_library);

#endif
