/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host.h"
#include "device/backends.h"
#include "device/host/host_machine.h"
#include "device/host/host_memory.h"
#include "device/host/host_queue.h"
#include "lib/clock.h"
#include "lib/cores.h"
#include "lib/err.h"
#include "lib/numa.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The open devices by `id`. Guarded by the lock. */
static struct host_dev *open_devices[HOST_MAX_OPEN];

struct host_dev *host_open_device(unsigned id) { return open_devices[id]; }

/* ------------------------------------------------------------------ open and close */

static int probe_devices(unsigned *count_p)
{
	int cores[CORES_MAX];
	size_t count;
	const int status = host_cores("", cores, &count);
	if (status == 0)
		*count_p = DEV_MAX;
	return status;
}

static uint64_t unit_cache_bytes(const struct host_dev *d, unsigned level)
{
	return host_cache_bytes("", d->cores, 1, level);
}

static void set_props(struct host_dev *d, unsigned count, size_t machine_cores)
{
	struct dev_props *p = &d->dev.props;
	host_names(p->name, sizeof(p->name), p->driver, sizeof(p->driver));
	if (machine_cores < count)
		snprintf(p->shares, sizeof(p->shares),
			 "its core with other devices, its copy engines and the host program");
	else
		snprintf(p->shares, sizeof(p->shares), "its cores with its copy engines%s",
			 machine_cores % count ? "" : " and the host program");
	p->caps = DEV_CAP_COPY_ENGINE | DEV_CAP_PRIORITY | DEV_CAP_WAIT_VALUE | DEV_CAP_OCCUPANCY |
		  DEV_CAP_PEER | DEV_CAP_CLOCK_RATE | DEV_CAP_HOST_ACCESS | DEV_CAP_VALUE_IN_QUEUE |
		  DEV_CAP_COPY_BATCH | DEV_CAP_UNIT_MASK;
	if (d->blas) {
		p->caps |= DEV_CAP_GEMM | DEV_CAP_GEMM_TILED | DEV_CAP_GEMM_GROUPED;
		p->fma_peak_types = 1u << DEV_F32 | 1u << DEV_F64;
		p->gemm_types = p->gemm_tiled_types = p->gemm_adding_types = p->gemm_grouped_types =
			p->fma_peak_types | (d->onednn->multiply ? 1u << DEV_I8 : 0);
		p->gemm_tile_rows = 1;
		snprintf(p->blas, sizeof(p->blas), "%s; i8: %s", d->blas->text, d->onednn->text);
	}
	/* Nor is there a table by processor: the width and number of its vector units, and the
	 * clock while they are busy, differ among models of one architecture. */
	snprintf(p->nominal.unknown, sizeof(p->nominal.unknown),
		 "the system reports no rate of a core's vector units, and none of memory");
	p->units = (uint32_t)d->core_count;
	p->slots_per_unit = HOST_SLOTS;
	p->copy_engines = HOST_ENGINES;
	p->block_threads = 1;
	p->busy_blocks = p->units;
	p->max_queued = HOST_MAX_QUEUED;
	p->memory_bytes = host_memory_available_bytes("") / 10 * 8 / count;
	p->shared_per_unit_bytes = HOST_SHARED_BYTES;
	p->shared_per_block_bytes = HOST_SHARED_BYTES;
	p->shared_granularity_bytes = HOST_SHARED_GRANULARITY;
	p->l1_bytes = unit_cache_bytes(d, 1);
	p->l2_bytes = unit_cache_bytes(d, 2);
	p->llc_bytes = host_cache_bytes("", d->cores, d->core_count, 3);
	if (p->llc_bytes == 0)
		p->llc_bytes = host_cache_bytes("", d->cores, d->core_count, 2);
	p->priority_low = HOST_PRIORITY_LOW;
	p->priority_normal = 0;
	p->priority_high = HOST_PRIORITY_HIGH;
}

static int register_device(struct host_dev *d)
{
	int status = -EMFILE;
	host_lock();
	for (unsigned id = 0; id < HOST_MAX_OPEN && status; id++) {
		if (open_devices[id])
			continue;
		open_devices[id] = d;
		d->id = id;
		status = 0;
	}
	host_unlock();
	return status ? err_note(status, "open host:%u: %u host devices are already open",
				 d->dev.index, HOST_MAX_OPEN)
		      : 0;
}

static void unregister_device(struct host_dev *d)
{
	host_lock();
	open_devices[d->id] = NULL;
	host_unlock();
}

