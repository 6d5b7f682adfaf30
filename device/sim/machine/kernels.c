/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LEVELS in front of the last-level cache, which a device has where the model has their keys: an L1
 * of l1_bytes in every unit, an L2 of l2_bytes for every l2_units units. Each is empty when a
 * launch begins, and writes pass it. A launch that is not "_nt" has B bytes of own memory for every
 * unit that it has blocks for: all its arrays, divided by those units. What it reads of them in
 * repetitions after the first passes
 *
 *   l1_bandwidth    of its unit, and nothing else, if B is at most l1_bytes; with l1_divided = 1
 *                   shared memory is part of the L1, and without prefer_cache only what
 *                   shared_per_unit_bytes leaves is cache
 *   unit_bandwidth  and nothing else, if not, and B * l2_units is at most l2_bytes
 *
 * A chase finds the same. GEMMs, copies and fills know neither.
 *
 * ATTENTION computes as fma_f32 does: 4 * DEV_ATTENTION_DEPTH operations for every key that a row
 * sees, at flops_f32, in equal parts by all blocks, while it moves each of its arrays once. Softmax
 * reads what its rows see, and writes everything.
 */
#include "device/sim/machine/kernels.h"
#include "device/host/host_block.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/redirect.h"
#include "device/sim/machine/streams.h"

#include <errno.h>
#include <string.h>

/* ------------------------------------------------------------------ costs of a launch, from the
 * list
 */

static uint64_t bytes_argument(const struct op *op)
{
	const struct kernel_signature *k = op->type->signature;
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS; i++)
		if (k->parameters[i].bytes)
			return op->work->arg[i].u64;
	return 0;
}

/* 1 if the kernel has no such argument. */
static uint32_t reps_argument(const struct op *op)
{
	const struct kernel_signature *k = op->type->signature;
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS; i++)
		if (k->parameters[i].reps)
			return op->work->arg[i].u32;
	return 1;
}

/* Every array counts once. */
static uint64_t own_footprint(const struct sim_dev *d, const struct op *op)
{
	uint64_t footprint = 0;
	for (unsigned i = 0; i < op->traffics; i++)
		footprint += sim_is_own(d, op->work->traffic[i].at)
				     ? op->work->range[op->work->traffic[i].use].bytes
				     : 0;
	return footprint;
}

static void choose_traffic_path(struct sim_dev *d, struct op *op, uint64_t footprint)
{
	if (footprint > d->model.llc_bytes || op->type->signature->streaming)
		return;
	for (unsigned i = 0; i < op->traffics; i++)
		if (sim_is_own(d, op->work->traffic[i].at))
			op->work->traffic[i].path = PATH_CACHE;
}

/* Repeated reads come from the first level that holds the footprint. */
static void read_again(struct sim_dev *d, struct op *op, uint64_t footprint)
{
	const struct sim_model *m = &d->model;
	const uint32_t reps = reps_argument(op), units = op->grid < m->units ? op->grid : m->units;
	const double of_unit = (double)footprint / units;
	const bool in_l1 = of_unit <= (double)op->l1_bytes;
	const bool in_l2 = of_unit * m->l2_units <= (double)m->l2_bytes;
	const unsigned asked = op->traffics;
	if (reps < 2 || op->type->signature->streaming || !(in_l1 || (in_l2 && m->l2_bytes)))
		return;
	for (unsigned i = 0; i < asked; i++) {
		struct op_traffic *t = &op->work->traffic[i];
		if (t->write || !sim_is_own(d, t->at))
			continue;
		t->volume /= reps;
		op_traffic(op, t->use, t->volume * (reps - 1), false, in_l1 ? PATH_L1 : PATH_L2);
	}
}

/* Blocks get whole lines; the last block also gets the rest. */
static void block_range(const struct op *op, uint64_t bytes, uint32_t block, uint64_t *from_p,
			uint64_t *to_p)
{
	uint64_t lines = bytes / DEV_KERNEL_ALIGN;
	*from_p = lines * block / op->grid * DEV_KERNEL_ALIGN;
	*to_p = block + 1 == op->grid ? bytes : lines * (block + 1) / op->grid * DEV_KERNEL_ALIGN;
}

