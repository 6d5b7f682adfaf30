/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ways over the links between devices, and what flows find there.
 *
 * LINKS between devices are directed. `links` of the model says which ones there are:
 *
 *   switch (default)  from every device to every other one
 *   mesh              the same, and without the key injection_bandwidth nothing limits what all
 *                     links of a device carry together
 *   ring              from device i to i - 1 and i + 1 modulo `devices`
 *   torus:AxB, AxBxC  rings of A devices in the first dimension, of B in the second: device
 *                     x + A * y. The product is `devices`. A way passes the dimensions in their
 *                     order, each in the shorter direction; half of a ring is passed upwards, and
 *                     downwards from coordinate A / 2, as SimGrid does. A ring is the same of one
 *                     dimension
 *   FILE              a name with '/' or '.', relative to the folder of the model: lines
 *                     `0>1 = 50e9 700` are links with their bytes/s and, unless they have
 *                     peer_latency_ns, their latency; `0-1 = ...` is both directions. A way has the
 *                     fewest links, and of several such ways the next device of the lowest number
 *   pairs             the same of the pairs with a line `peer_bandwidth 0>1 = ...` in the model
 *
 * What moves between two devices takes the capacity of every link on the way, and nothing of the
 * devices between. Only a switch has injection_bandwidth without the key. Devices that no links
 * connect cannot be peers (-ENOTSUP). So is an operation that passes more than about 70 links.
 * Links belong to the machine: all that is open shares them. The model of the device that they
 * leave decides what they are, or if several are open with its index, the first one; if none is,
 * the model of the source. The source's model chooses the way.
 *
 * A device reports one link to the host, of kind "link", at the model's rates, and a path to every
 * other device at the least of the bandwidths of its links and what both inject, all divided by the
 * device's draw of open_sigma. Reading takes no time. Jitter makes single copies faster than the
 * link, and with more than some per cent of it, or a negative drift, also a median of few.
 */
#include "device/sim/machine/links.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/streams.h"
#include "device/sim/machine/uplinks.h"
#include "device/sim/model/model_links.h"

#include <errno.h>
#include <math.h>
#include <string.h>

_Static_assert(DEV_MAX <= 64, "a bit for each");

/* All links of the machine. Row i is the links that leave device i. */
static struct resource all_links[DEV_MAX][DEV_MAX];

/* By index: the open device whose model decides; the one that was opened first. */
static struct sim_dev *deciding[DEV_MAX];

/* ------------------------------------------------------------------ ways */

/* Breadth first from the target, against the direction of the links. */
static void find_ways_to(bool (*linked)[DEV_MAX], unsigned to, unsigned count,
			 uint8_t (*next)[DEV_MAX])
{
	uint8_t queue[DEV_MAX], hops[DEV_MAX];
	unsigned queued = 0;
	memset(hops, SIM_NO_WAY, sizeof(hops));
	hops[to] = 0;
	queue[queued++] = (uint8_t)to;
	for (unsigned done = 0; done < queued; done++) {
		for (unsigned from = 0; from < count; from++) {
			if (!linked[from][queue[done]] || hops[from] != SIM_NO_WAY)
				continue;
			hops[from] = (uint8_t)(hops[queue[done]] + 1);
			queue[queued++] = (uint8_t)from;
		}
	}
	for (unsigned from = 0; from < count; from++)
		for (unsigned by = count; by-- > 0 && from != to;)
			if (linked[from][by] && hops[by] + 1 == hops[from])
				next[from][to] = (uint8_t)by;
}

static void find_ways(struct sim_dev *d)
{
	const struct sim_model *m = &d->model;
	const unsigned count = m->devices;
	bool linked[DEV_MAX][DEV_MAX] = {{false}};
	memset(d->way, SIM_NO_WAY, sizeof(d->way));
	for (uint32_t i = 0; i < m->pairs; i++)
		linked[m->pair[i].from][m->pair[i].to] = m->pair[i].linked;
	for (unsigned to = 0; to < count; to++) {
		d->way[to][to] = (uint8_t)to;
		if (m->links == SIM_LINKS_FILE)
			find_ways_to(linked, to, count, d->way);
		for (unsigned at = 0; at < count && m->links != SIM_LINKS_FILE; at++)
			if (at != to)
				d->way[at][to] = (uint8_t)(m->links == SIM_LINKS_TORUS
								   ? sim_torus_next(m, at, to)
								   : to);
	}
}

static void choose_deciding(unsigned index)
{
	deciding[index] = NULL;
	for (struct sim_dev *d = sim_machine.devs; d && !deciding[index]; d = d->next)
		if (d->base.index == index)
			deciding[index] = d;
}

void sim_links_open(struct sim_dev *d)
{
	find_ways(d);
	choose_deciding(d->base.index);
}

