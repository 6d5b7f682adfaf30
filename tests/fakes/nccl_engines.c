/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of the policy "zero", as in ce_coll.cc of NCCL: all ranks say in each other's memory
 * that they are ready, copy, and say that they have copied. Streams write and wait for values and
 * copy; no kernel runs, but for what the driver runs one itself.
 */
#include "tests/fakes/driver.h"
#include "tests/fakes/nccl.h"

#include <string.h>

bool engines_can(const struct call *c)
{
	const size_t bytes = c->count * sizeof(float);
	const size_t all = bytes * (size_t)c->comm->clique->ranks;
	if (c->comm->policy != POLICY_ZERO || (c->kind != ALL_GATHER && c->kind != ALL_TO_ALL))
		return false;
	return comm_find_symmetric(c->comm, c->from, c->kind == ALL_GATHER ? bytes : all, 0) &&
	       comm_find_symmetric(c->comm, c->to, all, 0);
}

/* Allocated in the first call, which so waits for the devices. */
static int open_sync(struct clique *q)
{
	int status = SUCCESS;
	for (int r = 0; r < q->ranks && !status; r++) {
		const size_t bytes = 2 * (size_t)q->ranks * sizeof(uint32_t);
		void *words;
		if (q->sync[r])
			continue;
		if (driver_allocate(q->comms[r]->device, bytes, &words)) {
			status = UNHANDLED_ERROR;
			continue;
		}
		q->sync[r] = memset(words, 0, bytes);
	}
	return status;
}

static int sync_ranks(const struct call *c, int word)
{
	const struct clique *q = c->comm->clique;
	const int own = c->comm->rank;
	int status = 0;
	for (int r = 0; r < q->ranks && !status; r++)
		if (r != own)
			status = driver_write_value(c->stream, &q->sync[r][word * q->ranks + own],
						    q->sequence);
	for (int r = 0; r < q->ranks && !status; r++)
		if (r != own)
			status = driver_wait_value(c->stream, &q->sync[own][word * q->ranks + r],
						   q->sequence);
	return status;
}

/* Its own part first, which an all-gather in place has. */
static int copy_parts(const struct call *c)
{
	const int ranks = c->comm->clique->ranks, own = c->comm->rank;
	const size_t bytes = c->count * sizeof(float);
	int status = 0;
	for (int k = 0; k < ranks && !status; k++) {
		const int to = (own + k) % ranks;
		const float *from = c->from + (c->kind == ALL_TO_ALL ? (size_t)to * c->count : 0);
		float *own_place = c->to + (size_t)own * c->count;
		void *place = comm_find_symmetric(c->comm, own_place, bytes, to);
		if (place != from)
			status = driver_copy(c->comm->device, c->stream, place, from, bytes);
	}
	return status;
}

int engines_run(const struct operation *o)
{
	int status = open_sync(o->clique);
	o->clique->sequence++;
	for (int r = 0; r < o->ranks && !status; r++) {
		const struct call *c = &o->calls[r];
		if (driver_fault("ncclCeLaunch") || sync_ranks(c, 0) || copy_parts(c) ||
		    sync_ranks(c, 1))
			status = UNHANDLED_ERROR;
	}
	return status;
}
