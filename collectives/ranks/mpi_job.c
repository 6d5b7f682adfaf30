/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/mpi_job.h"
#include "lib/clock.h"
#include "lib/err.h"

#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Opcodes of this file; those of its users are smaller. */
enum { OPCODE_STOP = 0x7fff0000, OPCODE_CPU_TIME };

struct mpi_job mpi_job;

_Noreturn void mpi_job_abort(const char *format, ...)
{
	char text[400];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err_print("rank %d: %s; ending the job", mpi_job.rank, text);
	MPI_Abort(MPI_COMM_WORLD, 1);
	_exit(1);
}

_Noreturn void mpi_job_abort_mpi(int mpi_code, const char *call)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length = 0;
	MPI_Error_string(mpi_code, text, &length);
	mpi_job_abort("%s: %s", call, text);
}

static struct {
	char text[100];
	size_t length;
} timeout_message;

/* A signal handler runs even while ranks wait for each other for ever. A rank that exits without
 * MPI_Finalize ends the whole job. */
static void exit_on_timeout(int number)
{
	(void)number;
	ssize_t ignored = write(STDERR_FILENO, timeout_message.text, timeout_message.length);
	(void)ignored;
	_exit(1);
}

static void install_timeout_handler(void)
{
	int length = snprintf(timeout_message.text, sizeof(timeout_message.text),
			      "gpusig: rank %d: collective timed out after %u s; ending the job\n",
			      mpi_job.rank, MPI_JOB_TIMEOUT_S);
	timeout_message.length = (size_t)length;
	signal(SIGALRM, exit_on_timeout);
}

/* Finds which ranks share a host, and its cores. */
static void find_hosts_and_cores(void)
{
	struct {
		int hosts, ranks, cores;
	} leader;
	cpu_set_t cores;
	MPI_Comm local;
	int first, with_leader = mpi_job.rank == 0;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mpi_job.rank, MPI_INFO_NULL,
			    &local);
	MPI_Comm_rank(local, &mpi_job.local);
	MPI_Comm_size(local, &leader.ranks);
	first = mpi_job.local == 0;
	MPI_Allreduce(&mpi_job.rank, &mpi_job.host, 1, MPI_INT, MPI_MIN, local);
	MPI_Allreduce(&first, &leader.hosts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, &with_leader, 1, MPI_INT, MPI_MAX, local);
	sched_getaffinity(0, sizeof(cores), &cores);
	MPI_Allreduce(MPI_IN_PLACE, &cores, (int)sizeof(cores), MPI_BYTE, MPI_BOR, local);
	MPI_Comm_free(&local);
	leader.cores = CPU_COUNT(&cores);
	MPI_Bcast(&leader, 3, MPI_INT, 0, MPI_COMM_WORLD);
	mpi_job.hosts = leader.hosts;
	mpi_job.leader_host_ranks = leader.ranks;
	mpi_job.leader_host_cores = leader.cores;
	mpi_job.on_leader_host = with_leader;
}

static void identify_rank(void)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int length = 0;
	MPI_Get_library_version(version, &length);
	snprintf(mpi_job.library, sizeof(mpi_job.library), "%.*s", (int)strcspn(version, ",\n"),
		 version);
	mpi_job.virtual_time = strstr(version, "SMPI") != NULL;
	mpi_job.hosts = mpi_job.size;
	mpi_job.host = mpi_job.rank;
	mpi_job.leader_host_ranks = mpi_job.leader_host_cores = mpi_job.size;
	if (!mpi_job.virtual_time)
		find_hosts_and_cores();
	mpi_job.common_clock = mpi_job.virtual_time || mpi_job.hosts == 1;
}

int mpi_job_start(int *argc, char ***argv)
{
	if (MPI_Init(argc, argv) != MPI_SUCCESS)
		return err_note(-ENODEV, "MPI_Init failed");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &mpi_job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mpi_job.size);
	identify_rank();
	if (!mpi_job.virtual_time)
		install_timeout_handler();
	return 0;
}

double mpi_job_time(void) { return mpi_job.virtual_time ? MPI_Wtime() : 1e-9 * (double)clock_ns(); }

/* The sum is the leader's. */
static int sum_cpu_time(double *sum_s_p)
{
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	double mine = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
		      1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
	mine = mpi_job.on_leader_host ? mine : 0.0;
	MPI_CHECK(MPI_Reduce(&mine, sum_s_p, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD),
		  "MPI_Reduce");
	return 0;
}

/* Returns the worst status of all ranks, with the text of the first rank that has it. */
static int agree_on_status(int status)
{
	struct {
		int status, rank;
	} mine = {status, mpi_job.rank}, worst;
	char text[400];
	MPI_CHECK(MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD),
		  "MPI_Allreduce");
	if (worst.status >= 0)
		return 0;
	snprintf(text, sizeof(text), "rank %d: %s", mpi_job.rank, err_text());
	MPI_CHECK(MPI_Bcast(text, sizeof(text), MPI_CHAR, worst.rank, MPI_COMM_WORLD), "MPI_Bcast");
	return err_note(worst.status, "%s", text);
}

static int execute_command(const struct mpi_command_handler *h, const struct mpi_command *command,
			   double *cpu_s_p)
{
	alarm(mpi_job.virtual_time ? 0 : MPI_JOB_TIMEOUT_S);
	int status =
		agree_on_status(command->opcode == OPCODE_CPU_TIME ? sum_cpu_time(cpu_s_p)
								   : h->execute(h->state, command));
	alarm(0);
	return status;
}

static void broadcast_command(struct mpi_command *command)
{
	MPI_CHECK(MPI_Bcast(command, sizeof(*command), MPI_BYTE, 0, MPI_COMM_WORLD),
		  "MPI_Bcast of a command");
}

int mpi_job_command(const struct mpi_command_handler *h, const struct mpi_command *command)
{
	struct mpi_command copy = *command;
	broadcast_command(&copy);
	return execute_command(h, &copy, NULL);
}

void mpi_job_serve(const struct mpi_command_handler *h)
{
	struct mpi_command command;
	double unused = 0.0;
	/* The leader handles these signals and then stops the other ranks. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	for (broadcast_command(&command); command.opcode != OPCODE_STOP;
	     broadcast_command(&command))
		execute_command(h, &command, &unused);
}

void mpi_job_stop(void)
{
	struct mpi_command command = {.opcode = OPCODE_STOP};
	broadcast_command(&command);
}

void mpi_job_end(void) { MPI_Finalize(); }

double mpi_job_cpu_s(void)
{
	struct mpi_command command = {.opcode = OPCODE_CPU_TIME};
	double cpu_s = 0.0;
	broadcast_command(&command);
	execute_command(NULL, &command, &cpu_s);
	return cpu_s;
}
