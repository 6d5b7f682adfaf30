/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libnccl and librccl: all-reduce, reduce-scatter, all-gather, send and receive of floats, in a
 * group call, among the devices of one process. Each rank's stream runs a block that waits for the
 * blocks of the other ranks, as the library's kernels do.
 *
 * As the library does from 2.22 on, a communicator connects its ranks at the first use of each
 * algorithm, and of sends and receives, with memory of every device: that call waits for the
 * devices. Which algorithm an all-reduce has depends on its size.
 *
 * Once a call has failed, a communicator may only be aborted; destroying it, which may wait for
 * ever, ends the process.
 *
 * Refused where the documents leave the result undefined or the library would wait for ever: a
 * collective that a rank of the group does not call, other counts on other ranks, a send without
 * its receive or with another count, buffers that overlap and are not in place.
 */
#include "tests/fakes/nccl.h"
#include "lib/clock.h"
#include "tests/fakes/driver.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank whose device is lost never arrives. */
#define RANK_TIMEOUT_NS 10000000000u

/* All-reduces of more bytes are a ring. */
#define TREE_BYTES (256u << 10)
/* Bytes per rank and algorithm. */
#define CONNECTION_BYTES (1u << 20)

static _Thread_local struct {
	int depth, error;
	size_t count;
	struct call calls[CALLS_MAX];
} group;

bool nccl_in_group(void) { return group.depth > 0; }

int nccl_note_error(int status)
{
	if (group.depth && !group.error)
		group.error = status;
	return status;
}

/* Operations that were started. One that a lost device never joins stays here. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct operation *operations;

static void register_operation(struct operation *o)
{
	pthread_mutex_lock(&lock);
	for (struct operation **at = &operations; *at;) {
		struct operation *old = *at;
		if (atomic_load(&old->left) < old->blocks) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		free(old);
	}
	o->next = operations;
	operations = o;
	pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------ what an operation does */

/* `offset`: of a rank's part in what every rank sends. */
static void sum_parts(const struct operation *o, int rank, size_t offset)
{
	const struct call *own = &o->calls[rank];
	for (size_t i = 0; i < own->count; i++) {
		float sum = 0;
		for (int r = 0; r < o->ranks; r++)
			sum += o->calls[r].from[offset + i];
		own->to[i] = sum;
	}
}

/* In place the first rank's sum replaces what it sends, so the others copy it. */
static void all_reduce(const struct operation *o)
{
	const struct call *c = o->calls;
	for (size_t i = 0; i < c->count; i++) {
		float sum = 0;
		for (int r = 0; r < o->ranks; r++)
			sum += c[r].from[i];
		for (int r = 0; r < o->ranks; r++)
			c[r].to[i] = sum;
	}
}

static void copy_floats(float *to, const float *from, size_t count)
{
	if (to != from)
		memcpy(to, from, count * sizeof(float));
}

static bool is_receive_of(const struct call *receive, const struct call *send)
{
	return receive->kind == RECEIVE && receive->comm->rank == send->peer &&
	       receive->peer == send->comm->rank;
}

/* The receive of the operation's send `number`: sends between two ranks are received in order. */
static const struct call *find_receive(const struct operation *o, size_t number)
{
	const struct call *send = &o->calls[number];
	size_t before = 0;
	for (size_t i = 0; i < number; i++)
		before += o->calls[i].kind == SEND && o->calls[i].comm == send->comm &&
			  o->calls[i].peer == send->peer;
	for (size_t i = 0; i < o->count; i++)
		if (is_receive_of(&o->calls[i], send) && before-- == 0)
			return &o->calls[i];
	return NULL;
}

static void move_data(const struct operation *o)
{
	const enum kind kind = o->calls[0].kind;
	if (kind == ALL_REDUCE)
		all_reduce(o);
	for (int r = 0; kind == REDUCE_SCATTER && r < o->ranks; r++)
		sum_parts(o, r, (size_t)r * o->calls[r].count);
	for (int r = 0; kind == ALL_GATHER && r < o->ranks; r++)
		for (int from = 0; from < o->ranks; from++)
			copy_floats(o->calls[r].to + (size_t)from * o->calls[r].count,
				    o->calls[from].from, o->calls[r].count);
	for (size_t i = 0; i < o->count; i++)
		if (o->calls[i].kind == SEND)
			copy_floats(find_receive(o, i)->to, o->calls[i].from, o->calls[i].count);
}

static void operation_block(uint32_t block, uint32_t blocks, void *argument)
{
	struct operation *o = *(struct operation **)argument;
	const uint64_t start = clock_ns();
	(void)block, (void)blocks;
	if (!atomic_load(&o->aborted) && atomic_fetch_add(&o->arrived, 1) + 1 == o->blocks) {
		move_data(o);
		atomic_store(&o->done, true);
	}
	while (!atomic_load(&o->done) && !atomic_load(&o->aborted) &&
	       clock_ns() - start < RANK_TIMEOUT_NS)
		sched_yield();
	atomic_fetch_add(&o->left, 1);
}

/* ------------------------------------------------------------------ groups */

