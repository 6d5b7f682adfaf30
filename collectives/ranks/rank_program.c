/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/rank_program.h"
#include "bench/out.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static int execute_command(void *program, const struct mpi_command *command)
{
	struct rank_program *p = program;
	return command->opcode == RANK_OPEN_DEVICES
		       ? rank_device_open(&p->device, &command->devices)
		       : p->execute(p, command);
}

static int lead_job(struct rank_program *p, int argc, char **argv)
{
	const struct nccl_tests_program known = {
		.bench = p->declared, .reduces = p->reduces, .ranks = true};
	p->bench = *p->declared;
	p->bench.axes = p->axes;
	p->bench.job = &p->job;
	p->bench.arg = p;
	for (size_t i = 0; p->declared->axes[i].name; i++) {
		assert(i + 1 < sizeof(p->axes) / sizeof(p->axes[0]));
		p->axes[i] = p->declared->axes[i];
	}
	p->job = (struct bench_job){.library = mpi_job.library,
				    .processes = (unsigned)mpi_job.size,
				    .hosts = (unsigned)mpi_job.hosts,
				    .virtual_time = mpi_job.virtual_time,
				    .load = mpi_job_load,
				    .core_latency = mpi_job_core_latency};
	if (nccl_tests_args_translate(&known, argc, argv, &p->args) || p->adapt(p)) {
		err_print("%s: %s", p->declared->name, err_text());
		return 2;
	}
	return bench_main(&p->bench, p->args.argc, p->args.argv);
}

int rank_program_main(struct rank_program *p, int argc, char **argv)
{
	out_open(); /* before MPI opens anything */
	int code = 0, status = mpi_job_start(&argc, &argv);
	if (status) {
		err_print("%s: %s", p->declared->name, err_text());
		return status == -EINVAL ? 2 : 77;
	}
	p->ranks = (struct mpi_command_handler){execute_command, p};
	if (mpi_job_same_arguments(argc, argv)) {
		code = 2;
		if (mpi_job.rank == 0)
			err_print("%s: %s; all ranks need the same", p->declared->name, err_text());
	} else if (mpi_job.rank != 0) {
		mpi_job_serve(&p->ranks);
	} else {
		code = lead_job(p, argc, argv);
		mpi_job_stop();
	}
	p->close(p);
	rank_device_close(&p->device);
	mpi_job_end();
	return code;
}

struct axis *rank_program_axis(struct rank_program *p, const char *name)
{
	struct axis *a = p->axes;
	while (a->name && strcmp(a->name, name) != 0)
		a++;
	return a->name ? a : NULL;
}

int rank_program_command(const struct bench_case *c, const struct mpi_command *command)
{
	return mpi_job_command(&((const struct rank_program *)c->arg)->ranks, command);
}

bool rank_program_on_devices(const struct bench_case *c)
{
	return !dev_can(c->dev, DEV_CAP_HOST_ACCESS);
}

int rank_program_open_devices(struct bench_case *c)
{
	struct rank_program *p = c->arg;
	struct mpi_command command = {.opcode = RANK_OPEN_DEVICES};
	if (p->devices_open || !rank_program_on_devices(c))
		return 0;
	rank_device_list(&p->device, nccl_tests_args_value(&p->args, "device"), c->devices,
			 &command.devices);
	int status = mpi_job_command(&p->ranks, &command);
	p->devices_open = status == 0;
	return status;
}

bool rank_program_oversubscribed(const struct bench_case *c)
{
	const struct rank_device *d = &((const struct rank_program *)c->arg)->device;
	return mpi_job.sharing_ranks || (rank_program_on_devices(c) && d->max_ranks > 1);
}

void rank_program_report(struct bench_case *c, bool direct, const char *unit)
{
	const struct rank_device *d = &((const struct rank_program *)c->arg)->device;
	const int ranks = mpi_job.sharing_ranks, cores = mpi_job.shared_cores;
	bench_fact_text(c, "library", mpi_job.library);
	bench_fact_number(c, "ranks", mpi_job.size);
	if (!rank_program_on_devices(c))
		bench_fact_text(c, "transport", "host memory");
	else if (direct)
		bench_fact_text(c, "transport", RANK_PROGRAM_DIRECT);
	else
		bench_fact_format(c, "transport",
				  "device memory, each %s staged through pinned host memory", unit);
	if (rank_program_on_devices(c))
		bench_fact_text(c, "rank_devices", d->names);
	if (rank_program_on_devices(c) && d->max_ranks > 1)
		bench_flag(c, "oversubscribed",
			   "%d ranks share a device: the time includes waiting for each other",
			   d->max_ranks);
	if (ranks)
		bench_flag(c, "oversubscribed",
			   "%d ranks share %d core%s: most of the time is scheduling", ranks, cores,
			   cores == 1 ? "" : "s");
}
