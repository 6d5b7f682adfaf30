/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device/sim_world.h"
#include "lib/err.h"

/* ------------------------------------------------------------------ bookkeeping */

int op_use(struct sim_dev *d, struct op *op, const void *at, uint64_t bytes, const char *what, struct alloc **a_p)
{
	struct alloc *a = memory_find(d, at, bytes, what);
	if (!a)
		return -EFAULT;
	op->use[op->uses++] = a;
	if (a_p)
		*a_p = a;
	return 0;
}

void op_traffic(struct op *op, struct alloc *a, double amount, bool write, enum path path)
{
	op->traffic[op->traffics].at = a;
	op->traffic[op->traffics].amount = amount;
	op->traffic[op->traffics].path = path;
	op->traffic[op->traffics++].write = write;
}

/* ------------------------------------------------------------------ arguments */

static int read_args(struct sim_dev *d, struct op *op, const void *const *args)
{
	for (int i = 0; op->type->args[i]; i++) {
		if (!args || !args[i])
			return err_note(-EINVAL, "sim:%u: launch %s: argument %d is missing", d->base.index, op->type->name, i);
		switch (op->type->args[i]) {
		case 'p': memcpy(&op->arg[i].pointer, args[i], sizeof(void *)); break;
		case 'q': memcpy(&op->arg[i].u64, args[i], sizeof(uint64_t)); break;
		case 'u': memcpy(&op->arg[i].u32, args[i], sizeof(uint32_t)); break;
		default: memcpy(&op->arg[i].f32, args[i], sizeof(float)); break;
		}
	}
	return 0;
}

int kernel_prepare(struct sim_dev *d, struct op *op, const void *const *args)
{
	int rc = read_args(d, op, args);
	return rc ? rc : op->type->prepare(d, op);
}

/* Argument `i` is an array of `bytes`, passed `passes` times; one of the large aligned arrays. */
static int array(struct sim_dev *d, struct op *op, int i, uint64_t bytes, double passes, bool write)
{
	struct alloc *a;
	void *at = op->arg[i].pointer;
	if (bytes % DEV_KERNEL_ALIGN)
		return err_note(-EINVAL, "sim:%u: launch %s: %llu bytes are not a multiple of %u", d->base.index,
		                op->type->name, (unsigned long long)bytes, DEV_KERNEL_ALIGN);
	int rc = op_use(d, op, at, bytes, op->type->name, &a);
	if (rc)
		return rc;
	if ((uintptr_t)at % DEV_KERNEL_ALIGN)
		return err_note(-EINVAL, "sim:%u: launch %s: argument %d is not aligned to %u", d->base.index, op->type->name,
		                i, DEV_KERNEL_ALIGN);
	op_traffic(op, a, (double)bytes * passes, write, PATH_MEMORY);
	return 0;
}

/* Argument `i` is `count` words of `size` bytes; traffic not worth counting. */
static int words(struct sim_dev *d, struct op *op, int i, uint64_t count, uint64_t size)
{
	int rc = op_use(d, op, op->arg[i].pointer, count * size, op->type->name, NULL);
	if (!rc && (uintptr_t)op->arg[i].pointer % size)
		rc = err_note(-EINVAL, "sim:%u: launch %s: argument %d is not aligned to %llu", d->base.index,
		              op->type->name, i, (unsigned long long)size);
	return rc;
}

static void choose_cache(struct sim_dev *d, struct op *op, uint64_t bytes)
{
	uint64_t footprint = 0;
	for (unsigned i = 0; i < op->traffics; i++)
		footprint += op->traffic[i].at->dev == d && op->traffic[i].at->kind == DEV_MEM_DEVICE ? bytes : 0;
	if (footprint > d->model.llc_bytes || strstr(op->type->name, "_nt"))
		return;
	for (unsigned i = 0; i < op->traffics; i++)
		op->traffic[i].path = PATH_CACHE;
}

/* Blocks get whole lines, and the last one what is left over. */
static void slice(const struct op *op, uint64_t bytes, uint32_t block, uint64_t *from_p, uint64_t *to_p)
{
	uint64_t lines = bytes / DEV_KERNEL_ALIGN;
	*from_p = lines * block / op->grid * DEV_KERNEL_ALIGN;
	*to_p = block + 1 == op->grid ? bytes : lines * (block + 1) / op->grid * DEV_KERNEL_ALIGN;
}