static bool is_point_to_point(const struct call *c)
{
	return c->kind == SEND || c->kind == RECEIVE;
}

/* Moves the calls of one operation, that of the group's first call, from the group to o. */
static void take_calls(struct operation *o)
{
	const struct call first = group.calls[0];
	const bool point_to_point = is_point_to_point(&first);
	bool has_call[RANKS_MAX] = {false};
	size_t kept = 0;
	o->clique = first.comm->clique;
	o->ranks = o->clique->ranks;
	for (size_t i = 0; i < group.count; i++) {
		const struct call call = group.calls[i];
		const int rank = call.comm->rank;
		const bool same = point_to_point ? is_point_to_point(&call)
						 : !has_call[rank] && !is_point_to_point(&call);
		if (call.comm->clique != first.comm->clique || !same) {
			group.calls[kept++] = call;
			continue;
		}
		has_call[rank] = true;
		o->calls[point_to_point ? o->count : (size_t)rank] = call;
		o->count++;
	}
	group.count = kept;
}

static int check_collective(const struct operation *o)
{
	for (int r = 0; r < o->ranks; r++)
		if (!o->calls[r].comm || o->calls[r].kind != o->calls[0].kind ||
		    o->calls[r].count != o->calls[0].count)
			return INVALID_USAGE;
	return SUCCESS;
}

/* Every send has a receive with the same count, and nothing else is received. A rank uses one
 * stream. */
static int check_exchange(const struct operation *o)
{
	size_t sends = 0;
	for (size_t i = 0; i < o->count; i++) {
		const struct call *c = &o->calls[i];
		const struct call *receive = c->kind == SEND ? find_receive(o, i) : NULL;
		if (c->kind == SEND && (!receive || receive->count != c->count))
			return INVALID_USAGE;
		sends += c->kind == SEND;
		for (size_t k = 0; k < i; k++)
			if (o->calls[k].comm == c->comm && o->calls[k].stream != c->stream)
				return INVALID_USAGE;
	}
	return 2 * sends == o->count ? SUCCESS : INVALID_USAGE;
}

static bool is_first_of_rank(const struct operation *o, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (o->calls[i].comm == o->calls[number].comm)
			return false;
	return true;
}

static int connect_rank(struct ncclComm *comm, enum algorithm algorithm)
{
	return !comm->memory[algorithm] && driver_allocate(comm->device, CONNECTION_BYTES,
							   &comm->memory[algorithm])
		       ? UNHANDLED_ERROR
		       : SUCCESS;
}

static int connect_ranks(const struct operation *o)
{
	const struct call *first = &o->calls[0];
	const enum algorithm algorithm =
		is_point_to_point(first) ? POINT_TO_POINT
		: first->kind == ALL_REDUCE && first->count * sizeof(float) <= TREE_BYTES ? TREE
											  : RING;
	int status = SUCCESS;
	for (size_t i = 0; i < o->count && !status && !o->clique->connected[algorithm]; i++)
		status = connect_rank(o->calls[i].comm, algorithm);
	o->clique->connected[algorithm] = o->clique->connected[algorithm] || !status;
	return status;
}

/* FAKE_FAIL knows it by the library's own name. */
static int start_rank(void *stream, void *operation)
{
	int status = driver_fault("ncclLaunchKernel");
	if (!status && driver_enqueue(stream, 1, operation_block, &operation, sizeof(operation)))
		status = UNHANDLED_ERROR;
	return status;
}

static int start_first_operation(void)
{
	struct operation *o = calloc(1, sizeof(*o));
	if (!o)
		return SYSTEM_ERROR;
	const bool point_to_point = is_point_to_point(&group.calls[0]);
	take_calls(o);
	int status = point_to_point ? check_exchange(o) : check_collective(o);
	if (!status && engines_can(&o->calls[0])) {
		status = engines_run(o);
		o->clique->failed = o->clique->failed || status;
		free(o);
		return status;
	}
	if (!status)
		status = connect_ranks(o);
	if (status) {
		o->clique->failed = true;
		free(o);
		return status;
	}
	struct clique *clique = o->clique;
	void *streams[RANKS_MAX] = {NULL};
	for (size_t i = 0; i < o->count; i++)
		if (is_first_of_rank(o, i))
			streams[o->blocks++] = o->calls[i].stream;
	register_operation(o);
	/* It may end, and be freed, once its last block is enqueued. */
	for (int i = 0, blocks = o->blocks; i < blocks && !status; i++)
		status = start_rank(streams[i], o);
	clique->failed = clique->failed || status;
	return status;
}

/* Outside a group the calls of the other ranks would never come. */
static int add_call(const struct call *c, int type)
{
	if (!c->comm || c->count == 0 || type != FLOAT || group.count == CALLS_MAX)
		return INVALID_ARGUMENT;
	if (!group.depth)
		return INVALID_USAGE;
	group.calls[group.count++] = *c;
	return SUCCESS;
}

static int note_failure(const struct call *c, int status)
{
	if (status && c->comm)
		c->comm->clique->failed = true;
	return status;
}

