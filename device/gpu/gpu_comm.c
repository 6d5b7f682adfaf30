/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/backends.h"
#include "device/gpu/gpu_dev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct gpu_comm {
	struct dev_comm base; /* must be first: struct dev_comm * is cast to it */
	const struct gpu_collectives *library;
	struct gpu_dev *devices[DEV_MAX];
	void *comms[DEV_MAX];
	struct err_first failed; /* the first collective that did */
};

/* Looking for the library takes a while, so only callers that want collectives pay for it. */
bool gpu_comm_supported(struct gpu_dev *d, unsigned count, uint32_t want)
{
	if (!(want & DEV_CAP_COLLECTIVES) || count < 2)
		return false;
	if (d->vendor->collectives->load() == 0)
		return true;
	dev_keep_lack(&d->dev, DEV_CAP_COLLECTIVES_BIT);
	return false;
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
	/* Whatever it is that the library lacks here, the devices work without it. */
	if (!status &&
	    c->library->open(indices, count, c->comms, c->base.library, sizeof(c->base.library)))
		status = err_note(-ENOTSUP, "%s", err_text());
	gpu_ctx_forget();
	if (!status)
		*comm_p = &c->base;
	else
		free(c);
	return status;
}

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
	(lost ? c->library->abort : c->library->close)(c->comms, comm->count);
	gpu_ctx_forget();
	free(c);
}

/* After a failure some devices may run their part and wait for the others: aborting ends it.
 * Returns the failure, or that of a device which it turns out to have lost. */
static int give_up(struct gpu_comm *c, const struct err_first *failure)
{
	struct err_first first = {0};
	c->failed = *failure;
	c->library->abort(c->comms, c->base.count);
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
			status = c->library->collective(c->comms[i], streams[i]->handle, what,
							c->base.count, from[i], to[i], count);
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
	err_keep(&first, c->library->begin());
	if (!first.status) {
		err_keep(&first, enqueue_all(c, what, streams, from, to, count));
		err_keep(&first, c->library->end());
	}
	gpu_ctx_forget();
	return first.status ? give_up(c, &first) : 0;
}
