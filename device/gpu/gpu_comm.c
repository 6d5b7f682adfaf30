/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_dev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct gpu_comm {
	struct dev_comm base; /* must be first: struct dev_comm * is cast to it */
	const struct gpu_collectives *library;
	struct gpu_dev *devices[DEV_MAX];
	void *comms[DEV_MAX];
};

/* Looking for the library takes a while, so only callers that want collectives pay for it. */
bool gpu_comm_supported(const struct gpu_dev *d, unsigned count, uint32_t want)
{
	return want & DEV_CAP_COLLECTIVES && count > 1 && d->vendor->collectives->load() == 0;
}

int gpu_comm_open(struct dev *const *devs, size_t count, struct dev_comm **comm_p)
{
	unsigned indices[DEV_MAX];
	struct gpu_comm *c = calloc(1, sizeof(*c));
	if (!c)
		return err_note(-ENOMEM, "open a communicator: out of memory");
	for (size_t i = 0; i < count; i++) {
		c->devices[i] = gpu_of(devs[i]);
		indices[i] = c->devices[i]->ordinal;
	}
	c->library = gpu_of(devs[0])->vendor->collectives;
	c->base.ops = devs[0]->ops;
	c->base.count = count;
	int status = gpu_ctx_use(c->devices[0]);
	if (!status)
		status = c->library->open(indices, count, c->comms, c->base.library,
					  sizeof(c->base.library));
	gpu_ctx_forget();
	if (status) {
		free(c);
		return status == -ENODEV ? err_note(-ENOTSUP, "%s", err_text()) : status;
	}
	*comm_p = &c->base;
	return 0;
}

void gpu_comm_close(struct dev_comm *comm)
{
	struct gpu_comm *c = (struct gpu_comm *)comm;
	c->library->close(c->comms, comm->count);
	gpu_ctx_forget();
	free(c);
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
			status = gpu_check(c->devices[i],
					   c->library->collective(c->comms[i], streams[i]->handle,
								  what, c->base.count, from[i],
								  to[i], count));
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
	for (size_t i = 0; i < comm->count && !status; i++)
		status = gpu_enqueue(c->devices[i], streams[i]);
	if (!status)
		status = gpu_check(c->devices[0], c->library->begin());
	if (status)
		return status;
	/* The group ends after an error too, and then fails for what it lacks. */
	err_keep(&first, enqueue_all(c, what, streams, from, to, count));
	err_keep(&first, gpu_check(c->devices[0], c->library->end()));
	gpu_ctx_forget();
	return err_kept(&first);
}
