/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/backends.h"
#include "device/sim/device/calls.h"
#include "device/sim/machine/gemm_cache.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/model/model_links.h"
#include "device/sim/model/reading.h"
#include "device/sim/t3/memory_control.h"
#include "device/sim/t3/tracker.h"
#include "lib/rng.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Capabilities of a simulated device, unless its model has none of it or lacks it. */
#define SIM_CAPS (SIM_CAN_LACK | DEV_CAP_VIRTUAL_TIME | DEV_CAP_VALUE_IN_QUEUE)

#define BLOCK_THREADS 256u
#define CLOCK_RATE_NS 1e6

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Nothing happens before, as far as the clock was read since the last other call. Programs poll it
 * a hundred thousand times in a row. */
static double quiet_until_ns;

struct sim_dev *sim_of(struct dev *dev) { return (struct sim_dev *)(void *)dev; }

/* ------------------------------------------------------------------ begin and end of a call */

int sim_call_end(int status)
{
	pthread_mutex_unlock(&lock);
	return status;
}

void sim_call_end_later(struct sim_dev *d, int status)
{
	if (status && !sim_opened(d)->violation) {
		sim_opened(d)->violation = status;
		text_fit(sim_opened(d)->violation_text, sizeof(sim_opened(d)->violation_text), "%s",
			 err_text());
	}
	sim_call_end(0);
}

void sim_lock(void) { pthread_mutex_lock(&lock); }

void sim_lock_and_pass_time(struct sim_dev *d)
{
	pthread_mutex_lock(&lock);
	quiet_until_ns = 0;
	sim_engine_run(sim_clock.now_ns + d->model.host_call_ns);
}

int sim_call_begin(struct sim_dev *d)
{
	sim_lock_and_pass_time(d);
	int status = sim_opened(d)->violation;
	sim_opened(d)->violation = 0;
	return status ? err_note(status, "%s", sim_opened(d)->violation_text) : 0;
}

static int bad_handle(struct sim_dev *d, const char *what)
{
	return err_note(-EINVAL, "sim:%u: not an open %s of this device", d->base.index, what);
}

int sim_check_stream(struct sim_dev *d, const struct dev_stream *s)
{
	return sim_handle_owner(s) == d ? 0 : bad_handle(d, "stream");
}

int sim_check_event(struct sim_dev *d, const struct dev_event *e)
{
	return sim_handle_owner(e) == d ? 0 : bad_handle(d, "event");
}

/* Events may be waited for from any simulated device: all share one clock. */
int sim_check_any_event(struct sim_dev *d, const struct dev_event *e)
{
	return sim_handle_owner(e) ? 0 : bad_handle(d, "event");
}

int sim_call_begin_on_stream(struct sim_dev *d, struct dev_stream *s)
{
	int status = sim_call_begin(d);
	return status ? status : sim_check_stream(d, s);
}

/* ------------------------------------------------------------------ devices */

int sim_probe(unsigned *count_p)
{
	*count_p = DEV_MAX;
	return 0;
}

/* Another partition of the same device that is open; NULL: none is. */
static struct sim_dev *find_tenant(const struct sim_dev *d)
{
	const uint32_t tenants = d->model.tenants;
	struct sim_dev *at = sim_machine.devs;
	while (at && (at->model.contents != d->model.contents ||
		      at->base.index / tenants != d->base.index / tenants ||
		      at->base.index == d->base.index))
		at = at->next;
	return at;
}

static int open_shared(struct sim_dev *d)
{
	const struct sim_model *m = &d->model;
	struct sim_dev *tenant = find_tenant(d);
	d->shared = tenant ? tenant->shared : calloc(1, sizeof(*d->shared));
	if (!d->shared)
		return err_note(-ENOMEM, "sim:%u: open: out of memory", d->base.index);
	if (d->shared->tenants++ > 0)
		return 0;
	resource_set(&d->shared->memory, m->memory_bandwidth);
	resource_set(&d->shared->llc, m->llc_bandwidth);
	resource_set(&d->shared->link_up, m->link_up_bandwidth);
	resource_set(&d->shared->link_down, m->link_down_bandwidth);
	resource_set(&d->shared->far_up, m->far_bandwidth);
	resource_set(&d->shared->far_down, m->far_bandwidth);
	return 0;
}

static void close_shared(struct sim_dev *d)
{
	if (--d->shared->tenants == 0)
		free(d->shared);
}

static void set_resources(struct sim_dev *d)
{
	const struct sim_model *m = &d->model;
	sim_memory_control_open(d);
	resource_set(&d->peer_in, sim_injection_bandwidth(m));
	resource_set(&d->peer_out, sim_injection_bandwidth(m));
	if (!sim_machine.devs)
		resource_set(&sim_machine.host_memory, m->host_bandwidth);
}