static double block_fraction(const struct op *op, uint64_t bytes, uint32_t block)
{
	uint64_t from, to;
	block_range(op, bytes, block, &from, &to);
	return bytes ? (double)(to - from) / (double)bytes : 0;
}

uint32_t kernel_block_tiles(const struct op *op, uint32_t block)
{
	return op->tiles ? (op->tiles - block - 1) / op->grid + 1 : 1;
}

/* Without data, blocks that differ by a line of memory count as equal, so that they are one group.
 */
static bool has_equal_blocks(const struct op *op)
{
	const struct sim_model *m = &op->stream->dev->model;
	return m->data == SIM_DATA_NONE && m->block_jitter_sigma <= 0;
}

double kernel_part(const struct op *op, uint32_t block)
{
	const uint64_t bytes = op->type->signature ? bytes_argument(op) : op->bytes;
	if (op->tiles)
		return (double)kernel_block_tiles(op, block) / op->tiles;
	if (has_equal_blocks(op))
		return 1.0 / op->grid;
	return bytes ? block_fraction(op, bytes, block) : 1.0 / op->grid;
}

uint32_t kernel_blocks_alike(const struct op *op, uint32_t block)
{
	const uint64_t bytes = op->type->signature ? bytes_argument(op) : op->bytes;
	const uint64_t lines = bytes / DEV_KERNEL_ALIGN;
	if (block == 0 && op->first_block_ns > 0)
		return 1;
	if (op->tiles) {
		const uint32_t longer = op->tiles % op->grid;
		const uint32_t alike = block < longer ? longer - block : op->grid - block;
		return sim_redirect_blocks_alike(op, block, alike);
	}
	if (has_equal_blocks(op) || !bytes)
		return op->grid - block;
	if (lines % op->grid)
		return 1;
	return block + 1 < op->grid && bytes % DEV_KERNEL_ALIGN ? op->grid - 1 - block
								: op->grid - block;
}

/* An array that is added to is both read and written, but counts once for the cache footprint. */
static void count_traffic(struct sim_dev *d, struct op *op)
{
	const struct kernel_parameter *p = op->type->signature->parameters;
	const double reps = reps_argument(op);
	unsigned uses = 0;
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS; i++) {
		if (p[i].access)
			op_traffic(op, uses, reps * (double)op->work->range[uses].bytes,
				   p[i].access & KERNEL_WRITES, PATH_MEMORY);
		uses += p[i].extent != KERNEL_EXTENT_NONE;
	}
	const uint64_t footprint = own_footprint(d, op);
	choose_traffic_path(d, op, footprint);
	uses = 0;
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS; i++) {
		if (p[i].access == (KERNEL_READS | KERNEL_WRITES))
			op_traffic(op, uses, reps * (double)op->work->range[uses].bytes, false,
				   op->work->traffic[0].path);
		uses += p[i].extent != KERNEL_EXTENT_NONE;
	}
	read_again(d, op, footprint);
}

static void count_flops(struct sim_dev *d, struct op *op)
{
	const struct kernel_parameter *p = op->type->signature->parameters;
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS; i++) {
		if (!p[i].fma_bytes)
			continue;
		op->block_flops = 2.0 * (double)op->work->arg[i].u64;
		op->peak_flops = (p[i].fma_bytes == sizeof(double) ? d->model.flops_f64
								   : d->model.flops_f32) *
				 1e-9;
	}
}

int kernel_prepare(struct sim_dev *d, struct op *op, const void *const *args)
{
	const struct kernel_signature *k = op->type->signature;
	int status = kernel_args_check(k, args);
	if (!status)
		kernel_args_copy(k, args, op->work->arg);
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS && !status; i++)
		if (k->parameters[i].extent)
			status = op_use(d, op, op->work->arg[i].pointer,
					kernel_args_extent(k, op->work->arg, i, op->grid), k->name);
	if (status)
		return status;
	count_traffic(d, op);
	count_flops(d, op);
	return op->type->prepare ? op->type->prepare(d, op) : 0;
}

