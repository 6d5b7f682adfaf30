/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libcublasLt, of CUDA 13.0 unless MAJOR and MINOR are defined. Algorithms that need a workspace
 * need operands aligned as the preference says, too.
 */
#define LT(name) cublasLt##name
enum {
	SUCCESS = 0,
	NOT_INITIALIZED = 1,
	ALLOC_FAILED = 3,
	INVALID_VALUE = 7,
	EXECUTION_FAILED = 13,
	NOT_SUPPORTED = 15
};
enum {
	R_32F = 0,
	R_64F = 1,
	R_16F = 2,
	R_8I = 3,
	R_32I = 10,
	R_16BF = 14,
	R_8F_E4M3 = 28,
	R_4F_E2M1 = 33
};
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, COMPUTE_32F_FAST_TF32 = 77 };
enum { OP_N = 0, OP_T = 1 };
enum { TRANSA = 3, TRANSB = 4, FAST_ACCUM = 25 };
enum { A_SCALE = 17, B_SCALE = 18, A_SCALE_MODE = 31, B_SCALE_MODE = 32 };
enum { VEC16_UE4M3 = 1, VEC32_UE8M0 = 2 };
#define SCALE_TILES 1
/* From CUDA 12.8 on, on Blackwell; of f4 with scales of e4m3 alone. */
#define HAS_SCALES (VERSION >= 120800 && is_blackwell())
#define HAS_MODES (VERSION >= 120800)
#define HAS_MXF4 0
#define HAS_NVF4 1
enum { MAX_WORKSPACE_BYTES = 1, ALIGNMENT_OF_A = 5 };
#define REFUSED_AT_RUN NOT_SUPPORTED
#define DESC_IS_WRITTEN 0
#define HEURISTIC_US_EACH 0u
#define HAS_TF32 1
#define HAS_F8 1
/* Rule for i8: the library takes A transposed alone, with rows, depth and leading dimensions that
 * are multiples of 4, at addresses that are. */
#define I8_MULTIPLE 4u
#ifndef MAJOR
#define MAJOR 13
#define MINOR 0
#endif
#define VERSION (10000u * MAJOR + 100u * MINOR)
/* A driver of an older major release does not run it. */
#define CREATE_STATUS                                                                              \
	(env_unsigned("FAKE_DRIVER_VERSION", 13000) / 1000 < MAJOR ? NOT_INITIALIZED : SUCCESS)

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int is_blackwell(void)
{
	const char *board = getenv("FAKE_BOARD"),
		   *major = board ? strstr(board, "sm_major=") : NULL;
	return major && strtol(major + strlen("sm_major="), NULL, 10) >= 10;
}

/* cublasLtMatmulAlgo_t: 64 bytes. */
struct algo {
	uint64_t workspace_bytes;
	uint32_t alignment[4];
	uint32_t magic, index, rest[8];
};
_Static_assert(sizeof(struct algo) == 64, "as cublasLt.h lays it out");

#include "tests/fakes/blaslt_body.h"

size_t cublasLtGetVersion(void) { return VERSION; }

const char *cublasLtGetStatusName(int status)
{
	return status == NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
	       : status == INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
	       : status == ALLOC_FAILED  ? "CUBLAS_STATUS_ALLOC_FAILED"
	       : status == SUCCESS       ? "CUBLAS_STATUS_SUCCESS"
					 : "CUBLAS_STATUS_EXECUTION_FAILED";
}

const char *cublasLtGetStatusString(int status)
{
	return status ? "refused by the fake library" : "success";
}

int cublasLtMatmulAlgoConfigGetAttribute(const struct algo *algo, int which, void *value,
					 size_t bytes, size_t *written)
{
	int status = driver_fault(__func__);
	const size_t wanted_bytes =
		which == 7 || which == 8 ? sizeof(uint16_t)
					 : sizeof(uint32_t); /* INNER_SHAPE_ID, CLUSTER_SHAPE_ID */
	const uint16_t narrow = 0;
	const uint32_t wide = which == 0 ? algo->index : which == 2; /* ID; SPLITK_NUM is 1 */
	if (status || which < 0 || which > 8 || bytes != wanted_bytes)
		return status ? status : INVALID_VALUE;
	memcpy(value, wanted_bytes == sizeof(narrow) ? (const void *)&narrow : &wide, wanted_bytes);
	*written = wanted_bytes;
	return SUCCESS;
}

#pragma GCC visibility pop

static bool find_f8(int type, bool *is_fnuz_p)
{
	*is_fnuz_p = false;
	return type == R_8F_E4M3;
}

static void note_alignment(struct algo *algo, const struct preference *preference)
{
	memcpy(algo->alignment, preference->alignment, sizeof(algo->alignment));
}

static bool fits_alignment(const struct algo *algo, const void *const operands[ALIGNMENTS])
{
	for (int i = 0; i < ALIGNMENTS; i++)
		if (!is_aligned(operands[i], algo->alignment[i]))
			return false;
	return true;
}

/* Any stream may use any handle. */
static int use_handle(struct handle *handle, void *stream)
{
	(void)handle, (void)stream;
	return SUCCESS;
}