static int open_on_cores(const int *cores, size_t total, unsigned index, unsigned count,
			 struct host_dev *d)
{
	size_t first;
	d->dev.ops = &host_ops;
	d->dev.index = index;
	d->is_part = count > 1;
	host_cores_share(total, index, count, &first, &d->core_count);
	d->cores = malloc(d->core_count * sizeof(*d->cores));
	if (!d->cores)
		return err_note(-ENOMEM, "open host:%u: out of memory", index);
	memcpy(d->cores, cores + first, d->core_count * sizeof(*d->cores));
	set_props(d, count, total);
	int status = register_device(d);
	if (status)
		return status;
	status = host_units_open(&d->units, d->cores, (uint32_t)d->core_count);
	if (status) {
		host_units_close(&d->units);
		unregister_device(d);
	}
	return status;
}

static int open_device(const char *model, unsigned index, unsigned count, uint32_t want,
		       struct dev **dev_p)
{
	int cores[CORES_MAX];
	const struct host_blas *blas = NULL;
	int blas_status = 0;
	if (model)
		return err_note(-EINVAL, "open host: unknown model '%s'; host has no models",
				model);
	if (index >= count)
		return err_note(-EINVAL,
				"open host:%u: the indices of %u listed devices must be 0 to %u",
				index, count, count - 1);
	size_t total, first, own;
	int status = host_cores("", cores, &total);
	if (status)
		return status;
	host_cores_share(total, index, count, &first, &own);
	if (want & (DEV_CAP_GEMM | DEV_CAP_GEMM_TILED))
		blas_status = host_blas_open(HOST_SLOTS * (unsigned)own * count, &blas);
	struct host_dev *d = calloc(1, sizeof(*d));
	if (!d)
		return err_note(-ENOMEM, "open host:%u: out of memory", index);
	if (blas_status)
		dev_keep_lack(&d->dev, DEV_CAP_GEMM_BIT);
	d->blas = blas;
	d->onednn = blas ? host_onednn_open() : NULL;
	status = open_on_cores(cores, total, index, count, d);
	if (status) {
		free(d->cores);
		free(d);
		return status;
	}
	*dev_p = &d->dev;
	return 0;
}

static void close_device(struct dev *dev)
{
	struct host_dev *d = host_dev_of(dev);
	host_queue_close(d);
	host_memory_close(d);
	host_units_close(&d->units);
	unregister_device(d);
	free(d->cores);
	free(d);
}

/* ------------------------------------------------------------------ memory, time, peers */

static uint64_t clock_now(struct dev *dev) { return clock_ns(); }

static int alloc_memory(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p)
{
	struct host_dev *d = host_dev_of(dev);
	return host_memory_alloc(d, d->cores, d->core_count, kind, bytes, ptr_p);
}

static size_t list_numa_nodes(struct dev *dev, uint32_t *nodes, size_t capacity)
{
	return numa_nodes(nodes, capacity);
}

static int alloc_on_node(struct dev *dev, uint32_t node, uint64_t bytes, void **ptr_p)
{
	const struct host_dev *d = host_dev_of(dev);
	return host_memory_alloc_on_node(d, node, bytes, ptr_p);
}

static int free_memory(struct dev *dev, void *ptr)
{
	return ptr ? host_memory_free(host_dev_of(dev), ptr) : 0;
}

/* All memory is in one address space. */
static int peer_enable(struct dev *dev, struct dev *other)
{
	(void)dev, (void)other;
	return 0;
}

/* Measures the clock rate: an addition of registers takes one cycle on every core since the 1980s,
 * and dependent additions cannot overlap. */
static double count_cycles(int repeats)
{
	enum { ADDITIONS = 64, TRIPS = 4096 };
	double best = 0;
	for (int repeat = 0; repeat < repeats; repeat++) {
		uint64_t sum = (uint64_t)repeat, step = sum | 1;
		__asm__ volatile("" : "+r"(step));
		const uint64_t start = clock_ns();
		for (int trip = 0; trip < TRIPS; trip++) {
#pragma GCC unroll 64
			for (int i = 0; i < ADDITIONS; i++) {
				sum += step;
				__asm__ volatile("" : "+r"(sum));
			}
		}
		const double hz = (double)ADDITIONS * TRIPS * 1e9 / (double)(clock_ns() - start);
		best = hz > best ? hz : best;
	}
	return best;
}

static void *count_cycles_of_core(void *arg)
{
	*(double *)arg = count_cycles(12);
	return NULL;
}

static int clock_rate(struct dev *dev, double *hz_p)
{
	pthread_t thread;
	double hz = 0;
	int status =
		cores_thread_start(&thread, host_dev_of(dev)->cores, 1, count_cycles_of_core, &hz);
	if (status)
		return err_note(status, "measure the clock: start a thread: %s", strerror(-status));
	pthread_join(thread, NULL);
	*hz_p = hz;
	return 0;
}

/* The clock is that of the core on which the caller runs, in a third of a millisecond:
 * dev_clock_rate() would take a core from the workers for longer. The processor's sensors say
 * nothing about one of several devices. */
