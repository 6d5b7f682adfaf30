/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Choice of AMD's library by type, and use of hipBLASLt, on fake drivers (tests/fakes) of several
 * architectures.
 */
#include "device/gpu/gpu_dev.h"
#include "lib/err.h"
#include "lib/rng.h"
#include "tests/unit/device/calls.h"
#include "tests/unit/device/gpu/with_fakes.h"
#include "tests/unit/device/minifloat_arrays.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define SIDE 64u
#define COUNT (SIDE * SIDE)
#define CDNA2 "gfx90a:sramecc+:xnack-"
#define CDNA3 "gfx942:sramecc+:xnack-"

static struct dev_set set;
static struct dev *d;

static void open_device(const char *arch)
{
	setenv("FAKE_ARCH", arch, 1);
	ok(dev_open("hip", DEV_CAP_GEMM | DEV_CHECKED, &set));
	d = set.dev[0];
}

static void close_device(void)
{
	dev_close(&set);
	unsetenv("FAKE_ARCH");
	unsetenv("FAKE_FAIL");
	unsetenv("FAKE_HIPBLASLT_VERSION");
}

static uint32_t with_types(enum dev_type a, enum dev_type b)
{
	return 1u << DEV_F32 | 1u << DEV_F64 | 1u << DEV_F16 | 1u << DEV_BF16 | 1u << a | 1u << b;
}

static void expect_library(const char *arch, const char *text, uint32_t types)
{
	open_device(arch);
	expect_str(dev_props(d)->blas, text);
	expect_near(dev_props(d)->gemm_types, types, 0);
	close_device();
}

static void libraries_are_named_with_their_types(void)
{
	expect_library(CDNA2, "hipBLASLt 1.0.0 (f16, bf16, i8), rocBLAS 5.0.0 (f32, f64)",
		       with_types(DEV_F32, DEV_I8));
	expect_library(CDNA3, "hipBLASLt 1.0.0 (tf32, f16, bf16, f8, i8), rocBLAS 5.0.0 (f32, f64)",
		       with_types(DEV_TF32, DEV_F8) | 1u << DEV_I8);
	expect_library("gfx950",
		       "hipBLASLt 1.0.0 (f16, bf16, f8, i8, mxf8, mxf4), rocBLAS 5.0.0 (f32, f64)",
		       with_types(DEV_F8, DEV_I8) | 1u << DEV_MXF8 | 1u << DEV_MXF4);
	expect_library("gfx1201", "hipBLASLt 1.0.0 (f16, bf16, f8, i8), rocBLAS 5.0.0 (f32, f64)",
		       with_types(DEV_F8, DEV_I8));
}

#define ROCBLAS_ALONE "rocBLAS 5.0.0 (f32, f64, f16, bf16); "

static void rocblas_is_the_fallback_and_the_reason_is_named(void)
{
	const uint32_t types = with_types(DEV_F32, DEV_F32);
	expect_library("gfx1030", ROCBLAS_ALONE "hipBLASLt does not support gfx1030", types);
	setenv("FAKE_HIPBLASLT_VERSION", "300", 1);
	expect_library(CDNA3, ROCBLAS_ALONE "hipBLASLt is older than 0.6", types);
	setenv("FAKE_FAIL", "hipblasLtCreate=6", 1);
	expect_library(CDNA3, ROCBLAS_ALONE "hipblasLtCreate: HIPBLAS_STATUS_INTERNAL_ERROR",
		       types);
	setenv("FAKE_FAIL", "hipblasLtMatmulAlgoGetHeuristic=7", 1);
	expect_library(CDNA3,
		       ROCBLAS_ALONE "hipBLASLt has no algorithm for " CDNA3
				     ", no tf32: hipblasLtMatmulAlgoGetHeuristic: "
				     "HIPBLAS_STATUS_NOT_SUPPORTED",
		       types);
	setenv("FAKE_FAIL", "hipblasLtMatmulAlgoGetHeuristic:2=2", 1);
	expect_library(CDNA3,
		       ROCBLAS_ALONE "hipblasLtMatmulAlgoGetHeuristic: HIPBLAS_STATUS_ALLOC_FAILED",
		       types);
}

