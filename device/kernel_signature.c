/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/kernel_signature.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ARRAY(does, spoilt)                                                                        \
	{                                                                                          \
		.size = sizeof(void *), .extent = KERNEL_EXTENT_BYTES, .access = does,             \
		.alignment = DEV_KERNEL_ALIGN, .corruptible = spoilt                               \
	}
#define POINTER(kind, count, type, spoilt)                                                         \
	{                                                                                          \
		.size = sizeof(void *), .extent = kind, .each = count * sizeof(type),              \
		.alignment = sizeof(type), .corruptible = spoilt                                   \
	}
#define NUMBERS(kind, count, type, does, spoilt)                                                   \
	{                                                                                          \
		.size = sizeof(void *), .extent = kind, .each = (count) * sizeof(type),            \
		.access = does, .alignment = DEV_KERNEL_ALIGN, .corruptible = spoilt               \
	}

#define NOTHING                                                                                    \
	{                                                                                          \
		.size = 0                                                                          \
	}
#define READS(type) ARRAY(KERNEL_READS, false)
#define WRITES(type) ARRAY(KERNEL_WRITES, true)
#define ADDS_TO(type) ARRAY(KERNEL_READS | KERNEL_WRITES, true)
#define WALKS(type) ARRAY(0, false)
#define READS_ROWS(count, type) NUMBERS(KERNEL_EXTENT_PER_ROW, count, type, KERNEL_READS, false)
#define WRITES_ROWS(count, type) NUMBERS(KERNEL_EXTENT_PER_ROW, count, type, KERNEL_WRITES, true)
#define READS_PARTS(count, type) NUMBERS(KERNEL_EXTENT_PER_PART, count, type, KERNEL_READS, false)
#define WRITES_PARTS(count, type) NUMBERS(KERNEL_EXTENT_PER_PART, count, type, KERNEL_WRITES, true)
#define RESULT(type) POINTER(KERNEL_EXTENT_FIXED, 1, type, true)
#define RESULT_PER_BLOCK(type) POINTER(KERNEL_EXTENT_PER_BLOCK, 1, type, true)
#define FLAG(type) POINTER(KERNEL_EXTENT_FIXED, 1, type, false)
#define WORDS(count, type) POINTER(KERNEL_EXTENT_FIXED, count, type, false)
#define WORD_PER_BLOCK(type) POINTER(KERNEL_EXTENT_PER_BLOCK, 1, type, false)
#define VALUE(type)                                                                                \
	{                                                                                          \
		.size = sizeof(type)                                                               \
	}
#define BYTES                                                                                      \
	{                                                                                          \
		.size = sizeof(uint64_t), .bytes = true                                            \
	}
#define REPS                                                                                       \
	{                                                                                          \
		.size = sizeof(uint32_t), .reps = true                                             \
	}
#define ROWS                                                                                       \
	{                                                                                          \
		.size = sizeof(uint32_t), .rows = true                                             \
	}
#define PARTS                                                                                      \
	{                                                                                          \
		.size = sizeof(uint32_t), .parts = true                                            \
	}
#define FMAS(type)                                                                                 \
	{                                                                                          \
		.size = sizeof(uint64_t), .quantum = DEV_FMA_QUANTUM, .fma_bytes = sizeof(type)    \
	}
#define MMAS                                                                                       \
	{                                                                                          \
		.size = sizeof(uint64_t), .quantum = DEV_MMA_QUANTUM                               \
	}

#define PLAIN
#define STREAMING .streaming = true,
#define TIMED .timed = true,
#define WHOLE_BLOCKS .group_threads = DEV_ATTENTION_THREADS,
#define MATRIX_UNITS .may_lack = true, .group_threads = 128,

#define LIST(...)                                                                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define SIGNATURE(kernel, trait, list)                                                             \
	[KERNEL_##kernel] = {.name = #kernel, trait.parameters = LIST list},

static const struct kernel_signature signatures[KERNELS] = {DEV_KERNELS(SIGNATURE)};

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

static int check_argument(const struct kernel_signature *k, unsigned i, const union kernel_arg *arg)
{
	const struct kernel_parameter *p = &k->parameters[i];
	if (p->extent && (uintptr_t)arg->pointer % p->alignment)
		return err_note(-EINVAL, "launch %s: argument %u (%p) is not aligned to %u bytes",
				k->name, i, arg->pointer, p->alignment);
	if (p->bytes && arg->u64 % DEV_KERNEL_ALIGN)
		return err_note(-EINVAL, "launch %s: %llu bytes; must be a multiple of %u", k->name,
				(unsigned long long)arg->u64, DEV_KERNEL_ALIGN);
	if (p->quantum && arg->u64 % p->quantum)
		return err_note(-EINVAL, "launch %s: %llu multiply-adds; must be a multiple of %u",
				k->name, (unsigned long long)arg->u64, p->quantum);
	return 0;
}

int kernel_args_check(const struct kernel_signature *k, const void *const *args)
{
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS && k->parameters[i].size; i++) {
		union kernel_arg copy;
		if (!args || !args[i])
			return err_note(-EINVAL, "launch %s: argument %u is missing", k->name, i);
		memcpy(&copy, args[i], k->parameters[i].size);
		int status = check_argument(k, i, &copy);
		if (status)
			return status;
	}
	return 0;
}

void kernel_args_copy(const struct kernel_signature *k, const void *const *args,
		      union kernel_arg *copies)
{
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS && k->parameters[i].size; i++)
		memcpy(&copies[i], args[i], k->parameters[i].size);
}

/* Number of rows, and of parts of a row, as the arguments say. */
static uint64_t count_rows(const struct kernel_signature *k, const union kernel_arg *args)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS; i++)
		count = k->parameters[i].rows ? args[i].u32 : count;
	return count;
}
static uint64_t count_parts(const struct kernel_signature *k, const union kernel_arg *args)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS; i++)
		count = k->parameters[i].parts ? args[i].u32 : count;
	return count;
}

uint64_t kernel_args_extent(const struct kernel_signature *k, const union kernel_arg *args,
			    unsigned i, uint32_t grid)
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
	case KERNEL_EXTENT_PER_ROW:
		return p->each * count_rows(k, args);
	case KERNEL_EXTENT_PER_PART:
		return p->each * count_rows(k, args) * count_parts(k, args);
	}
	return 0;
}
