/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libnccl and librccl: ncclAllReduce() of floats, in a group call, among the devices of one
 * process. Each rank's stream runs a block that waits for the blocks of the other ranks, as the
 * library's kernels do.
 */
#include "lib/clock.h"
#include "tests/fakes/driver.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUCCESS = 0,
	UNHANDLED_ERROR = 1,
	SYSTEM_ERROR = 2,
	INVALID_ARGUMENT = 4,
	INVALID_USAGE = 5
};
enum { FLOAT = 7 };
enum { SUM = 0 };

#define VERSION 22809
#define RANKS_MAX 8
#define CALLS_MAX 64
/* A rank whose device is lost never arrives. */
#define RANK_TIMEOUT_NS 10000000000u

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

/* One operation of all ranks. */
struct collective {
	struct collective *next;
	int ranks;
	atomic_int arrived, left;
	atomic_bool done;
	struct call calls[RANKS_MAX];
};

static _Thread_local struct {
	int depth;
	size_t count;
	struct call calls[CALLS_MAX];
} group;

/* Operations that were started. One that a lost device never joins stays here. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct collective *collectives;

static void register_collective(struct collective *c)
{
	pthread_mutex_lock(&lock);
	c->next = collectives;
	collectives = c;
	for (struct collective **at = &collectives; *at;) {
		struct collective *old = *at;
		if (atomic_load(&old->left) < old->ranks) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		free(old);
	}
	pthread_mutex_unlock(&lock);
}

static void sum_buffers(struct collective *c)
{
	for (size_t i = 0; i < c->calls[0].count; i++) {
		float sum = 0;
		for (int r = 0; r < c->ranks; r++)
			sum += c->calls[r].from[i];
		for (int r = 0; r < c->ranks; r++)
			c->calls[r].to[i] = sum;
	}
}

static void allreduce_block(uint32_t block, uint32_t blocks, void *argument)
{
	struct collective *c = *(struct collective **)argument;
	const uint64_t start = clock_ns();
	(void)block, (void)blocks;
	if (atomic_fetch_add(&c->arrived, 1) + 1 == c->ranks) {
		sum_buffers(c);
		atomic_store(&c->done, true);
	}
	while (!atomic_load(&c->done) && clock_ns() - start < RANK_TIMEOUT_NS)
		sched_yield();
	atomic_fetch_add(&c->left, 1);
}

/* Moves the calls of one operation, that of the group's first call, from the group to c, by rank.
 */
static int collect_calls(struct collective *c)
{
	const struct clique *clique = group.calls[0].comm->clique;
	size_t kept = 0;
	bool has_call[RANKS_MAX] = {false};
	c->ranks = clique->ranks;
	for (size_t i = 0; i < group.count; i++) {
		const struct call call = group.calls[i];
		if (call.comm->clique != clique || has_call[call.comm->rank]) {
			group.calls[kept++] = call;
			continue;
		}
		has_call[call.comm->rank] = true;
		c->calls[call.comm->rank] = call;
	}
	group.count = kept;
	for (int r = 0; r < c->ranks; r++)
		if (!has_call[r] || c->calls[r].count != c->calls[0].count)
			return INVALID_USAGE;
	return SUCCESS;
}

static int start_first_collective(void)
{
	struct collective *c = calloc(1, sizeof(*c));
	if (!c)
		return SYSTEM_ERROR;
	const int ranks = group.calls[0].comm->clique->ranks;
	int status = collect_calls(c);
	if (status) {
		free(c);
		return status;
	}
	register_collective(c);
	for (int r = 0; r < ranks && !status; r++)
		status = driver_enqueue(c->calls[r].stream, 1, allreduce_block, &c, sizeof(c))
				 ? UNHANDLED_ERROR
				 : SUCCESS;
	return status;
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
	int status = driver_fault(__func__);
	(void)devices;
	if (status || count < 1 || count > RANKS_MAX)
		return status ? status : INVALID_ARGUMENT;
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
	int status = driver_fault(__func__);
	if (status || !comm)
		return status ? status : INVALID_ARGUMENT;
	if (--comm->clique->alive == 0)
		free(comm->clique);
	free(comm);
	return SUCCESS;
}

int ncclGroupStart(void)
{
	int status = driver_fault(__func__);
	group.depth += status == SUCCESS;
	return status;
}

int ncclGroupEnd(void)
{
	int status = driver_fault(__func__);
	if (group.depth == 0)
		return status ? status : INVALID_USAGE;
	if (--group.depth)
		return status;
	while (group.count && !status)
		status = start_first_collective();
	group.count = 0;
	return status;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm,
		  void *stream)
{
	int status = driver_fault(__func__);
	if (status)
		return status;
	if (!from || !to || !comm || type != FLOAT || op != SUM || group.count == CALLS_MAX)
		return INVALID_ARGUMENT;
	/* Outside a group the calls of the other ranks would never come. */
	if (!group.depth && comm->clique->ranks > 1)
		return INVALID_USAGE;
	group.calls[group.count++] = (struct call){
		.comm = comm, .from = from, .to = to, .count = count, .stream = stream};
	return group.depth ? SUCCESS : start_first_collective();
}
