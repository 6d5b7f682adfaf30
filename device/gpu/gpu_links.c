/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_links.h"
#include "device/gpu/gpu_dev.h"
#include "device/gpu/gpu_numa.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct dev_link *gpu_link_append(struct dev_links *links, const char *kind)
{
	if (links->count >= DEV_LINKS_MAX)
		return NULL;
	struct dev_link *link = &links->link[links->count++];
	snprintf(link->kind, sizeof(link->kind), "%s", kind);
	link->errors = NAN;
	return link;
}

int gpu_links_read(struct dev *dev, struct dev_links *links)
{
	struct gpu_dev *d = gpu_of(dev);
	memset(links, 0, sizeof(*links));
	links->numa_node = gpu_numa_node(&d->traits);
	links->coherent_host = d->traits.coherent_host;
	links->dma_buf = d->traits.dma_buf;
	d->vendor->management->links(d->traits.bus, links);
	return 0;
}

int gpu_path_read(struct dev *dev, struct dev *other, struct dev_path *path)
{
	struct gpu_dev *d = gpu_of(dev);
	memset(path, 0, sizeof(*path));
	d->vendor->management->path(d->traits.bus, gpu_of(other)->traits.bus, path);
	return 0;
}

int gpu_health_read(struct dev *dev, struct dev_telemetry *samples, size_t *count_p)
{
	struct gpu_dev *d = gpu_of(dev);
	*count_p = 0;
	d->vendor->management->health(d->traits.bus, samples, DEV_TELEMETRY_MAX, count_p);
	return 0;
}
