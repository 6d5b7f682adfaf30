/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_onednn.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const files[] = {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so", NULL};

/* dnnl_version_t begins so. */
struct version {
	int major, minor, patch;
};

static struct host_onednn opened;

static void *find_symbol(void *handle, const char *name) { return dlsym(handle, name); }

/* ISO C has no cast from an object pointer to a function pointer. */
#define FUNCTION(handle, name, pointer)                                                            \
	do {                                                                                       \
		void *symbol = find_symbol(handle, name);                                          \
		memcpy(&(pointer), &symbol, sizeof(symbol));                                       \
	} while (0)

int host_onednn_multiply(const struct host_onednn *l, int64_t m, int64_t n, int64_t k,
			 const int8_t *a, int64_t lda, const int8_t *b, int64_t ldb,
			 int b_transposed, int beta, int32_t *c, int64_t ldc)
{
	const int32_t offset = 0;
	l->use_threads(1);
	return l->multiply('N', b_transposed ? 'T' : 'N', 'F', m, n, k, 1.0f, a, lda, 0, b, ldb, 0,
			   (float)beta, c, ldc, &offset)
		       ? -EIO
		       : 0;
}

/* Products whose pairs exceed 16 bits, in both directions. */
static bool is_exact(const struct host_onednn *l)
{
	enum { SIDE = 32 };
	int8_t a[SIDE * SIDE], b[SIDE * SIDE];
	int32_t c[SIDE * SIDE];
	for (int i = 0; i < SIDE * SIDE; i++) {
		a[i] = i / SIDE % 2 ? 127 : -128;
		b[i] = -128;
	}
	if (host_onednn_multiply(l, SIDE, SIDE, SIDE, a, SIDE, b, SIDE, 1, 0, c, SIDE))
		return false;
	for (int i = 0; i < SIDE * SIDE; i++)
		if (c[i] != SIDE * a[i / SIDE * SIDE] * -128)
			return false;
	return true;
}

static void open_library(void)
{
	const struct version *(*version)(void) = NULL;
	struct host_onednn library = {0};
	void *handle = NULL;
	for (size_t i = 0; files[i] && !handle; i++)
		handle = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		snprintf(opened.text, sizeof(opened.text),
			 "none: cannot load libdnnl.so.2 (oneDNN)");
		return;
	}
	FUNCTION(handle, "dnnl_version", version);
	FUNCTION(handle, "dnnl_gemm_s8s8s32", library.multiply);
	FUNCTION(handle, "omp_set_num_threads", library.use_threads);
	if (!version || !library.multiply || !library.use_threads) {
		snprintf(opened.text, sizeof(opened.text),
			 "none: oneDNN is not built with OpenMP, whose threads can be limited");
		return;
	}
	const struct version v = *version();
	const bool exact = is_exact(&library);
	if (exact)
		opened = library;
	snprintf(opened.text, sizeof(opened.text), "%soneDNN %d.%d.%d%s",
		 exact ? "" : "none: ", v.major, v.minor, v.patch,
		 exact ? "" : " saturates on this processor");
}

const struct host_onednn *host_onednn_open(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, open_library);
	return &opened;
}
