/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev.h"
#include "lib/err.h"
#include "lib/pci_ports.h"
#include "lib/processor.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define PCIE "PCIe"

int dev_links_read(struct dev *d, struct dev_links *links)
{
	if (d->ops->links_read)
		return d->ops->links_read(d, links);
	memset(links, 0, sizeof(*links));
	links->numa_node = -1;
	return 0;
}

const char *dev_peer_memory_file(const struct dev *d, const char *root)
{
	char path[512];
	for (const char *const *file = d->ops->peer_memory_files; file && *file; file++) {
		snprintf(path, sizeof(path), "%s%s", root, *file);
		if (access(path, F_OK) == 0)
			return *file;
	}
	return NULL;
}

int dev_path_read(struct dev *d, struct dev *other, struct dev_path *path)
{
	if (strcmp(d->ops->name, other->ops->name) != 0)
		return err_note(-EINVAL, "%s:%u and %s:%u: paths exist only within one backend",
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

/* ------------------------------------------------------------------ upstream */

static bool find_shared_port(const struct dev *d, const struct dev *other, const char *folder,
			     struct dev_upstream *u)
{
	if (!pci_shared_port(folder, d->props.bus, other->props.bus, u->port))
		return false;
	u->state = u->port[0] ? DEV_UPSTREAM_SHARED : DEV_UPSTREAM_APART;
	return true;
}

static void find_meeting_place(const struct dev_path *path, struct dev_upstream *u)
{
	static const struct {
		const char *meet;
		enum dev_upstream_state state;
	} places[] = {{"device", DEV_UPSTREAM_SHARED},
		      {"switch", DEV_UPSTREAM_SHARED},
		      {"switches", DEV_UPSTREAM_SHARED},
		      {"host_bridge", DEV_UPSTREAM_APART},
		      {"system", DEV_UPSTREAM_APART}};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strcmp(path->meet, places[i].meet) == 0)
			u->state = places[i].state;
	if (u->state == DEV_UPSTREAM_UNKNOWN)
		snprintf(u->why, sizeof(u->why),
			 "neither the system nor the driver says where they meet");
}

int dev_upstream_read(struct dev *d, struct dev *other, struct dev_upstream *upstream)
{
	const char *folder = getenv("GPUSIG_PCI_DEVICES");
	struct dev_path path;
	int status = dev_path_read(d, other, &path);
	*upstream = (struct dev_upstream){0};
	if (status)
		return status;
	if (!folder && !dev_can(d, DEV_CAP_VIRTUAL_TIME) && processor_is_virtual() > 0)
		snprintf(upstream->why, sizeof(upstream->why),
			 "a virtual machine has buses of its own");
	else if (!find_shared_port(d, other, folder ? folder : "/sys/bus/pci/devices", upstream))
		find_meeting_place(&path, upstream);
	return 0;
}

/* ------------------------------------------------------------------ nominal rates */

double dev_pcie_bytes_per_s(unsigned generation, unsigned lanes)
{
	static const double transfers_per_s[] = {0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
	if (generation >= sizeof(transfers_per_s) / sizeof(transfers_per_s[0]))
		return 0;
	const double coding = generation <= 2 ? 8.0 / 10 : generation <= 5 ? 128.0 / 130 : 1;
	return transfers_per_s[generation] / 8 * coding * lanes;
}

static unsigned max_of(unsigned a, unsigned b) { return a > b ? a : b; }

/* Without a maximum nothing is known: a link may do more than it does now. */
static bool add_pcie(const struct dev_links *links, struct dev_link_limit *limit)
{
	const struct dev_link *link = &links->link[0];
	if (links->count == 0 || strcmp(link->kind, PCIE) != 0 || links->coherent_host ||
	    !link->generation_max || !link->lanes_max)
		return false;
	const unsigned generation = max_of(link->generation_max, link->generation),
		       lanes = max_of(link->lanes_max, link->lanes);
	limit->in_bytes_per_s = limit->out_bytes_per_s = dev_pcie_bytes_per_s(generation, lanes);
	snprintf(limit->link, sizeof(limit->link), PCIE " %u x%u", generation, lanes);
	return limit->in_bytes_per_s > 0;
}

/* The sum of the links that are up to this end, which is a device if `bus` is not NULL. */
static bool add_links(const struct dev_links *links, enum dev_link_end end, const char *bus,
		      struct dev_link_limit *limit)
{
	const struct dev_link *first = NULL;
	unsigned count = 0;
	for (size_t i = 0; i < links->count; i++) {
		const struct dev_link *link = &links->link[i];
		if (strcmp(link->kind, PCIE) == 0 || link->state != DEV_LINK_UP ||
		    link->end != end || (bus && strcasecmp(link->end_bus, bus) != 0))
			continue;
		if (!(link->in_bytes_per_s > 0) || !(link->out_bytes_per_s > 0))
			return false;
		limit->in_bytes_per_s += link->in_bytes_per_s;
		limit->out_bytes_per_s += link->out_bytes_per_s;
		first = first ? first : link;
		count++;
	}
	if (!first)
		return false;
	const char *space = first->version[0] ? " " : "";
	if (count > 1)
		snprintf(limit->link, sizeof(limit->link), "%u %s%s%s", count, first->kind, space,
			 first->version);
	else
		snprintf(limit->link, sizeof(limit->link), "%s%s%s", first->kind, space,
			 first->version);
	return true;
}

int dev_host_limit_read(struct dev *d, struct dev_link_limit *limit)
{
	struct dev_links links;
	struct dev_link_limit found = {0}, pcie = {0};
	int status = dev_links_read(d, &links);
	if (status)
		return status;
	if (!add_links(&links, DEV_LINK_TO_HOST, NULL, &found)) {
		if (!add_pcie(&links, &pcie))
			return err_note(-ENODATA,
					"%s:%u: the rate of the link to the host is "
					"unknown",
					d->ops->name, d->index);
		found = pcie;
	}
	*limit = found;
	return 0;
}

/* Over links that both devices have to each other or to switches. */
static bool limit_by_links(const struct dev *d, const struct dev_links *links,
			   const struct dev *other, const struct dev_links *others,
			   struct dev_link_limit *limit)
{
	struct dev_link_limit here = {0}, there = {0}, none = {0};
	const char *to = other->props.bus, *back = d->props.bus;
	const bool direct = to[0] && back[0] && add_links(links, DEV_LINK_TO_DEVICE, to, &here) &&
			    add_links(others, DEV_LINK_TO_DEVICE, back, &there);
	if (!direct) {
		here = there = none;
		if (!add_links(links, DEV_LINK_TO_SWITCH, NULL, &here) ||
		    !add_links(others, DEV_LINK_TO_SWITCH, NULL, &there))
			return false;
	}
	*limit = there.in_bytes_per_s < here.out_bytes_per_s ? there : here;
	limit->in_bytes_per_s = fmin(here.in_bytes_per_s, there.out_bytes_per_s);
	limit->out_bytes_per_s = fmin(here.out_bytes_per_s, there.in_bytes_per_s);
	return true;
}

static bool limit_by_pcie(const struct dev_links *links, const struct dev_links *others,
			  struct dev_link_limit *limit)
{
	struct dev_link_limit here = {0}, there = {0};
	if (!add_pcie(links, &here) || !add_pcie(others, &there))
		return false;
	*limit = here.in_bytes_per_s <= there.in_bytes_per_s ? here : there;
	return true;
}

int dev_peer_limit_read(struct dev *d, struct dev *other, struct dev_link_limit *limit)
{
	struct dev_links links, others;
	struct dev_path out, in;
	struct dev_link_limit found = {0};
	int status = dev_path_read(d, other, &out);
	if (status == 0)
		status = dev_path_read(other, d, &in);
	if (status == 0)
		status = dev_links_read(d, &links);
	if (status == 0)
		status = dev_links_read(other, &others);
	if (status)
		return status;
	bool known = out.bytes_per_s > 0 && in.bytes_per_s > 0;
	if (known) {
		snprintf(found.link, sizeof(found.link), "%s", out.kind);
		found.in_bytes_per_s = in.bytes_per_s;
		found.out_bytes_per_s = out.bytes_per_s;
	} else if (strcmp(out.kind, PCIE) == 0) {
		known = limit_by_pcie(&links, &others, &found);
	} else if (out.kind[0]) {
		known = limit_by_links(d, &links, other, &others, &found);
	}
	if (!known)
		return err_note(-ENODATA, "%s:%u and %s:%u: the rate of the links is unknown",
				d->ops->name, d->index, other->ops->name, other->index);
	*limit = found;
	return 0;
}
