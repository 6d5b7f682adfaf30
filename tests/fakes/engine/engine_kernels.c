/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_units.h"
#include "device/kernel_signature.h"
#include "lib/clock.h"
#include "tests/fakes/engine/engine.h"
#include "tests/fakes/engine/fibers.h"
#include "tests/fakes/faults.h"
#include "tests/fakes/image.h"
#include "tests/fakes/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A large offset, so that tests notice ticks that are not converted to the host's clock. */
#define TIMER_START ((uint64_t)1 << 60)

struct fake_module {
	struct fake_object object;
	char arch[FAKE_IMAGE_ARCH_BYTES]; /* of the image; "" for PTX text */
	struct fake_function *functions;
};

uint64_t fake_ticks(void)
{
	return TIMER_START + (uint64_t)((double)clock_ns() * fake_model.timer_hz / 1e9);
}
uint64_t fake_cycles(void) { return clock_ns() / 2 * 3; }

/* ------------------------------------------------------------------ images and functions */

/* The driver translates code of a virtual architecture for any later device. Code for "sm_90a" or
 * "compute_90a" runs on sm_90 only. */
static bool arch_fits_device(const char *arch)
{
	const char *mine = fake_model.arch();
	const size_t virtual = strlen("compute_"), real = strlen("sm_");
	char *features = NULL;
	if (strncmp(mine, "sm_", real) != 0)
		return strcmp(arch, mine) == 0;
	const bool any = strncmp(arch, "compute_", virtual) == 0;
	if (!any && strncmp(arch, "sm_", real) != 0)
		return false;
	const long its = strtol(arch + (any ? virtual : real), &features, 10),
		   own = strtol(mine + real, NULL, 10);
	return any && !features[0] ? its <= own : its == own;
}

/* Checks PTX as nvcc writes it. Only its target matters, since the kernels are compiled in. */
static bool ptx_fits_device(const char *ptx)
{
	const char *target = strncmp(ptx, "//", 2) == 0 ? strstr(ptx, "\n.target sm_") : NULL,
		   *mine = fake_model.arch();
	const size_t before = strlen("\n.target sm_"), real = strlen("sm_");
	return target && strncmp(mine, "sm_", real) == 0 &&
	       strtol(target + before, NULL, 10) <= strtol(mine + real, NULL, 10);
}

int fake_module_load(struct fake_gpu *g, const void *image, void **module_p)
{
	const struct fake_image *i = image;
	const bool ours = image && strncmp(i->word, FAKE_IMAGE_WORD, sizeof(i->word)) == 0;
	if (!ours && !(image && ptx_fits_device(image)))
		return FAKE_INVALID_IMAGE;
	if (ours && !arch_fits_device(i->arch))
		return FAKE_NO_BINARY;
	fake_lock();
	int status = fake_capture_refuses();
	struct fake_module *module =
		status ? NULL : fake_object_new(g, FAKE_MODULE, sizeof(*module));
	if (module && ours)
		memcpy(module->arch, i->arch, sizeof(module->arch));
	fake_unlock();
	if (!module)
		return status ? status : FAKE_OUT_OF_MEMORY;
	*module_p = module;
	return FAKE_OK;
}

int fake_module_unload(struct fake_gpu *g, void *module)
{
	fake_lock();
	struct fake_module *m = fake_object_find(module, FAKE_MODULE);
	while (m && m->functions) {
		struct fake_function *f = m->functions;
		m->functions = f->next;
		fake_object_delete(&f->object);
	}
	if (m)
		fake_object_delete(&m->object);
	fake_unlock();
	return m ? FAKE_OK : FAKE_INVALID_HANDLE;
}