static double part_of(const struct op *op, uint64_t bytes, uint32_t block)
{
	uint64_t from, to;
	slice(op, bytes, block, &from, &to);
	return bytes ? (double)(to - from) / (double)bytes : 0;
}

/* ------------------------------------------------------------------ empty, stamp, hold */

static int prepare_empty(struct sim_dev *d, struct op *op)
{
	(void)d;
	(void)op;
	return 0;
}

static int prepare_stamp(struct sim_dev *d, struct op *op) { return words(d, op, 0, op->grid, sizeof(uint64_t)); }

static void start_stamp(struct op *op, uint32_t block, uint64_t now_ns)
{
	((uint64_t *)op->arg[0].pointer)[block] = now_ns;
}

static int prepare_hold(struct sim_dev *d, struct op *op)
{
	op->until = 1;
	int rc = words(d, op, 0, 1, sizeof(uint32_t));
	if (!rc)
		rc = words(d, op, 1, 2, sizeof(uint32_t));
	return rc ? rc : words(d, op, 2, op->grid, sizeof(uint64_t));
}

static void start_hold(struct op *op, uint32_t block, uint64_t now_ns)
{
	((uint64_t *)op->arg[2].pointer)[block] = now_ns;
	((uint32_t *)op->arg[1].pointer)[0]++;
}

static void finish_hold(struct op *op, uint32_t block)
{
	(void)block;
	if (!kernel_is_released(op))
		((uint32_t *)op->arg[1].pointer)[1]++;
}

/* ------------------------------------------------------------------ signal, await */

bool kernel_is_released(const struct op *op) { return *(const uint32_t *)op->arg[0].pointer >= op->until; }

static int prepare_signal(struct sim_dev *d, struct op *op) { return words(d, op, 0, 1, sizeof(uint32_t)); }

static void finish_signal(struct op *op, uint32_t block)
{
	if (block)
		return;
	*(uint32_t *)op->arg[0].pointer = op->arg[1].u32;
	world_written();
}

static int prepare_await(struct sim_dev *d, struct op *op)
{
	op->until = op->arg[1].u32;
	int rc = words(d, op, 0, 1, sizeof(uint32_t));
	return rc ? rc : words(d, op, 2, 1, sizeof(uint32_t));
}

static void finish_await(struct op *op, uint32_t block)
{
	(void)block;
	if (!kernel_is_released(op))
		++*(uint32_t *)op->arg[2].pointer;
}

/* ------------------------------------------------------------------ read, write, copy, triad */

static int prepare_read(struct sim_dev *d, struct op *op)
{
	int rc = array(d, op, 0, op->arg[1].u64, op->arg[2].u32, false);
	if (!rc)
		rc = words(d, op, 3, 1, sizeof(uint32_t));
	if (!rc)
		choose_cache(d, op, op->arg[1].u64);
	return rc;
}

static double part_1(const struct op *op, uint32_t block) { return part_of(op, op->arg[1].u64, block); }
static double part_2(const struct op *op, uint32_t block) { return part_of(op, op->arg[2].u64, block); }
static double part_3(const struct op *op, uint32_t block) { return part_of(op, op->arg[3].u64, block); }

static void finish_read(struct op *op, uint32_t block)
{
	uint64_t from, to;
	uint32_t sum = 0;
	const uint32_t *src = op->arg[0].pointer;
	slice(op, op->arg[1].u64, block, &from, &to);
	for (uint64_t i = from / 4; i < to / 4; i++)
		sum += src[i];
	if (op->arg[2].u32)
		*(uint32_t *)op->arg[3].pointer += sum;
}

static int prepare_write(struct sim_dev *d, struct op *op)
{
	int rc = array(d, op, 0, op->arg[1].u64, op->arg[2].u32, true);
	if (!rc)
		choose_cache(d, op, op->arg[1].u64);
	return rc;
}

static void finish_write(struct op *op, uint32_t block)
{
	uint64_t from, to;
	uint32_t *dst = op->arg[0].pointer;
	slice(op, op->arg[1].u64, block, &from, &to);
	for (uint64_t i = from / 4; i < to / 4 && op->arg[2].u32; i++)
		dst[i] = op->arg[3].u32;
}

