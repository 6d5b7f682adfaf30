/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/rank_program.h"
#include "bench/out.h"
#include "lib/err.h"

#include <errno.h>

int rank_program_main(const struct rank_program *program, int argc, char **argv)
{
	out_open(); /* before MPI opens anything */
	int code = 0, status = mpi_job_start(&argc, &argv);
	if (status) {
		err_print("%s: %s", program->name, err_text());
		return status == -EINVAL ? 2 : 77;
	}
	if (mpi_job_same_arguments(argc, argv)) {
		code = 2;
		if (mpi_job.rank == 0)
			err_print("%s: %s; all ranks need the same", program->name, err_text());
	} else if (mpi_job.rank != 0) {
		mpi_job_serve(program->ranks);
	} else {
		code = program->lead(program->leader, argc, argv);
		mpi_job_stop();
	}
	program->close(program->ranks->state);
	mpi_job_end();
	return code;
}

struct bench_job rank_program_job(void)
{
	return (struct bench_job){.library = mpi_job.library,
				  .processes = (unsigned)mpi_job.size,
				  .hosts = (unsigned)mpi_job.hosts,
				  .virtual_time = mpi_job.virtual_time,
				  .load = mpi_job_load,
				  .core_latency = mpi_job_core_latency};
}

int rank_program_open_devices(const struct mpi_command_handler *ranks, uint32_t opcode,
			      struct rank_device *d, const char *given, const struct dev_set *set)
{
	struct mpi_command command = {.opcode = opcode};
	rank_device_list(d, given, set, &command.devices);
	return mpi_job_command(ranks, &command);
}

void rank_program_flag_shared_cores(struct bench_case *c)
{
	const int ranks = mpi_job.sharing_ranks, cores = mpi_job.shared_cores;
	if (ranks)
		bench_flag(c, "oversubscribed",
			   "%d ranks share %d core%s: most of the time is scheduling", ranks, cores,
			   cores == 1 ? "" : "s");
}
