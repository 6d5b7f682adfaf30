/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of nominal rates, held against data sheets of boards, as their drivers describe them.
 */
#include "device/gpu/gpu_nominal.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>

#define TERA 1e12
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct board {
	const char *name, *arch;
	uint32_t units;
	double clock_mhz, memory_mhz, memory_bits, transfers;
	/* TFLOP/s, of i8 TOP/s, dense; 0: the type is not there. And TB/s; 0: not tested. */
	double f32, f64, tf32, f16, bf16, f8, memory, i8, mxf8, mxf4, nvf4;
} boards[] = {
	{"Tesla V100-SXM2-32GB", "sm_70", 80, 1530, 877, 4096, 2, 15.7, 7.8, 0, 125, 0, 0, 0.9},
	{"Tesla T4", "sm_75", 40, 1590, 5001, 256, 2, 8.1, 0.254, 0, 65, 0, 0, 0.32, 130},
	{"NVIDIA A100-SXM4-80GB", "sm_80", 108, 1410, 1593, 5120, 2, 19.5, 19.5, 156, 312, 312, 0,
	 2.039, 624},
	{"NVIDIA A40", "sm_86", 84, 1740, 7251, 384, 2, 37.4, 0.585, 74.8, 149.7, 149.7, 0, 0.696,
	 299.3},
	{"NVIDIA GeForce RTX 3090", "sm_86", 82, 1695, 9751, 384, 2, 35.6, 0.556, 35.6, 71, 71, 0,
	 0.936, 284},
	{"NVIDIA GeForce RTX 4090", "sm_89", 128, 2520, 10501, 384, 2, 82.6, 1.29, 82.6, 165.2,
	 165.2, 330.3, 1.008, 660.6},
	{"NVIDIA L40", "sm_89", 142, 2490, 9001, 384, 2, 90.5, 1.414, 90.5, 181.05, 181.05, 362,
	 0.864, 362},
	{"NVIDIA L40S", "sm_89", 142, 2520, 9001, 384, 2, 91.6, 1.43, 183, 366, 366, 733, 0.864,
	 733},
	{"NVIDIA H100 80GB HBM3", "sm_90", 132, 1980, 2619, 5120, 2, 66.9, 66.9, 494.7, 989.4,
	 989.4, 1978.9, 3.35, 1978.9},
	{"NVIDIA H100 PCIe", "sm_90", 114, 1755, 1593, 5120, 2, 51.2, 51.2, 378, 756, 756, 1513,
	 2.04, 1513},
	{"NVIDIA H100 NVL", "sm_90", 132, 1785, 2619, 6016, 2, 60.3, 60.3, 417.5, 835, 835, 1671,
	 3.94, 1671},
	{"NVIDIA GH200 480GB", "sm_90", 132, 1980, 2619, 6144, 2, 67, 67, 494, 990, 990, 1979, 4,
	 1979},
	{"NVIDIA B200", "sm_100", 148, 1965, 3996, 8192, 2, 74.5, 37.2, 1125, 2250, 2250, 4500, 0,
	 4500, 4500, 0, 9000},
	{"NVIDIA GB200", "sm_100", 148, 2062, 3996, 8192, 2, 78.1, 39.1, 1250, 2500, 2500, 5000, 0,
	 5000, 5000, 0, 10000},
	{"NVIDIA GeForce RTX 5090", "sm_120", 170, 2407, 14001, 512, 2, 104.8, 1.637, 104.8, 209.5,
	 209.5, 419, 1.792, 838, 0, 0, 1676},
	{"AMD Instinct MI60 / MI50", "gfx906:sramecc+:xnack-", 64, 1800, 1000, 4096, 2, 14.7, 7.4,
	 0, 29.5, 0, 0, 1.024, 59},
	{"AMD Instinct MI100", "gfx908:sramecc+:xnack-", 120, 1502, 1200, 4096, 2, 46.1, 11.5, 0,
	 184.6, 92.3, 0, 1.2288, 184.6},
	/* One of the two dies, which is a device: half of the data sheet's. */
	{"AMD Instinct MI250X", "gfx90a:sramecc+:xnack-", 110, 1700, 1600, 4096, 2, 47.85, 47.85, 0,
	 191.5, 191.5, 0, 1.6384, 191.5},
	{"AMD Instinct MI300X", "gfx942:sramecc+:xnack-", 304, 2100, 1300, 8192, 4, 163.4, 163.4,
	 653.7, 1307.4, 1307.4, 2614.9, 5.3, 2614.9},
	{"AMD Instinct MI300A", "gfx942:sramecc+:xnack-", 228, 2100, 1300, 8192, 4, 122.6, 122.6,
	 490.3, 980.6, 980.6, 1961.2, 5.3, 1961.2},
	{"AMD Instinct MI355X", "gfx950:sramecc+:xnack-", 256, 2400, 0, 0, 0, 157.3, 78.6, 0,
	 2516.6, 2516.6, 5033.2, 0, 5033.2, 5033.2, 10066, 0},
};

