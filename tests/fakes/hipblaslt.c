/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libhipblaslt. Its kernels count in the handle's memory, so a handle serves one stream; the real
 * library does not refuse a second one, but its results may be wrong. A GEMM and the heuristic
 * write to the descriptor; the latter looks at every kernel there is where it is asked for more
 * than it ranks. f8 is AMD's on gfx94x and OCP's on gfx95x and gfx12; its result in bf16 came with
 * ROCm 6.2, hipBLASLt 0.8. Where the architecture lacks tf32, f32 is multiplied instead, without a
 * word.
 */
#define LT(name) hipblasLt##name
enum {
	SUCCESS = 0,
	NOT_INITIALIZED = 1,
	ALLOC_FAILED = 2,
	INVALID_VALUE = 3,
	EXECUTION_FAILED = 5,
	INTERNAL_ERROR = 6,
	NOT_SUPPORTED = 7
};
enum {
	R_32F = 0,
	R_64F = 1,
	R_16F = 2,
	R_8I = 3,
	R_32I = 10,
	R_16BF = 14,
	R_8F_E4M3 = 28,
	R_4F_E2M1 = 33,
	R_8F_E4M3_FNUZ = 1000
};
enum { COMPUTE_32F = 2, COMPUTE_32F_FAST_TF32 = 6, COMPUTE_64F = 7, COMPUTE_32I = 9 };
enum { OP_N = 111, OP_T = 112 };
enum { TRANSA = 0, TRANSB = 1, FAST_ACCUM = -1 };
enum { A_SCALE = 5, B_SCALE = 6, A_SCALE_MODE = 31, B_SCALE_MODE = 32 };
enum { VEC16_UE4M3 = 1, VEC32_UE8M0 = 2 };
#define SCALE_TILES 0
/* In ROCm 7.0, hipBLASLt 1.0, on gfx950. */
#define HAS_SCALES (HAS_MODES && is_arch("gfx95"))
#define HAS_MODES (version_number() >= 100000)
#define HAS_MXF4 1
#define HAS_NVF4 0
enum { MAX_WORKSPACE_BYTES = 1, ALIGNMENT_OF_A = -1 };
#define REFUSED_AT_RUN INTERNAL_ERROR
#define DESC_IS_WRITTEN 1
#define HEURISTIC_US_EACH env_unsigned("FAKE_HEURISTIC_US", 0)
#define HAS_TF32 is_arch("gfx94")
#define I8_MULTIPLE 1u
#define HAS_F8 (version_number() >= 800)
#define VERSION 100000 /* 1.0.0 */
#define CREATE_STATUS SUCCESS

#include <stddef.h>
#include <stdint.h>

/* hipblasLtMatmulAlgo_t: 24 bytes. */
struct algo {
	uint32_t index;
	uint32_t magic;
	uint64_t workspace_bytes;
	size_t max_workspace_bytes;
};
_Static_assert(sizeof(struct algo) == 24, "as hipblaslt.h lays it out");

#include "tests/fakes/arch.h"

#include <string.h>

static int is_arch(const char *begin)
{
	return strncmp(fake_hip_arch(), begin, strlen(begin)) == 0;
}

static int version_number(void);
#include "tests/fakes/blaslt_body.h"

int hipblasLtGetVersion(struct handle *handle, int *version)
{
	int status = driver_fault(__func__);
	if (!status && !handle)
		status = NOT_INITIALIZED;
	if (!status)
		*version = version_number();
	return status;
}

/* hipblaslt_ext::getIndexFromAlgo(hipblasLtMatmulAlgo_t &) */
int index_from_algo(struct algo *algo) __asm__(
	"_ZN13hipblaslt_ext16getIndexFromAlgoER22_hipblasLtMatmulAlgo_t");
int index_from_algo(struct algo *algo) { return (int)algo->index; }

#pragma GCC visibility pop

static int version_number(void)
{
	const char *old = getenv("FAKE_HIPBLASLT_VERSION");
	return old ? (int)strtol(old, NULL, 10) : VERSION;
}

static bool find_f8(int type, bool *is_fnuz_p)
{
	*is_fnuz_p = type == R_8F_E4M3_FNUZ;
	return (type == R_8F_E4M3_FNUZ && is_arch("gfx94")) ||
	       (type == R_8F_E4M3 && (is_arch("gfx95") || is_arch("gfx12")));
}

static void note_alignment(struct algo *algo, const struct preference *preference)
{
	algo->max_workspace_bytes = preference->workspace_bytes;
}

static bool fits_alignment(const struct algo *algo, const void *const operands[ALIGNMENTS])
{
	(void)algo, (void)operands;
	return true;
}

static int use_handle(struct handle *handle, void *stream)
{
	if (handle->stream && handle->stream != stream)
		return INVALID_VALUE;
	handle->stream = stream;
	return SUCCESS;
}