/* Nothing of a model is faster than its keys. */
static void set_nominal(struct dev_nominal *n, const struct sim_model *m, uint32_t gemm_types)
{
	for (int type = 0; type < DEV_TYPES; type++)
		if (gemm_types >> type & 1)
			n->gemm_flops[type] = sim_gemm_flops(m, (enum dev_type)type) * m->units;
	n->fma_flops_f32 = m->flops_f32 * m->units;
	n->fma_flops_f64 = m->flops_f64 * m->units;
	n->memory_bandwidth = m->memory_bandwidth;
}

/* Types of GEMMs that have no scales. */
static uint32_t types_without_scales(void)
{
	uint32_t types = 0;
	for (unsigned type = 0; type < DEV_TYPES; type++)
		types |= (uint32_t)(dev_types[type].scale == DEV_SCALE_NONE) << type;
	return types;
}

static void set_props(struct sim_dev *d)
{
	struct dev_props *p = &d->base.props;
	const struct sim_model *m = &d->model;
	snprintf(p->name, sizeof(p->name), "simulated device (%s)", m->name);
	snprintf(p->model, sizeof(p->model), "%s", m->base);
	snprintf(p->model_contents, sizeof(p->model_contents), "%016" PRIx64, m->contents);
	snprintf(p->blas, sizeof(p->blas), "sim, tiles of %u", m->gemm_tile);
	p->caps = SIM_CAPS;
	p->caps &= ~(m->copy_engines ? 0u : DEV_CAP_COPY_ENGINE | DEV_CAP_COPY_BATCH);
	p->caps &= ~(m->priorities > 1 ? 0u : DEV_CAP_PRIORITY);
	p->caps &= ~(m->shared_per_unit_bytes ? 0u : DEV_CAP_OCCUPANCY);
	p->caps &= ~(m->memory_adds ? 0u : DEV_CAP_MEMORY_ADDS);
	p->caps &= ~(m->memory_control ? 0u : DEV_CAP_MEMORY_CONTROL);
	p->caps &= ~(m->tracker_entries ? 0u : DEV_CAP_TRACKER);
	p->caps &= ~m->lacks;
	p->caps |= m->storage_bandwidth > 0 ? DEV_CAP_FILE_READ : 0u;
	p->caps |= m->l1_divided ? DEV_CAP_CARVEOUT : 0u;
	p->caps |= m->data == SIM_DATA_NONE ? DEV_CAP_TIME_ONLY : 0u;
	p->units = m->units;
	p->slots_per_unit = m->slots_per_unit;
	p->copy_engines = m->copy_engines;
	p->block_threads = BLOCK_THREADS;
	double enough = ceil(1 / m->block_share);
	p->busy_blocks =
		m->units * (enough < m->slots_per_unit ? (uint32_t)enough : m->slots_per_unit);
	p->max_queued = m->max_queued;
	p->memory_bytes = m->memory_bytes;
	p->shared_per_unit_bytes = m->shared_per_unit_bytes;
	p->shared_per_block_bytes = m->shared_per_block_bytes;
	p->shared_granularity_bytes = m->shared_granularity_bytes;
	p->shared_reserved_bytes = m->shared_reserved_bytes;
	p->l1_bytes = m->l1_bytes;
	p->l2_bytes = m->l2_bytes ? m->l2_bytes / m->l2_units : 0;
	p->llc_bytes = m->llc_bytes;
	for (int type = 0; type < DEV_TYPES && dev_can(&d->base, DEV_CAP_GEMM); type++)
		if (sim_gemm_flops(m, (enum dev_type)type) > 0)
			p->gemm_types |= 1u << type;
	p->fma_peak_types = p->gemm_types & (1u << DEV_F32 | 1u << DEV_F64);
	p->gemm_tiled_types = dev_can(&d->base, DEV_CAP_GEMM_TILED) ? p->gemm_types : 0;
	p->gemm_adding_types = p->gemm_tiled_types;
	if (dev_can(&d->base, DEV_CAP_GEMM_GROUPED))
		p->gemm_grouped_types = p->gemm_types & types_without_scales();
	p->gemm_tile_rows = p->gemm_tiled_types ? 1 : 0;
	set_nominal(&p->nominal, m, p->gemm_types);
	p->priority_low = m->priorities > 1 ? -1 : 0;
	p->priority_high = m->priorities > 1 ? 1 : 0;
}