static void one_type_without_algorithms_is_the_other_librarys(void)
{
	setenv("FAKE_FAIL", "hipblasLtMatmulAlgoGetHeuristic:2=7", 1); /* tf32, f16, bf16, f8, i8 */
	expect_library(
		CDNA3,
		"hipBLASLt 1.0.0 (tf32, bf16, f8, i8), rocBLAS 5.0.0 (f32, f64, f16); no f16: "
		"hipblasLtMatmulAlgoGetHeuristic: HIPBLAS_STATUS_NOT_SUPPORTED",
		with_types(DEV_TF32, DEV_F8) | 1u << DEV_I8);
	setenv("FAKE_HIPBLASLT_VERSION", "700", 1); /* ROCm 6.1's */
	expect_library(CDNA3,
		       "hipBLASLt 0.7.0 (tf32, f16, bf16, i8), rocBLAS 5.0.0 (f32, f64); no f8: "
		       "hipblasLtMatmulAlgoGetHeuristic: HIPBLAS_STATUS_NOT_SUPPORTED",
		       with_types(DEV_TF32, DEV_I8));
}

static void hipblaslt_works_without_rocblas(void)
{
	setenv("FAKE_FAIL", "rocblas_create_handle=6", 1);
	expect_library(CDNA2, "hipBLASLt 1.0.0 (f16, bf16, i8)",
		       1u << DEV_F16 | 1u << DEV_BF16 | 1u << DEV_I8);
}

/* ------------------------------------------------------------------ multiplying */

struct multiplied {
	struct dev_gemm g;
	char *memory; /* A, B, C of at most 4 bytes an element */
	char raw[2][4 * COUNT];
};

static struct multiplied operands_of(enum dev_type type)
{
	struct multiplied p = {0};
	struct rng r;
	void *memory;
	ok(dev_alloc(d, DEV_MEM_DEVICE, sizeof(p.raw) + sizeof(p.raw[0]), &memory));
	p.memory = memory;
	rng_seed(&r, 5, 0);
	for (unsigned i = 0; i < COUNT; i++) {
		const double unit = type == DEV_I8 ? 127 : 1, x = rng_unit(&r) * 2 - 1;
		/* Some values round to -0 in f8. */
		element_set(p.raw[0], type, i, i % 7 ? unit * x : -1e-5);
		element_set(p.raw[1], type, i, unit * (rng_unit(&r) * 2 - 1));
	}
	for (int i = 0; i < 2; i++)
		ok(dev_upload(d, p.memory + i * (int)sizeof(p.raw[0]), p.raw[i], sizeof(p.raw[0])));
	p.g = (struct dev_gemm)PACKED_GEMM(SIDE, SIDE, SIDE, .type = type, .b_transposed = true,
					   .a = p.memory, .b = p.memory + sizeof(p.raw[0]),
					   .c = p.memory + sizeof(p.raw));
	return p;
}

static unsigned wrong_elements(const struct multiplied *p)
{
	static char c[4 * COUNT];
	const enum dev_type type = p->g.type, result = dev_types[type].result;
	unsigned wrong = 0;
	ok(dev_download(d, c, p->memory + sizeof(p->raw), COUNT * dev_type_bytes(result)));
	for (unsigned i = 0; i < COUNT; i++) {
		double sum = 0;
		for (unsigned k = 0; k < SIDE; k++)
			sum += element_get(p->raw[0], type, i / SIDE * SIDE + k) *
			       element_get(p->raw[1], type, i % SIDE * SIDE + k);
		const double allowed = type == DEV_I8 ? 0 : 0.01 * (1 + fabs(sum));
		wrong += !(fabs(element_get(c, result, i) - sum) <= allowed);
	}
	return wrong;
}

static void multiply_on(const char *arch, enum dev_type type)
{
	open_device(arch);
	struct multiplied p = operands_of(type);
	struct dev_stream *s;
	ok(dev_stream_open(d, 0, &s));
	ok(dev_gemm_prepare(d, &p.g));
	ok(dev_gemm(d, s, &p.g));
	ok(dev_stream_sync(d, s));
	expect(wrong_elements(&p) == 0);
	dev_stream_close(d, s);
	ok(dev_free(d, p.memory));
	close_device();
}

/* Codes are the same everywhere, and so is the result. */
static void f8_of_either_bias_gives_what_ocp_says(void)
{
	multiply_on(CDNA3, DEV_F8);
	multiply_on("gfx950", DEV_F8);
}