void sim_links_close(unsigned index) { choose_deciding(index); }

static const struct sim_model *deciding_model(const struct sim_dev *from, unsigned at)
{
	return deciding[at] ? &deciding[at]->model : &from->model;
}

bool sim_way_exists(const struct sim_dev *from, const struct sim_dev *to)
{
	return from->way[from->base.index][to->base.index] != SIM_NO_WAY;
}

/* The first link of a way leaves `from`. Two open devices of one index have a link between them. */
struct hop {
	unsigned at, next;
};

static struct hop first_hop(const struct sim_dev *from, const struct sim_dev *to)
{
	const unsigned at = from->base.index;
	return (struct hop){at, from->way[at][to->base.index]};
}

static bool move_on(const struct sim_dev *from, const struct sim_dev *to, struct hop *hop)
{
	if (hop->next == to->base.index)
		return false;
	*hop = (struct hop){hop->next, from->way[hop->next][to->base.index]};
	return true;
}

double sim_way_latency_ns(const struct sim_dev *from, const struct sim_dev *to)
{
	struct hop hop = first_hop(from, to);
	double sum_ns = 0;
	do
		sum_ns += sim_link_latency_ns(deciding_model(from, hop.at), hop.at, hop.next);
	while (move_on(from, to, &hop));
	return sum_ns;
}

double sim_way_bandwidth(const struct sim_dev *from, const struct sim_dev *to, unsigned *hops_p)
{
	struct hop hop = first_hop(from, to);
	double least = INFINITY;
	unsigned hops = 0;
	do {
		least = fmin(least,
			     sim_link_bandwidth(deciding_model(from, hop.at), hop.at, hop.next));
		hops++;
	} while (move_on(from, to, &hop));
	*hops_p = hops;
	return least;
}

static void need_way(struct flow *f, const struct sim_dev *from, const struct sim_dev *to,
		     double volume)
{
	struct hop hop = first_hop(from, to);
	do {
		struct resource *r = &all_links[hop.at][hop.next];
		r->capacity =
			sim_link_bandwidth(deciding_model(from, hop.at), hop.at, hop.next) * 1e-9;
		flow_need(f, r, volume);
	} while (move_on(from, to, &hop));
}

unsigned sim_way_mark(const struct sim_dev *from, const struct sim_dev *to, uint64_t *marks)
{
	struct hop hop = first_hop(from, to);
	unsigned marked = 0;
	do {
		const uint64_t bit = UINT64_C(1) << hop.next;
		marked += (marks[hop.at] & bit) == 0;
		marks[hop.at] |= bit;
	} while (move_on(from, to, &hop));
	return marked;
}

/* ------------------------------------------------------------------ what operations pass */

void sim_peer_need(struct flow *f, struct sim_dev *from, struct sim_dev *to, double volume)
{
	if (!isinf(sim_injection_bandwidth(&from->model)))
		flow_need(f, &from->peer_out, volume);
	if (!isinf(sim_injection_bandwidth(&to->model)))
		flow_need(f, &to->peer_in, volume);
	need_way(f, from, to, volume);
	sim_uplink_need_peer(f, from, to, volume);
}

/* Bytes between two devices. */
struct passage {
	const struct sim_dev *from, *to;
};

/* False: number `i` of the traffic stays on a device or goes to the host. */
static bool passage_of(const struct op *op, unsigned i, struct passage *p)
{
	const struct sim_dev *d = op->stream->dev;
	const struct alloc *a = op->work->traffic[i].at;
	*p = op->work->traffic[i].write ? (struct passage){d, a->dev} : (struct passage){a->dev, d};
	return a->dev != d && a->kind == DEV_MEM_DEVICE &&
	       op->work->traffic[i].path != PATH_REFILL && !op->work->traffic[i].stays;
}

double sim_op_latency_ns(const struct op *op)
{
	struct passage p;
	double longest = 0;
	for (unsigned i = 0; i < op->traffics; i++)
		if (passage_of(op, i, &p))
			longest = fmax(longest, sim_way_latency_ns(p.from, p.to));
	return longest;
}

unsigned sim_op_links(const struct op *op)
{
	uint64_t marks[DEV_MAX] = {0};
	struct passage p;
	unsigned links = 0;
	for (unsigned i = 0; i < op->traffics; i++)
		if (passage_of(op, i, &p))
			links += sim_way_mark(p.from, p.to, marks);
	return links;
}

int sim_op_check_links(const struct sim_dev *d, const struct op *op)
{
	const unsigned most = FLOW_DEMANDS - FLOW_OWN - FLOW_PEER * op->uses,
		       links = d->peers ? sim_op_links(op) : 0;
	return links <= most ? 0
			     : err_note(-ENOTSUP,
					"sim:%u: an operation passes %u links between devices; the "
					"limit is %u",
					d->base.index, links, most);
}
