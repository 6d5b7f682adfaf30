/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/backends.h"
#include "device/gpu/gpu_dev.h"
#include "device/gpu/nccl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory of one gpu_comm_alloc(). */
struct comm_memory {
	struct comm_memory *next;
	void *start[DEV_MAX];
	void *handle[DEV_MAX]; /* of the library's registration; NULL: none */
};

struct gpu_comm {
	struct dev_comm base; /* must be first: struct dev_comm * is cast to it */
	const struct nccl *library;
	struct gpu_dev *devices[DEV_MAX];
	struct ncclComm *comms[DEV_MAX];
	struct err_first failed; /* the first collective that did; comms are aborted then */
	struct comm_memory *memory;
};

/* Looking for the library takes a while, so only callers that want collectives pay for it. */
bool gpu_comm_supported(struct gpu_dev *d, unsigned count, uint32_t want)
{
	if (!(want & DEV_CAP_COLLECTIVES) || count < 2)
		return false;
	if (nccl_load(d->vendor->collectives) == 0)
		return true;
	dev_keep_lack(&d->dev, DEV_CAP_COLLECTIVES_BIT);
	return false;
}

/* Every rank's part is opened for the device that is current. */
static int open_ranks(struct gpu_comm *c, size_t count)
{
	struct nccl_policy policy;
	struct err_first first = {0};
	int status = nccl_policy_open(c->library, c->base.policy, &policy);
	if (status)
		return status;
	err_keep(&first, nccl_begin(c->library));
	for (size_t i = 0; i < count && !first.status; i++) {
		err_keep(&first, gpu_ctx_use(c->devices[i]));
		if (!first.status)
			err_keep(&first,
				 nccl_open_rank(c->library, &policy, count, i, &c->comms[i]));
	}
	err_keep(&first, nccl_end(c->library));
	if (first.status)
		nccl_abort(c->library, c->comms, count);
	return err_kept(&first);
}

static int open_comms(struct gpu_comm *c, size_t count)
{
	unsigned indices[DEV_MAX];
	if (c->base.policy != DEV_COMM_DEFAULT)
		return open_ranks(c, count);
	for (size_t i = 0; i < count; i++)
		indices[i] = c->devices[i]->ordinal;
	return nccl_open(c->library, indices, count, c->comms);
}

int gpu_comm_open(struct dev *const *devs, size_t count, enum dev_comm_policy policy,
		  struct dev_comm **comm_p)
{
	struct gpu_comm *c = calloc(1, sizeof(*c));
	if (!c)
		return err_note(-ENOMEM, "open a communicator: out of memory");
	for (size_t i = 0; i < count; i++)
		c->devices[i] = gpu_of(devs[i]);
	c->library = gpu_of(devs[0])->vendor->collectives;
	c->base.ops = devs[0]->ops;
	c->base.count = count;
	c->base.policy = policy;
	int status = gpu_ctx_use(c->devices[0]);
	/* Whatever it is that the library lacks here, the devices work without it. */
	if (!status && open_comms(c, count))
		status = err_note(-ENOTSUP, "%s", err_text());
	gpu_ctx_forget();
	if (status) {
		free(c);
		return status;
	}
	nccl_describe(c->library, c->base.library, sizeof(c->base.library));
	*comm_p = &c->base;
	return 0;
}

/* ------------------------------------------------------------------ memory */

/* The library ends what is registered with a communicator that it aborts. */
static void deregister_memory(struct gpu_comm *c, struct comm_memory *m, struct err_first *first)
{
	for (size_t i = 0; i < c->base.count; i++) {
		int status = m->handle[i] && !c->failed.status ? gpu_ctx_use(c->devices[i]) : 0;
		if (m->handle[i] && !c->failed.status && !status)
			status = nccl_deregister(c->library, c->base.policy, c->comms[i],
						 m->handle[i]);
		m->handle[i] = NULL;
		err_keep(first, status);
	}
	gpu_ctx_forget();
}

/* The handles are set when the group ends. */
static int register_memory(struct gpu_comm *c, struct comm_memory *m, uint64_t bytes)
{
	struct err_first first = {0};
	err_keep(&first, nccl_begin(c->library));
	if (first.status)
		return err_kept(&first);
	for (size_t i = 0; i < c->base.count && !first.status; i++) {
		err_keep(&first, gpu_ctx_use(c->devices[i]));
		if (!first.status)
			err_keep(&first, nccl_register(c->library, c->base.policy, c->comms[i],
						       m->start[i], bytes, &m->handle[i]));
	}
	err_keep(&first, nccl_end(c->library));
	gpu_ctx_forget();
	for (size_t i = 0; i < c->base.count && !first.status; i++)
		if (!m->handle[i])
			err_keep(&first,
				 err_note(-ENOTSUP, "%s cannot register memory of these devices",
					  c->base.library));
	return err_kept(&first);
}

/* Memory that the library still knows is left to the devices, which close after it. */
static int free_memory(struct gpu_comm *c, struct comm_memory *m)
{
	struct err_first first = {0};
	deregister_memory(c, m, &first);
	const bool known = first.status != 0;
	for (size_t i = 0; i < c->base.count && !known; i++)
		err_keep(&first, m->start[i] ? gpu_free_for_comm(c->devices[i], m->start[i]) : 0);
	free(m);
	return err_kept(&first);
}