static int prepare_copy(struct sim_dev *d, struct op *op)
{
	int rc = array(d, op, 0, op->arg[2].u64, op->arg[3].u32, true);
	if (!rc)
		rc = array(d, op, 1, op->arg[2].u64, op->arg[3].u32, false);
	if (!rc)
		choose_cache(d, op, op->arg[2].u64);
	return rc;
}

static void finish_copy(struct op *op, uint32_t block)
{
	uint64_t from, to;
	slice(op, op->arg[2].u64, block, &from, &to);
	if (to > from && op->arg[3].u32)
		memmove((char *)op->arg[0].pointer + from, (const char *)op->arg[1].pointer + from, to - from);
}

static int prepare_triad(struct sim_dev *d, struct op *op)
{
	int rc = 0;
	for (int i = 0; i < 3 && !rc; i++)
		rc = array(d, op, i, op->arg[3].u64, op->arg[4].u32, i == 0);
	if (!rc)
		choose_cache(d, op, op->arg[3].u64);
	return rc;
}

static void finish_triad(struct op *op, uint32_t block)
{
	uint64_t from, to;
	float *a = op->arg[0].pointer;
	const float *b = op->arg[1].pointer, *c = op->arg[2].pointer;
	slice(op, op->arg[3].u64, block, &from, &to);
	for (uint64_t i = from / 4; i < to / 4 && op->arg[4].u32; i++)
		a[i] = b[i] + op->arg[5].f32 * c[i];
}

/* What is added to is read and written; it counts once for the cache. */
static int prepare_reduce_add(struct sim_dev *d, struct op *op)
{
	int rc = prepare_copy(d, op);
	if (!rc)
		op_traffic(op, op->traffic[0].at, op->traffic[0].amount, false, op->traffic[0].path);
	return rc;
}

static void finish_reduce_add(struct op *op, uint32_t block)
{
	uint64_t from, to;
	float *dst = op->arg[0].pointer;
	const float *src = op->arg[1].pointer;
	slice(op, op->arg[2].u64, block, &from, &to);
	for (uint32_t rep = 0; rep < op->arg[3].u32; rep++)
		for (uint64_t i = from / 4; i < to / 4; i++)
			dst[i] += src[i];
}

/* ------------------------------------------------------------------ chase */

static int prepare_chase(struct sim_dev *d, struct op *op)
{
	const uint64_t bytes = op->arg[1].u64;
	int rc = array(d, op, 0, bytes, 0, false);
	if (!rc)
		rc = words(d, op, 3, 1, sizeof(uint64_t));
	if (rc)
		return rc;
	const bool own = op->use[0]->dev == d && op->use[0]->kind == DEV_MEM_DEVICE;
	const double near_ns = bytes <= d->model.llc_bytes ? d->model.llc_latency_ns : d->model.memory_latency_ns;
	op->first_block_ns = (double)op->arg[2].u64 * (own ? near_ns : d->model.link_latency_ns);
	return 0;
}

static void finish_chase(struct op *op, uint32_t block)
{
	const uint64_t ring = (uintptr_t)op->arg[0].pointer, bytes = op->arg[1].u64;
	uint64_t at = ring, steps = op->arg[2].u64;
	if (block)
		return;
	/* What lies before the ring is far behind it. */
	for (; steps > 0 && at - ring < bytes && at % sizeof(at) == 0; steps--)
		at = *(const uint64_t *)(uintptr_t)at;
	if (steps > 0) {
		op->stream->failed = -EFAULT;
		snprintf(op->stream->failure, sizeof(op->stream->failure), "sim: chase came to %#llx, not an entry of the ring at %#llx",
		         (unsigned long long)at, (unsigned long long)ring);
		return;
	}
	*(uint64_t *)op->arg[3].pointer = at;
}

/* ------------------------------------------------------------------ fma */

static int prepare_fma(struct sim_dev *d, struct op *op)
{
	bool wide = strcmp(op->type->name, "fma_f64") == 0;
	if (op->arg[1].u64 % DEV_FMA_QUANTUM)
		return err_note(-EINVAL, "sim:%u: launch %s: %llu multiply-adds are not a multiple of %u", d->base.index,
		                op->type->name, (unsigned long long)op->arg[1].u64, DEV_FMA_QUANTUM);
	op->block_flops = 2.0 * (double)op->arg[1].u64;
	op->peak_flops = (wide ? d->model.flops_f64 : d->model.flops_f32) * 1e-9;
	return words(d, op, 0, op->grid, wide ? sizeof(double) : sizeof(float));
}