static const struct fake_kernel *kernel_named(const char *name)
{
	for (const struct fake_kernel *k = fake_kernels; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

static bool starts_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* True if the vendors' compilers generate this kernel of kernels_mma.inc for the architecture. */
static bool has_kernel(const struct fake_module *m, const char *name)
{
	const char *digits = m->arch + strcspn(m->arch, "0123456789");
	const long arch = starts_with(m->arch, "sm_") || starts_with(m->arch, "compute_")
				  ? strtol(digits, NULL, 10)
				  : 0;
	const bool cdna3 = starts_with(m->arch, "gfx94"),
		   cdna = cdna3 || starts_with(m->arch, "gfx908") || starts_with(m->arch, "gfx90a");
	if (starts_with(name, "gpusig_wgmma_"))
		return strcmp(digits, "90a") == 0;
	if (strcmp(name, "gpusig_mma_f8") == 0)
		return arch == 89 || arch >= 120 || cdna3;
	if (strcmp(name, "gpusig_mma_tf32") == 0)
		return arch >= 80 || cdna3;
	return !starts_with(name, "gpusig_mma_") || arch >= 80 || cdna;
}

static int add_function(struct fake_module *m, const struct fake_kernel *k, void **function_p)
{
	struct fake_function *f = fake_object_new(m->object.gpu, FAKE_FUNCTION, sizeof(*f));
	if (!f)
		return FAKE_OUT_OF_MEMORY;
	f->kernel = k;
	f->dynamic_max_bytes = fake_model.shared_default_bytes - k->shared_bytes;
	f->carveout = -1;
	f->next = m->functions;
	m->functions = f;
	*function_p = f;
	return FAKE_OK;
}

int fake_module_function(struct fake_gpu *g, void *module, const char *name, void **function_p)
{
	const struct fake_kernel *k = kernel_named(name);
	fake_lock();
	struct fake_module *m = fake_object_find(module, FAKE_MODULE);
	int status = !m                           ? FAKE_INVALID_HANDLE
		     : !k || !has_kernel(m, name) ? FAKE_NOT_FOUND
						  : FAKE_OK;
	struct fake_function *f = status ? NULL : m->functions;
	while (f && f->kernel != k)
		f = f->next;
	if (f)
		*function_p = f;
	else if (!status)
		status = add_function(m, k, function_p);
	fake_unlock();
	return status;
}

int fake_function_allow_shared(struct fake_gpu *g, void *function, int bytes)
{
	int status = FAKE_INVALID_HANDLE;
	fake_lock();
	struct fake_function *f = fake_object_find(function, FAKE_FUNCTION);
	if (f && (bytes < 0 ||
		  (uint64_t)bytes + f->kernel->shared_bytes > fake_model.shared_max_bytes)) {
		status = FAKE_INVALID_VALUE;
	} else if (f) {
		f->dynamic_max_bytes = (uint64_t)bytes;
		status = FAKE_OK;
	}
	fake_unlock();
	return status;
}

int fake_function_set_carveout(struct fake_gpu *g, void *function, int percent)
{
	fake_lock();
	struct fake_function *f = fake_object_find(function, FAKE_FUNCTION);
	if (f && percent >= -1 && percent <= 100)
		f->carveout = percent;
	fake_unlock();
	return !f                              ? FAKE_INVALID_HANDLE
	       : percent < -1 || percent > 100 ? FAKE_INVALID_VALUE
					       : FAKE_OK;
}

int fake_function_shared(struct fake_gpu *g, void *function, uint64_t *static_p,
			 uint64_t *dynamic_max_p)
{
	fake_lock();
	const struct fake_function *f = fake_object_find(function, FAKE_FUNCTION);
	if (f) {
		*static_p = f->kernel->shared_bytes;
		*dynamic_max_p = f->dynamic_max_bytes;
	}
	fake_unlock();
	return f ? FAKE_OK : FAKE_INVALID_HANDLE;
}

uint32_t fake_function_threads(void) { return FAKE_KERNEL_THREADS; }

/* ------------------------------------------------------------------ residence */

static uint64_t round_up(uint64_t value, uint64_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

static uint64_t shared_claim_bytes(uint64_t bytes)
{
	return round_up(bytes + fake_model.shared_reserved_bytes,
			fake_model.shared_granularity_bytes);
}

static uint32_t max_blocks_by_threads(uint32_t threads)
{
	const uint32_t fit =
		FAKE_THREADS_PER_UNIT / (uint32_t)round_up(threads, fake_model.warp_threads);
	return fit < HOST_SLOTS ? fit : HOST_SLOTS;
}

uint32_t fake_max_resident_blocks(uint32_t threads, uint64_t shared_bytes)
{
	const uint32_t by_threads = max_blocks_by_threads(threads);
	const uint64_t claim = shared_claim_bytes(shared_bytes),
		       by_shared = claim ? fake_model.shared_per_unit_bytes / claim : by_threads;
	return by_shared < by_threads ? (uint32_t)by_shared : by_threads;
}

static uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* The host backend's units limit blocks by their claim of shared memory alone. So a block's threads
 * and registers are expressed as a claim. */
static uint64_t host_claim_bytes(uint32_t threads, uint64_t shared_bytes)
{
	const uint64_t scaled = shared_claim_bytes(shared_bytes) * HOST_SHARED_BYTES,
		       per_unit = fake_model.shared_per_unit_bytes;
	const uint64_t by_shared = (scaled + per_unit - 1) / per_unit,
		       by_threads = HOST_SHARED_BYTES / max_blocks_by_threads(threads);
	return by_shared > by_threads ? by_shared : by_threads;
}

static uint64_t kernel_claim_bytes(const struct fake_kernel *k, uint32_t threads,
				   uint64_t shared_bytes)
{
	const uint64_t claim = host_claim_bytes(threads, k->shared_bytes + shared_bytes);
	const uint64_t by_registers =
		HOST_SHARED_BYTES / min_u32(fake_max_blocks_by_registers(k, threads), HOST_SLOTS);
	return claim > by_registers ? claim : by_registers;
}

int fake_occupancy(struct fake_gpu *g, void *function, int threads, uint64_t shared_bytes,
		   int *blocks_p)
{
	uint64_t static_bytes, max_dynamic_bytes;
	int status = fake_function_shared(g, function, &static_bytes, &max_dynamic_bytes);
	if (!status && (threads < 1 || threads > (int)FAKE_KERNEL_THREADS))
		status = FAKE_INVALID_VALUE;
	if (!status)
		*blocks_p = (int)min_u32(
			fake_max_resident_blocks((uint32_t)threads, static_bytes + shared_bytes),
			fake_max_blocks_by_registers(((struct fake_function *)function)->kernel,
						     (uint32_t)threads));
	return status;
}

/* ------------------------------------------------------------------ launches */

static size_t next_argument_offset(size_t offset, size_t bytes)
{
	return (size_t)round_up(offset + bytes, 16);
}

static int copy_arguments(struct fake_work_item *item, void **arguments)
{
	size_t offset = 0;
	for (size_t i = 0; i < item->kernel->count; i++) {
		const size_t bytes = item->kernel->sizes[i];
		if (!arguments || !arguments[i] || offset + bytes > sizeof(item->arguments))
			return FAKE_INVALID_VALUE;
		memcpy(item->arguments + offset, arguments[i], bytes);
		offset = next_argument_offset(offset, bytes);
	}
	return FAKE_OK;
}

/* FAKE_LAUNCHES. `wave`: blocks of the kernel that reside on all units together. */
static void log_launch(const struct fake_function *f, uint32_t grid, uint32_t wave)
{
	const char *path = getenv("FAKE_LAUNCHES");
	FILE *file = path ? fopen(path, "a") : NULL;
	if (!file)
		return;
	fprintf(file, "%s grid %u wave %u carveout %d\n", f->kernel->name, grid, wave, f->carveout);
	fclose(file);
}

int fake_launch(struct fake_gpu *g, void *stream, void *function, uint32_t grid, uint32_t threads,
		uint64_t shared_bytes, void **arguments)
{
	struct fake_op op = {.kind = FAKE_OP_LAUNCH};
	fake_lock();
	const struct fake_function *f = fake_object_find(function, FAKE_FUNCTION);
	struct fake_stream *s = fake_stream_find(stream);
	int status =
		f && s && f->object.gpu == g && s->object.gpu == g ? FAKE_OK : FAKE_INVALID_HANDLE;
	if (!status && (grid == 0 || threads == 0 || threads > FAKE_KERNEL_THREADS ||
			shared_bytes > f->dynamic_max_bytes))
		status = FAKE_INVALID_VALUE;
	if (!status)
		status = fake_fault(f->kernel->name, fake_result_by_name);
	if (!status) {
		op.launch.kernel = f->kernel;
		op.launch.grid = grid;
		op.launch.threads = threads;
		op.launch.claim_bytes = kernel_claim_bytes(f->kernel, threads, shared_bytes);
		log_launch(f, grid,
			   fake_units(g) *
				   min_u32(fake_max_resident_blocks(
						   threads, f->kernel->shared_bytes + shared_bytes),
					   fake_max_blocks_by_registers(f->kernel, threads)));
		status = copy_arguments(&op.launch, arguments);
	}
	if (!status)
		status = fake_submit(s, &op);
	fake_unlock();
	return status;
}

int fake_enqueue(void *stream, uint32_t blocks, fake_work *work, const void *argument, size_t bytes)
{
	struct fake_op op = {.kind = FAKE_OP_LAUNCH};
	if (blocks == 0 || bytes > sizeof(op.launch.arguments))
		return FAKE_INVALID_VALUE;
	op.launch.work = work;
	op.launch.grid = blocks;
	op.launch.claim_bytes = host_claim_bytes(FAKE_KERNEL_THREADS, 0);
	memcpy(op.launch.arguments, argument, bytes);
	fake_lock();
	struct fake_stream *s = fake_stream_find(stream);
	int status = s ? fake_submit(s, &op) : FAKE_INVALID_HANDLE;
	fake_unlock();
	return status;
}

/* ------------------------------------------------------------------ values in slots */

struct value_block {
	struct fake_gpu *gpu;
	uint32_t *at, value;
};

static void wait_value_block(uint32_t block, uint32_t blocks, void *arguments)
{
	const struct value_block *v = arguments;
	(void)block, (void)blocks;
	while (!fake_value_is_reached(v->at, v->value) && atomic_load(&v->gpu->fault) == FAKE_OK)
		usleep(50);
}

static void write_value_block(uint32_t block, uint32_t blocks, void *arguments)
{
	const struct value_block *v = arguments;
	(void)block, (void)blocks;
	__atomic_store_n(v->at, v->value, __ATOMIC_RELEASE);
}

void fake_value_block(struct fake_gpu *g, const struct fake_op *value, struct fake_op *launch)
{
	const struct value_block v = {.gpu = g, .at = value->value.at, .value = value->value.value};
	*launch = (struct fake_op){.kind = FAKE_OP_LAUNCH};
	launch->launch.work = value->kind == FAKE_OP_WAIT ? wait_value_block : write_value_block;
	launch->launch.grid = launch->launch.threads = 1;
	launch->launch.claim_bytes = host_claim_bytes(1, 0);
	memcpy(launch->launch.arguments, &v, sizeof(v));
}

/* As many as CLR takes for a copy between devices. */
#define COPY_BLOCKS 16u

struct copied {
	char *dst;
	const char *src;
	uint64_t bytes;
};

static void copy_block(uint32_t block, uint32_t blocks, void *arguments)
{
	const struct copied *c = arguments;
	const uint64_t first = c->bytes * block / blocks, end = c->bytes * (block + 1) / blocks;
	memcpy(c->dst + first, c->src + first, end - first);
}

void fake_copy_blocks(const struct fake_op *copy, struct fake_op *launch)
{
	const struct copied c = {copy->copy.dst, copy->copy.src, copy->copy.bytes};
	*launch = (struct fake_op){.kind = FAKE_OP_LAUNCH};
	launch->launch.work = copy_block;
	launch->launch.grid = COPY_BLOCKS;
	launch->launch.threads = FAKE_KERNEL_THREADS;
	launch->launch.claim_bytes = host_claim_bytes(FAKE_KERNEL_THREADS, 0);
	memcpy(launch->launch.arguments, &c, sizeof(c));
}

bool fake_is_drivers_own(const struct fake_work_item *item)
{
	return item->work == wait_value_block || item->work == write_value_block ||
	       item->work == copy_block;
}

/* The kernels access arrays 16 bytes at a time, which a GPU refuses at other addresses. */
static bool is_aligned(const struct fake_work_item *item, void *const *arguments)
{
	const struct kernel_signature *k =
		kernel_signature_named(item->kernel->name + strlen("gpusig_"));
	for (unsigned i = 0; k && i < DEV_KERNEL_MAX_ARGS && k->parameters[i].size; i++)
		if (k->parameters[i].extent == KERNEL_EXTENT_BYTES &&
		    (uintptr_t)((const union kernel_arg *)arguments[i])->pointer % 16)
			return false;
	return true;
}

static void run_kernel_block(struct fake_launch *l, uint32_t block, uint32_t blocks)
{
	struct fake_work_item *item = &l->item;
	void *arguments[FAKE_KERNEL_ARGUMENTS];
	size_t offset = 0;
	for (size_t i = 0; i < item->kernel->count; i++) {
		arguments[i] = item->arguments + offset;
		offset = next_argument_offset(offset, item->kernel->sizes[i]);
	}
	if (is_aligned(item, arguments))
		fake_block_run(item->kernel->call, arguments, item->threads, block, blocks);
	else
		fake_context_fail(l->gpu, FAKE_ILLEGAL_ADDRESS);
}

static void free_launch(struct fake_launch *l)
{
	fake_lock();
	*l->link = l->next;
	if (l->next)
		l->next->link = l->link;
	fake_unlock();
	free(l);
}

int fake_launch_block(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	struct fake_launch *l = args[0].pointer;
	if (l->fault)
		fake_context_fail(l->gpu, l->fault);
	if (atomic_load(&l->gpu->fault) == FAKE_OK) {
		if (l->item.work)
			l->item.work(b->index, b->grid, l->item.arguments);
		else
			run_kernel_block(l, b->index, b->grid);
	}
	if (atomic_fetch_add(&l->ended_blocks, 1) + 1 == b->grid)
		free_launch(l);
	return 0;
}