int gpu_comm_alloc(struct dev_comm *comm, uint64_t bytes, void **ptrs)
{
	struct gpu_comm *c = (struct gpu_comm *)comm;
	struct err_first first = {0};
	if (c->failed.status)
		return err_note(-ENOTSUP, "%s", c->failed.text);
	struct comm_memory *m = calloc(1, sizeof(*m));
	if (!m)
		return err_note(-ENOMEM, "memory of a communicator: out of memory");
	const struct nccl *from = comm->policy == DEV_COMM_DEFAULT ? NULL : c->library;
	for (size_t i = 0; i < comm->count && !first.status; i++)
		err_keep(&first, gpu_alloc_for_comm(c->devices[i], from, bytes, &m->start[i]));
	if (!first.status && from && register_memory(c, m, bytes))
		err_keep(&first, err_note(-ENOTSUP, "%s", err_text()));
	if (first.status) {
		free_memory(c, m);
		return err_kept(&first);
	}
	m->next = c->memory;
	c->memory = m;
	memcpy(ptrs, m->start, comm->count * sizeof(*ptrs));
	return 0;
}

int gpu_comm_free(struct dev_comm *comm, void *const *ptrs)
{
	struct gpu_comm *c = (struct gpu_comm *)comm;
	for (struct comm_memory **at = &c->memory; *at; at = &(*at)->next) {
		struct comm_memory *m = *at;
		if (memcmp(m->start, ptrs, comm->count * sizeof(*ptrs)) != 0)
			continue;
		*at = m->next;
		return free_memory(c, m);
	}
	return err_note(-EFAULT, "free %p: not memory of this communicator", ptrs[0]);
}

/* ------------------------------------------------------------------ closing */

/* Queued work ends first: a collective ends on a device when it ends on the others. */
void gpu_comm_close(struct dev_comm *comm)
{
	struct gpu_comm *c = (struct gpu_comm *)comm;
	bool lost = false;
	for (size_t i = 0; i < comm->count; i++) {
		gpu_queue_release(c->devices[i]);
		lost = lost || atomic_load(&c->devices[i]->lost);
	}
	for (size_t i = 0; i < comm->count && !lost; i++)
		gpu_queue_drain(c->devices[i]);
	while (c->memory && !lost) {
		struct comm_memory *m = c->memory;
		c->memory = m->next;
		free_memory(c, m);
	}
	(lost ? nccl_abort : nccl_close)(c->library, c->comms, comm->count);
	gpu_ctx_forget();
	while (c->memory) {
		struct comm_memory *m = c->memory;
		c->memory = m->next;
		free(m); /* what it describes is the devices' */
	}
	free(c);
}

/* After a failure some devices may run their part and wait for the others: aborting ends it.
 * Returns the failure, or that of a device which it turns out to have lost. */
static int give_up(struct gpu_comm *c, const struct err_first *failure)
{
	struct err_first first = {0};
	c->failed = *failure;
	nccl_abort(c->library, c->comms, c->base.count);
	gpu_ctx_forget();
	for (size_t i = 0; i < c->base.count; i++) {
		struct gpu_dev *d = c->devices[i];
		int status = gpu_stream_query(&d->dev, d->internal_stream);
		err_keep(&first, status == -EAGAIN ? 0 : status);
	}
	return first.status ? err_kept(&first) : err_kept(failure);
}

/* The library expects the device's context to be current for each call. */
static int enqueue_all(struct gpu_comm *c, enum dev_collective what,
		       struct dev_stream *const *streams, float *const *from, float *const *to,
		       uint64_t count)
{
	int status = 0;
	for (size_t i = 0; i < c->base.count && !status; i++) {
		status = gpu_ctx_use(c->devices[i]);
		if (!status)
			status = nccl_collective(c->library, c->base.policy, c->comms[i],
						 streams[i]->handle, what, c->base.count, from[i],
						 to[i], count);
	}
	return status;
}

int gpu_collective(struct dev_comm *comm, enum dev_collective what,
		   struct dev_stream *const *streams, float *const *from, float *const *to,
		   uint64_t count)
{
	struct gpu_comm *c = (struct gpu_comm *)comm;
	struct err_first first = {0};
	int status = 0;
	if (count == 0 || (unsigned)what >= DEV_COLLECTIVES)
		return err_note(-EINVAL, "%s of %llu floats", dev_collective_name(what),
				(unsigned long long)count);
	if (c->failed.status)
		return err_note(-ENOTSUP, "%s", c->failed.text);
	for (size_t i = 0; i < comm->count && !status; i++)
		status = gpu_enqueue(c->devices[i], streams[i]);
	if (status)
		return status;
	/* The group ends after an error too, and then fails for what it lacks. */
	err_keep(&first, nccl_begin(c->library));
	if (!first.status) {
		err_keep(&first, enqueue_all(c, what, streams, from, to, count));
		err_keep(&first, nccl_end(c->library));
	}
	gpu_ctx_forget();
	return first.status ? give_up(c, &first) : 0;
}
