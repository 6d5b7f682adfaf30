/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_dev.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "gpusig_"

/* ------------------------------------------------------------------ images */

/* Compiling takes about a second, so devices of one architecture share the image. Images are kept
 * until the process ends. */
static struct image {
	const struct gpu_vendor *vendor;
	char arch[32];
	unsigned release; /* of the compiler */
	void *bytes;
	struct image *next;
} * images;
static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;

/* Finds an image made by this or a later release of the compiler. */
static struct image *find_image(const struct gpu_dev *d, unsigned release)
{
	struct image *i = images;
	while (i && (i->vendor != d->vendor || i->release < release ||
		     strcmp(i->arch, d->traits.arch) != 0))
		i = i->next;
	return i;
}

static int compile_image(const struct gpu_dev *d, unsigned release, struct image **image_p)
{
	const struct gpu_target target = {.arch = d->traits.arch,
					  .driver_version = d->traits.driver_version};
	size_t bytes = 0;
	struct image *i = calloc(1, sizeof(*i));
	if (!i)
		return err_note(-ENOMEM, "compile kernels: out of memory");
	i->vendor = d->vendor;
	i->release = release;
	int status = d->vendor->compiler->compile(gpu_kernels_source, &target, &i->release,
						  &i->bytes, &bytes);
	if (status) {
		free(i);
		return status;
	}
	snprintf(i->arch, sizeof(i->arch), "%s", d->traits.arch);
	i->next = images;
	images = i;
	*image_p = i;
	return 0;
}

static int find_or_compile_image(const struct gpu_dev *d, unsigned release, struct image **image_p)
{
	pthread_mutex_lock(&compiling);
	struct image *i = find_image(d, release);
	int status = i ? 0 : compile_image(d, release, &i);
	pthread_mutex_unlock(&compiling);
	if (!status)
		*image_p = i;
	return status;
}

static int load_image(struct gpu_dev *d, const void *image)
{
	int status = d->driver->module_load(image, &d->module);
	if (!status && d->driver->function_prefer_cache)
		status = d->driver->module_load(image, &d->cached_module);
	if (status && d->module)
		d->driver->module_unload(d->module);
	if (status)
		d->module = NULL;
	return status;
}

/* The driver may reject the image of one release of the compiler and accept that of the next. */
static int load_compiled(struct gpu_dev *d)
{
	struct image *i;
	char why[ERR_TEXT] = "";
	int status, first_status = 0;
	for (unsigned release = 0; (status = find_or_compile_image(d, release, &i)) == 0;
	     release = i->release + 1) {
		status = load_image(d, i->bytes);
		d->compiler_release = i->release;
		if (!status || status == -EIO || status == -ENOMEM)
			return status;
		if (!first_status)
			text_fit(why, sizeof(why), "%s", err_text());
		first_status = first_status ? first_status : status;
	}
	return first_status ? err_note(first_status, "%s", why) : status;
}

/* Loads the image that the build made if no compiler's image can be loaded.
 * kernels_are_ready_made says which it was.
 */
static int load_module(struct gpu_dev *d)
{
	const char *prebuilt = d->vendor->prebuilt_image;
	char why[ERR_TEXT];
	int status = load_compiled(d);
	if (!status || status == -EIO || status == -ENOMEM || !prebuilt || !prebuilt[0])
		return status;
	text_fit(why, sizeof(why), "%s", err_text());
	d->kernels_are_ready_made = load_image(d, prebuilt) == 0;
	return d->kernels_are_ready_made ? 0 : err_note(status, "%s", why);
}

/* ------------------------------------------------------------------ finding kernels */

/* A second handle of the kernel, for launches that prefer cache: changing the preference of one
 * handle could make launches wait. */
static int add_cached_function(struct gpu_dev *d, struct dev_kernel *k, const char *name)
{
	int status = d->driver->function(d->cached_module, name, &k->cached_function);
	if (!status)
		status = d->driver->function_allow_shared(k->cached_function, k->max_shared_bytes);
	return status ? status : d->driver->function_prefer_cache(k->cached_function);
}

static int set_up_kernel(struct gpu_dev *d, struct dev_kernel *k)
{
	char name[64];
	uint64_t own_bytes = 0;
	snprintf(name, sizeof(name), PREFIX "%s", k->signature->name);
	int status = d->driver->function(d->module, name, &k->function);
	if (!status)
		status = d->driver->function_static_shared(k->function, &own_bytes);
	if (status)
		return status;
	k->max_shared_bytes = d->traits.shared_per_block_bytes - own_bytes;
	status = d->driver->function_allow_shared(k->function, k->max_shared_bytes);
	if (!status && d->cached_module)
		status = add_cached_function(d, k, name);
	return status ? status
		      : d->driver->occupancy(k->function, GPU_BLOCK_THREADS, 0, &k->resident);
}

/* Runtimes do not agree on the error for a kernel that an image lacks, and after one that ended the
 * context the next kernel fails too. */
static int add_kernel(struct gpu_dev *d, const struct kernel_signature *signature)
{
	struct dev_kernel *k = &d->kernels[d->kernel_count];
	*k = (struct dev_kernel){.signature = signature};
	int status = set_up_kernel(d, k);
	d->kernel_count += !status;
	return status && signature->may_lack ? 0 : status;
}

static int add_internal_kernel(struct gpu_dev *d, const char *name, void **function_p,
			       uint64_t *own_bytes_p)
{
	int status = d->driver->function(d->module, name, function_p);
	if (!status && own_bytes_p)
		status = d->driver->function_static_shared(*function_p, own_bytes_p);
	if (!status && own_bytes_p)
		status = d->driver->function_allow_shared(
			*function_p, d->traits.shared_per_block_bytes - *own_bytes_p);
	return status;
}

