/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_dev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "gpusig_"

/* ------------------------------------------------------------------ images */

/* Compiling takes a second or so: devices of one architecture share the image. Kept as long as the process. */
static struct image {
	const struct gpu_vendor *vendor;
	char arch[32];
	unsigned release; /* of the compiler */
	void *bytes;
	struct image *next;
} *images;
static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;

/* Of this release or a later one in the list of the compiler's. */
static struct image *compiled(const struct gpu_dev *d, unsigned release)
{
	struct image *i = images;
	while (i && (i->vendor != d->vendor || i->release < release || strcmp(i->arch, d->traits.arch) != 0))
		i = i->next;
	return i;
}

static int compile(const struct gpu_dev *d, unsigned release, struct image **image_p)
{
	const struct gpu_target target = {.arch = d->traits.arch, .driver_version = d->traits.driver_version};
	size_t bytes = 0;
	struct image *i = calloc(1, sizeof(*i));
	if (!i)
		return err_note(-ENOMEM, "compile kernels: out of memory");
	i->vendor = d->vendor;
	i->release = release;
	int rc = d->vendor->compiler->compile(gpu_kernels_source, &target, &i->release, &i->bytes, &bytes);
	if (rc) {
		free(i);
		return rc;
	}
	snprintf(i->arch, sizeof(i->arch), "%s", d->traits.arch);
	i->next = images;
	images = i;
	*image_p = i;
	return 0;
}

static int image_from(const struct gpu_dev *d, unsigned release, struct image **image_p)
{
	pthread_mutex_lock(&compiling);
	struct image *i = compiled(d, release);
	int rc = i ? 0 : compile(d, release, &i);
	pthread_mutex_unlock(&compiling);
	if (!rc)
		*image_p = i;
	return rc;
}

static int load_image(struct gpu_dev *d, const void *image)
{
	int rc = d->driver->module_load(image, &d->module);
	if (!rc && d->driver->function_prefer_cache)
		rc = d->driver->module_load(image, &d->cached_module);
	if (rc && d->module)
		d->driver->module_unload(d->module);
	if (rc)
		d->module = NULL;
	return rc;
}

/* What one release of the compiler makes of the kernels may be of no use to the driver, where the next one's is. */
static int load_compiled(struct gpu_dev *d)
{
	struct image *i;
	char why[400] = "";
	int rc, first_rc = 0;
	for (unsigned release = 0; (rc = image_from(d, release, &i)) == 0; release = i->release + 1) {
		rc = load_image(d, i->bytes);
		d->compiler_release = i->release;
		if (!rc || rc == -EIO || rc == -ENOMEM)
			return rc;
		if (!first_rc)
			snprintf(why, sizeof(why), "%s", err_text());
		first_rc = first_rc ? first_rc : rc;
	}
	return first_rc ? err_note(first_rc, "%s", why) : rc;
}

/* Where no compiler serves, what the build made: the text of the device's driver says which it was. */
static int load_module(struct gpu_dev *d)
{
	const char *ready = d->vendor->ready_image;
	char why[400];
	int rc = load_compiled(d);
	if (!rc || rc == -EIO || rc == -ENOMEM || !ready || !ready[0])
		return rc;
	snprintf(why, sizeof(why), "%s", err_text());
	d->kernels_are_ready_made = load_image(d, ready) == 0;
	return d->kernels_are_ready_made ? 0 : err_note(rc, "%s", why);
}

/* ------------------------------------------------------------------ finding kernels */

static bool takes_clock(const char *name)
{
	return strcmp(name, "hold") == 0 || strcmp(name, "stamp") == 0 || strcmp(name, "await") == 0;
}

/* A kernel's other handle, so that no launch has to wait for another's to be set. */
static int add_cached(struct gpu_dev *d, struct dev_kernel *k, const char *name)
{
	int rc = d->driver->function(d->cached_module, name, &k->cached_function);
	if (!rc)
		rc = d->driver->function_allow_shared(k->cached_function, k->most_shared_bytes);
	return rc ? rc : d->driver->function_prefer_cache(k->cached_function);
}

static int add_kernel(struct gpu_dev *d, const struct kernel_signature *signature)
{
	struct dev_kernel *k = &d->kernels[d->kernel_count];
	char name[64];
	uint64_t own_bytes = 0;
	snprintf(name, sizeof(name), PREFIX "%s", signature->name);
	k->signature = signature;
	k->timed = takes_clock(signature->name);
	int rc = d->driver->function(d->module, name, &k->function);
	if (rc == -ENOENT && signature->may_lack)
		return 0;
	if (!rc)
		rc = d->driver->function_static_shared(k->function, &own_bytes);
	if (rc)
		return rc;
	k->most_shared_bytes = d->traits.shared_per_block_bytes - own_bytes;
	rc = d->driver->function_allow_shared(k->function, k->most_shared_bytes);
	if (!rc && d->cached_module)
		rc = add_cached(d, k, name);
	if (!rc)
		rc = d->driver->occupancy(k->function, GPU_BLOCK_THREADS, 0, &k->resident);
	d->kernel_count += !rc;
	return rc;
}

static int add_inner(struct gpu_dev *d, const char *name, void **function_p, uint64_t *own_bytes_p)
{
	int rc = d->driver->function(d->module, name, function_p);
	if (!rc && own_bytes_p)
		rc = d->driver->function_static_shared(*function_p, own_bytes_p);
	if (!rc && own_bytes_p)
		rc = d->driver->function_allow_shared(*function_p, d->traits.shared_per_block_bytes - *own_bytes_p);
	return rc;
}

