/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registers of the kernels, as NVRTC 13.0 reports them for sm_90, on fake devices of either vendor.
 */
#include "tests/fakes/engine.h"

#include <string.h>

#include "tests/fakes/kernels.h"

#define OF_A_UNIT 65536u
/* Given out to warps of 32 threads, in parts; a warp lives in a quarter of the unit. */
#define PARTITIONS 4u
#define WARP 32u
#define PART 256u
/* Of a kernel that is not listed. */
#define UNKNOWN 128u

static const struct {
	const char *name;
	uint32_t registers;
} table[] = {
	{"gpusig_empty", 4},        {"gpusig_read", 58},        {"gpusig_write", 32},     {"gpusig_write_nt", 32},
	{"gpusig_copy", 64},        {"gpusig_copy_nt", 72},     {"gpusig_triad", 64},     {"gpusig_triad_nt", 64},
	{"gpusig_reduce_add", 62},  {"gpusig_chase", 24},       {"gpusig_hold", 16},      {"gpusig_stamp", 12},
	{"gpusig_signal", 8},       {"gpusig_await", 16},       {"gpusig_clock_sync", 14}, {"gpusig_clock_sample", 16},
	{"gpusig_timer_step", 11},  {"gpusig_fma_f32", 32},     {"gpusig_fma_f64", 41},   {"gpusig_gemm_f32", 128},
	{"gpusig_gemm_f64", 110},   {"gpusig_mma_f16", 48},     {"gpusig_mma_bf16", 48},  {"gpusig_mma_tf32", 48},
	{"gpusig_mma_f8", 48},      {"gpusig_wgmma_f16", 158},  {"gpusig_wgmma_bf16", 158}, {"gpusig_wgmma_tf32", 158},
	{"gpusig_wgmma_f8", 158},
};

uint32_t fake_residents_by_registers(const struct fake_kernel *k, uint32_t threads)
{
	uint32_t registers = UNKNOWN;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].name, k->name) == 0)
			registers = table[i].registers;
	const uint32_t of_warp = (registers * WARP + PART - 1) / PART * PART;
	const uint32_t warps = OF_A_UNIT / PARTITIONS / of_warp * PARTITIONS;
	return warps / ((threads + WARP - 1) / WARP);
}
