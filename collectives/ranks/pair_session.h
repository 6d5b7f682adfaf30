/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The open case of collectives/pairs on every rank: who meets whom in which round, and the memory
 * of the messages. All ranks execute the commands of enum pair_opcode; the leader reads the
 * session after a command.
 *
 * A pass is all rounds once. The pairs of a round run at the same time, each behind one barrier of
 * all ranks, or one behind the other, each behind such a barrier. Ranks keep their own time of each
 * round, and the leader forms the time of each pair:
 *
 *     forward, backward   of the rank that sends: from its first message until it is told that the
 *                         other one has them all
 *     both ways           the longer of the two ranks' own durations
 *     round trip          of the pair's first rank, PAIR_ROUND_TRIPS there and back
 */
#ifndef GPUSIG_PAIR_SESSION_H
#define GPUSIG_PAIR_SESSION_H

#include "collectives/pairs/pairing.h"
#include "collectives/ranks/pair_memory.h"
#include "collectives/ranks/rank_program.h"
#include "lib/network_adapter.h"

#define PAIR_HOST_BYTES 64

/* PAIR_OPEN: pairing, scope, rails, rounds (0: those of all pairs), window, bytes, seed, together.
 * PAIR_RUN and PAIR_COUNT, which also has the adapters' counters: variant, iterations. PAIR_CHECK:
 * variant. */
enum pair_opcode { PAIR_OPEN, PAIR_RUN, PAIR_COUNT, PAIR_POISON, PAIR_CHECK, PAIR_CLOSE };

struct pair_ports {
	size_t count;
	struct network_port port[NETWORK_PORTS_MAX]; /* sent_bytes: in the pass */
};

struct pair_session {
	struct rank_program program; /* first */
	struct mpi_command command;  /* the last PAIR_OPEN */
	struct pairing pairing;
	struct pair_memory memory;
	int *nodes;                        /* of every rank: mpi_job.host */
	char (*hosts)[PAIR_HOST_BYTES];    /* leader: of every rank */
	const struct pair_slot **in_round; /* this rank's pair of every round, or NULL */
	double *own, *all;        /* seconds by round, of this rank; leader: of all ranks */
	int last_peer;            /* received from in the last run; -1: nobody */
	double seconds;           /* leader: of the last PAIR_RUN or PAIR_COUNT */
	double *link_seconds;     /* leader: of one iteration of it, by link */
	struct pair_ports *ports; /* leader: of the last PAIR_COUNT; of the first rank of each node,
				     of other ranks none */
};

/* For struct rank_program, whose state this is. */
int pair_session_execute(struct rank_program *program, const struct mpi_command *command);
void pair_session_close(struct rank_program *program);

#endif
