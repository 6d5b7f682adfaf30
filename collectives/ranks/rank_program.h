/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The main of a program that runs on MPI ranks: starts MPI, lets rank 0 lead and the others serve
 * its commands, and ends MPI. A program's own state begins with a struct rank_program.
 */
#ifndef GPUSIG_RANK_PROGRAM_H
#define GPUSIG_RANK_PROGRAM_H

#include "bench/bench.h"
#include "collectives/nccl_tests/nccl_tests_args.h"
#include "collectives/ranks/mpi_job.h"

enum { RANK_OPEN_DEVICES = 0x7ffe0000 }; /* opcode; those of a program are smaller */

struct rank_program {
	const struct bench *declared;
	bool reduces; /* an operation has a meaning */
	/* Leader only, before the benchmark runs: adapts `bench` to the job. 0, or -EINVAL with a
	 * text. */
	int (*adapt)(struct rank_program *p);
	/* All ranks: executes one of its commands, 0 or -errno with a text; and, while MPI runs and
	 * only if it was started, closes what these opened. */
	int (*execute)(struct rank_program *p, const struct mpi_command *command);
	void (*close)(struct rank_program *p);

	/* Set by rank_program_main(). */
	struct mpi_command_handler ranks;
	struct rank_device device; /* of this rank */
	/* Leader: what the harness runs, whose c->arg is this program. */
	struct bench bench;
	struct axis axes[13];
	struct bench_job job;
	struct nccl_tests_args args;
	bool devices_open; /* on all ranks */
};

/* Returns the exit code of this rank; no MPI call may follow. */
int rank_program_main(struct rank_program *p, int argc, char **argv);

/* Leader only: an axis of `bench`, by its name, for adapt(). NULL: it has none. */
struct axis *rank_program_axis(struct rank_program *p, const char *name);

/* Leader only, in a callback of the harness: all ranks execute a command; waits for them. */
int rank_program_command(const struct bench_case *c, const struct mpi_command *command);

/* In setup: all ranks open their devices (rank_device.h), once, if the case's memory is a device's
 * and not the host's. */
int rank_program_open_devices(struct bench_case *c);
bool rank_program_on_devices(const struct bench_case *c);

/* After rank_program_open_devices(): ranks share a device, or cores as rank_program_report() says.
 */
bool rank_program_oversubscribed(const struct bench_case *c);

/* In derive: facts about the ranks and the library, and how data travels: on devices `direct`
 * (device_vectors.h), or each `unit` ("message") staged. The
 * case is oversubscribed where ranks share a device, where a host has fewer cores than ranks, where
 * the CPU quota grants fewer, or where more of its ranks are bound within the cores of one of them
 * than these are. */
#define RANK_PROGRAM_DIRECT "device memory, passed to the MPI library directly"
void rank_program_report(struct bench_case *c, bool direct, const char *unit);

#endif
