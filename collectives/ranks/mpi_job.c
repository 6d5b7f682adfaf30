/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/mpi_job.h"
#include "collectives/ranks/rank_latency.h"
#include "collectives/ranks/rank_watch.h"
#include "lib/clock.h"
#include "lib/cores.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opcodes of this file; those of its users are smaller. */
enum { OPCODE_STOP = 0x7fff0000, OPCODE_CPU_TIME, OPCODE_CORE_LATENCY };

struct mpi_job mpi_job;

_Noreturn void mpi_job_abort(const char *format, ...)
{
	char text[ERR_TEXT];
	va_list args;
	va_start(args, format);
	text_vfit(text, sizeof(text), format, args);
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

/* The processors that ranks of `ranks` may use, ascending, of those that take part: how many. */
static size_t unite_processors(MPI_Comm ranks, bool takes_part, int cores[CORES_MAX])
{
	unsigned char used[CORES_MAX] = {0};
	size_t count = takes_part ? cores_allowed(cores) : 0;
	for (size_t i = 0; i < count; i++)
		used[cores[i]] = 1;
	MPI_Allreduce(MPI_IN_PLACE, used, CORES_MAX, MPI_BYTE, MPI_BOR, ranks);
	count = 0;
	for (int core = 0; core < CORES_MAX; core++)
		if (used[core])
			cores[count++] = core;
	return count;
}

struct sharing {
	int ranks, cores;
};

static const bool *mask_of(const bool *masks, int rank) { return masks + (size_t)rank * CORES_MAX; }

/* The ranks that may use nothing but the cores of `mask`, and how many of these compute at once. */
static struct sharing sharing_of(const bool *mask, const bool *masks, int ranks, int *cores)
{
	struct sharing found = {0, 0};
	size_t count = 0;
	for (int core = 0; core < CORES_MAX; core++)
		if (mask[core])
			cores[count++] = core;
	if (count)
		found.cores = (int)cores_at_once("", cores, count, cores);
	for (int r = 0; r < ranks; r++) {
		const bool *own = mask_of(masks, r);
		int core = 0;
		while (core < CORES_MAX && (!own[core] || mask[core]))
			core++;
		found.ranks += core == CORES_MAX;
	}
	return found;
}

/* The ranks of a host that have the fewest cores each: those within the mask of one of them, or
 * all, whose mask is behind the others. Without cores: the kernel tells no masks. */
static struct sharing find_worst_sharing(const bool *masks, int ranks, int *cores)
{
	struct sharing worst = {0, 0};
	for (int r = 0; r <= ranks; r++) {
		int same = 0;
		while (memcmp(mask_of(masks, same), mask_of(masks, r), CORES_MAX) != 0)
			same++;
		if (same < r && r < ranks)
			continue;
		const struct sharing s = sharing_of(mask_of(masks, r), masks, ranks, cores);
		if (s.cores && (int64_t)s.ranks * worst.cores >= (int64_t)worst.ranks * s.cores)
			worst = s;
	}
	return worst;
}

/* Finds ranks of any host that share fewer cores than they are. `local` has those of this host. */
static void find_sharing(MPI_Comm local, int ranks)
{
	struct {
		double ranks_on_a_core;
		int rank;
	} mine = {0.0, mpi_job.rank}, most;
	struct sharing worst = {0, 0};
	int *cores = malloc(CORES_MAX * sizeof(*cores));
	bool *mask = calloc(CORES_MAX, sizeof(*mask)),
	     *masks = calloc(mpi_job.local == 0 ? (size_t)ranks + 1 : 1, CORES_MAX);
	if (!cores || !mask || !masks)
		mpi_job_abort("comparing the cores of ranks: out of memory");
	cores_add_threads("", cores, cores_allowed(cores), mask);
	MPI_Gather(mask, CORES_MAX, MPI_BYTE, masks, CORES_MAX, MPI_BYTE, 0, local);
	if (mpi_job.local == 0) {
		bool *all = masks + (size_t)ranks * CORES_MAX;
		for (size_t i = 0; i < (size_t)ranks * CORES_MAX; i++)
			all[i % CORES_MAX] |= masks[i];
		worst = find_worst_sharing(masks, ranks, cores);
	}
	if (worst.ranks > worst.cores && worst.cores)
		mine.ranks_on_a_core = (double)worst.ranks / worst.cores;
	MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
	MPI_Bcast(&worst, 2, MPI_INT, most.rank, MPI_COMM_WORLD);
	mpi_job.sharing_ranks = most.ranks_on_a_core > 0.0 ? worst.ranks : 0;
	mpi_job.shared_cores = worst.cores;
	free(cores);
	free(mask);
	free(masks);
}

/* Finds which ranks share a host, and its cores. */
static void find_hosts_and_cores(void)
{
	struct {
		int hosts, ranks;
	} leader;
	MPI_Comm local;
	int first;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mpi_job.rank, MPI_INFO_NULL,
			    &local);
	MPI_Comm_rank(local, &mpi_job.local);
	MPI_Comm_size(local, &leader.ranks);
	first = mpi_job.local == 0;
	MPI_Allreduce(&mpi_job.rank, &mpi_job.host, 1, MPI_INT, MPI_MIN, local);
	MPI_Allreduce(&first, &leader.hosts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	const size_t processors = unite_processors(local, true, mpi_job.cores);
	find_sharing(local, leader.ranks);
	if (mpi_job.host == 0)
		rank_latency_open(local, (int)processors);
	MPI_Comm_free(&local);
	MPI_Bcast(&leader, 2, MPI_INT, 0, MPI_COMM_WORLD);
	mpi_job.hosts = leader.hosts;
	mpi_job.leader_host_ranks = leader.ranks;
}

/* "Hosts" that run under one kernel share its cores, whose load the harness reads: containers, or
 * network namespaces. One boot has one id. */
static void find_leader_machine(void)
{
	char own[40] = "", leaders[40];
	int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? 0 : read(file, own, sizeof(own) - 1);
	if (file >= 0)
		close(file);
	memcpy(leaders, own, sizeof(own));
	MPI_Bcast(leaders, sizeof(leaders), MPI_CHAR, 0, MPI_COMM_WORLD);
	mpi_job.on_leader_machine = mpi_job.host == 0 || (length > 0 && strcmp(own, leaders) == 0);
}

/* Keep the part before the first comma or the end of the line of "Open MPI v4.1.4, package: ..." or
 * "MPICH Version:\t4.0.2\nMPICH Release date: ...". */
static void keep_library_name(const char *version)
{
	snprintf(mpi_job.library, sizeof(mpi_job.library), "%.*s", (int)strcspn(version, ",\n"),
		 version);
	for (char *at = mpi_job.library; (at = strchr(at, '\t')) != NULL;)
		*at = ' ';
}

static void identify_rank(void)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int length = 0;
	MPI_Get_library_version(version, &length);
	keep_library_name(version);
	mpi_job.virtual_time = strstr(version, "SMPI") != NULL;
	mpi_job.hosts = mpi_job.size;
	mpi_job.host = mpi_job.rank;
	mpi_job.leader_host_ranks = mpi_job.size;
	if (!mpi_job.virtual_time) {
		find_hosts_and_cores();
		find_leader_machine();
		mpi_job.core_count =
			unite_processors(MPI_COMM_WORLD, mpi_job.on_leader_machine, mpi_job.cores);
	}
	mpi_job.common_clock = mpi_job.virtual_time || mpi_job.hosts == 1;
}