static void tf32_is_multiplied_where_there_are_kernels(void) { multiply_on(CDNA3, DEV_TF32); }
static void integers_are_multiplied_exactly(void) { multiply_on(CDNA2, DEV_I8); }

static void algorithms_are_tried_and_numbered(void)
{
	struct dev_gemm_choice choice;
	open_device(CDNA2);
	struct multiplied p = operands_of(DEV_BF16);
	setenv("FAKE_ALGORITHM_US", "0", 1);
	ok(dev_gemm_prepare(d, &p.g));
	ok(dev_gemm_chosen(d, &p.g, &choice));
	unsetenv("FAKE_ALGORITHM_US");
	printf("# %s; %u offered, %u tried\n", choice.algorithm, choice.offered, choice.tried);
	expect(strncmp(choice.algorithm, "solution ", strlen("solution ")) == 0 &&
	       strstr(choice.algorithm, ", workspace "));
	/* Four of 32 are refused when they run. */
	expect(choice.offered == 32 && choice.tried > 0 && choice.tried <= 28);
	p.g.type = DEV_F32;
	p.g.m = p.g.n = p.g.k = SIDE / 2;
	ok(dev_gemm_prepare(d, &p.g));
	ok(dev_gemm_chosen(d, &p.g, &choice));
	expect_str(choice.algorithm, "rocBLAS's first choice");
	ok(dev_free(d, p.memory));
	close_device();
}

/* Unprepared and prepared; hipBLASLt is asked once for each, and another shape is its. */
static void a_gemm_without_algorithms_is_the_other_librarys(void)
{
	struct dev_gemm_choice choice;
	struct dev_stream *s;
	open_device(CDNA2);
	struct multiplied p = operands_of(DEV_F16);
	ok(dev_stream_open(d, 0, &s));
	setenv("FAKE_FAIL", "hipblasLtMatmulAlgoGetHeuristic=3", 1); /* invalid: that is told */
	expect(dev_gemm(d, s, &p.g) == -EINVAL);
	setenv("FAKE_FAIL", "hipblasLtMatmulAlgoGetHeuristic:1=7", 1);
	ok(dev_gemm(d, s, &p.g));
	ok(dev_stream_sync(d, s));
	expect(wrong_elements(&p) == 0);
	setenv("FAKE_FAIL", "hipblasLtMatmul=5", 1);
	ok(dev_gemm(d, s, &p.g));
	ok(dev_gemm_prepare(d, &p.g));
	ok(dev_gemm_chosen(d, &p.g, &choice));
	expect_str(choice.algorithm, "rocBLAS's first choice");
	ok(dev_gemm(d, s, &p.g));
	unsetenv("FAKE_FAIL");
	ok(dev_stream_sync(d, s));
	expect(wrong_elements(&p) == 0);
	p.g.m = SIDE / 2;
	ok(dev_gemm_prepare(d, &p.g));
	ok(dev_gemm_chosen(d, &p.g, &choice));
	expect(strncmp(choice.algorithm, "solution ", strlen("solution ")) == 0);
	dev_stream_close(d, s);
	ok(dev_free(d, p.memory));
	close_device();
}

/* The fake refuses a second stream of a handle. */
static void streams_have_handles_of_their_own(void)
{
	open_device(CDNA2);
	struct multiplied p = operands_of(DEV_F16);
	struct dev_stream *s[3];
	for (int i = 0; i < 3; i++) {
		ok(dev_stream_open(d, 0, &s[i]));
		ok(dev_gemm(d, s[i], &p.g));
		ok(dev_stream_sync(d, s[i]));
	}
	expect(wrong_elements(&p) == 0);
	for (int i = 0; i < 3; i++)
		dev_stream_close(d, s[i]);
	ok(dev_free(d, p.memory));
	close_device();
}

static struct {
	struct gpu_gemm_problem gemm;
	atomic_bool ends;
} heuristic;

static void *ask_again_and_again(void *unused)
{
	enum { SOME = 4 };
	const struct gpu_dev *gpu = gpu_of(d);
	const struct gpu_blas *blas = gpu->vendor->blas;
	size_t count = 0;
	char *algorithms = calloc(SOME, blas->algorithm_bytes);
	require(algorithms);
	while (!atomic_load(&heuristic.ends)) {
		ok(blas->algorithms(gpu->blas, &heuristic.gemm, algorithms, SOME, &count));
		usleep(50); /* or the GEMM may never get the lock */
	}
	free(algorithms);
	return unused;
}