static int telemetry_read(struct dev *dev, struct dev_telemetry *samples, size_t *count_p)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const char *const names[] = {"energy", "power_limit"};
	struct host_dev *d = host_dev_of(dev);
	struct dev_telemetry_list r = {.samples = samples, .capacity = DEV_TELEMETRY_MAX};
	dev_telemetry_number(&r, "sm_clock", "Hz", count_cycles(3));
	pthread_mutex_lock(&lock);
	host_sensors_read(&d->sensors, "", &r);
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; d->is_part && i < sizeof(names) / sizeof(names[0]); i++)
		dev_telemetry_forget(
			&r, names[i],
			"known only for the processors, of which the device is a part");
	*count_p = r.count;
	return 0;
}

/* ------------------------------------------------------------------ copies and values */

/* Engine 1 copies from DEVICE to PINNED memory, engine 0 does the rest. -EFAULT: an end lies in no
 * allocation. Lock held. */
static int choose_engine(const struct host_copy *work, uint32_t *engine_p)
{
	const struct host_memory *to = host_memory_find(work->dst, work->bytes),
				 *from = host_memory_find(work->src, work->bytes);
	if (!to || !from)
		return err_note(-EFAULT, "%llu bytes at %p are not inside one allocation",
				(unsigned long long)work->bytes, to ? work->src : work->dst);
	*engine_p = to->kind == DEV_MEM_PINNED && from->kind == DEV_MEM_DEVICE;
	return 0;
}

static int enqueue_copy(struct dev_stream *s, const struct host_copy *work)
{
	struct host_op *op;
	int status = host_op_begin(s, HOST_OP_COPY, &op);
	if (status)
		return status;
	if (work->src)
		status = choose_engine(work, &op->copy.engine);
	if (status) {
		host_op_abandon(op);
		return status;
	}
	host_op_use(op, work->dst);
	if (work->src)
		host_op_use(op, work->src);
	op->copy.work = *work;
	host_op_submit(op);
	return 0;
}

static int copy_memory(struct dev *dev, struct dev_stream *s, void *dst, const void *src,
		       uint64_t bytes)
{
	return enqueue_copy(s, &(struct host_copy){.dst = dst, .src = src, .bytes = bytes});
}

static int copy_batch(struct dev *dev, struct dev_stream *s, size_t count, void *const *dsts,
		      const void *const *srcs, const uint64_t *bytes)
{
	struct host_copy first = {
		.dst = dsts[0], .src = srcs[0], .bytes = bytes[0], .rest_count = count - 1};
	first.rest = calloc(count, sizeof(*first.rest));
	if (!first.rest)
		return err_note(-ENOMEM, "copy a batch: out of memory");
	for (size_t i = 1; i < count; i++)
		first.rest[i - 1] =
			(struct host_copy){.dst = dsts[i], .src = srcs[i], .bytes = bytes[i]};
	int status = enqueue_copy(s, &first);
	if (status)
		free(first.rest);
	return status;
}

static int fill_memory(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte,
		       uint64_t bytes)
{
	return enqueue_copy(s, &(struct host_copy){.dst = dst, .bytes = bytes, .byte = byte});
}

static int enqueue_value(struct dev_stream *s, enum host_op_kind kind, uint32_t *at, uint32_t value)
{
	struct host_op *op;
	int status = host_op_begin(s, kind, &op);
	if (status)
		return status;
	host_op_use(op, at);
	op->value.at = at;
	op->value.value = value;
	host_op_submit(op);
	return 0;
}

static int wait_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	return enqueue_value(s, HOST_OP_WAIT_VALUE, at, value);
}

static int write_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	return enqueue_value(s, HOST_OP_WRITE_VALUE, at, value);
}

static int post_value(struct dev *dev, uint32_t *at, uint32_t value)
{
	host_lock();
	/* Pairs with the acquire in poll_until(): what the caller wrote is visible. */
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
	host_queue_progress(0);
	host_unlock();
	return 0;
}

/* ------------------------------------------------------------------ kernels */

static int kernel_find(struct dev *dev, const char *name, struct dev_kernel **k_p)
{
	struct dev_kernel *k = host_kernel_named(name);
	if (!k)
		return err_note(-ENOENT, "host: unknown kernel '%s'", name);
	*k_p = k;
	return 0;
}

static int check_shape(uint32_t block, uint64_t shared_bytes)
{
	if (block > 1)
		return err_note(-EINVAL, "a block of %u threads; host supports 1", block);
	if (shared_bytes > HOST_SHARED_BYTES)
		return err_note(-EINVAL, "%llu bytes of shared memory a block: the limit is %llu",
				(unsigned long long)shared_bytes,
				(unsigned long long)HOST_SHARED_BYTES);
	return 0;
}

