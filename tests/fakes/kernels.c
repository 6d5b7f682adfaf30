/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/kernels.h"
#include "device/kernels.h"
#include "tests/fakes/mma_on_cpu.h"
#include "tests/fakes/on_cpu.h"

/* The primitives come from the two headers above. */
#define GPUSIG_ON_CPU
#include "device/gpu/kernels/kernels.cu"

#ifndef FAKE_KERNEL_TABLE
/* kernel_table.awk makes it from the text above: for every kernel a function that takes the
 * arguments by address, and the table of kernels. */
#include "kernel_table.inc"

/* Checks that the source has every kernel of the list, with the arguments of its row. */
#define NOTHING void
#define READS(type) const type *
#define WRITES(type) type *
#define ADDS_TO(type) type *
#define WALKS(type) const type *
#define READS_ROWS(count, type) const type *
#define WRITES_ROWS(count, type) type *
#define READS_PARTS(count, type) const type *
#define WRITES_PARTS(count, type) type *
#define ROWS uint32_t
#define PARTS uint32_t
#define RESULT(type) type *
#define RESULT_PER_BLOCK(type) type *
#define FLAG(type) const type *
#define WORDS(count, type) type *
#define WORD_PER_BLOCK(type) type *
#define VALUE(type) type
#define BYTES uint64_t
#define REPS uint32_t
#define FMAS(type) uint64_t
#define MMAS uint64_t
#define PLAIN
#define STREAMING
#define TIMED , struct gpu_timed
#define WHOLE_BLOCKS
#define MATRIX_UNITS
#define LIST(...) __VA_ARGS__
#define AGREES(kernel, trait, parameters)                                                          \
	_Static_assert(                                                                            \
		_Generic(&gpusig_##kernel, void (*)(LIST parameters trait) : 1, default : 0),      \
		"gpusig_" #kernel " takes other arguments than its row of DEV_KERNELS says");
DEV_KERNELS(AGREES)
#endif
