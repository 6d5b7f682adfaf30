/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libnccl and librccl: ncclAllReduce() of floats among the devices of one process, as one group. Every rank's stream runs a block that
 * waits for the others', as the library's kernels do.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "tests/fakes/driver.h"

enum { SUCCESS = 0, UNHANDLED_ERROR = 1, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };
enum { FLOAT = 7 };
enum { SUM = 0 };

#define VERSION 22809
#define RANKS_MOST 8
#define CALLS_MOST 64
/* One that lost its device never comes. */
#define PATIENCE_NS 10000000000u

struct clique {
	int ranks, alive;
};

struct ncclComm {
	struct clique *clique;
	int rank;
};

struct call {
	struct ncclComm *comm;
	const float *from;
	float *to;
	size_t count;
	void *stream;
};

/* Where the ranks of one operation meet. */
struct meeting {
	struct meeting *next;
	int ranks;
	atomic_int arrived, left;
	atomic_bool done;
	struct call calls[RANKS_MOST];
};

static _Thread_local struct {
	int depth;
	size_t count;
	struct call calls[CALLS_MOST];
} group;

/* Meetings that were called. One to which a lost device does not come stays here. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct meeting *meetings;

static void enter(struct meeting *m)
{
	pthread_mutex_lock(&lock);
	m->next = meetings;
	meetings = m;
	for (struct meeting **at = &meetings; *at;) {
		struct meeting *old = *at;
		if (atomic_load(&old->left) < old->ranks) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		free(old);
	}
	pthread_mutex_unlock(&lock);
}

static void add_up(struct meeting *m)
{
	for (size_t i = 0; i < m->calls[0].count; i++) {
		float sum = 0;
		for (int r = 0; r < m->ranks; r++)
			sum += m->calls[r].from[i];
		for (int r = 0; r < m->ranks; r++)
			m->calls[r].to[i] = sum;
	}
}

static void attend(uint32_t block, uint32_t blocks, void *argument)
{
	struct meeting *m = *(struct meeting **)argument;
	const uint64_t start = clock_ns();
	(void)block, (void)blocks;
	if (atomic_fetch_add(&m->arrived, 1) + 1 == m->ranks) {
		add_up(m);
		atomic_store(&m->done, true);
	}
	while (!atomic_load(&m->done) && clock_ns() - start < PATIENCE_NS)
		sched_yield();
	atomic_fetch_add(&m->left, 1);
}

/* The calls of the first one's clique, in order of rank; they are taken out of the group. */
static int meet(struct meeting *m)
{
	const struct clique *clique = group.calls[0].comm->clique;
	size_t kept = 0;
	bool came[RANKS_MOST] = {false};
	m->ranks = clique->ranks;
	for (size_t i = 0; i < group.count; i++) {
		const struct call call = group.calls[i];
		if (call.comm->clique != clique || came[call.comm->rank]) {
			group.calls[kept++] = call;
			continue;
		}
		came[call.comm->rank] = true;
		m->calls[call.comm->rank] = call;
	}
	group.count = kept;
	for (int r = 0; r < m->ranks; r++)
		if (!came[r] || m->calls[r].count != m->calls[0].count)
			return INVALID_USAGE;
	return SUCCESS;
}

static int run_first(void)
{
	struct meeting *m = calloc(1, sizeof(*m));
	if (!m)
		return SYSTEM_ERROR;
	const int ranks = group.calls[0].comm->clique->ranks;
	int rc = meet(m);
	if (rc) {
		free(m);
		return rc;
	}
	enter(m);
	for (int r = 0; r < ranks && !rc; r++)
		rc = driver_enqueue(m->calls[r].stream, 1, attend, &m, sizeof(m)) ? UNHANDLED_ERROR : SUCCESS;
	return rc;
}

#pragma GCC visibility push(default)

int ncclGetVersion(int *version)
{
	*version = VERSION;
	return driver_fault(__func__);
}

const char *ncclGetErrorString(int result)
{
	switch (result) {
	case SUCCESS:
		return "no error";
	case UNHANDLED_ERROR:
		return "unhandled cuda error";
	case SYSTEM_ERROR:
		return "unhandled system error";
	case INVALID_ARGUMENT:
		return "invalid argument";
	case INVALID_USAGE:
		return "invalid usage";
	default:
		return "internal error";
	}
}

const char *ncclGetLastError(struct ncclComm *comm)
{
	(void)comm;
	return "";
}

int ncclCommInitAll(struct ncclComm **comms, int count, const int *devices)
{
	int rc = driver_fault(__func__);
	(void)devices;
	if (rc || count < 1 || count > RANKS_MOST)
		return rc ? rc : INVALID_ARGUMENT;
	struct clique *clique = calloc(1, sizeof(*clique));
	if (!clique)
		return SYSTEM_ERROR;
	clique->ranks = clique->alive = count;
	for (int i = 0; i < count; i++) {
		comms[i] = malloc(sizeof(**comms));
		if (!comms[i])
			abort();
		*comms[i] = (struct ncclComm){.clique = clique, .rank = i};
	}
	return SUCCESS;
}

int ncclCommDestroy(struct ncclComm *comm)
{
	int rc = driver_fault(__func__);
	if (rc || !comm)
		return rc ? rc : INVALID_ARGUMENT;
	if (--comm->clique->alive == 0)
		free(comm->clique);
	free(comm);
	return SUCCESS;
}

int ncclGroupStart(void)
{
	int rc = driver_fault(__func__);
	group.depth += rc == SUCCESS;
	return rc;
}

int ncclGroupEnd(void)
{
	int rc = driver_fault(__func__);
	if (group.depth == 0)
		return rc ? rc : INVALID_USAGE;
	if (--group.depth)
		return rc;
	while (group.count && !rc)
		rc = run_first();
	group.count = 0;
	return rc;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm, void *stream)
{
	int rc = driver_fault(__func__);
	if (rc)
		return rc;
	if (!from || !to || !comm || type != FLOAT || op != SUM || group.count == CALLS_MOST)
		return INVALID_ARGUMENT;
	/* The others' calls would never come. */
	if (!group.depth && comm->clique->ranks > 1)
		return INVALID_USAGE;
	group.calls[group.count++] = (struct call){.comm = comm, .from = from, .to = to, .count = count, .stream = stream};
	return group.depth ? SUCCESS : run_first();
}
