/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_nominal.h"
#include "lib/text.h"

#include <string.h>

/* flop, of i8 op, of a unit in a cycle, two for a multiply-add, dense, with sums in f32 where a
 * data sheet has several. */
struct rates {
	const char *arch;  /* of AMD's without what follows a ':' */
	const char *board; /* the row is of devices with this in their name; NULL: of all */
	double matrix_hz;  /* the data sheet's clock of matrix units in types narrower than f32;
			      0: the highest clock that the driver tells */
	double fma_f32, fma_f64;
	double gemm[DEV_TYPES];
};

_Static_assert(DEV_F32 == 0 && DEV_F64 == 1 && DEV_TF32 == 2 && DEV_F16 == 3 && DEV_BF16 == 4 &&
		       DEV_F8 == 5 && DEV_I8 == 6 && DEV_MXF8 == 7 && DEV_MXF4 == 8 &&
		       DEV_NVF4 == 9,
	       "the columns of the table");

/* The first row that fits counts, so those of a board come before the one of all others. Columns:
 * fma_f32, fma_f64, {f32, f64, tf32, f16, bf16, f8, i8, mxf8, mxf4,
 * nvf4}. */
static const struct rates table[] = {
	/* Volta white paper: 64 and 32 lanes, 8 tensor cores of 64 multiply-adds. */
	{"sm_70", NULL, 0, 128, 64, {128, 64, 0, 1024}},
	/* Turing white paper, appendix: GeForce adds in f32 at half of the tensor cores' rate. */
	{"sm_75", "GeForce", 0, 128, 4, {128, 4, 0, 512, 0, 0, 2048}},
	{"sm_75", NULL, 0, 128, 4, {128, 4, 0, 1024, 0, 0, 2048}},
	/* A100 white paper, table 1: f64 has 19.5 TFLOP/s with tensor cores, 9.7 without. */
	{"sm_80", NULL, 0, 128, 64, {128, 128, 1024, 2048, 2048, 0, 4096}},
	/* GA102 white paper, appendix A; data sheets of A40 and A10. */
	{"sm_86", "GeForce", 0, 256, 4, {256, 4, 256, 512, 512, 0, 2048}},
	{"sm_86", NULL, 0, 256, 4, {256, 4, 512, 1024, 1024, 0, 2048}},
	/* CUDA programming guide, throughput of instructions, which has no tensor cores. */
	{"sm_87", NULL, 0, 256, 4, {256, 4}},
	/* Ada white paper, appendix A; data sheets of L4, L20, L40 and L40S. */
	{"sm_89", "GeForce", 0, 256, 4, {256, 4, 256, 512, 512, 1024, 2048}},
	{"sm_89", "L40S", 0, 256, 4, {256, 4, 512, 1024, 1024, 2048, 2048}},
	{"sm_89", "L40", 0, 256, 4, {256, 4, 256, 512, 512, 1024, 1024}},
	{"sm_89", "L20", 0, 256, 4, {256, 4, 256, 512, 512, 1024, 1024}},
	{"sm_89", NULL, 0, 256, 4, {256, 4, 512, 1024, 1024, 2048, 2048}},
	/* H100 white paper, table 3: tensor cores have 1830 MHz (SXM5) and 1620 (PCIe) in narrow
	 * types, all else has 1980 and 1755. The NVL's clock is derived: 835 TFLOP/s of bf16 (data
	 * sheet) / 132 / 4096. H200, GH200 and H800 are as the SXM5 by their data sheets. The H20
	 * is slower than any clock explains, and has no row. */
	{"sm_90", "H100 PCIe", 1.62e9, 256, 128, {256, 256, 2048, 4096, 4096, 8192, 8192}},
	{"sm_90", "H100 NVL", 1.545e9, 256, 128, {256, 256, 2048, 4096, 4096, 8192, 8192}},
	{"sm_90", "H200 NVL", 1.545e9, 256, 128, {256, 256, 2048, 4096, 4096, 8192, 8192}},
	{"sm_90", "H100", 1.83e9, 256, 128, {256, 256, 2048, 4096, 4096, 8192, 8192}},
	{"sm_90", "H200", 1.83e9, 256, 128, {256, 256, 2048, 4096, 4096, 8192, 8192}},
	{"sm_90", "H800", 1.83e9, 256, 128, {256, 256, 2048, 4096, 4096, 8192, 8192}},
	/* Derived from the data sheets of GB200 and HGX B200: 2.5 and 2.25 PFLOP/s of bf16 / 148 /
	 * 8192. */
	{"sm_100",
	 "GB200",
	 2.062e9,
	 256,
	 128,
	 {256, 128, 4096, 8192, 8192, 16384, 16384, 16384, 0, 32768}},
	{"sm_100",
	 "B200",
	 1.856e9,
	 256,
	 128,
	 {256, 128, 4096, 8192, 8192, 16384, 16384, 16384, 0, 32768}},
	/* RTX Blackwell white paper, appendix A. */
	{"sm_120", "GeForce", 0, 256, 4, {256, 4, 256, 512, 512, 1024, 2048, 0, 0, 4096}},
	/* Data sheet of the MI60, which has no matrix units. */
	{"gfx906", "MI", 0, 128, 64, {128, 64, 0, 256, 0, 0, 512}},
	/* White papers of CDNA, CDNA 2 and CDNA 3: flops/clock/CU. f32 without matrix units is
	 * packed where it can be. */
	{"gfx908", NULL, 0, 128, 64, {256, 64, 0, 1024, 512, 0, 1024}},
	{"gfx90a", NULL, 0, 256, 128, {256, 256, 0, 1024, 1024, 0, 1024}},
	{"gfx942", NULL, 0, 256, 128, {256, 256, 1024, 2048, 2048, 4096, 4096}},
	/* Data sheet of the MI355X: 157.3, 78.6, 2516.6 and 5033.2 TFLOP/s / 256 / 2.4 GHz. */
	{"gfx950", NULL, 0, 256, 128, {256, 128, 0, 4096, 4096, 8192, 8192, 8192, 16384}},
};

