/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of an MPI job. Rank 0 is the leader: it runs the harness, and whatever its callbacks want done is an ORDER that all
 * ranks carry out, the leader too. The others follow until they are dismissed.
 *
 * Errors of an order are agreed on: crew_do() returns the worst status of all ranks, and err_text() names the rank it
 * comes from. What leaves ranks with different ideas of the next message (an MPI call that fails, an order that takes
 * longer than CREW_LIMIT_S) can't be agreed on: the rank that sees it says so and ends the whole job.
 *
 * Clocks. On one host, and under a simulator, all ranks read the same clock, and times of different ranks may be subtracted.
 */
#ifndef GPUSIG_CREW_H
#define GPUSIG_CREW_H

#include "collectives/ranks/rank_device.h"

#include <stdbool.h>
#include <stdint.h>

#define CREW_LIMIT_S 120u

/* What an order is about is the caller's business. The same bytes on every rank. */
struct order {
	uint32_t what;
	uint32_t variant;
	uint64_t iterations;
	uint64_t variants; /* bit mask */
	uint64_t bytes, seed;
	uint32_t kind, type, op, ports;
	bool dry;
	char shape[48];
	struct device_list devices;
};

struct crew {
	int rank, size, hosts;
	int host, local;   /* the first rank of our host, and which of its ranks we are: 0, 1, ... */
	int beside, cores; /* ranks on the leader's host, and cores that they may use */
	bool virtual_time; /* a simulator runs us */
	bool common_clock;
	char library[64];  /* "Open MPI v4.1.4" */
};

extern struct crew crew;

/* MPI_Init and who we are. `act` is how a rank carries out an order: 0 or -errno with a text. 0 or -errno. */
int crew_start(int *argc, char ***argv, int (*act)(const struct order *o));

/* A follower's life: carry out orders until dismissed. */
void crew_follow(void);

/* The leader: let all ranks carry out an order, and wait for them. */
int crew_do(const struct order *o);

/* The leader, at the end: let the followers go. Then MPI_Finalize, by all. */
void crew_dismiss(void);
void crew_end(void);

/* Seconds of the clock that times are taken from. */
double crew_time(void);

/* The leader: CPU time so far of all ranks on its host. */
double crew_cpu_s(void);

/* In an order: report that this rank can't go on, and end the job. Does not return. */
_Noreturn void crew_give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* In an order: give up when an MPI call failed (with another code than MPI_SUCCESS, which is 0). */
_Noreturn void crew_failed(int mpi_code, const char *call);
static inline void crew_must(int mpi_code, const char *call)
{
	if (mpi_code)
		crew_failed(mpi_code, call);
}

#endif
