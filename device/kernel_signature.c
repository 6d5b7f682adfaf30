/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/kernel_signature.h"

#include <errno.h>
#include <string.h>

#include "lib/err.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define POINTER { sizeof(void *), KERNEL_EXTENT_BYTES, 0, false, false }
#define WORDS(bytes) { sizeof(void *), KERNEL_EXTENT_FIXED, bytes, false, false }
#define PER_BLOCK(type) { sizeof(void *), KERNEL_EXTENT_PER_BLOCK, sizeof(type), false, false }
#define VALUE(type) { sizeof(type), KERNEL_EXTENT_NONE, 0, false, false }
#define BYTES { sizeof(uint64_t), KERNEL_EXTENT_NONE, 0, true, false }
#define FMAS { sizeof(uint64_t), KERNEL_EXTENT_NONE, 0, false, true }

#define WRITE_ARGS { POINTER, BYTES, VALUE(uint32_t), VALUE(uint32_t) }
#define COPY_ARGS { POINTER, POINTER, BYTES, VALUE(uint32_t) }
#define TRIAD_ARGS { POINTER, POINTER, POINTER, BYTES, VALUE(uint32_t), VALUE(float) }

static const struct kernel_signature signatures[] = {
	{ .name = "empty" },
	{ .name = "read", .parameters = { POINTER, BYTES, VALUE(uint32_t), WORDS(4) } },
	{ .name = "write", .parameters = WRITE_ARGS },
	{ .name = "write_nt", .parameters = WRITE_ARGS },
	{ .name = "copy", .parameters = COPY_ARGS },
	{ .name = "copy_nt", .parameters = COPY_ARGS },
	{ .name = "triad", .parameters = TRIAD_ARGS },
	{ .name = "triad_nt", .parameters = TRIAD_ARGS },
	{ .name = "reduce_add", .parameters = COPY_ARGS },
	{ .name = "chase", .parameters = { POINTER, BYTES, VALUE(uint64_t), WORDS(8) } },
	{ .name = "fma_f32", .parameters = { PER_BLOCK(float), FMAS } },
	{ .name = "fma_f64", .parameters = { PER_BLOCK(double), FMAS } },
	{ .name = "hold", .parameters = { WORDS(4), WORDS(8), PER_BLOCK(uint64_t), VALUE(uint64_t) } },
	{ .name = "stamp", .parameters = { PER_BLOCK(uint64_t) } },
	{ .name = "signal", .parameters = { WORDS(4), VALUE(uint32_t) } },
	{ .name = "await", .parameters = { WORDS(4), VALUE(uint32_t), WORDS(4), VALUE(uint64_t) } },
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

/* Fixed words are 4 or 8 bytes wide by what they hold; two 4-byte words stand together. */
static uint32_t alignment(const struct kernel_parameter *p)
{
	switch (p->extent) {
	case KERNEL_EXTENT_BYTES:
		return DEV_KERNEL_ALIGN;
	case KERNEL_EXTENT_PER_BLOCK:
		return p->each;
	case KERNEL_EXTENT_FIXED:
		return 4;
	case KERNEL_EXTENT_NONE:
		break;
	}
	return 1;
}

static int check(const struct kernel_signature *k, unsigned i, const union kernel_arg *arg)
{
	const struct kernel_parameter *p = &k->parameters[i];
	const uintptr_t at = p->extent ? (uintptr_t)arg->pointer : 0;
	if (at % alignment(p))
		return err_note(-EINVAL, "launch %s: argument %u (%p) is not aligned to %u bytes", k->name, i, arg->pointer,
		                alignment(p));
	if (p->bytes && arg->u64 % DEV_KERNEL_ALIGN)
		return err_note(-EINVAL, "launch %s: %llu bytes are no multiple of %u", k->name,
		                (unsigned long long)arg->u64, DEV_KERNEL_ALIGN);
	if (p->fmas && arg->u64 % DEV_FMA_QUANTUM)
		return err_note(-EINVAL, "launch %s: %llu multiply-adds are no multiple of %u", k->name,
		                (unsigned long long)arg->u64, DEV_FMA_QUANTUM);
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