/* A process that no launcher started has nobody to talk to. Open MPI would give it a daemon and a
 * directory all the same, which the daemon removes after this process has ended, maybe while the
 * next one enters it: that one's MPI_Init then aborts. Other libraries ignore these names. */
static void need_no_daemon(void)
{
	static const char *const launched[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
	for (size_t i = 0; i < sizeof(launched) / sizeof(launched[0]); i++)
		if (getenv(launched[i]))
			return;
	setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
	setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
}

int mpi_job_start(int *argc, char ***argv)
{
	int status = rank_watch_start();
	if (status)
		return status;
	need_no_daemon();
	if (MPI_Init(argc, argv) != MPI_SUCCESS)
		return err_note(-ENODEV, "MPI_Init failed");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &mpi_job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mpi_job.size);
	identify_rank();
	if (mpi_job.virtual_time)
		rank_watch_none();
	rank_watch_exchange();
	rank_watch_pause();
	return 0;
}

/* Returns the worst status of all ranks, with the text of the first rank that has it. */
static int agree_on_status(int status)
{
	struct {
		int status, rank;
	} mine = {status, mpi_job.rank}, worst;
	char text[ERR_TEXT];
	MPI_CHECK(MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD),
		  "MPI_Allreduce");
	if (worst.status >= 0)
		return 0;
	text_fit(text, sizeof(text), "rank %d: %s", mpi_job.rank, err_text());
	MPI_CHECK(MPI_Bcast(text, sizeof(text), MPI_CHAR, worst.rank, MPI_COMM_WORLD), "MPI_Bcast");
	return err_note(worst.status, "%s", text);
}

/* Notes the first argument that differs from the leader's. */
static int find_difference(const char *mine, const char *leaders)
{
	const char *own = mine, *other = leaders;
	for (; *own && *own == *other; own++, other++)
		if (*own == '\n') {
			mine = own + 1;
			leaders = other + 1;
		}
	if (*own == *other)
		return 0;
	return err_note(-EINVAL, "was given '%.*s' where rank 0 has '%.*s'",
			(int)strcspn(mine, "\n"), mine, (int)strcspn(leaders, "\n"), leaders);
}