/* The fake ends the process where the heuristic and a GEMM write to a descriptor at a time. */
static void the_heuristic_and_a_gemm_take_turns(void)
{
	pthread_t thread;
	struct dev_stream *s;
	open_device(CDNA2);
	struct multiplied p = operands_of(DEV_F16);
	ok(dev_stream_open(d, 0, &s));
	ok(dev_gemm(d, s, &p.g));
	heuristic.gemm = (struct gpu_gemm_problem){
		.type = DEV_F16,
		.first_transposed = true,
		.m = SIDE,
		.n = SIDE,
		.k = SIDE,
		.ld_first = SIDE,
		.ld_second = SIDE,
		.ld_c = SIDE,
		.workspace = s->workspace,
		.workspace_bytes = gpu_of(d)->vendor->blas->workspace_bytes};
	setenv("FAKE_HEURISTIC_US", "100", 1);
	require(pthread_create(&thread, NULL, ask_again_and_again, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		ok(dev_gemm(d, s, &p.g));
		ok(dev_stream_sync(d, s));
	}
	atomic_store(&heuristic.ends, true);
	pthread_join(thread, NULL);
	unsetenv("FAKE_HEURISTIC_US");
	expect(wrong_elements(&p) == 0);
	dev_stream_close(d, s);
	ok(dev_free(d, p.memory));
	close_device();
}

/* Its handle is created then, and hipBLASLt ends the process where the memory for it is refused. */
static void the_first_gemm_of_a_stream_is_not_captured(void)
{
	open_device(CDNA2);
	struct multiplied p = operands_of(DEV_F16), other = operands_of(DEV_F32);
	struct dev_stream *s;
	struct dev_graph *graph;
	ok(dev_stream_open(d, 0, &s));
	ok(dev_gemm(d, s, &other.g)); /* the workspace is there */
	ok(dev_graph_begin(d, s));
	expect(dev_gemm(d, s, &p.g) == -ENOTSUP);
	expect(strstr(err_text(), "a stream's first GEMM cannot be captured"));
	ok(dev_gemm(d, s, &other.g)); /* rocBLAS needs none */
	ok(dev_graph_end(d, s, &graph));
	dev_graph_close(d, graph);
	ok(dev_gemm(d, s, &p.g));
	ok(dev_graph_begin(d, s));
	ok(dev_gemm(d, s, &p.g));
	ok(dev_graph_end(d, s, &graph));
	ok(dev_graph_launch(d, s, graph));
	ok(dev_stream_sync(d, s));
	expect(wrong_elements(&p) == 0);
	dev_graph_close(d, graph);
	dev_stream_close(d, s);
	ok(dev_free(d, p.memory));
	ok(dev_free(d, other.memory));
	close_device();
}

static void a_failed_gemm_is_named(void)
{
	open_device(CDNA2);
	struct multiplied p = operands_of(DEV_F16);
	struct dev_stream *s;
	ok(dev_stream_open(d, 0, &s));
	setenv("FAKE_FAIL", "hipblasLtMatmul=5", 1);
	expect(dev_gemm(d, s, &p.g) == -EIO);
	expect(strstr(err_text(), "hipblasLtMatmul: HIPBLAS_STATUS_EXECUTION_FAILED"));
	unsetenv("FAKE_FAIL");
	dev_stream_close(d, s);
	dev_free(d, p.memory);
	close_device();
}

int main(int argc, char **argv)
{
	if (start_with_fakes(argv))
		return 1;
	alarm(TEST_HANGS_S);
	test(libraries_are_named_with_their_types);
	test(rocblas_is_the_fallback_and_the_reason_is_named);
	test(one_type_without_algorithms_is_the_other_librarys);
	test(hipblaslt_works_without_rocblas);
	test(f8_of_either_bias_gives_what_ocp_says);
	test(tf32_is_multiplied_where_there_are_kernels);
	test(integers_are_multiplied_exactly);
	test(algorithms_are_tried_and_numbered);
	test(a_gemm_without_algorithms_is_the_other_librarys);
	test(streams_have_handles_of_their_own);
	test(the_heuristic_and_a_gemm_take_turns);
	test(the_first_gemm_of_a_stream_is_not_captured);
	test(a_failed_gemm_is_named);
	return test_done();
}