/* A capability that the model lacks must not work by accident. */
static void apply_lacks(struct sim_model *m)
{
	if (m->lacks & DEV_CAP_COPY_ENGINE)
		m->copy_engines = 0;
	if (m->lacks & DEV_CAP_PRIORITY)
		m->priorities = 1;
	if (m->lacks & DEV_CAP_OCCUPANCY)
		m->shared_per_unit_bytes = m->shared_per_block_bytes = m->shared_reserved_bytes = 0;
	if (m->lacks & DEV_CAP_MEMORY_ADDS)
		m->memory_adds = 0;
	if (m->lacks & DEV_CAP_MEMORY_CONTROL)
		m->memory_control = m->memory_policy = 0;
	if (m->lacks & (DEV_CAP_TRACKER | DEV_CAP_MEMORY_ADDS))
		m->tracker_entries = 0;
	if (m->lacks & DEV_CAP_WAIT_VALUE)
		m->lacks |= DEV_CAP_VALUE_IN_QUEUE;
	if (m->lacks & DEV_CAP_GEMM)
		m->lacks |= DEV_CAP_GEMM_TILED | DEV_CAP_GEMM_GROUPED;
}

/* Lock held. Takes the slots' tasks, fills in the device and appends it to the open ones. */
static int add_device(struct sim_dev *d)
{
	const struct sim_model *m = &d->model;
	int status = sim_units_open(d);
	if (status)
		return status;
	status = sim_trackers_open(d);
	if (status)
		goto close_units;
	status = open_shared(d);
	if (status)
		goto close_trackers;
	set_resources(d);
	sim_power_open(d);
	set_props(d);
	sim_opened(d)->kernels = kernels_fill(sim_opened(d)->kernel, m->data == SIM_DATA_REAL);
	struct rng r;
	d->seed = m->seed + ((uint64_t)d->base.index << 54);
	rng_seed(&r, d->seed, UINT64_MAX);
	d->open_factor = exp(m->open_sigma * rng_normal(&r) - m->open_sigma * m->open_sigma / 2);
	struct sim_dev **end = &sim_machine.devs;
	while (*end)
		end = &(*end)->next;
	*end = d;
	sim_links_open(d);
	return 0;
close_trackers:
	sim_trackers_close(d, sim_handle_remove);
close_units:
	sim_units_close(d);
	return status;
}

int sim_open(const char *model, unsigned index, unsigned count, uint32_t want, struct dev **dev_p)
{
	struct sim_opened *opened = calloc(1, sizeof(*opened));
	if (!opened)
		return err_note(-ENOMEM, "sim:%u: open: out of memory", index);
	struct sim_dev *d = &opened->machine;
	d->base.ops = &sim_ops;
	d->base.index = index;
	int status = sim_model_load(model, &d->model);
	if (!status && index >= d->model.devices)
		status = err_note(-ENODEV, "sim: model '%s' has devices 0 to %u", d->model.name,
				  d->model.devices - 1);
	if (status)
		goto free_dev;
	apply_lacks(&d->model);
	pthread_mutex_lock(&lock);
	quiet_until_ns = 0;
	status = add_device(d);
	pthread_mutex_unlock(&lock);
	if (status)
		goto free_dev;
	*dev_p = &d->base;
	return 0;
free_dev:
	free(d);
	return status;
}

/* Fail the work of `d` that uses memory of `gone`, which is being closed. */
static void fail_users(struct sim_dev *gone, struct sim_dev *d)
{
	for (struct dev_stream *s = d->streams; s; s = s->next) {
		bool uses = false;
		for (const struct op *op = s->head; op; op = op->next) {
			uses |= op->tracker && sim_tracker_leads_to(op->tracker, gone);
			for (unsigned i = 0; i < op->uses; i++)
				uses |= op->work->use[i]->dev == gone;
		}
		if (!uses)
			continue;
		sim_stream_cancel(s);
		sim_stream_fail(s, -EFAULT,
				"sim:%u: queued work used memory of sim:%u, which was closed",
				d->base.index, gone->base.index);
	}
	for (unsigned i = 0; i < d->peers; i++)
		if (d->peer[i] == gone)
			d->peer[i--] = d->peer[--d->peers];
}

static void free_streams(struct dev_stream *s)
{
	while (s) {
		struct dev_stream *next = s->next;
		sim_handle_remove(s);
		free(s);
		s = next;
	}
}

void sim_close(struct dev *dev)
{
	struct sim_dev *d = sim_of(dev);
	pthread_mutex_lock(&lock);
	quiet_until_ns = 0;
	size_t streams = 0;
	for (struct dev_stream *s = d->streams; s; s = s->next, streams++)
		sim_stream_cancel(s);
	for (struct sim_dev *other = sim_machine.devs; other; other = other->next)
		if (other != d)
			fail_users(d, other);
	sim_trackers_close(d, sim_handle_remove);
	free_streams(d->streams);
	free_streams(sim_opened(d)->closed);
	while (sim_opened(d)->events) {
		struct dev_event *e = sim_opened(d)->events;
		sim_opened(d)->events = e->next;
		sim_handle_remove(e);
		event_stamp_release(e->latest);
		free(e);
	}
	sim_memory_free_all(d);
	struct sim_dev **at = &sim_machine.devs;
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	sim_links_close(d->base.index);
	sim_streams_unreserve(streams);
	sim_units_close(d);
	close_shared(d);
	if (!sim_machine.devs)
		sim_gemm_cache_clear();
	free(d);
	pthread_mutex_unlock(&lock);
}