/* In place is to + place, or from + place, as the documents have it. */
static int add_collective(const char *function, const struct call *c, int type, int op)
{
	int status = driver_fault(function);
	if (status || !c->from || !c->to || !c->comm || op != SUM)
		return note_failure(c, status ? status : INVALID_ARGUMENT);
	const size_t all = (size_t)c->comm->clique->ranks * c->count;
	const size_t place = (size_t)c->comm->rank * c->count;
	const bool scatters = c->kind == REDUCE_SCATTER, gathers = c->kind == ALL_GATHER;
	const bool apart = c->from + (scatters ? all : c->count) <= c->to ||
			   c->to + (gathers ? all : c->count) <= c->from;
	const bool in_place = c->from + (scatters ? place : 0) == c->to + (gathers ? place : 0);
	return note_failure(c, apart || in_place ? add_call(c, type) : INVALID_ARGUMENT);
}

static int add_transfer(const char *function, const struct call *c, int type)
{
	int status = driver_fault(function);
	if (status || !(c->kind == SEND ? c->from : c->to) ||
	    (c->comm && (c->peer < 0 || c->peer >= c->comm->clique->ranks)))
		return note_failure(c, status ? status : INVALID_ARGUMENT);
	return note_failure(c, add_call(c, type));
}

#pragma GCC visibility push(default)

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

const char *ncclGetLastError(struct ncclComm *comm) { return ""; }

int ncclCommInitAll(struct ncclComm **comms, int count, const int *devices)
{
	int status = driver_fault(__func__);
	if (status || count < 1 || count > RANKS_MAX)
		return status ? status : INVALID_ARGUMENT;
	struct clique *clique = calloc(1, sizeof(*clique));
	if (!clique)
		return SYSTEM_ERROR;
	clique->ranks = count;
	for (int i = 0; i < count; i++)
		comms[i] = comm_new(clique, i, (unsigned)devices[i], POLICY_DEFAULT);
	return SUCCESS;
}

int ncclCommDestroy(struct ncclComm *comm)
{
	int status = driver_fault(__func__);
	if (status || !comm)
		return status ? status : INVALID_ARGUMENT;
	if (comm->clique->failed)
		nccl_crash("a communicator that failed is destroyed, not aborted");
	comm_free(comm);
	return SUCCESS;
}

int ncclCommAbort(struct ncclComm *comm)
{
	int status = driver_fault(__func__);
	if (status || !comm)
		return status ? status : INVALID_ARGUMENT;
	comm->clique->failed = true;
	pthread_mutex_lock(&lock);
	for (struct operation *o = operations; o; o = o->next)
		if (o->clique == comm->clique)
			atomic_store(&o->aborted, true);
	pthread_mutex_unlock(&lock);
	comm_free(comm);
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
	status = comms_end_group(status ? status : group.error);
	group.error = SUCCESS;
	while (group.count && !status)
		status = start_first_operation();
	for (size_t i = 0; i < group.count; i++)
		note_failure(&group.calls[i], status);
	group.count = 0;
	return status;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm,
		  void *stream)
{
	const struct call c = {ALL_REDUCE, comm, from, to, count, 0, stream};
	return add_collective(__func__, &c, type, op);
}

int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op,
		      struct ncclComm *comm, void *stream)
{
	const struct call c = {REDUCE_SCATTER, comm, from, to, count, 0, stream};
	return add_collective(__func__, &c, type, op);
}

int ncclAllGather(const void *from, void *to, size_t count, int type, struct ncclComm *comm,
		  void *stream)
{
	const struct call c = {ALL_GATHER, comm, from, to, count, 0, stream};
	return add_collective(__func__, &c, type, SUM);
}

/* Sends and receives, where copy engines cannot do it. */
int ncclAlltoAll(const void *from, void *to, size_t count, int type, struct ncclComm *comm,
		 void *stream)
{
	const struct call c = {ALL_TO_ALL, comm, from, to, count, 0, stream};
	int status = driver_fault(__func__);
	if (nccl_version() < 22800)
		nccl_crash(__func__);
	if (status || !from || !to || !comm)
		return note_failure(&c, status ? status : INVALID_ARGUMENT);
	if (engines_can(&c))
		return note_failure(&c, add_call(&c, type));
	for (int r = 0; r < comm->clique->ranks && !status; r++) {
		const struct call send = {SEND, comm,  c.from + (size_t)r * count, NULL, count,
					  r,    stream};
		const struct call receive = {RECEIVE, comm, NULL,  c.to + (size_t)r * count,
					     count,   r,    stream};
		status = add_call(&send, type);
		if (!status)
			status = add_call(&receive, type);
	}
	return note_failure(&c, status);
}

int ncclSend(const void *from, size_t count, int type, int peer, struct ncclComm *comm,
	     void *stream)
{
	const struct call c = {SEND, comm, from, NULL, count, peer, stream};
	return add_transfer(__func__, &c, type);
}

int ncclRecv(void *to, size_t count, int type, int peer, struct ncclComm *comm, void *stream)
{
	const struct call c = {RECEIVE, comm, NULL, to, count, peer, stream};
	return add_transfer(__func__, &c, type);
}