static void finish_fma_f32(struct op *op, uint32_t block) { ((float *)op->arg[0].pointer)[block] = 0.5f; }
static void finish_fma_f64(struct op *op, uint32_t block) { ((double *)op->arg[0].pointer)[block] = 0.5; }

/* ------------------------------------------------------------------ the table */

static const struct kernel_type types[] = {
	{ .name = "empty", .args = "", .prepare = prepare_empty },
	{ .name = "read", .args = "pqup", .prepare = prepare_read, .part = part_1, .finish = finish_read },
	{ .name = "write", .args = "pquu", .prepare = prepare_write, .part = part_1, .finish = finish_write },
	{ .name = "write_nt", .args = "pquu", .prepare = prepare_write, .part = part_1, .finish = finish_write },
	{ .name = "copy", .args = "ppqu", .prepare = prepare_copy, .part = part_2, .finish = finish_copy },
	{ .name = "copy_nt", .args = "ppqu", .prepare = prepare_copy, .part = part_2, .finish = finish_copy },
	{ .name = "triad", .args = "pppquf", .prepare = prepare_triad, .part = part_3, .finish = finish_triad },
	{ .name = "triad_nt", .args = "pppquf", .prepare = prepare_triad, .part = part_3, .finish = finish_triad },
	{ .name = "reduce_add", .args = "ppqu", .prepare = prepare_reduce_add, .part = part_2, .finish = finish_reduce_add },
	{ .name = "chase", .args = "pqqp", .prepare = prepare_chase, .finish = finish_chase },
	{ .name = "fma_f32", .args = "pq", .prepare = prepare_fma, .finish = finish_fma_f32 },
	{ .name = "fma_f64", .args = "pq", .prepare = prepare_fma, .finish = finish_fma_f64 },
	{ .name = "hold", .args = "pppq", .prepare = prepare_hold, .start = start_hold, .finish = finish_hold, .holds = true },
	{ .name = "stamp", .args = "p", .prepare = prepare_stamp, .start = start_stamp },
	{ .name = "signal", .args = "pu", .prepare = prepare_signal, .finish = finish_signal },
	{ .name = "await", .args = "pupq", .prepare = prepare_await, .finish = finish_await, .holds = true },
};

/* dev_copy() of a device without engines: any size and alignment. */
const struct kernel_type kernel_copy_type = { .name = "engine", .args = "", .part = part_2, .finish = finish_copy };

size_t kernels_fill(struct dev_kernel *kernels, size_t room)
{
	size_t count = sizeof(types) / sizeof(types[0]);
	for (size_t i = 0; i < count && i < room; i++)
		kernels[i].type = &types[i];
	return count < room ? count : room;
}

/* ------------------------------------------------------------------ faults */

/* An exponent bit of a float or double: no tolerance forgives it. */
static void flip(char *at, uint64_t bytes)
{
	if (bytes == 0)
		return;
	uint64_t i = (bytes / 2) | 7;
	at[i < bytes ? i : bytes - 1] ^= 0x40;
}

void kernel_corrupt(struct op *op)
{
	const char *args = op->type ? op->type->args : "";
	if (op->kind == OP_COPY || op->type == &kernel_copy_type)
		flip(op->dst, op->bytes);
	else if (strcmp(args, "pqup") == 0)
		flip(op->arg[3].pointer, sizeof(uint32_t));
	else if (strcmp(args, "pquu") == 0)
		flip(op->arg[0].pointer, op->arg[1].u64);
	else if (strcmp(args, "ppqu") == 0)
		flip(op->arg[0].pointer, op->arg[2].u64);
	else if (strcmp(args, "pppquf") == 0)
		flip(op->arg[0].pointer, op->arg[3].u64);
	else if (strcmp(args, "pq") == 0)
		flip(op->arg[0].pointer, strcmp(op->type->name, "fma_f64") == 0 ? sizeof(double) : sizeof(float));
	else if (strcmp(args, "pqqp") == 0)
		flip(op->arg[3].pointer, sizeof(uint64_t));
	else if (strcmp(args, "pu") == 0)
		flip(op->arg[0].pointer, sizeof(uint32_t));
	else if (strcmp(args, "pupq") == 0)
		flip(op->arg[2].pointer, sizeof(uint32_t));
}