static const struct rates *find_rates(const struct gpu_traits *t)
{
	const size_t length = strcspn(t->arch, ":");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strlen(table[i].arch) == length && !strncmp(table[i].arch, t->arch, length) &&
		    (!table[i].board || strstr(t->name, table[i].board)))
			return &table[i];
	return NULL;
}

static void set_flops(const struct gpu_traits *t, const struct rates *r, struct dev_nominal *n)
{
	const double per_flop = t->units * t->clock_max_hz;
	for (int type = 0; type < DEV_TYPES; type++) {
		const bool narrow = type != DEV_F32 && type != DEV_F64;
		n->gemm_flops[type] =
			r->gemm[type] *
			(narrow && r->matrix_hz > 0 ? t->units * r->matrix_hz : per_flop);
	}
	n->fma_flops_f32 = r->fma_f32 * per_flop;
	n->fma_flops_f64 = r->fma_f64 * per_flop;
}

void gpu_nominal(const struct gpu_traits *t, struct dev_nominal *n)
{
	const struct rates *r = find_rates(t);
	char flops[80] = "";
	const char *memory = "";
	n->clock_varies = true;
	if (r)
		set_flops(t, r, n);
	else
		text_fit(flops, sizeof(flops), "flop rates: no row for %.32s in gpu_nominal.c",
			 t->arch);
	if (t->is_slice)
		memory = "memory: a slice has part of the board's bandwidth";
	else if (!(t->transfers_per_clock > 0))
		memory = "memory: the clock that the driver reports is not the data clock";
	else if (!(t->memory_clock_hz * t->memory_bus_bits > 0))
		memory = "memory: the driver does not report its clock or width";
	else
		n->memory_bandwidth =
			t->memory_clock_hz * t->memory_bus_bits / 8 * t->transfers_per_clock;
	text_fit(n->unknown, sizeof(n->unknown), "%s%s%s", flops, flops[0] && memory[0] ? "; " : "",
		 memory);
}
