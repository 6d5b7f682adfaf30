/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The open case of a collective on every rank: the vectors, in host memory or in the memory of the
 * rank's device, and the schedule and exchange of every variant. All ranks execute the commands of
 * enum session_opcode. The leader calls the functions below after a command.
 */
#ifndef GPUSIG_SESSION_H
#define GPUSIG_SESSION_H

#include "bench/bench.h"
#include "collectives/ranks/data.h"
#include "collectives/ranks/mpi_job.h"
#include "collectives/ranks/rank_list.h"
#include "collectives/schedules/schedule.h"

#define SESSION_MAX_BYTES (UINT64_C(16) << 30)

/* The name of the variant that is MPI's own collective. */
#define SESSION_LIBRARY "library"

enum session_opcode {
	SESSION_DEVICE, /* devices; from now on vectors are in the memory of each rank's device */
	SESSION_OPEN,   /* bytes, seed, type, op, ports, kind, shape, variants, dry */
	SESSION_RUN,    /* variant, iterations; each iteration is timed and starts with a barrier */
	SESSION_POISON, /* overwrites the output with wrong values */
	SESSION_CHECK,  /* variant; -EBADMSG with the element and both values */
	SESSION_CLOSE,
	SESSION_LIST, /* the leader gets where the ranks are */
};

struct session;

/* Without a device and an open case. 0 or -ENOMEM. */
int session_make(const struct bench *b, struct session **s_p);
/* Closes the device of the rank, too. NULL is accepted. */
void session_free(struct session *s);

/* The command handler of these programs (mpi_job.h); its state is the session. */
int session_execute(void *session, const struct mpi_command *command);

struct rank_device *session_device(struct session *s);
/* After SESSION_LIST. */
struct rank_list *session_list(struct session *s);

/* The schedule of a variant in the layout that its param names, else indexed; NULL for the library.
 * -ENOTSUP with a text when the algorithm does not support the shape. */
int session_schedule(const struct bench_variant *v, const struct grid *grid,
		     enum schedule_ports ports, enum schedule_kind kind, struct schedule **s_p);

/* After SESSION_OPEN: true when this variant is not supported; and the reason for one of them. */
bool session_is_unsupported(const struct session *s, unsigned variant);
const char *session_unsupported_reason(const struct session *s);

/* The sum over the iterations of the last SESSION_RUN, each the time of the slowest rank; and the
 * median entry skew of the iterations in a variant's last run. */
double session_seconds(const struct session *s);
double session_skew(const struct session *s, unsigned variant);

/* Traffic that the leader has sent for a variant since SESSION_OPEN. False for the library. */
struct session_traffic {
	const char *algorithm; /* of the schedule that ran */
	uint64_t runs, messages, bytes;
	uint64_t planned_messages, planned_bytes; /* of one run */
};
bool session_traffic(const struct session *s, unsigned variant, struct session_traffic *t);

#endif