static struct gpu_traits traits_of(const struct board *p)
{
	struct gpu_traits t = {.units = p->units,
			       .clock_max_hz = 1e6 * p->clock_mhz,
			       .memory_clock_hz = 1e6 * p->memory_mhz,
			       .memory_bus_bits = p->memory_bits,
			       .transfers_per_clock = p->transfers};
	snprintf(t.name, sizeof(t.name), "%s", p->name);
	snprintf(t.arch, sizeof(t.arch), "%s", p->arch);
	return t;
}

static void a_data_sheet_is_met_within_a_percent(void)
{
	for (size_t i = 0; i < COUNT(boards); i++) {
		const struct board *p = &boards[i];
		const struct gpu_traits t = traits_of(p);
		const double wanted[DEV_TYPES] = {
			[DEV_F32] = p->f32,  [DEV_F64] = p->f64,   [DEV_TF32] = p->tf32,
			[DEV_F16] = p->f16,  [DEV_BF16] = p->bf16, [DEV_F8] = p->f8,
			[DEV_I8] = p->i8,    [DEV_MXF8] = p->mxf8, [DEV_MXF4] = p->mxf4,
			[DEV_NVF4] = p->nvf4};
		struct dev_nominal n = {0};
		gpu_nominal(&t, &n);
		for (int type = 0; type < DEV_TYPES; type++)
			expect_near(n.gemm_flops[type], wanted[type] * TERA,
				    0.01 * wanted[type] * TERA);
		if (p->memory > 0)
			expect_near(n.memory_bandwidth, p->memory * TERA, 0.01 * p->memory * TERA);
		expect(n.clock_varies);
	}
}

/* Without matrix units: of the A100 and the H100 f64 is half of that with them, of the MI100 f32.
 */
static void multiply_adds_have_rates_of_their_own(void)
{
	static const struct {
		const char *name;
		double f32, f64;
	} wanted[] = {{"Tesla V100-SXM2-32GB", 15.7, 7.8},
		      {"NVIDIA A100-SXM4-80GB", 19.5, 9.75},
		      {"NVIDIA H100 80GB HBM3", 66.9, 33.5},
		      {"AMD Instinct MI100", 23.1, 11.5},
		      {"AMD Instinct MI300X", 163.4, 81.7}};
	size_t found = 0;
	for (size_t i = 0; i < COUNT(boards); i++)
		for (size_t w = 0; w < COUNT(wanted); w++) {
			const struct gpu_traits t = traits_of(&boards[i]);
			struct dev_nominal n = {0};
			if (strcmp(wanted[w].name, t.name) != 0)
				continue;
			gpu_nominal(&t, &n);
			expect_near(n.fma_flops_f32, wanted[w].f32 * TERA,
				    0.01 * wanted[w].f32 * TERA);
			expect_near(n.fma_flops_f64, wanted[w].f64 * TERA,
				    0.01 * wanted[w].f64 * TERA);
			found++;
		}
	expect(found == COUNT(wanted));
}

/* An unknown rate is 0, with the reason. */
static void expect_unknown(const struct gpu_traits *t, bool flops, bool memory, const char *why)
{
	struct dev_nominal n = {0};
	gpu_nominal(t, &n);
	expect((n.gemm_flops[DEV_F32] > 0) != flops);
	expect((n.fma_flops_f64 > 0) != flops);
	expect((n.memory_bandwidth > 0) != memory);
	expect_str(n.unknown, why);
}

static void what_is_unknown_is_zero_and_says_why(void)
{
	struct gpu_traits t = {.name = "NVIDIA H20",
			       .arch = "sm_90",
			       .units = 78,
			       .clock_max_hz = 1.98e9,
			       .memory_clock_hz = 2.619e9,
			       .memory_bus_bits = 6144,
			       .transfers_per_clock = 2};
	expect_unknown(&t, true, false, "flop rates: no row for sm_90 in gpu_nominal.c");
	snprintf(t.name, sizeof(t.name), "NVIDIA H200");
	expect_unknown(&t, false, false, "");
	t.is_slice = true;
	expect_unknown(&t, false, true, "memory: a slice has part of the board's bandwidth");
	t.is_slice = false;
	t.memory_clock_hz = 0;
	expect_unknown(&t, false, true, "memory: the driver does not report its clock or width");
	snprintf(t.arch, sizeof(t.arch), "sm_9");
	t.transfers_per_clock = 0;
	expect_unknown(&t, true, true,
		       "flop rates: no row for sm_9 in gpu_nominal.c; memory: the clock that the "
		       "driver reports is not the data clock");
}

int main(void)
{
	test(a_data_sheet_is_met_within_a_percent);
	test(multiply_adds_have_rates_of_their_own);
	test(what_is_unknown_is_zero_and_says_why);
	return test_done();
}
