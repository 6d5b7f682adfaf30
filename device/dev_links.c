/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

int dev_links_read(struct dev *d, struct dev_links *links)
{
	if (d->ops->links_read)
		return d->ops->links_read(d, links);
	links->numa_node = -1;
	links->count = 0;
	return 0;
}

int dev_path_read(struct dev *d, struct dev *other, struct dev_path *path)
{
	if (strcmp(d->ops->name, other->ops->name) != 0)
		return err_note(-EINVAL, "%s:%u and %s:%u: paths are of devices of one backend",
				d->ops->name, d->index, other->ops->name, other->index);
	if (d->ops->path_read)
		return d->ops->path_read(d, other, path);
	memset(path, 0, sizeof(*path));
	return 0;
}

int dev_health_read(struct dev *d, struct dev_telemetry *samples, size_t *count_p)
{
	if (d->ops->health_read)
		return d->ops->health_read(d, samples, count_p);
	*count_p = 0;
	return 0;
}
