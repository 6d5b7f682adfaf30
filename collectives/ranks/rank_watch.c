/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/rank_watch.h"
#include "collectives/ranks/mpi_job.h"
#include "lib/err.h"
#include "lib/units.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_S 120u
#define MAX_LIMIT_S 86400u

/* State of the signal handler, which may call neither stdio nor malloc. */
static struct {
	unsigned limit_s;
	bool none;
	volatile sig_atomic_t waits; /* for the leader's next command */
	char leader[32];             /* "/proc/PID/stat"; "": on another host */
	struct neighbour {
		char stat[32];
		char report[96];
	} * neighbours; /* the ranks of this host, but for this one */
	size_t count;
	char timed_out[96];
} watch;

/* True if a signal or a debugger has stopped the process: its state, which follows the name in
 * parentheses, is T or t. */
static bool is_stopped(const char *stat)
{
	char text[512];
	int fd = open(stat, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	const char *end = strrchr(text, ')');
	return end && end[1] == ' ' && (end[2] == 'T' || end[2] == 't');
}

static void write_text(const char *text)
{
	ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
	(void)ignored;
}

static bool name_stopped_ranks(void)
{
	bool any = false;
	for (size_t i = 0; i < watch.count; i++)
		if (is_stopped(watch.neighbours[i].stat)) {
			write_text(watch.neighbours[i].report);
			any = true;
		}
	return any;
}

static void end_job(int number)
{
	if (watch.waits && !is_stopped(watch.leader)) {
		alarm(watch.limit_s);
		return;
	}
	if (!name_stopped_ranks())
		write_text(watch.timed_out);
	_exit(1);
}

int rank_watch_start(void)
{
	const char *given = getenv("GPUSIG_RANK_LIMIT_S");
	uint64_t seconds = LIMIT_S;
	if (given && units_parse_integer(given, 1, MAX_LIMIT_S, &seconds))
		return err_note(-EINVAL, "GPUSIG_RANK_LIMIT_S is '%s'; values: 1 to %u seconds",
				given, MAX_LIMIT_S);
	watch.limit_s = (unsigned)seconds;
	snprintf(watch.timed_out, sizeof(watch.timed_out),
		 "gpusig: no answer from a rank for %u s; ending the job\n", watch.limit_s);
	signal(SIGALRM, end_job);
	rank_watch_begin();
	return 0;
}

void rank_watch_none(void)
{
	alarm(0);
	watch.none = true;
}

void rank_watch_begin(void)
{
	if (watch.none)
		return;
	watch.waits = 0;
	alarm(watch.limit_s);
}

void rank_watch_pause(void) { alarm(0); }

void rank_watch_wait(void)
{
	rank_watch_begin();
	watch.waits = 1;
}

void rank_watch_exchange(void)
{
	struct place {
		int host, pid;
	} mine = {mpi_job.host, (int)getpid()};
	size_t ranks = (size_t)mpi_job.size;
	if (watch.none)
		return;
	struct place *all = calloc(ranks, sizeof(*all));
	watch.neighbours = calloc(ranks, sizeof(*watch.neighbours));
	if (!all || !watch.neighbours)
		mpi_job_abort("processes of %zu ranks: out of memory", ranks);
	MPI_CHECK(MPI_Allgather(&mine, 2, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD),
		  "MPI_Allgather");
	for (int rank = 0; rank < mpi_job.size; rank++) {
		struct neighbour *n = &watch.neighbours[watch.count];
		if (all[rank].host != mine.host || rank == mpi_job.rank)
			continue;
		snprintf(n->stat, sizeof(n->stat), "/proc/%d/stat", all[rank].pid);
		snprintf(n->report, sizeof(n->report),
			 "gpusig: rank %d (process %d) is stopped; ending the job\n", rank,
			 all[rank].pid);
		if (rank == 0)
			memcpy(watch.leader, n->stat, sizeof(n->stat));
		watch.count++;
	}
	snprintf(watch.timed_out, sizeof(watch.timed_out),
		 "gpusig: rank %d: no answer from the others for %u s; ending the job\n",
		 mpi_job.rank, watch.limit_s);
	free(all);
}
