/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A BLAS that calls the real one and wastes a share of its time: SLOW_BLAS=0.05 makes each GEMM
 * take 5 % longer. It goes by the name of OpenBLAS, which GPUSIG_BLAS=openblas:SET names, in a
 * folder on LD_LIBRARY_PATH; SLOW_BLAS_REAL is the path of the library's own file:
 *
 *   cc -shared -fPIC -O2 -o DIR/libopenblas.so.0 slow_blas.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void gemm_fn(const char *, const char *, const int *, const int *, const int *,
		     const void *, const void *, const int *, const void *, const int *,
		     const void *, void *, const int *);

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double share;
static gemm_fn *real_sgemm, *real_dgemm;
static void (*real_set_threads)(int);
static char *(*real_corename)(void), *(*real_config)(void);

/* ISO C has no cast from an object pointer to a function pointer. */
static void find_function(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);
	if (!found)
		abort();
	memcpy(function, &found, sizeof(found));
}

__attribute__((constructor)) static void find_real(void)
{
	const char *text = getenv("SLOW_BLAS"), *path = getenv("SLOW_BLAS_REAL");
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library)
		abort();
	share = text ? strtod(text, NULL) : 0.0;
	find_function(library, "sgemm_", &real_sgemm);
	find_function(library, "dgemm_", &real_dgemm);
	find_function(library, "openblas_set_num_threads", &real_set_threads);
	find_function(library, "openblas_get_corename", &real_corename);
	find_function(library, "openblas_get_config", &real_config);
}

void openblas_set_num_threads(int count) { real_set_threads(count); }
char *openblas_get_corename(void) { return real_corename(); }
char *openblas_get_config(void) { return real_config(); }

static void call_and_waste(gemm_fn *gemm, const char *ta, const char *tb, const int *m,
			   const int *n, const int *k, const void *alpha, const void *a,
			   const int *lda, const void *b, const int *ldb, const void *beta, void *c,
			   const int *ldc)
{
	const double begun = now_s();
	gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
	const double until = now_s() + share * (now_s() - begun);
	while (now_s() < until)
		;
}

void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
	    const void *alpha, const void *a, const int *lda, const void *b, const int *ldb,
	    const void *beta, void *c, const int *ldc)
{
	call_and_waste(real_sgemm, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
	    const void *alpha, const void *a, const int *lda, const void *b, const int *ldb,
	    const void *beta, void *c, const int *ldc)
{
	call_and_waste(real_dgemm, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
