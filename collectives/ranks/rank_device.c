/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/rank_device.h"
#include "collectives/ranks/mpi_job.h"
#include "lib/err.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BACKENDS = 16, NAME_CAPACITY = sizeof(((struct device_list *)0)->backend) + 16 };

void rank_device_list(struct rank_device *d, const char *spec, const struct dev_set *set,
		      struct device_list *l)
{
	*l = (struct device_list){.count = strchr(spec, ':') ? (uint32_t)set->count : 0};
	snprintf(l->backend, sizeof(l->backend), "%s", set->dev[0]->ops->name);
	for (size_t i = 0; i < set->count; i++)
		l->index[i] = (uint16_t)set->dev[i]->index;
	d->dev = set->dev[0];
}

/* The number of devices; 0 with an error text. */
static unsigned count_backend_devices(const char *backend)
{
	struct dev_backend_info info[MAX_BACKENDS];
	size_t count = dev_backends(info, MAX_BACKENDS);
	for (size_t i = 0; i < count && i < MAX_BACKENDS; i++) {
		if (strcmp(info[i].name, backend) != 0)
			continue;
		if (!info[i].devices)
			err_note(-ENODEV, "no %s device: %s", backend, info[i].why);
		return info[i].devices;
	}
	err_note(-ENODEV, "no %s device: this build has no such backend", backend);
	return 0;
}

static int open_rank_device(struct rank_device *d, const struct device_list *l)
{
	char spec[NAME_CAPACITY];
	unsigned here = l->count ? l->count : count_backend_devices(l->backend);
	if (here == 0)
		return -ENODEV;
	unsigned entry = (unsigned)mpi_job.local % here;
	snprintf(spec, sizeof(spec), "%s:%u", l->backend, l->count ? l->index[entry] : entry);
	int status = dev_open(spec, dev_want_by_build, &d->opened);
	if (status == 0)
		d->dev = d->opened.dev[0];
	return status;
}

struct device_id {
	int host;
	unsigned index;
	char bus[32];
};

/* Compares the bus too, because a launcher may number every rank's device 0. */
static bool is_same_device(const struct device_id *a, const struct device_id *b)
{
	return a->host == b->host && a->index == b->index && strcmp(a->bus, b->bus) == 0;
}

static void format_device_names(struct rank_device *d, const struct device_id *ids,
				const char *backend)
{
	int r = 0;
	for (size_t used = 0;
	     r < mpi_job.size && used + NAME_CAPACITY + sizeof(" ...") < sizeof(d->names); r++)
		used += (size_t)snprintf(d->names + used, sizeof(d->names) - used, "%s%s:%u",
					 r ? " " : "", backend, ids[r].index);
	if (r < mpi_job.size)
		snprintf(d->names + strlen(d->names), sizeof(" ..."), " ...");
}

static void count_max_ranks(struct rank_device *d, const struct device_id *ids)
{
	d->max_ranks = 0;
	for (int r = 0; r < mpi_job.size; r++) {
		int ranks = 0;
		for (int other = 0; other < mpi_job.size; other++)
			ranks += is_same_device(&ids[r], &ids[other]);
		d->max_ranks = ranks > d->max_ranks ? ranks : d->max_ranks;
	}
}

int rank_device_open(struct rank_device *d, const struct device_list *l)
{
	struct device_id mine = {.host = mpi_job.host};
	int status = d->dev ? 0 : open_rank_device(d, l);
	if (status == 0) {
		mine.index = d->dev->index;
		snprintf(mine.bus, sizeof(mine.bus), "%s", dev_props(d->dev)->bus);
	}
	struct device_id *all = mpi_job_gather(&mine, sizeof(mine));
	if (all) {
		format_device_names(d, all, l->backend);
		count_max_ranks(d, all);
	}
	free(all);
	return status;
}

void rank_device_close(struct rank_device *d)
{
	dev_close(&d->opened);
	d->dev = NULL;
}
