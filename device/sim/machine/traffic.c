/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FLOWS. A flow alone takes the maximum of volume / capacity over everything that it passes:
 *
 *   own memory      every byte read or written: memory_bandwidth; a copy inside it counts twice
 *   cache           instead of own memory, for launches that touch at most llc_bytes of it and are
 *                   not "_nt": llc_bandwidth. The cache is always warm, unless llc_tracked is 1:
 *                   then see CACHE
 *   pinned memory   link_down_bandwidth (read) or link_up_bandwidth (write), and host_bandwidth; on
 *                   another NUMA node than the device's, which is its index modulo numa_nodes,
 *                   far_bandwidth in either direction, too. dev_alloc() takes the device's node.
 *                   And the uplink: UPLINKS
 *   peer memory     peer_bandwidth of every link on the way, injection_bandwidth out of the source
 *                   and into the target, and the other's memory
 *   engine          engine_bandwidth, for copies
 *   unit            unit_bandwidth, l1_bandwidth and the flops_* of the type, each shared by its
 *                   resident blocks; one block gets at most block_share of each
 *   L1, L2          what a launch reads again: LEVELS
 *
 * TENANTS. With tenants = n, devices 0 to n-1 are partitions of one device, n to 2n-1 of the next,
 * and so on. The keys are those of a partition, but own memory, cache and the ways to pinned memory
 * are one for all of a device's: their flows share these rates. What a cache holds is each
 * partition's own, as are its units, engines and capacity.
 *
 * With memory_adds = 1 memory adds what dev_copy_add() and GEMMs with `adds` write to it, at its
 * own device and at others. That takes add_cost times as much of its time as a write, passes links
 * and units as a write, and reads nothing. It passes every cache by: of its range what is dirty
 * passes memory first, and the cache forgets all. Where C's memory does not add, a GEMM with `adds`
 * costs what beta = 1 does, but of a peer's C the read passes neither links nor unit.
 *
 * dev_memory_bytes() counts all of an operation when it starts: a copy or fill when its flow does,
 * a launch after launch_ns. What is added counts once, whatever add_cost is.
 */
#include "device/sim/machine/traffic.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/kernels.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/redirect.h"
#include "device/sim/machine/streams.h"
#include "device/sim/machine/uplinks.h"

/* ------------------------------------------------------------------ what passes memory */

bool sim_alloc_adds(const struct alloc *a)
{
	return a->kind == DEV_MEM_DEVICE && a->dev->model.memory_adds;
}

static enum dev_traffic_class class_of(const struct op *op, const struct alloc *a)
{
	const bool copies =
		op->kind == OP_COPY || op->kind == OP_FILE_READ || op->type == &kernel_copy_type;
	return copies || a->dev != op->stream->dev ? DEV_COMMUNICATION : op->stream->traffic;
}

static void need_memory(struct flow *f, const struct op *op, const struct op_traffic *t,
			double volume)
{
	struct sim_dev *d = t->at->dev;
	struct sim_memory_control *c = &d->control;
	const double cost = volume * (t->adds ? d->model.add_cost : 1);
	const bool communicates = class_of(op, t->at) == DEV_COMMUNICATION;
	if (!communicates || c->in_force.policy == DEV_MEMORY_FAIR)
		flow_need(f, &d->shared->memory, cost);
	if (communicates && d->shared->memory.behind)
		flow_need(f, &c->communication, cost);
	if (!communicates && !t->write && d->shared->memory.behind)
		flow_wait(f, &d->shared->memory, volume);
}

void sim_memory_count_part(const struct op *op, const struct op_traffic *t, double volume)
{
	struct dev_memory_bytes *passed = &t->at->dev->control.passed;
	const bool passes = t->path == PATH_MEMORY || t->path == PATH_REFILL;
	if (t->at->kind != DEV_MEM_DEVICE || !passes)
		return;
	(t->write ? passed->written : passed->read)[class_of(op, t->at)] += volume;
	t->at->dev->power.bytes += volume;
}

void sim_memory_count(const struct op *op)
{
	const uint32_t rows = op->work->gemm.m, kept = op->tiles ? sim_redirect_count(op) : 0;
	for (unsigned i = 0; i < op->traffics; i++) {
		const struct op_traffic *t = &op->work->traffic[i];
		const bool is_c = op->tiles && t->use == SIM_GEMM_C;
		sim_memory_count_part(op, t, is_c ? t->volume * kept / rows : t->volume);
	}
}

/* ------------------------------------------------------------------ what flows need */

/* True if it passes load/store units or an engine, and links. */
static bool leaves_memory(const struct op_traffic *t)
{
	return t->path != PATH_REFILL && t->path != PATH_L1 && !t->stays;
}

static void need_pinned(struct sim_dev *d, struct flow *f, const struct op_traffic *t,
			double volume)
{
	flow_need(f, &sim_machine.host_memory, volume);
	flow_need(f, t->write ? &d->shared->link_up : &d->shared->link_down, volume);
	sim_uplink_need(f, d, t->write, volume);
	if (t->at->node != sim_near_node(d))
		flow_need(f, t->write ? &d->shared->far_up : &d->shared->far_down, volume);
}

void sim_traffic_need(const struct op *op, struct flow *f, const struct op_traffic *t,
		      double volume)
{
	struct sim_dev *d = op->stream->dev, *owner = t->at->dev;
	if (t->at->kind == DEV_MEM_PINNED) {
		need_pinned(d, f, t, volume);
		return;
	}
	if (t->path == PATH_L1 || t->path == PATH_L2)
		return;
	if (t->path == PATH_CACHE)
		flow_need(f, &owner->shared->llc, volume);
	else
		need_memory(f, op, t, volume);
	if (owner != d && leaves_memory(t))
		sim_peer_need(f, t->write ? d : owner, t->write ? owner : d, volume);
}

/* Only `c_part` of C is written to C's own memory. Returns the bytes that pass the unit or
 * engine. */
double sim_traffic_need_all(struct flow *f, const struct op *op, double part, double c_part)
{
	double through = 0;
	for (unsigned i = 0; i < op->traffics; i++) {
		const struct op_traffic *t = &op->work->traffic[i];
		const bool is_c = op->tiles && t->use == SIM_GEMM_C;
		const double volume = t->volume * part * (is_c ? c_part : 1);
		sim_traffic_need(op, f, t, volume);
		if (leaves_memory(t))
			through += volume;
	}
	return through;
}
