/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_dev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct crew {
	struct dev_crew crew; /* first */
	const struct gpu_collectives *library;
	struct gpu_dev *members[DEV_MAX];
	void *comms[DEV_MAX];
};

/* Looking for the library takes a while: done for those who asked. */
bool gpu_crew_able(const struct gpu_dev *d, unsigned count, uint32_t want)
{
	return want & DEV_CAP_CREW && count > 1 && d->vendor->collectives->load() == 0;
}

int gpu_crew_open(struct dev *const *devs, size_t count, struct dev_crew **crew_p)
{
	unsigned indices[DEV_MAX];
	struct crew *c = calloc(1, sizeof(*c));
	if (!c)
		return err_note(-ENOMEM, "open a crew: out of memory");
	for (size_t i = 0; i < count; i++) {
		c->members[i] = gpu_of(devs[i]);
		indices[i] = c->members[i]->ordinal;
	}
	c->library = gpu_of(devs[0])->vendor->collectives;
	c->crew.ops = devs[0]->ops;
	c->crew.count = count;
	int rc = gpu_enter(c->members[0]);
	if (!rc)
		rc = c->library->open(indices, count, c->comms, c->crew.library, sizeof(c->crew.library));
	gpu_leave();
	if (rc) {
		free(c);
		return rc == -ENODEV ? err_note(-ENOTSUP, "%s", err_text()) : rc;
	}
	*crew_p = &c->crew;
	return 0;
}

void gpu_crew_close(struct dev_crew *crew)
{
	struct crew *c = (struct crew *)crew;
	c->library->close(c->comms, crew->count);
	gpu_leave();
	free(c);
}

/* The library wants each device's context to be current for its call. */
static int enqueue_all(struct crew *c, struct dev_stream *const *streams, float *const *buffers, uint64_t count)
{
	int rc = 0;
	for (size_t i = 0; i < c->crew.count && !rc; i++) {
		rc = gpu_enter(c->members[i]);
		if (!rc)
			rc = gpu_answer(c->members[i],
			                c->library->allreduce(c->comms[i], streams[i]->handle, buffers[i], count));
	}
	return rc;
}

int gpu_allreduce(struct dev_crew *crew, struct dev_stream *const *streams, float *const *buffers, uint64_t count)
{
	struct crew *c = (struct crew *)crew;
	int rc = 0;
	if (count == 0)
		return err_note(-EINVAL, "allreduce: no elements");
	for (size_t i = 0; i < crew->count && !rc; i++) {
		struct gpu_range range = {.ptr = buffers[i], .bytes = count > UINT64_MAX / 4 ? UINT64_MAX : 4 * count};
		rc = gpu_enqueue(c->members[i], streams[i], &range, 1);
	}
	if (!rc)
		rc = gpu_answer(c->members[0], c->library->begin());
	if (rc)
		return rc;
	rc = enqueue_all(c, streams, buffers, count);
	int ended = c->library->end();
	gpu_leave();
	return rc ? rc : gpu_answer(c->members[0], ended);
}