static int kernel_occupancy(struct dev *dev, struct dev_kernel *k, uint32_t block,
			    uint64_t shared_bytes, uint32_t *blocks_p)
{
	int status = check_shape(block, shared_bytes);
	if (!status)
		*blocks_p = host_units_max_resident(host_units_claim(shared_bytes));
	return status;
}

static int kernel_launch(struct dev *dev, struct dev_stream *s, struct dev_kernel *k,
			 const struct dev_launch *l)
{
	struct host_op *op;
	if (l->grid == 0)
		return err_note(-EINVAL, "launch %s: the grid is 0", k->signature.name);
	int status = check_shape(l->block, l->shared_bytes);
	if (!status)
		status = host_op_begin(s, HOST_OP_LAUNCH, &op);
	if (status)
		return status;
	kernel_args_copy(&k->signature, l->args, op->launch.args);
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS && k->signature.parameters[i].size; i++)
		if (k->signature.parameters[i].extent)
			host_op_use(op, op->launch.args[i].pointer);
	op->launch.work.run = k->run;
	op->launch.work.grid = l->grid;
	op->launch.work.claim_bytes = host_units_claim(l->shared_bytes);
	host_op_submit(op);
	return 0;
}

static int check_gemm(const struct host_dev *d, const struct dev_gemm *g)
{
	const uint32_t sizes[] = {g->m, g->n, g->k, g->lda, g->ldb, g->ldc};
	if (!d->blas)
		return err_note(-ENOTSUP,
				"gemm is not supported on this device: it was opened without "
				"DEV_CAP_GEMM, or there is no BLAS");
	if (!(d->dev.props.gemm_types >> g->type & 1))
		return err_note(-ENOTSUP, "a gemm of %s is not supported on this device, with %s",
				dev_type_names[g->type], d->dev.props.blas);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] > INT32_MAX)
			return err_note(
				-EINVAL,
				"gemm %u x %u x %u: the BLAS library needs sizes below 2^31", g->m,
				g->n, g->k);
	return check_shape(1, host_gemm_claim(g));
}

static int gemm_occupancy(struct dev *dev, const struct dev_gemm *g, uint32_t *blocks_p)
{
	int status = check_gemm(host_dev_of(dev), g);
	uint64_t claim = host_gemm_claim(g);
	if (!status)
		*blocks_p = claim ? host_units_max_resident(host_units_claim(claim)) : 1;
	return status;
}

static int launch_gemm(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g)
{
	struct host_dev *d = host_dev_of(dev);
	struct host_gemm job = {.g = *g, .blas = d->blas, .onednn = d->onednn};
	struct host_op *op;
	int status = check_gemm(d, g);
	if (status)
		return status;
	host_gemm_cut(&job, (uint32_t)d->core_count);
	status = host_op_begin(s, HOST_OP_LAUNCH, &op);
	if (status)
		return status;
	host_op_use(op, g->a);
	host_op_use(op, g->b);
	host_op_use(op, g->c);
	if (g->done)
		host_op_use(op, g->done);
	op->launch.gemm = job;
	op->launch.work.run = host_gemm_run;
	op->launch.work.grid = host_gemm_blocks(&job);
	op->launch.work.claim_bytes = host_units_claim(host_gemm_claim(g));
	op->launch.work.alone = host_gemm_claim(g) == 0;
	host_op_submit(op);
	return 0;
}

const struct dev_ops host_ops = {
	.name = "host",
	.probe = probe_devices,
	.open = open_device,
	.close = close_device,
	.clock_ns = clock_now,
	.clock_rate = clock_rate,
	.telemetry_read = telemetry_read,
	.alloc = alloc_memory,
	.free = free_memory,
	.numa_nodes = list_numa_nodes,
	.alloc_on_node = alloc_on_node,
	.copy = copy_memory,
	.copy_batch = copy_batch,
	.fill = fill_memory,
	.stream_open = host_stream_open,
	.stream_close = host_stream_close,
	.stream_sync = host_stream_sync,
	.stream_query = host_stream_query,
	.stream_units = host_stream_units,
	.stream_wait = host_stream_wait,
	.event_open = host_event_open,
	.event_close = host_event_close,
	.event_record = host_event_record,
	.event_query = host_event_query,
	.event_sync = host_event_sync,
	.event_elapsed_ns = host_event_elapsed_ns,
	.wait_value = wait_value,
	.write_value = write_value,
	.post_value = post_value,
	.kernel_find = kernel_find,
	.occupancy = kernel_occupancy,
	.launch = kernel_launch,
	.gemm = launch_gemm,
	.gemm_occupancy = gemm_occupancy,
	.peer_enable = peer_enable,
};