/* ------------------------------------------------------------------ stamp, blocking_kernel */

static void start_stamp(struct op *op, uint32_t block, uint64_t now_ns)
{
	((uint64_t *)op->work->arg[0].pointer)[block] = now_ns;
}

static int prepare_blocking(struct sim_dev *d, struct op *op)
{
	op->until = 1;
	return 0;
}

static void start_blocking(struct op *op, uint32_t block, uint64_t now_ns)
{
	((uint64_t *)op->work->arg[2].pointer)[block] = now_ns;
	((uint32_t *)op->work->arg[1].pointer)[0]++;
}

static void finish_blocking(struct op *op, uint32_t block)
{
	if (!kernel_is_released(op))
		((uint32_t *)op->work->arg[1].pointer)[1]++;
}

/* ------------------------------------------------------------------ signal, await */

bool kernel_is_released(const struct op *op)
{
	return *(const uint32_t *)op->work->arg[0].pointer >= op->until;
}

static void finish_signal(struct op *op, uint32_t block)
{
	if (block)
		return;
	*(uint32_t *)op->work->arg[0].pointer = op->work->arg[1].u32;
	sim_memory_written();
}

static int prepare_await(struct sim_dev *d, struct op *op)
{
	op->until = op->work->arg[1].u32;
	return 0;
}

static void finish_await(struct op *op, uint32_t block)
{
	if (!kernel_is_released(op))
		++*(uint32_t *)op->work->arg[2].pointer;
}

/* ------------------------------------------------------------------ read, write, copy, triad */

static void finish_read(struct op *op, uint32_t block)
{
	uint64_t from, to;
	uint32_t sum = 0;
	const uint32_t *src = op->work->arg[0].pointer;
	block_range(op, op->work->arg[1].u64, block, &from, &to);
	for (uint64_t i = from / 4; i < to / 4; i++)
		sum += src[i];
	if (op->work->arg[2].u32)
		*(uint32_t *)op->work->arg[3].pointer += sum;
}

static void finish_write(struct op *op, uint32_t block)
{
	uint64_t from, to;
	uint32_t *dst = op->work->arg[0].pointer;
	block_range(op, op->work->arg[1].u64, block, &from, &to);
	for (uint64_t i = from / 4; i < to / 4 && op->work->arg[2].u32; i++)
		dst[i] = op->work->arg[3].u32;
}

static void finish_copy(struct op *op, uint32_t block)
{
	uint64_t from, to;
	block_range(op, op->work->arg[2].u64, block, &from, &to);
	if (to > from && op->work->arg[3].u32)
		memmove((char *)op->work->arg[0].pointer + from,
			(const char *)op->work->arg[1].pointer + from, to - from);
}

static void finish_triad(struct op *op, uint32_t block)
{
	uint64_t from, to;
	float *a = op->work->arg[0].pointer;
	const float *b = op->work->arg[1].pointer, *c = op->work->arg[2].pointer;
	block_range(op, op->work->arg[3].u64, block, &from, &to);
	for (uint64_t i = from / 4; i < to / 4 && op->work->arg[4].u32; i++)
		a[i] = b[i] + op->work->arg[5].f32 * c[i];
}

static void finish_reduce_add(struct op *op, uint32_t block)
{
	uint64_t from, to;
	float *dst = op->work->arg[0].pointer;
	const float *src = op->work->arg[1].pointer;
	block_range(op, op->work->arg[2].u64, block, &from, &to);
	for (uint32_t rep = 0; rep < op->work->arg[3].u32; rep++)
		for (uint64_t i = from / 4; i < to / 4; i++)
			dst[i] += src[i];
}

/* ------------------------------------------------------------------ chase */

