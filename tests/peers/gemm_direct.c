/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times direct multi-threaded calls of OpenBLAS: the peer of gemm/efficiency. OPENBLAS_CORETYPE
 * selects the kernels; the caller sets it to the choice of the host backend.
 *
 *     gemm_direct f32|f64 SIDE THREADS SECONDS
 *     ->   {"flop_rate": MEDIAN, "n": CALLS, "kernels": "NAME"}
 */
#include "lib/clock.h"
#include "lib/rng.h"
#include "lib/stats.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CALLS = 1000 };
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };

/* Uses memcpy, because ISO C has no cast from an object pointer to a function pointer. */
#define FUNCTION(library, name, pointer)                                                           \
	do {                                                                                       \
		void *found = dlsym(library, name);                                                \
		memcpy(&(pointer), &found, sizeof(found));                                         \
	} while (0)

static void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int,
		     float, float *, int);
static void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int,
		     double, double *, int);
static void (*set_threads)(int);
static char *(*core_name)(void);

static bool load_blas(void)
{
	void *library = dlopen("libopenblas.so.0", RTLD_NOW);
	if (!library)
		return false;
	FUNCTION(library, "cblas_sgemm", sgemm);
	FUNCTION(library, "cblas_dgemm", dgemm);
	FUNCTION(library, "openblas_set_num_threads", set_threads);
	FUNCTION(library, "openblas_get_corename", core_name);
	return sgemm && dgemm && set_threads && core_name;
}

static uint64_t time_gemm(bool doubles, int n, void *a, void *b, void *c)
{
	uint64_t start = clock_ns();
	if (doubles)
		dgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
	else
		sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1.0f, a, n, b, n, 0.0f, c, n);
	return clock_ns() - start;
}

int main(int argc, char **argv)
{
	static double seconds[CALLS];
	if (argc != 5 || !load_blas()) {
		fprintf(stderr, "usage: gemm_direct f32|f64 SIDE THREADS SECONDS (needs "
				"libopenblas.so.0)\n");
		return argc == 5 ? 77 : 2;
	}
	bool doubles = strcmp(argv[1], "f64") == 0;
	int n = (int)strtol(argv[2], NULL, 10);
	size_t elements = (size_t)n * (size_t)n, bytes = elements * (doubles ? 8 : 4), count = 0;
	void *matrix[3];
	struct rng rng;
	rng_seed(&rng, 1, 0);
	for (int i = 0; i < 3; i++) {
		if (posix_memalign(&matrix[i], 2u << 20, bytes))
			return 1;
		madvise(matrix[i], bytes, MADV_HUGEPAGE);
		if (doubles)
			rng_fill_f64(&rng, matrix[i], elements);
		else
			rng_fill_f32(&rng, matrix[i], elements);
	}
	set_threads((int)strtol(argv[3], NULL, 10));
	double limit = strtod(argv[4], NULL);
	time_gemm(doubles, n, matrix[0], matrix[1], matrix[2]);
	for (uint64_t start = clock_ns();
	     count < CALLS && (count < 3 || 1e-9 * (double)(clock_ns() - start) < limit); count++)
		seconds[count] =
			1e-9 * (double)time_gemm(doubles, n, matrix[0], matrix[1], matrix[2]);
	stats_sort(seconds, count);
	double median = stats_median(seconds, count);
	printf("{\"flop_rate\": %.6g, \"n\": %zu, \"kernels\": \"%s\"}\n",
	       2.0 * n * (double)elements / median, count, core_name());
	for (int i = 0; i < 3; i++)
		free(matrix[i]);
	return 0;
}