int mpi_job_same_arguments(int argc, char **argv)
{
	struct text mine = {0};
	for (int i = 1; i < argc; i++)
		text_add(&mine, "%s\n", argv[i]);
	int bytes = (int)mine.length + 1;
	MPI_CHECK(MPI_Bcast(&bytes, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
	char *leaders = malloc((size_t)bytes);
	if (!leaders || !text_whole(&mine))
		mpi_job_abort("comparing arguments: out of memory");
	if (mpi_job.rank == 0)
		memcpy(leaders, text_whole(&mine), (size_t)bytes);
	MPI_CHECK(MPI_Bcast(leaders, bytes, MPI_CHAR, 0, MPI_COMM_WORLD), "MPI_Bcast");
	int status = agree_on_status(find_difference(text_whole(&mine), leaders));
	text_free(&mine);
	free(leaders);
	return status;
}

/* Launchers tell their processes how many these are; a library that does not know the launcher
 * makes each of them a job of its own. */
static long count_launched(void)
{
	static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					    "SLURM_STEP_NUM_TASKS"};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const char *size = getenv(sizes[i]);
		if (size && strtol(size, NULL, 10) > 1)
			return strtol(size, NULL, 10);
	}
	return 1;
}

int mpi_job_needs_ranks(void)
{
	const long launched = count_launched();
	if (mpi_job.size > 1)
		return 0;
	if (launched > 1)
		return err_note(-ENODEV,
				"each of %ld processes is an MPI job of its own: they need the "
				"launcher of this build's MPI library, %s",
				launched, mpi_job.library);
	return err_note(-ENODEV, "needs at least 2 ranks: start it with mpirun -n 2, or srun");
}

void *mpi_job_gather(const void *mine, size_t bytes)
{
	void *all = mpi_job.rank == 0 ? calloc((size_t)mpi_job.size, bytes) : NULL;
	if (mpi_job.rank == 0 && !all)
		mpi_job_abort("what %d ranks say of themselves: out of memory", mpi_job.size);
	MPI_CHECK(MPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0,
			     MPI_COMM_WORLD),
		  "MPI_Gather");
	return all;
}

double mpi_job_time(void) { return mpi_job.virtual_time ? MPI_Wtime() : 1e-9 * (double)clock_ns(); }

static int execute_command(const struct mpi_command_handler *h, const struct mpi_command *command)
{
	rank_watch_begin();
	int status = agree_on_status(h->execute(h->state, command));
	rank_watch_pause();
	return status;
}

/* Commands of this file, which don't fail: their sums over the ranks are the leader's. */
static void execute_own(const struct mpi_command *command, double sums[2])
{
	double mine[2] = {0.0, 0.0};
	rank_watch_begin();
	if (command->opcode == OPCODE_CORE_LATENCY)
		rank_latency_play((unsigned)command->iterations, mine);
	if (command->opcode == OPCODE_CPU_TIME && mpi_job.on_leader_machine)
		mine[0] = cpu_load_own_s();
	MPI_CHECK(MPI_Reduce(mine, sums, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD), "MPI_Reduce");
	rank_watch_pause();
}

static void broadcast_command(struct mpi_command *command)
{
	MPI_CHECK(MPI_Bcast(command, sizeof(*command), MPI_BYTE, 0, MPI_COMM_WORLD),
		  "MPI_Bcast of a command");
}

int mpi_job_command(const struct mpi_command_handler *h, const struct mpi_command *command)
{
	struct mpi_command copy = *command;
	rank_watch_begin();
	broadcast_command(&copy);
	return execute_command(h, &copy);
}

void mpi_job_serve(const struct mpi_command_handler *h)
{
	struct mpi_command command;
	double unused[2];
	/* The leader handles these signals and then stops the other ranks. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	for (;;) {
		rank_watch_wait();
		broadcast_command(&command);
		if (command.opcode == OPCODE_STOP)
			break;
		if (command.opcode > OPCODE_STOP)
			execute_own(&command, unused);
		else
			execute_command(h, &command);
	}
}

void mpi_job_stop(void)
{
	struct mpi_command command = {.opcode = OPCODE_STOP};
	rank_watch_begin();
	broadcast_command(&command);
}

void mpi_job_end(void)
{
	rank_watch_begin();
	MPI_Finalize();
	rank_watch_pause();
}

static void command_own(uint32_t opcode, uint64_t iterations, double sums[2])
{
	struct mpi_command command = {.opcode = opcode, .iterations = iterations};
	rank_watch_begin();
	broadcast_command(&command);
	execute_own(&command, sums);
}

int mpi_job_core_latency(unsigned batches, double *seconds_p)
{
	double sums[2] = {0.0, 0.0};
	command_own(OPCODE_CORE_LATENCY, batches, sums);
	if (sums[1] == 0.0)
		return -ENODEV;
	*seconds_p = sums[0] / sums[1];
	return 0;
}

struct cpu_load mpi_job_load(void)
{
	double sums[2] = {0.0, 0.0};
	command_own(OPCODE_CPU_TIME, 0, sums);
	return cpu_load_mark(mpi_job.cores, mpi_job.core_count, sums[0]);
}
