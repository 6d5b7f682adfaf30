/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/blaslt.h"
#include "device/gpu/hip/hip_blas_libraries.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* rocBLAS allocates as much by itself on gfx94x, and AMD's benchmark of hipBLASLt gives it. */
#define WORKSPACE_BYTES (128u << 20)

/* If hipBLASLt ranks fewer than it is asked for, it looks at every kernel there is, which takes as
 * long as many trials. */
#define MAX_ALGORITHMS 32u

/* A GEMM is multiplied by the first library that has its type and an algorithm for it. hipBLASLt
 * alone has a state of streams, and algorithms for some GEMMs of a type only. */
enum { LIBRARIES = 2 };
static const struct gpu_blas *const libraries[LIBRARIES] = {&hip_blaslt, &hip_rocblas};

struct blas {
	void *opened[LIBRARIES]; /* NULL: not to be had */
	uint32_t types[LIBRARIES];
};

struct algorithm {
	size_t library;
	struct blaslt_algorithm its; /* the larger of the two libraries' */
};

static bool has_type(const struct blas *blas, size_t library, enum dev_type type)
{
	return type < DEV_TYPES && blas->types[library] >> type & 1;
}

static int find_library(const struct blas *blas, const struct gpu_gemm_problem *p,
			size_t *library_p)
{
	const bool both = has_type(blas, 0, p->type) && has_type(blas, 1, p->type);
	const int status = both ? blaslt_find(blas->opened[0], p) : 0;
	if (status && status != -ENOTSUP)
		return status;
	if (status)
		err_clear();
	*library_p = !status && has_type(blas, 0, p->type) ? 0 : 1;
	return has_type(blas, *library_p, p->type)
		       ? 0
		       : err_note(-ENOTSUP, "neither hipBLASLt nor rocBLAS supports a GEMM of this "
					    "type on this device");
}

/* ------------------------------------------------------------------ open and close */

/* "rocBLAS 5.0.0 (f32, f64)" */
static size_t append_library(char *text, size_t used, size_t capacity, const char *version,
			     uint32_t types)
{
	char names[64] = "";
	size_t at = 0;
	for (unsigned type = 0; type < DEV_TYPES; type++)
		if (types >> type & 1 && at < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? ", " : "", dev_type_names[type]);
	if (types && used < capacity)
		used += (size_t)snprintf(text + used, capacity - used, "%s%s (%s)",
					 used ? ", " : "", version, names);
	return used;
}

static int blas_open(const struct gpu_traits *traits, void **blas_p, uint32_t *types_p, char *text,
		     size_t capacity)
{
	char version[32], why[ERR_TEXT] = "";
	uint32_t types = 0;
	int status = 0;
	size_t used = 0;
	struct blas *blas = calloc(1, sizeof(*blas));
	if (!blas)
		return err_note(-ENOMEM, "GEMM: out of memory for handles");
	for (size_t i = 0; i < LIBRARIES; i++) {
		uint32_t its = 0;
		status = libraries[i]->open(traits, &blas->opened[i], &its, version,
					    sizeof(version));
		if (i == 0)
			text_fit(why, sizeof(why), "%s", err_text());
		blas->types[i] = its;
		used = append_library(text, used, capacity, version, its & ~types);
		types |= its;
	}
	if (!types) {
		free(blas);
		return status;
	}
	err_clear();
	if (why[0])
		text_fit_more(text, capacity, "; %s", why);
	*types_p = types;
	*blas_p = blas;
	return 0;
}

static void blas_close(void *opened, bool usable)
{
	struct blas *blas = opened;
	for (size_t i = 0; blas && i < LIBRARIES; i++)
		if (blas->opened[i])
			libraries[i]->close(blas->opened[i], usable);
	free(blas);
}

static bool blas_needs_state(void *opened, enum dev_type type) { return has_type(opened, 0, type); }

static int blas_stream_open(void *opened, void **state_p)
{
	struct blas *blas = opened;
	return blaslt_stream_open(blas->opened[0], state_p);
}

static void blas_stream_close(void *opened, void *state)
{
	struct blas *blas = opened;
	blaslt_stream_close(blas->opened[0], state);
}

/* ------------------------------------------------------------------ run */

static int blas_algorithms(void *opened, const struct gpu_gemm_problem *p, void *algorithms,
			   size_t capacity, size_t *count_p)
{
	struct blas *blas = opened;
	struct algorithm *list = algorithms;
	size_t library, count = 0;
	int status = find_library(blas, p, &library);
	if (status)
		return status;
	const size_t bytes = libraries[library]->algorithm_bytes;
	char *its = calloc(capacity, bytes);
	if (!its)
		return err_note(-ENOMEM, "GEMM: out of memory for algorithms");
	status = libraries[library]->algorithms(blas->opened[library], p, its, capacity, &count);
	for (size_t i = 0; i < count && !status; i++) {
		list[i] = (struct algorithm){.library = library};
		memcpy(&list[i].its, its + i * bytes, bytes);
	}
	free(its);
	if (!status)
		*count_p = count;
	return status;
}

static int blas_run(void *opened, void *stream, const struct gpu_gemm_problem *p,
		    const void *wanted)
{
	struct blas *blas = opened;
	const struct algorithm *algorithm = wanted;
	size_t library = algorithm ? algorithm->library : LIBRARIES;
	const int status = algorithm ? 0 : find_library(blas, p, &library);
	if (status)
		return status;
	return libraries[library]->run(blas->opened[library], stream, p,
				       algorithm ? &algorithm->its : NULL);
}

static void blas_describe(const void *chosen, char *text, size_t capacity)
{
	const struct algorithm *algorithm = chosen;
	libraries[algorithm->library]->describe(&algorithm->its, text, capacity);
}

const struct gpu_blas hip_blas = {
	.open = blas_open,
	.close = blas_close,
	.needs_state = blas_needs_state,
	.stream_open = blas_stream_open,
	.stream_close = blas_stream_close,
	.algorithms = blas_algorithms,
	.run = blas_run,
	.describe = blas_describe,
	.algorithm_bytes = sizeof(struct algorithm),
	.max_algorithms = MAX_ALGORITHMS,
	.workspace_bytes = WORKSPACE_BYTES,
};
