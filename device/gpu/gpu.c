/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/backends.h"
#include "device/gpu/gpu_dev.h"
#include "device/gpu/gpu_nominal.h"
#include "device/gpu/gpu_numa.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Multiply-adds of f32 that a unit begins in a cycle, at most: 64 or 128 of NVIDIA's, up to 256 of
 * AMD's. */
#define UNIT_LANES 128u

/* Memories that a unit divides into L1 and shared memory have a multiple of this many bytes, of
 * which drivers tell only the part that may be shared memory: 100 KiB of 128, 164 of 192 or 228
 * of 256. Where that is a multiple itself, 96 of 128 and 64 of 96, it is taken as the whole. */
#define DIVIDED_MEMORY_STEP (UINT64_C(32) << 10)

/* Windows' limit is two seconds, that of an X server under Linux five or so; no driver tells. */
#define KERNEL_TIMEOUT_S 1.0

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gpu_dev *open_devices; /* guarded by the lock */

/* Number of the device whose context is current on this thread, 0 for none. An address would not
 * do: a later device may get the same one. */
static _Thread_local uint64_t current;

void gpu_lock(void) { pthread_mutex_lock(&lock); }
void gpu_unlock(void) { pthread_mutex_unlock(&lock); }

struct gpu_dev *gpu_open_devices(void) { return open_devices; }

int gpu_ctx_use(struct gpu_dev *d)
{
	if (atomic_load_explicit(&d->lost, memory_order_acquire))
		return err_note(-EIO, "%s:%u is lost: %s", d->vendor->name, d->dev.index,
				d->lost_why);
	return gpu_check(d, gpu_ctx_make_current(d));
}

int gpu_ctx_make_current(struct gpu_dev *d)
{
	if (current == d->number)
		return 0;
	int status = d->driver->context_use(d->ordinal, d->context);
	if (!status)
		current = d->number;
	return status;
}

void gpu_ctx_forget(void) { current = 0; }

int gpu_check(struct gpu_dev *d, int status)
{
	if (status != -EIO)
		return status;
	gpu_lock();
	if (!atomic_load_explicit(&d->lost, memory_order_relaxed)) {
		text_fit(d->lost_why, sizeof(d->lost_why), "%s", err_text());
		atomic_store_explicit(&d->lost, true, memory_order_release);
	}
	gpu_unlock();
	return status;
}

/* ------------------------------------------------------------------ properties */

/* True if another device's memory is accessible from this one. */
static bool has_peer(const struct gpu_dev *d, unsigned count)
{
	bool can = false;
	for (unsigned other = 0; other < count && !can; other++)
		if (other != d->ordinal && d->driver->peer_can(d->ordinal, other, &can))
			can = false;
	return can;
}

static uint32_t device_capabilities(const struct gpu_dev *d, unsigned count)
{
	const struct gpu_traits *t = &d->traits;
	uint32_t caps = DEV_CAP_CLOCK_RATE | DEV_CAP_PAGEABLE | DEV_CAP_GEMM_TILED;
	caps |= t->copy_engines ? DEV_CAP_COPY_ENGINE : 0;
	caps |= t->priority_lowest != t->priority_highest ? DEV_CAP_PRIORITY : 0;
	caps |= t->wait_value ? DEV_CAP_WAIT_VALUE : 0;
	caps |= t->wait_value && !t->value_takes_slot ? DEV_CAP_VALUE_IN_QUEUE : 0;
	caps |= t->shared_per_block_bytes ? DEV_CAP_OCCUPANCY : 0;
	caps |= has_peer(d, count) ? DEV_CAP_PEER : 0;
	caps |= d->driver->function_prefer_cache ? DEV_CAP_CARVEOUT : 0;
	caps |= d->driver->capture_begin ? DEV_CAP_GRAPH : 0;
	caps |= d->driver->ipc_export && t->ipc ? DEV_CAP_IPC : 0;
	caps |= t->copy_batch ? DEV_CAP_COPY_BATCH : 0;
	caps |= d->driver->stream_open_on && t->unit_step ? DEV_CAP_UNIT_MASK : 0;
	caps |= d->blas ? DEV_CAP_GEMM : 0;
	caps |= d->grouped ? DEV_CAP_GEMM_GROUPED : 0;
	return caps;
}