static const char *const tiled_names[GPU_TILED_KERNELS] = {
	[GPU_TILED_F32] = PREFIX "gemm_f32",
	[GPU_TILED_F64] = PREFIX "gemm_f64",
	[GPU_TILED_TEXTBOOK_32] = PREFIX "gemm_textbook_32",
	[GPU_TILED_TEXTBOOK_64] = PREFIX "gemm_textbook_64",
	[GPU_TILED_ADDING_F32] = PREFIX "gemm_adding_f32",
	[GPU_TILED_ADDING_F64] = PREFIX "gemm_adding_f64",
};

int gpu_kernels_open(struct gpu_dev *d)
{
	size_t count;
	const struct kernel_signature *signatures = kernel_signatures(&count);
	int status = load_module(d);
	for (size_t i = 0; i < count && !status; i++)
		status = add_kernel(d, &signatures[i]);
	if (!status)
		status = add_internal_kernel(d, PREFIX "clock_sync", &d->clock_sync, NULL);
	if (!status)
		status = add_internal_kernel(d, PREFIX "clock_sample", &d->clock_sample, NULL);
	if (!status)
		status = add_internal_kernel(d, PREFIX "timer_step", &d->timer_step, NULL);
	for (size_t i = 0; i < GPU_TILED_KERNELS && !status; i++)
		status = add_internal_kernel(d, tiled_names[i], &d->tiled[i].function,
					     &d->tiled[i].own_bytes);
	gpu_mma_describe(d);
	return status;
}

int gpu_released_open(struct gpu_dev *d)
{
	void *stream = d->internal_stream->handle, *words = NULL;
	const uint64_t bytes = GPU_RELEASED * sizeof(*d->released);
	int status = d->driver->alloc(bytes, &words);
	d->released = words;
	if (!status)
		status = d->driver->fill(stream, words, 0, bytes);
	return status ? status : d->driver->stream_sync(stream);
}

void gpu_kernels_close(struct gpu_dev *d)
{
	if (d->released)
		d->driver->free(d->released);
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
		return err_note(-ENOENT,
				"kernel '%s' is not supported on %s (%s): the architecture, or the "
				"compiler of "
				"the kernels, lacks the matrix units",
				name, d->dev.props.name, d->traits.arch);
	return err_note(-ENOENT, "%s has no kernel '%s'", d->vendor->name, name);
}

/* ------------------------------------------------------------------ launching */

static int check_launch_shape(const struct gpu_dev *d, const struct dev_kernel *k, uint32_t block,
			      uint64_t shared_bytes)
{
	if (block > GPU_BLOCK_THREADS || block % d->traits.warp_threads)
		return err_note(
			-EINVAL, "%s: a block of %u threads; must be a multiple of %u, at most %u",
			k->signature->name, block, d->traits.warp_threads, GPU_BLOCK_THREADS);
	if (k->signature->group_threads && block % k->signature->group_threads)
		return err_note(-EINVAL, "%s: a block of %u threads; must be a multiple of %u",
				k->signature->name, block, k->signature->group_threads);
	if (shared_bytes > k->max_shared_bytes)
		return err_note(-EINVAL,
				"%s: %llu bytes of shared memory per block; the limit is %llu",
				k->signature->name, (unsigned long long)shared_bytes,
				(unsigned long long)k->max_shared_bytes);
	return 0;
}

int gpu_occupancy(struct dev *dev, struct dev_kernel *k, uint32_t block, uint64_t shared_bytes,
		  uint32_t *blocks_p)
{
	struct gpu_dev *d = gpu_of(dev);
	uint32_t threads = block ? block : GPU_BLOCK_THREADS;
	int status = check_launch_shape(d, k, threads, shared_bytes);
	if (!status)
		status = gpu_ctx_use(d);
	if (!status && threads == GPU_BLOCK_THREADS && shared_bytes == 0) {
		*blocks_p = k->resident;
		return 0;
	}
	return status ? status
		      : gpu_check(d, d->driver->occupancy(k->function, threads, shared_bytes,
							  blocks_p));
}

/* A graph is launched several times: its kernels have no word, which an earlier launch would have
 * set. */
static struct gpu_timed timed_argument(struct gpu_dev *d, const struct dev_stream *s)
{
	struct gpu_timed timed = {.clock = gpu_clock_map(d)};
	while (!s->capturing && !timed.launch)
		timed.launch = atomic_fetch_add(&d->timed_launches, 1) + 1;
	timed.released = d->released + timed.launch % GPU_RELEASED;
	return timed;
}

int gpu_launch(struct dev *dev, struct dev_stream *s, struct dev_kernel *k,
	       const struct dev_launch *l)
{
	struct gpu_dev *d = gpu_of(dev);
	void *slots[DEV_KERNEL_MAX_ARGS + 1];
	uint32_t threads = l->block ? l->block : GPU_BLOCK_THREADS;
	unsigned count = 0;
	if (l->grid == 0)
		return err_note(-EINVAL, "launch %s: a grid of 0 blocks", k->signature->name);
	int status = check_launch_shape(d, k, threads, l->shared_bytes);
	if (!status)
		status = gpu_enqueue(d, s);
	if (status)
		return status;
	/* The driver copies the arguments before it returns. */
	for (; count < DEV_KERNEL_MAX_ARGS && k->signature->parameters[count].size; count++)
		slots[count] = (void *)(uintptr_t)l->args[count];
	struct gpu_timed timed = {0};
	if (k->signature->timed) {
		timed = timed_argument(d, s);
		slots[count] = &timed;
	}
	void *function = l->prefer_cache && k->cached_function ? k->cached_function : k->function;
	return gpu_check(d, d->driver->launch(s->handle, function, l->grid, threads,
					      l->shared_bytes, slots));
}
