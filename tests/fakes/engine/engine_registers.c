/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registers per thread of the kernels, as NVRTC 13.0 reports for sm_90; fakes of both vendors use
 * them.
 */
#include "tests/fakes/engine/engine.h"
#include "tests/fakes/kernels.h"

#include <string.h>

#define UNIT_REGISTERS 65536u
/* Registers are allocated to warps of 32 threads in multiples of 256; each warp belongs to one of
 * four partitions of the unit. */
#define PARTITIONS 4u
#define WARP_THREADS 32u
#define ALLOCATION_QUANTUM 256u
/* For a kernel that is not listed. */
#define DEFAULT_REGISTERS 128u

static const struct {
	const char *name;
	uint32_t registers;
} table[] = {
	{"gpusig_empty", 4},
	{"gpusig_read", 58},
	{"gpusig_write", 32},
	{"gpusig_write_nt", 32},
	{"gpusig_copy", 64},
	{"gpusig_copy_nt", 72},
	{"gpusig_copy_once", 14},
	{"gpusig_copy_once_nt", 14},
	{"gpusig_triad", 64},
	{"gpusig_triad_nt", 64},
	{"gpusig_triad_once", 20},
	{"gpusig_triad_once_nt", 20},
	{"gpusig_reduce_add", 62},
	{"gpusig_reduce_add_bf16", 62},
	{"gpusig_attention_f32", 128},
	{"gpusig_attention_bf16", 128},
	{"gpusig_attention_merge", 34},
	{"gpusig_softmax_f32", 21},
	{"gpusig_softmax_bf16", 21},
	{"gpusig_chase", 24},
	{"gpusig_blocking_kernel", 16},
	{"gpusig_stamp", 12},
	{"gpusig_signal", 8},
	{"gpusig_await", 16},
	{"gpusig_clock_sync", 14},
	{"gpusig_clock_sample", 16},
	{"gpusig_timer_step", 11},
	{"gpusig_fma_f32", 32},
	{"gpusig_fma_f64", 41},
	{"gpusig_gemm_f32", 128},
	{"gpusig_gemm_f64", 110},
	{"gpusig_gemm_adding_f32", 127},
	{"gpusig_gemm_adding_f64", 110},
	{"gpusig_gemm_textbook_32", 64},
	{"gpusig_gemm_textbook_64", 64},
	{"gpusig_mma_f16", 48},
	{"gpusig_mma_bf16", 48},
	{"gpusig_mma_tf32", 48},
	{"gpusig_mma_f8", 48},
	{"gpusig_mma_i8", 48},
	{"gpusig_wgmma_f16", 158},
	{"gpusig_wgmma_bf16", 158},
	{"gpusig_wgmma_tf32", 158},
	{"gpusig_wgmma_f8", 158},
	{"gpusig_wgmma_i8", 158},
};

uint32_t fake_max_blocks_by_registers(const struct fake_kernel *k, uint32_t threads)
{
	uint32_t registers = DEFAULT_REGISTERS;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].name, k->name) == 0)
			registers = table[i].registers;
	const uint32_t per_warp = (registers * WARP_THREADS + ALLOCATION_QUANTUM - 1) /
				  ALLOCATION_QUANTUM * ALLOCATION_QUANTUM;
	const uint32_t warps = UNIT_REGISTERS / PARTITIONS / per_warp * PARTITIONS;
	return warps / ((threads + WARP_THREADS - 1) / WARP_THREADS);
}
