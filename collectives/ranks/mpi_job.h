/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of an MPI job. Rank 0 is the leader and runs the harness. Its callbacks broadcast
 * COMMANDS, which all ranks execute, the leader too. The other ranks serve commands until the
 * leader stops them.
 *
 * Errors. mpi_job_command() returns the worst status of all ranks, and err_text() names the rank
 * that it comes from. After some failures the ranks no longer agree on the next message: an MPI
 * call that fails, or a rank that does not answer (rank_watch.h). The rank that detects such a
 * failure prints it and ends the whole job.
 *
 * Clocks. On one host, and under a simulator, all ranks read the same clock, so times of different
 * ranks may be subtracted.
 */
#ifndef GPUSIG_MPI_JOB_H
#define GPUSIG_MPI_JOB_H

#include "collectives/ranks/rank_device.h"
#include "lib/cores.h"
#include "lib/cpu_load.h"

#include <stdbool.h>
#include <stdint.h>

/* The same bytes on every rank. The caller defines the opcodes, which are below 0x7fff0000, and
 * what it uses of the others. */
struct mpi_command {
	uint32_t opcode;
	uint32_t variant;
	uint64_t iterations;
	uint64_t variants; /* bit mask */
	uint64_t bytes, seed;
	uint32_t type, op, ports;                       /* of collectives */
	uint32_t pairing, scope, rails, rounds, window; /* of pairs */
	bool together, dry;
	char shape[48];
	struct device_list devices;
};

/* Executes a command on this rank: 0 or -errno with a text. */
struct mpi_command_handler {
	int (*execute)(void *state, const struct mpi_command *command);
	void *state;
};

struct mpi_job {
	int rank, size, hosts;
	int host, local; /* the first rank of this host; the number of this rank on it: 0, 1, ... */
	int leader_host_ranks;  /* on the leader's host */
	int sharing_ranks;      /* of one host, all or those bound within the cores of one of them,
				   which are more than `shared_cores`; 0: none are */
	int shared_cores;       /* that compute for these at once (cores_at_once()) */
	bool on_leader_machine; /* on its host, or in a container or namespace beside it */
	int cores[CORES_MAX];   /* processors that its ranks may use, ascending */
	size_t core_count;
	bool virtual_time; /* the job runs in a simulator */
	bool common_clock;
	char library[128]; /* "Open MPI v4.1.4" */
};

/* As process-wide as MPI_COMM_WORLD, and constant after mpi_job_start(). */
extern struct mpi_job mpi_job;

/* Calls MPI_Init and fills `mpi_job`. Returns 0 or -errno. */
int mpi_job_start(int *argc, char ***argv);

/* All ranks, once after the start: whether all were given the same arguments. Otherwise -EINVAL,
 * and the text names a rank and the argument. */
int mpi_job_same_arguments(int argc, char **argv);

/* 0, or -ENODEV where the job has one rank. */
int mpi_job_needs_ranks(void);

/* Other ranks than the leader: executes commands until the leader calls mpi_job_stop(). */
void mpi_job_serve(const struct mpi_command_handler *h);

/* Leader only: all ranks execute a command; waits for them. */
int mpi_job_command(const struct mpi_command_handler *h, const struct mpi_command *command);

/* Leader only, at the end: the other ranks return from mpi_job_serve(). Then all ranks call
 * mpi_job_end(), which calls MPI_Finalize. */
void mpi_job_stop(void);
void mpi_job_end(void);

/* In a command, on all ranks: the leader gets `bytes` of each in their order, which it frees, the
 * others NULL. Without memory for it the job ends. */
void *mpi_job_gather(const void *mine, size_t bytes);

/* Seconds of the clock that times are taken from. */
double mpi_job_time(void);

/* Leader only: the cores that ranks on its machine may use, and the CPU time so far of these. A
 * launcher may bind each rank to a core of its own. */
struct cpu_load mpi_job_load(void);

/* Leader only: the mean latency from core to core over pairs of ranks of its host, one way, in
 * seconds. 0, or -ENODEV: it has one rank, more ranks than processors, or no memory that they
 * share. */
int mpi_job_core_latency(unsigned batches, double *seconds_p);

/* In a command: prints why this rank cannot continue, and ends the job. Does not return. */
_Noreturn void mpi_job_abort(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* In a command: ends the job when an MPI call returned another code than MPI_SUCCESS, which is
 * 0. */
_Noreturn void mpi_job_abort_mpi(int mpi_code, const char *call);
static inline void MPI_CHECK(int mpi_code, const char *call)
{
	if (mpi_code)
		mpi_job_abort_mpi(mpi_code, call);
}

#endif
