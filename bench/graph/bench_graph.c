/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/graph/bench_graph.h"
#include "bench/blocking_kernel.h"
#include "lib/err.h"

#include <errno.h>

int bench_graph_prepare(struct bench_case *c, struct work_graph *g)
{
	int status = c->status;
	if (status == 0)
		status = work_graph_prepare(g);
	return TRY(c->status, status ? status : work_graph_complete(g));
}

int bench_graph_time(struct bench_case *c, struct work_graph *g, uint64_t iterations)
{
	double seconds = 0.0, sum_s = 0.0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++, sum_s += seconds)
		status = work_graph_time(g, &seconds);
	c->self_seconds = sum_s;
	return status;
}

int bench_enable_peers(struct bench_case *c)
{
	const struct dev_set *set = c->devices;
	for (size_t i = 1; c->status == 0 && i < set->count; i++)
		for (size_t k = 0; k < i; k++)
			TRY(c->status, dev_peer_enable(set->dev[i], set->dev[k]));
	return c->status;
}

/* One that leaves its memory, where there is any: that is what a transfer waits for, and a device
 * may copy within its own memory in another way. */
static bool find_smallest_copy(struct bench_case *c, const struct work_graph *g, unsigned variant,
			       struct work_copy *copy_p)
{
	struct work_copy copy;
	bool found = false, stays = false;
	for (size_t at = 0;
	     g && bench_variant_on(c, variant) && work_graph_next_copy(g, &at, &copy);) {
		const bool here = bench_same_memory(c, copy.to, copy.from);
		if (found && (here == stays ? copy.bytes >= copy_p->bytes : here))
			continue;
		*copy_p = copy;
		found = true;
		stays = here;
	}
	return found;
}

int bench_verify_engine(struct bench_case *c, uint64_t uses, struct work_graph *const *graphs,
			unsigned count)
{
	struct work_copy at, other;
	int status = 0;
	for (unsigned v = 0; status == 0 && v < count; v++) {
		uint64_t same = 0;
		if (!(uses >> v & 1) || !find_smallest_copy(c, graphs[v], v, &at))
			continue;
		for (unsigned k = v; k < count; k++)
			if (uses >> k & 1 && find_smallest_copy(c, graphs[k], k, &other) &&
			    other.bytes == at.bytes)
				same |= UINT64_C(1) << k;
		const struct blocking_copy copy = {at.dev, at.stream, at.to, at.from, at.bytes};
		status = blocking_kernel_verify_copy(c, &copy, same, false);
		uses &= ~same;
	}
	return status;
}

int bench_verify_independent(struct bench_case *c, uint64_t uses, const char *name,
			     struct work_graph *held, struct work_graph *other)
{
	size_t devices = 0;
	double seconds;
	int status = work_graph_hold(held);
	if (status == 0)
		status = work_graph_run(held);
	if (status == 0)
		status = work_graph_complete(other);
	if (status == 0)
		status = work_graph_unfinished(held, &devices);
	status = work_graph_release(held, status, &seconds);
	/* The watchdog opened the gate: the other graph waited for it. */
	bool overdue = status == -ETIMEDOUT;
	bool observed = !overdue && devices == work_graph_devices(held);
	if (status && !overdue)
		return status;
	static const char detail[] = "the other work completed while %zu of %zu devices were held";
	if (uses == UINT64_MAX)
		bench_mechanism(c, name, observed, detail, devices, work_graph_devices(held));
	else
		bench_mechanism_of(c, uses, name, observed, detail, devices,
				   work_graph_devices(held));
	return 0;
}

/* ------------------------------------------------------------------ without units */

/* Long for any device; what moves takes longer only at less than 1 GB/s. */
#define HOLD_NS UINT64_C(300000000)
#define HOLD_NS_PER_BYTE 1u

struct held_devices {
	struct blocking_kernel blocking[DEV_MAX];
	uint32_t slots, arrived, timed_out; /* of all devices */
};

static uint32_t count_slots(const struct dev *d)
{
	return dev_props(d)->units * dev_props(d)->slots_per_unit;
}

/* All are open before the first is blocked, for opening may wait for a device. */
static int hold_devices(struct bench_case *c, struct held_devices *h, uint64_t hold_ns)
{
	int status = 0;
	for (size_t i = 0; i < c->devices->count && !status; i++)
		status = blocking_kernel_open_on(&h->blocking[i], c, c->devices->dev[i],
						 count_slots(c->devices->dev[i]));
	for (size_t i = 0; i < c->devices->count && !status; i++)
		status = blocking_kernel_start(&h->blocking[i], h->blocking[i].max_blocks, 0,
					       hold_ns);
	for (size_t i = 0; i < c->devices->count && !status; i++) {
		uint32_t arrived = 0;
		status = blocking_kernel_settle(&h->blocking[i], h->blocking[i].max_blocks,
						hold_ns / 4, &arrived);
		h->slots += h->blocking[i].max_blocks;
		h->arrived += arrived;
	}
	return status;
}

/* Blocks that were never launched are released all the same. */
static int release_devices(struct bench_case *c, struct held_devices *h)
{
	int status = 0;
	for (size_t i = 0; i < c->devices->count; i++) {
		uint32_t timed_out = 0;
		int released = h->blocking[i].start_ns
				       ? blocking_kernel_release(&h->blocking[i], &timed_out)
				       : 0;
		status = status ? status : released;
		h->timed_out += timed_out;
	}
	return status;
}

static int run_while_held(struct bench_case *c, struct work_graph *g, uint64_t bytes,
			  struct held_devices *h)
{
	*h = (struct held_devices){.slots = 0};
	int status = hold_devices(c, h, HOLD_NS + HOLD_NS_PER_BYTE * bytes);
	if (status == 0)
		status = work_graph_complete(g);
	int released = release_devices(c, h);
	return status ? status : released;
}

int bench_need_no_units(struct bench_case *c, struct work_graph *g, uint64_t bytes)
{
	struct held_devices h;
	if (dev_can(c->dev, DEV_CAP_VIRTUAL_TIME))
		return 0;
	/* Twice, for a host that is held up meanwhile sees the end late, too. */
	for (unsigned try = 0; try < 2; try++) {
		int status = run_while_held(c, g, bytes, &h);
		if (status || h.arrived < h.slots || h.timed_out == 0)
			return status;
	}
	return err_note(-ENOTSUP,
			"takes units: it waited until some of %u blocks that held every slot had "
			"exited",
			h.slots);
}

int bench_verify_no_units(struct bench_case *c, uint64_t uses, struct work_graph *g, uint64_t bytes)
{
	struct held_devices h;
	int status = run_while_held(c, g, bytes, &h);
	if (status == 0)
		bench_mechanism_of(c, uses, "completes_while_all_units_are_held",
				   h.arrived == h.slots && h.timed_out == 0,
				   "%u of %u slots blocked, %u blocks timed out before it was done",
				   h.arrived, h.slots, h.timed_out);
	return status;
}