static int prepare_chase(struct sim_dev *d, struct op *op)
{
	const bool own = sim_is_own(d, op->work->use[0]);
	const struct sim_model *m = &d->model;
	const uint64_t bytes = op->work->arg[1].u64;
	const double near_ns = bytes <= op->l1_bytes   ? m->l1_latency_ns
			       : bytes <= m->l2_bytes  ? m->l2_latency_ns
			       : bytes <= m->llc_bytes ? m->llc_latency_ns
						       : m->memory_latency_ns;
	const bool peer = op->work->use[0]->dev != d && op->work->use[0]->kind == DEV_MEM_DEVICE;
	const double far_ns = d->model.link_latency_ns +
			      (peer ? sim_way_latency_ns(op->work->use[0]->dev, d) : 0);
	op->first_block_ns = (double)op->work->arg[2].u64 * (own ? near_ns : far_ns);
	return 0;
}

static void finish_chase(struct op *op, uint32_t block)
{
	const uint64_t ring = (uintptr_t)op->work->arg[0].pointer, bytes = op->work->arg[1].u64;
	uint64_t at = ring, steps = op->work->arg[2].u64;
	if (block)
		return;
	/* The unsigned difference is also too large for an address before the ring. */
	for (; steps > 0 && at - ring < bytes && at % sizeof(at) == 0; steps--)
		at = *(const uint64_t *)(uintptr_t)at;
	if (steps > 0) {
		sim_stream_fail(op->stream, -EFAULT,
				"sim: chase reached %#llx, not an entry of the ring at %#llx",
				(unsigned long long)at, (unsigned long long)ring);
		return;
	}
	*(uint64_t *)op->work->arg[3].pointer = at;
}

/* ------------------------------------------------------------------ fma */

static void finish_fma_f32(struct op *op, uint32_t block)
{
	((float *)op->work->arg[0].pointer)[block] = 0.5f;
}
static void finish_fma_f64(struct op *op, uint32_t block)
{
	((double *)op->work->arg[0].pointer)[block] = 0.5;
}

/* ------------------------------------------------------------------ attention */

/* Keys that a row sees, in the mean of all rows. */
static double mean_seen(double keys, uint32_t queries) { return keys - (queries - 1) / 2.0; }

/* Every row is multiplied with the keys that it sees, and adds up as many values. */
static int prepare_attention(struct sim_dev *d, struct op *op)
{
	const struct kernel_signature *k = op->type->signature;
	const uint32_t rows = op->work->arg[5].u32, parts = op->work->arg[6].u32,
		       heads = op->work->arg[7].u32, queries = op->work->arg[8].u32;
	if (parts == 0 || heads == 0 || queries == 0 || rows % heads || rows / heads % queries)
		return err_note(-EINVAL, "sim: %s: %u rows, %u parts, %u heads, %u queries",
				k->name, rows, parts, heads, queries);
	const double keys = (double)bytes_argument(op) / k->parameters[1].each / heads;
	if (queries > keys)
		return err_note(-EINVAL, "sim: %s: %u queries of %g keys", k->name, queries, keys);
	op->block_flops = 4.0 * DEV_ATTENTION_DEPTH * rows * mean_seen(keys, queries) / op->grid;
	op->peak_flops = d->model.flops_f32 * 1e-9;
	return 0;
}

static int prepare_softmax(struct sim_dev *d, struct op *op)
{
	const uint32_t columns = op->work->arg[2].u32, of_query = op->work->arg[3].u32,
		       queries = op->work->arg[4].u32;
	if (of_query == 0 || queries == 0 || columns < queries)
		return err_note(-EINVAL, "sim: %s: %u columns, %u queries of %u rows",
				op->type->signature->name, columns, queries, of_query);
	for (unsigned i = 0; i < op->traffics; i++)
		if (!op->work->traffic[i].write)
			op->work->traffic[i].volume *= mean_seen(columns, queries) / columns;
	return 0;
}

/* ------------------------------------------------------------------ the table */

/* Kernels without a row take their cost from the list, and their result from the CPU's kernel,
 * which runs all reps.
 */