int gpu_kernels_open(struct gpu_dev *d)
{
	size_t count;
	const struct kernel_signature *signatures = kernel_signatures(&count);
	int rc = load_module(d);
	if (!rc && count > GPU_KERNELS)
		rc = err_note(-EINVAL, "%zu kernels, room for %u", count, GPU_KERNELS);
	for (size_t i = 0; i < count && !rc; i++)
		rc = add_kernel(d, &signatures[i]);
	if (!rc)
		rc = add_inner(d, PREFIX "clock_sync", &d->clock_sync, NULL);
	if (!rc)
		rc = add_inner(d, PREFIX "clock_sample", &d->clock_sample, NULL);
	if (!rc)
		rc = add_inner(d, PREFIX "timer_step", &d->timer_step, NULL);
	if (!rc)
		rc = add_inner(d, PREFIX "gemm_f32", &d->gemm_f32, &d->gemm_f32_shared);
	gpu_mma_describe(d);
	return rc ? rc : add_inner(d, PREFIX "gemm_f64", &d->gemm_f64, &d->gemm_f64_shared);
}

void gpu_kernels_close(struct gpu_dev *d)
{
	if (d->cached_module)
		d->driver->module_unload(d->cached_module);
	if (d->module)
		d->driver->module_unload(d->module);
	d->module = d->cached_module = NULL;
}

int gpu_kernel_find(struct dev *dev, const char *name, struct dev_kernel **k_p)
{
	struct gpu_dev *d = gpu_of(dev);
	for (size_t i = 0; i < d->kernel_count; i++) {
		if (strcmp(d->kernels[i].signature->name, name) != 0)
			continue;
		*k_p = &d->kernels[i];
		return 0;
	}
	const struct kernel_signature *signature = kernel_signature_named(name);
	if (signature && signature->may_lack)
		return err_note(-ENOENT, "%s (%s) lacks kernel '%s': the architecture, or the compiler of the kernels, has no such units",
		                d->dev.props.name, d->traits.arch, name);
	return err_note(-ENOENT, "%s has no kernel '%s'", d->vendor->name, name);
}

/* ------------------------------------------------------------------ launching */

static int check_shape(const struct gpu_dev *d, const struct dev_kernel *k, uint32_t block, uint64_t shared_bytes)
{
	if (block > GPU_BLOCK_THREADS || block % d->traits.warp_threads)
		return err_note(-EINVAL, "%s: a block of %u threads: multiples of %u up to %u are possible", k->signature->name,
		                block, d->traits.warp_threads, GPU_BLOCK_THREADS);
	if (k->signature->group_threads && block % k->signature->group_threads)
		return err_note(-EINVAL, "%s: a block of %u threads: multiples of %u are possible", k->signature->name, block,
		                k->signature->group_threads);
	if (shared_bytes > k->most_shared_bytes)
		return err_note(-EINVAL, "%s: %llu bytes of shared memory a block: the limit is %llu", k->signature->name,
		                (unsigned long long)shared_bytes, (unsigned long long)k->most_shared_bytes);
	return 0;
}

int gpu_occupancy(struct dev *dev, struct dev_kernel *k, uint32_t block, uint64_t shared_bytes, uint32_t *blocks_p)
{
	struct gpu_dev *d = gpu_of(dev);
	uint32_t threads = block ? block : GPU_BLOCK_THREADS;
	int rc = check_shape(d, k, threads, shared_bytes);
	if (!rc)
		rc = gpu_enter(d);
	if (!rc && threads == GPU_BLOCK_THREADS && shared_bytes == 0) {
		*blocks_p = k->resident;
		return 0;
	}
	return rc ? rc : gpu_answer(d, d->driver->occupancy(k->function, threads, shared_bytes, blocks_p));
}

/* What the arguments point at; returns how many. */
static size_t ranges_of(const struct dev_kernel *k, const union kernel_arg *args, uint32_t grid, struct gpu_range *ranges)
{
	const struct kernel_parameter *p = k->signature->parameters;
	size_t count = 0;
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS && p[i].size; i++)
		if (p[i].extent)
			ranges[count++] = (struct gpu_range){.ptr = args[i].pointer,
			                                     .bytes = kernel_args_extent(k->signature, args, i, grid)};
	return count;
}

int gpu_launch(struct dev *dev, struct dev_stream *s, struct dev_kernel *k, const struct dev_launch *l)
{
	struct gpu_dev *d = gpu_of(dev);
	union kernel_arg args[DEV_KERNEL_MAX_ARGS];
	struct gpu_range ranges[DEV_KERNEL_MAX_ARGS];
	void *slots[DEV_KERNEL_MAX_ARGS + 1];
	uint32_t threads = l->block ? l->block : GPU_BLOCK_THREADS;
	unsigned count = 0;
	if (l->grid == 0)
		return err_note(-EINVAL, "launch %s: a grid of 0 blocks", k->signature->name);
	int rc = check_shape(d, k, threads, l->shared_bytes);
	if (!rc)
		rc = kernel_args_copy(k->signature, l->args, args);
	if (!rc)
		rc = gpu_enqueue(d, s, ranges, ranges_of(k, args, l->grid, ranges));
	if (rc)
		return rc;
	for (; count < DEV_KERNEL_MAX_ARGS && k->signature->parameters[count].size; count++)
		slots[count] = &args[count];
	/* The driver copies arguments before it returns. */
	struct gpu_clock_map clock = k->timed ? gpu_clock_map(d) : (struct gpu_clock_map){0};
	if (k->timed)
		slots[count] = &clock;
	void *function = l->prefer_cache && k->cached_function ? k->cached_function : k->function;
	return gpu_answer(d, d->driver->launch(s->handle, function, l->grid, threads, l->shared_bytes, slots));
}
