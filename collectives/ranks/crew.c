/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/crew.h"
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

/* Orders of the crew itself; those of its users are smaller. */
enum { DISMISS = 0x7fff0000, COUNT_CPU };

struct crew crew;
static int (*act)(const struct order *o);
static bool beside_leader;
static double cpu_s;

_Noreturn void crew_give_up(const char *format, ...)
{
	char text[400];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err_print("rank %d: %s; ending the job", crew.rank, text);
	MPI_Abort(MPI_COMM_WORLD, 1);
	_exit(1);
}

_Noreturn void crew_failed(int mpi_code, const char *call)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length = 0;
	MPI_Error_string(mpi_code, text, &length);
	crew_give_up("%s: %s", call, text);
}

static struct {
	char text[100];
	size_t length;
} overdue;

/* A signal comes through where ranks wait for each other for ever. A rank that leaves like this takes the job with it. */
static void too_long(int number)
{
	(void)number;
	ssize_t ignored = write(STDERR_FILENO, overdue.text, overdue.length);
	(void)ignored;
	_exit(1);
}

static void watch_for_delay(void)
{
	int length = snprintf(overdue.text, sizeof(overdue.text), "gpusig: rank %d: no end of an order within %u s; ending the job\n",
	                      crew.rank, CREW_LIMIT_S);
	overdue.length = (size_t)length;
	signal(SIGALRM, too_long);
}

/* Which ranks share a host, and its cores. */
static void find_hosts(void)
{
	struct {
		int hosts, beside, cores;
	} leader;
	cpu_set_t cores;
	MPI_Comm local;
	int first, with_leader = crew.rank == 0;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, crew.rank, MPI_INFO_NULL, &local);
	MPI_Comm_rank(local, &crew.local);
	MPI_Comm_size(local, &leader.beside);
	first = crew.local == 0;
	MPI_Allreduce(&crew.rank, &crew.host, 1, MPI_INT, MPI_MIN, local);
	MPI_Allreduce(&first, &leader.hosts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, &with_leader, 1, MPI_INT, MPI_MAX, local);
	sched_getaffinity(0, sizeof(cores), &cores);
	MPI_Allreduce(MPI_IN_PLACE, &cores, (int)sizeof(cores), MPI_BYTE, MPI_BOR, local);
	MPI_Comm_free(&local);
	leader.cores = CPU_COUNT(&cores);
	MPI_Bcast(&leader, 3, MPI_INT, 0, MPI_COMM_WORLD);
	crew.hosts = leader.hosts;
	crew.beside = leader.beside;
	crew.cores = leader.cores;
	beside_leader = with_leader;
}

static void who_we_are(void)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int length = 0;
	MPI_Get_library_version(version, &length);
	snprintf(crew.library, sizeof(crew.library), "%.*s", (int)strcspn(version, ",\n"), version);
	crew.virtual_time = strstr(version, "SMPI") != NULL;
	crew.hosts = crew.size;
	crew.host = crew.rank;
	crew.beside = crew.cores = crew.size;
	if (!crew.virtual_time)
		find_hosts();
	crew.common_clock = crew.virtual_time || crew.hosts == 1;
}

int crew_start(int *argc, char ***argv, int (*carry)(const struct order *o))
{
	act = carry;
	if (MPI_Init(argc, argv) != MPI_SUCCESS)
		return err_note(-ENODEV, "MPI_Init failed");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &crew.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &crew.size);
	who_we_are();
	if (!crew.virtual_time)
		watch_for_delay();
	return 0;
}

double crew_time(void) { return crew.virtual_time ? MPI_Wtime() : 1e-9 * (double)clock_ns(); }

static int count_cpu(void)
{
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	double mine = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	              1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
	mine = beside_leader ? mine : 0.0;
	crew_must(MPI_Reduce(&mine, &cpu_s, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD), "MPI_Reduce");
	return 0;
}

/* The worst status of all ranks, with the text of the first rank that has it. */
static int agree(int status)
{
	struct {
		int status, rank;
	} mine = {status, crew.rank}, worst;
	char text[400];
	crew_must(MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD), "MPI_Allreduce");
	if (worst.status >= 0)
		return 0;
	snprintf(text, sizeof(text), "rank %d: %s", crew.rank, err_text());
	crew_must(MPI_Bcast(text, sizeof(text), MPI_CHAR, worst.rank, MPI_COMM_WORLD), "MPI_Bcast");
	return err_note(worst.status, "%s", text);
}

static int carry_out(const struct order *o)
{
	alarm(crew.virtual_time ? 0 : CREW_LIMIT_S);
	int status = agree(o->what == COUNT_CPU ? count_cpu() : act(o));
	alarm(0);
	return status;
}

static void pass_on(struct order *o)
{
	crew_must(MPI_Bcast(o, sizeof(*o), MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast of an order");
}

int crew_do(const struct order *o)
{
	struct order copy = *o;
	pass_on(&copy);
	return carry_out(&copy);
}

void crew_follow(void)
{
	struct order o;
	/* The leader ends tidily on these, and then dismisses us. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	for (pass_on(&o); o.what != DISMISS; pass_on(&o))
		carry_out(&o);
}

void crew_dismiss(void)
{
	struct order o = {.what = DISMISS};
	pass_on(&o);
}

void crew_end(void) { MPI_Finalize(); }

double crew_cpu_s(void)
{
	struct order o = {.what = COUNT_CPU};
	crew_do(&o);
	return cpu_s;
}