static void describe_device(struct gpu_dev *d)
{
	struct dev_props *p = &d->dev.props;
	const struct gpu_traits *t = &d->traits;
	text_fit(p->name, sizeof(p->name), "%s", t->name);
	text_fit(p->bus, sizeof(p->bus), "%s", t->bus);
	text_fit(p->arch, sizeof(p->arch), "%s", t->arch);
	if (t->kernels_time_out)
		p->launch_limit_s = KERNEL_TIMEOUT_S;
	text_fit(p->shares, sizeof(p->shares), "%s%s%s", t->shares,
		 t->shares[0] && t->kernels_time_out ? ", and " : "",
		 t->kernels_time_out
			 ? "its time with a display: the system kills kernels that take seconds"
			 : "");
	p->units = t->units;
	p->sizing_flops = 2.0 * UNIT_LANES * t->units * t->clock_max_hz;
	p->sizing_flops_f64 = p->sizing_flops / (t->f64_divisor ? t->f64_divisor : 1);
	gpu_nominal(t, &p->nominal);
	p->copy_engines = t->copy_engines;
	p->block_threads = GPU_BLOCK_THREADS;
	p->pass_block_bytes = GPU_BLOCK_THREADS * 16; /* one vector a thread */
	p->max_queued = GPU_MAX_QUEUED;
	p->queues = t->queues;
	p->shared_per_unit_bytes = t->shared_per_unit_bytes;
	p->shared_per_block_bytes = t->shared_per_block_bytes;
	p->shared_granularity_bytes = t->shared_granularity_bytes;
	p->shared_reserved_bytes = t->shared_reserved_bytes;
	if (d->driver->function_prefer_cache)
		p->l1_bytes = (t->shared_per_unit_bytes + DIVIDED_MEMORY_STEP - 1) /
			      DIVIDED_MEMORY_STEP * DIVIDED_MEMORY_STEP;
	p->llc_bytes = t->llc_bytes ? t->llc_bytes : t->l2_bytes;
	p->priority_low = 0;
	p->priority_normal = t->priority_lowest;
	p->priority_high = t->priority_lowest - t->priority_highest;
	p->gemm_tiled_types = p->gemm_adding_types = 1u << DEV_F32 | 1u << DEV_F64;
}

