/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The open case of a collective on every rank: the vectors, in host memory or in the memory of the
 * rank's device, and the schedule and exchange of every variant. All ranks execute the commands of
 * enum session_opcode; the leader reads the session after a command.
 */
#ifndef GPUSIG_SESSION_H
#define GPUSIG_SESSION_H

#include "collectives/nccl_tests/nccl_tests_table.h"
#include "collectives/ranks/exchange.h"
#include "collectives/ranks/rank_program.h"
#include "lib/err.h"

#define SESSION_MAX_BYTES (UINT64_C(16) << 30)

enum {
	SESSION_VARIANTS = 64,
	SESSION_BATCH = 512 /* iterations whose times are gathered at once */
};

enum session_opcode {
	SESSION_OPEN,   /* bytes, seed, type, op, ports, shape, variants (algorithms), dry */
	SESSION_RUN,    /* variant, iterations; each iteration is timed and starts with a barrier */
	SESSION_POISON, /* overwrites the output with wrong values */
	SESSION_CHECK,  /* -EBADMSG with the element and both values */
	SESSION_CLOSE,
	SESSION_LIST, /* the leader gets where the ranks are */
};

struct session {
	struct rank_program program; /* first */
	enum schedule_kind kind;
	struct mpi_command command; /* the last SESSION_OPEN */
	uint64_t elements;
	/* Host memory. With a device it is pinned: the device's vectors are filled from it and
	 * checked in it, and the library uses it if it takes no device memory. */
	char *in, *out;
	struct device_vectors vectors; /* dev NULL: no device */
	int *counts, *starts;          /* of the library's chunks, by rank */
	bool even;                     /* all chunks have the same length */
	struct session_variant {
		struct schedule *schedule;
		struct exchange *exchange; /* NULL: the library, or not supported */
		bool is_unsupported;
		double skew_s; /* leader: the median entry skew of the last run's iterations */
	} variant[SESSION_VARIANTS];
	char unsupported_reason[ERR_TEXT]; /* of one of them */
	/* Leader: the sum over the iterations of the last run, each the time of the slowest rank.
	 */
	double seconds;
	/* Times of a batch, each the maximum over the ranks. The maximum of -start is minus the
	 * first entry. */
	struct session_times {
		double last_start[SESSION_BATCH], minus_start[SESSION_BATCH],
			last_end[SESSION_BATCH], duration[SESSION_BATCH];
	} own, all;
	struct nccl_tests_rank *ranks; /* leader, after SESSION_LIST: in their order */
};

/* For struct rank_program, whose state this is. */
int session_execute(struct rank_program *program, const struct mpi_command *command);

/* The schedule of a row's name: schedule_open_placed(), or indexed if the name ends with
 * "-indexed". -ENOTSUP with a text when the algorithm does not support the shape. */
int session_schedule(const char *name, const struct grid *grid, enum schedule_ports ports,
		     enum schedule_kind kind, struct schedule **s_p);

#endif