static const struct kernel_type own_types[KERNELS] = {
	[KERNEL_read] = {.finish = finish_read},
	[KERNEL_write] = {.finish = finish_write},
	[KERNEL_write_nt] = {.finish = finish_write},
	[KERNEL_copy] = {.finish = finish_copy},
	[KERNEL_copy_nt] = {.finish = finish_copy},
	[KERNEL_triad] = {.finish = finish_triad},
	[KERNEL_triad_nt] = {.finish = finish_triad},
	[KERNEL_reduce_add] = {.finish = finish_reduce_add},
	[KERNEL_attention_f32] = {.prepare = prepare_attention},
	[KERNEL_attention_bf16] = {.prepare = prepare_attention},
	[KERNEL_softmax_f32] = {.prepare = prepare_softmax},
	[KERNEL_softmax_bf16] = {.prepare = prepare_softmax},
	[KERNEL_chase] = {.prepare = prepare_chase, .finish = finish_chase},
	[KERNEL_fma_f32] = {.finish = finish_fma_f32},
	[KERNEL_fma_f64] = {.finish = finish_fma_f64},
	[KERNEL_blocking_kernel] = {.prepare = prepare_blocking,
				    .start = start_blocking,
				    .finish = finish_blocking,
				    .holds = true,
				    .signals = true},
	[KERNEL_stamp] = {.start = start_stamp},
	[KERNEL_signal] = {.finish = finish_signal, .signals = true},
	[KERNEL_await] = {.prepare = prepare_await,
			  .finish = finish_await,
			  .holds = true,
			  .signals = true},
};

static void finish_engine_copy(struct op *op, uint32_t block)
{
	uint64_t from, to;
	if (!sim_memory_moves(op->stream->dev, op->bytes))
		return;
	block_range(op, op->bytes, block, &from, &to);
	if (op->adds)
		sim_memory_add(op->element, op->dst + from, op->src + from,
			       (to - from) / dev_type_bytes(op->element));
	else
		finish_copy(op, block);
}

/* dev_copy() of a device without copy engines: any size and alignment. */
const struct kernel_type kernel_copy_type = {.name = "engine", .finish = finish_engine_copy};

static void finish_on_cpu(struct op *op, uint32_t block)
{
	static const atomic_bool never;
	size_t count;
	const size_t number = (size_t)(op->type->signature - kernel_signatures(&count));
	const struct host_block b = {
		.index = block, .grid = op->grid, .args = op->work->arg, .cancelled = &never};
	const int status = host_kernel_body((enum kernel_number)number)(&b);
	if (status)
		sim_stream_fail(op->stream, status, "sim: %s", err_text());
}

size_t kernels_fill(struct dev_kernel *kernels, bool with_data)
{
	static struct kernel_type all_types[2][KERNELS];
	struct kernel_type *types = all_types[with_data];
	size_t count, filled = 0;
	const struct kernel_signature *signatures = kernel_signatures(&count);
	for (size_t i = 0; i < count; i++) {
		if (signatures[i].may_lack)
			continue;
		struct kernel_type type = own_types[i];
		type.name = signatures[i].name;
		type.signature = &signatures[i];
		if (!type.start && !type.finish)
			type.finish = finish_on_cpu;
		if (!with_data && !type.signals)
			type.finish = NULL;
		types[i] = type;
		kernels[filled++].type = &types[i];
	}
	return filled;
}

/* ------------------------------------------------------------------ faults */

/* Flips an exponent bit of a float or double, which exceeds every tolerance. */
static void flip_exponent_bit(char *at, uint64_t bytes)
{
	if (bytes == 0)
		return;
	uint64_t i = (bytes / 2) | 7;
	at[i < bytes ? i : bytes - 1] ^= 0x40;
}

void kernel_corrupt(struct op *op)
{
	const struct kernel_signature *k = op->type ? op->type->signature : NULL;
	if (op->kind == OP_COPY || op->type == &kernel_copy_type)
		flip_exponent_bit(op->dst, op->bytes);
	for (unsigned i = 0; k && i < DEV_KERNEL_MAX_ARGS; i++)
		if (k->parameters[i].corruptible)
			flip_exponent_bit(op->work->arg[i].pointer,
					  kernel_args_extent(k, op->work->arg, i, 1));
}
