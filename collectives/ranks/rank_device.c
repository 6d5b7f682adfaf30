/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/rank_device.h"
#include "collectives/ranks/crew.h"
#include "lib/err.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BACKENDS = 16, NAME = sizeof(((struct device_list *)0)->backend) + 16 };

static struct dev *own;
static struct dev_set opened; /* empty on the leader */
static char names[1024];
static int most_ranks;

void rank_device_list(const char *spec, const struct dev_set *set, struct device_list *l)
{
	*l = (struct device_list){.count = strchr(spec, ':') ? (uint32_t)set->count : 0};
	snprintf(l->backend, sizeof(l->backend), "%s", set->dev[0]->ops->name);
	for (size_t i = 0; i < set->count; i++)
		l->index[i] = (uint16_t)set->dev[i]->index;
	own = set->dev[0];
}

/* 0 with a text: none. */
static unsigned devices_here(const char *backend)
{
	struct dev_backend_info info[BACKENDS];
	size_t count = dev_backends(info, BACKENDS);
	for (size_t i = 0; i < count && i < BACKENDS; i++) {
		if (strcmp(info[i].name, backend) != 0)
			continue;
		if (!info[i].devices)
			err_note(-ENODEV, "no %s here: %s", backend, info[i].why);
		return info[i].devices;
	}
	err_note(-ENODEV, "no %s here: this build has no such backend", backend);
	return 0;
}

static int open_own(const struct device_list *l)
{
	char spec[NAME];
	unsigned here = l->count ? l->count : devices_here(l->backend);
	if (here == 0)
		return -ENODEV;
	unsigned entry = (unsigned)crew.local % here;
	snprintf(spec, sizeof(spec), "%s:%u", l->backend, l->count ? l->index[entry] : entry);
	int status = dev_open(spec, 0, &opened);
	if (status == 0)
		own = opened.dev[0];
	return status;
}

struct card {
	int host;
	unsigned index;
	char bus[32];
};

/* Numbers alone don't tell: a launcher may call every rank's device 0. */
static bool same(const struct card *a, const struct card *b)
{
	return a->host == b->host && a->index == b->index && strcmp(a->bus, b->bus) == 0;
}

static void note_names(const struct card *card, const char *backend)
{
	int r = 0;
	for (size_t used = 0; r < crew.size && used + NAME + sizeof(" ...") < sizeof(names); r++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s:%u", r ? " " : "", backend, card[r].index);
	if (r < crew.size)
		snprintf(names + strlen(names), sizeof(" ..."), " ...");
}

static void note_most_ranks(const struct card *card)
{
	most_ranks = 0;
	for (int r = 0; r < crew.size; r++) {
		int ranks = 0;
		for (int other = 0; other < crew.size; other++)
			ranks += same(&card[r], &card[other]);
		most_ranks = ranks > most_ranks ? ranks : most_ranks;
	}
}

int rank_device_open(const struct device_list *l)
{
	struct card mine = {.host = crew.host}, *all = NULL;
	int status = own ? 0 : open_own(l);
	if (status == 0) {
		mine.index = own->index;
		snprintf(mine.bus, sizeof(mine.bus), "%s", dev_props(own)->bus);
	}
	if (crew.rank == 0)
		all = calloc((size_t)crew.size, sizeof(*all));
	if (crew.rank == 0 && !all)
		crew_give_up("the devices of %d ranks: out of memory", crew.size);
	crew_must(MPI_Gather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Gather");
	if (all) {
		note_names(all, l->backend);
		note_most_ranks(all);
	}
	free(all);
	return status;
}

struct dev *rank_device(void) { return own; }

void rank_device_close(void)
{
	dev_close(&opened);
	own = NULL;
}

const char *rank_device_names(void) { return names; }

int rank_device_most_ranks(void) { return most_ranks; }
