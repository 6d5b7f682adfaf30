/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Peers: what joins two devices.
 */
#include "device/sim/device/calls.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/uplinks.h"
#include "device/sim/model/model_links.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int sim_peer_enable(struct dev *dev, struct dev *other)
{
	struct sim_dev *a = sim_of(dev), *b = sim_of(other);
	if (!dev_can(dev, DEV_CAP_PEER) || !dev_can(other, DEV_CAP_PEER))
		return err_note(-ENOTSUP, "sim:%u: peer access is not supported", dev->index);
	int status = sim_call_begin(a);
	for (unsigned i = 0; i < a->peers && !status; i++)
		if (a->peer[i] == b)
			return sim_call_end(0);
	if (status || a == b)
		return sim_call_end(status);
	if (!sim_way_exists(a, b) || !sim_way_exists(b, a))
		return sim_call_end(err_note(-ENOTSUP, "sim:%u: no links %s sim:%u", dev->index,
					     sim_way_exists(a, b) ? "from" : "to", other->index));
	if (a->peers == SIM_PEERS || b->peers == SIM_PEERS)
		return sim_call_end(
			err_note(-ENOMEM, "sim:%u: more than %d peers", dev->index, SIM_PEERS));
	a->peer[a->peers++] = b;
	b->peer[b->peers++] = a;
	return sim_call_end(0);
}

/* All that a device does is faster by its draw of open_sigma, copies too. */
int sim_links_read(struct dev *dev, struct dev_links *links)
{
	const struct sim_dev *d = sim_of(dev);
	memset(links, 0, sizeof(*links));
	links->numa_node = (int)sim_near_node(d);
	links->count = 1;
	links->link[0] =
		(struct dev_link){.kind = "link",
				  .state = DEV_LINK_UP,
				  .end = DEV_LINK_TO_HOST,
				  .in_bytes_per_s = d->model.link_down_bandwidth / d->open_factor,
				  .out_bytes_per_s = d->model.link_up_bandwidth / d->open_factor};
	return 0;
}

/* Either device may do the copy. */
int sim_path_read(struct dev *dev, struct dev *other, struct dev_path *path)
{
	const struct sim_dev *from = sim_of(dev), *to = sim_of(other);
	const double injection =
		fmin(sim_injection_bandwidth(&from->model), sim_injection_bandwidth(&to->model));
	memset(path, 0, sizeof(*path));
	snprintf(path->meet, sizeof(path->meet), "%s", sim_uplink_meet(from, to));
	if (!dev_can(dev, DEV_CAP_PEER) || !dev_can(other, DEV_CAP_PEER) ||
	    !sim_way_exists(from, to) || !sim_way_exists(to, from)) {
		snprintf(path->access, sizeof(path->access), "not_supported");
		return 0;
	}
	snprintf(path->kind, sizeof(path->kind), "link");
	snprintf(path->access, sizeof(path->access), "yes");
	sim_lock();
	path->bytes_per_s = fmin(sim_way_bandwidth(from, to, &path->hops), injection) /
			    fmin(from->open_factor, to->open_factor);
	return sim_call_end(0);
}