uint32_t gpu_queue_limit(const char *variable)
{
	const char *text = getenv(variable);
	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/* The driver's version, and what compiled the kernels. */
static void describe_driver(struct gpu_dev *d)
{
	char compiler[40] = "kernels compiled with the build";
	if (!d->kernels_are_ready_made &&
	    d->vendor->compiler->version(d->compiler_release, compiler, sizeof(compiler)))
		compiler[0] = '\0';
	text_fit(d->dev.props.driver, sizeof(d->dev.props.driver), "%s%s%s", d->traits.driver,
		 compiler[0] ? ", " : "", compiler);
}

/* Properties that need the context and the loaded kernels. */
static int query_occupancy_and_memory(struct gpu_dev *d)
{
	struct dev_props *p = &d->dev.props;
	struct dev_kernel *blocking = NULL;
	uint64_t free_bytes = 0;
	int status = gpu_kernel_find(&d->dev, "blocking_kernel", &blocking);
	if (!status)
		status = gpu_occupancy(&d->dev, blocking, 0, 0, &p->slots_per_unit);
	if (!status)
		status = d->driver->memory_free_bytes(&free_bytes);
	p->busy_blocks = p->units * p->slots_per_unit;
	p->memory_bytes = free_bytes / 10 * 9;
	return status;
}

static int check_traits(const struct gpu_dev *d)
{
	const struct gpu_traits *t = &d->traits;
	if (!t->unified_addressing)
		return err_note(-ENODEV, "%s has no unified addressing", t->name);
	if (t->units == 0 || t->warp_threads == 0 || t->threads_per_block < GPU_BLOCK_THREADS)
		return err_note(
			-ENODEV,
			"%s: the driver reports %u units, warps of %u and blocks of at most %u "
			"threads",
			t->name, t->units, t->warp_threads, t->threads_per_block);
	return 0;
}

/* ------------------------------------------------------------------ open and close */

int gpu_probe(const struct gpu_vendor *vendor, unsigned *count_p)
{
	unsigned count = 0;
	*count_p = 0;
	if (vendor->driver->load())
		return 0; /* no devices, and the text says why */
	int status = vendor->driver->count(&count);
	if (status)
		return status;
	if (count == 0)
		err_note(0, "the %s driver is installed but finds no GPU", vendor->name);
	*count_p = count < DEV_MAX ? count : DEV_MAX;
	return 0;
}

/* The sockets may differ among devices, and a thread is near to one. */
static void check_far_node(struct gpu_dev *d)
{
	void *page = NULL;
	if (d->far_node < 0)
		return;
	if (gpu_alloc_on_node(&d->dev, (uint32_t)d->far_node, 1, &page) == 0) {
		gpu_free(&d->dev, page);
		return;
	}
	text_fit(d->far_why, sizeof(d->far_why), "%s", err_text());
	d->far_node = -1;
}

static int start_device(struct gpu_dev *d, uint32_t want)
{
	unsigned count = 0;
	int status = d->driver->context_open(d->ordinal, &d->context);
	if (status)
		return status;
	d->context_is_open = true;
	status = gpu_ctx_use(d);
	if (!status)
		status = d->driver->traits(d->ordinal, &d->traits);
	if (!status)
		status = check_traits(d);
	if (status)
		return status;
	const int node = gpu_numa_node(&d->traits);
	d->far_node = gpu_numa_pin_thread(node) ? -1 : node;
	describe_device(d);
	status = gpu_kernels_open(d);
	if (status)
		return status;
	describe_driver(d);
	status = query_occupancy_and_memory(d);
	if (!status)
		status = gpu_stream_open(&d->dev, d->dev.props.priority_high, &d->internal_stream);
	if (!status)
		status = gpu_released_open(d);
	if (!status)
		status = gpu_time_open(d);
	if (!status)
		status = d->driver->count(&count);
	if (status)
		return status;
	check_far_node(d);
	gpu_gemm_open(d, want);
	d->dev.props.caps = device_capabilities(d, count) |
			    (gpu_comm_supported(d, count, want) ? DEV_CAP_COLLECTIVES : 0) |
			    (gpu_files_supported(d, want) ? DEV_CAP_FILE_READ : 0);
	return 0;
}

/* Also closes a device that was opened in part. */
static void stop_device(struct gpu_dev *d)
{
	if (d->hangs) /* stays open, because the driver still uses its resources */
		return;
	if (d->context_is_open) {
		gpu_ctx_make_current(d);
		gpu_queue_close(d);
		gpu_graphs_close(d);
		gpu_gemm_close(d);
		gpu_time_close(d);
		gpu_memory_close(d);
		gpu_kernels_close(d);
		d->driver->context_close(d->ordinal, d->context);
	}
	gpu_ctx_forget();
	free(d);
}

int gpu_open(const struct gpu_vendor *vendor, const char *model, unsigned index, uint32_t want,
	     struct dev **dev_p)
{
	if (model)
		return err_note(-EINVAL, "open %s: this backend has no models; got '%s'",
				vendor->name, model);
	int status = vendor->driver->load();
	if (status)
		return status;
	struct gpu_dev *d = calloc(1, sizeof(*d));
	if (!d)
		return err_note(-ENOMEM, "open %s:%u: out of memory", vendor->name, index);
	static atomic_ullong opened;
	d->number = atomic_fetch_add(&opened, 1) + 1;
	d->dev.ops = vendor->ops;
	d->dev.index = index;
	d->ordinal = index;
	d->vendor = vendor;
	d->driver = vendor->driver;
	status = start_device(d, want);
	if (status) {
		char why[ERR_TEXT];
		text_fit(why, sizeof(why), "%s", err_text());
		stop_device(d);
		/* During open, an argument that the driver finds invalid is not the caller's. */
		return err_note(status == -EINVAL ? -EIO : status, "open %s:%u: %s", vendor->name,
				index, why);
	}
	gpu_lock();
	d->next = open_devices;
	open_devices = d;
	gpu_unlock();
	*dev_p = &d->dev;
	return 0;
}

void gpu_close(struct dev *dev)
{
	struct gpu_dev *d = gpu_of(dev);
	gpu_lock();
	struct gpu_dev **at = &open_devices;
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	gpu_unlock();
	stop_device(d);
}
