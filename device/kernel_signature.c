/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/kernel_signature.h"

#include <errno.h>
#include <string.h>

#include "lib/err.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define POINTER { .size = sizeof(void *), .extent = KERNEL_EXTENT_BYTES, .alignment = DEV_KERNEL_ALIGN }
#define FEW(count, type) \
	{ .size = sizeof(void *), .extent = KERNEL_EXTENT_FIXED, .each = count * sizeof(type), .alignment = sizeof(type) }
#define PER_BLOCK(type) \
	{ .size = sizeof(void *), .extent = KERNEL_EXTENT_PER_BLOCK, .each = sizeof(type), .alignment = sizeof(type) }
#define VALUE(type) { .size = sizeof(type) }
#define BYTES { .size = sizeof(uint64_t), .bytes = true }
#define FMAS(least) { .size = sizeof(uint64_t), .quantum = least }

#define WRITE_ARGS { POINTER, BYTES, VALUE(uint32_t), VALUE(uint32_t) }
#define COPY_ARGS { POINTER, POINTER, BYTES, VALUE(uint32_t) }
#define TRIAD_ARGS { POINTER, POINTER, POINTER, BYTES, VALUE(uint32_t), VALUE(float) }
#define MMA(kernel)                                             \
	{ .name = kernel, .may_lack = true, .group_threads = 128, \
	  .parameters = { PER_BLOCK(uint32_t), FMAS(DEV_MMA_QUANTUM) } }

static const struct kernel_signature signatures[] = {
	{ .name = "empty" },
	{ .name = "read", .parameters = { POINTER, BYTES, VALUE(uint32_t), FEW(1, uint32_t) } },
	{ .name = "write", .parameters = WRITE_ARGS },
	{ .name = "write_nt", .parameters = WRITE_ARGS },
	{ .name = "copy", .parameters = COPY_ARGS },
	{ .name = "copy_nt", .parameters = COPY_ARGS },
	{ .name = "triad", .parameters = TRIAD_ARGS },
	{ .name = "triad_nt", .parameters = TRIAD_ARGS },
	{ .name = "reduce_add", .parameters = COPY_ARGS },
	{ .name = "chase", .parameters = { POINTER, BYTES, VALUE(uint64_t), FEW(1, uint64_t) } },
	{ .name = "fma_f32", .parameters = { PER_BLOCK(float), FMAS(DEV_FMA_QUANTUM) } },
	{ .name = "fma_f64", .parameters = { PER_BLOCK(double), FMAS(DEV_FMA_QUANTUM) } },
	MMA("mma_f16"),
	MMA("mma_bf16"),
	MMA("mma_tf32"),
	MMA("mma_f8"),
	MMA("wgmma_f16"),
	MMA("wgmma_bf16"),
	MMA("wgmma_tf32"),
	MMA("wgmma_f8"),
	{ .name = "hold", .parameters = { FEW(1, uint32_t), FEW(2, uint32_t), PER_BLOCK(uint64_t), VALUE(uint64_t) } },
	{ .name = "stamp", .parameters = { PER_BLOCK(uint64_t) } },
	{ .name = "signal", .parameters = { FEW(1, uint32_t), VALUE(uint32_t) } },
	{ .name = "await", .parameters = { FEW(1, uint32_t), VALUE(uint32_t), FEW(1, uint32_t), VALUE(uint64_t) } },
};

const struct kernel_signature *kernel_signatures(size_t *count_p)
{
	*count_p = COUNT(signatures);
	return signatures;
}

const struct kernel_signature *kernel_signature_named(const char *name)
{
	for (size_t i = 0; i < COUNT(signatures); i++)
		if (strcmp(signatures[i].name, name) == 0)
			return &signatures[i];
	return NULL;
}

static int check(const struct kernel_signature *k, unsigned i, const union kernel_arg *arg)
{
	const struct kernel_parameter *p = &k->parameters[i];
	if (p->extent && (uintptr_t)arg->pointer % p->alignment)
		return err_note(-EINVAL, "launch %s: argument %u (%p) is not aligned to %u bytes", k->name, i, arg->pointer,
		                p->alignment);
	if (p->bytes && arg->u64 % DEV_KERNEL_ALIGN)
		return err_note(-EINVAL, "launch %s: %llu bytes are no multiple of %u", k->name,
		                (unsigned long long)arg->u64, DEV_KERNEL_ALIGN);
	if (p->quantum && arg->u64 % p->quantum)
		return err_note(-EINVAL, "launch %s: %llu multiply-adds are no multiple of %u", k->name,
		                (unsigned long long)arg->u64, p->quantum);
	return 0;
}

int kernel_args_copy(const struct kernel_signature *k, const void *const *args, union kernel_arg *copies)
{
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS && k->parameters[i].size; i++) {
		if (!args || !args[i])
			return err_note(-EINVAL, "launch %s: argument %u is missing", k->name, i);
		memcpy(&copies[i], args[i], k->parameters[i].size);
		int rc = check(k, i, &copies[i]);
		if (rc)
			return rc;
	}
	return 0;
}

uint64_t kernel_args_extent(const struct kernel_signature *k, const union kernel_arg *args, unsigned i, uint32_t grid)
{
	const struct kernel_parameter *p = &k->parameters[i];
	switch (p->extent) {
	case KERNEL_EXTENT_NONE:
		break;
	case KERNEL_EXTENT_BYTES:
		for (unsigned j = 0; j < DEV_KERNEL_MAX_ARGS; j++)
			if (k->parameters[j].bytes)
				return args[j].u64;
		break;
	case KERNEL_EXTENT_FIXED:
		return p->each;
	case KERNEL_EXTENT_PER_BLOCK:
		return (uint64_t)p->each * grid;
	}
	return 0;
}
