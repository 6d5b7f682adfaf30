/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The main of a program that runs on MPI ranks: starts MPI, lets rank 0 lead and the others serve
 * its commands, and ends MPI.
 */
#ifndef GPUSIG_RANK_PROGRAM_H
#define GPUSIG_RANK_PROGRAM_H

#include "bench/bench.h"
#include "collectives/ranks/mpi_job.h"

struct rank_program {
	const char *name;
	const struct mpi_command_handler *ranks;
	/* Leader only: runs the benchmark and returns the exit code. */
	int (*lead)(void *leader, int argc, char **argv);
	void *leader;
	/* All ranks, while MPI runs: closes the state of the command handler. Not called when MPI
	 * did not start. */
	void (*close)(void *state);
};

/* Returns the exit code of this rank; no MPI call may follow. */
int rank_program_main(const struct rank_program *program, int argc, char **argv);

/* Leader only: the job as the harness records it. */
struct bench_job rank_program_job(void);

/* Leader only: all ranks open their devices (rank_device.h) by the command `opcode`; once is
 * enough. `given` is the value of --device, NULL for the default; `set` what the harness opened. */
int rank_program_open_devices(const struct mpi_command_handler *ranks, uint32_t opcode,
			      struct rank_device *d, const char *given, const struct dev_set *set);

/* Leader only: the case is oversubscribed where a host has fewer cores than ranks, where the CPU
 * quota grants fewer, or where more of its ranks are bound within the cores of one of them than
 * these are. */
void rank_program_flag_shared_cores(struct bench_case *c);

#endif