uint64_t sim_clock_ns(struct dev *dev)
{
	pthread_mutex_lock(&lock);
	double until_ns = sim_clock.now_ns + sim_of(dev)->model.host_clock_ns;
	if (until_ns < quiet_until_ns)
		sim_clock.now_ns = until_ns;
	else
		quiet_until_ns = sim_engine_run(until_ns);
	uint64_t now_ns = sim_clock.epoch_ns + (uint64_t)sim_clock.now_ns;
	pthread_mutex_unlock(&lock);
	return now_ns;
}

/* A GPU counts its cycles against its timer within one kernel: what makes single operations longer
 * is not in it. */
int sim_clock_rate(struct dev *dev, double *hz_p)
{
	struct sim_dev *d = sim_of(dev);
	if (!dev_can(dev, DEV_CAP_CLOCK_RATE))
		return err_note(-ENOTSUP, "sim:%u: clock_rate is not supported", dev->index);
	int status = sim_call_begin(d);
	if (!status) {
		sim_engine_run(sim_clock.now_ns + CLOCK_RATE_NS);
		*hz_p = d->model.clock_hz * d->power.clock / sim_slowness(d);
	}
	return sim_call_end(status);
}

void sim_model_read(struct dev *dev, dev_model_put *put, void *context)
{
	sim_model_put_keys(&sim_of(dev)->model, put, context);
}

/* ------------------------------------------------------------------ memory */

int sim_alloc(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p)
{
	int status = sim_call_begin(sim_of(dev));
	return sim_call_end(status ? status
				   : sim_memory_alloc(sim_of(dev), kind, sim_near_node(sim_of(dev)),
						      bytes, ptr_p));
}

size_t sim_numa_nodes(struct dev *dev, uint32_t *nodes, size_t capacity)
{
	const uint32_t count = sim_of(dev)->model.numa_nodes;
	for (uint32_t i = 0; i < count && i < capacity; i++)
		nodes[i] = i;
	return count;
}

int sim_alloc_on_node(struct dev *dev, uint32_t node, uint64_t bytes, void **ptr_p)
{
	int status = sim_call_begin(sim_of(dev));
	return sim_call_end(
		status ? status
		       : sim_memory_alloc(sim_of(dev), DEV_MEM_PINNED, node, bytes, ptr_p));
}

int sim_free(struct dev *dev, void *ptr)
{
	int status = sim_call_begin(sim_of(dev));
	return sim_call_end(status ? status : sim_memory_free(sim_of(dev), ptr));
}

/* ------------------------------------------------------------------ kernels */

int sim_kernel_find(struct dev *dev, const char *name, struct dev_kernel **k_p)
{
	struct sim_dev *d = sim_of(dev);
	for (size_t i = 0; i < sim_opened(d)->kernels; i++) {
		if (strcmp(sim_opened(d)->kernel[i].type->name, name) == 0) {
			*k_p = &sim_opened(d)->kernel[i];
			return 0;
		}
	}
	return err_note(-ENOENT, "sim:%u: unknown kernel '%s'", dev->index, name);
}

int sim_check_kernel(struct sim_dev *d, const struct dev_kernel *k)
{
	for (size_t i = 0; i < sim_opened(d)->kernels; i++)
		if (k == &sim_opened(d)->kernel[i])
			return 0;
	return bad_handle(d, "kernel");
}

int sim_occupancy(struct dev *dev, struct dev_kernel *k, uint32_t block, uint64_t shared_bytes,
		  uint32_t *blocks_p)
{
	struct sim_dev *d = sim_of(dev);
	uint64_t claim = 0;
	int status = sim_check_kernel(d, k);
	if (!status)
		status = sim_units_claim(d, block, shared_bytes, &claim);
	if (!status)
		*blocks_p = sim_units_residents(d, claim, d->model.block_register_bytes);
	return status;
}

int sim_gemm_occupancy(struct dev *dev, const struct dev_gemm *g, uint32_t *blocks_p)
{
	struct sim_dev *d = sim_of(dev);
	uint64_t claim = 0, registers = 0;
	int status = sim_gemm_claims(d, g, &claim, &registers);
	if (!status)
		*blocks_p = sim_units_residents(d, claim, registers);
	return status;
}
