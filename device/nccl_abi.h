/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What we use of NCCL's ABI, which is RCCL's too; a stream is cudaStream_t or hipStream_t, both a pointer to a structure that is
 * nobody's business. tests/abi/nccl.c holds it against nccl.h, tests/abi/rccl.c against rccl.h.
 */
#ifndef GPUSIG_NCCL_ABI_H
#define GPUSIG_NCCL_ABI_H

#include <stddef.h>

typedef unsigned nccl_status;
enum {
	NCCL_ABI_SUCCESS = 0,
	NCCL_ABI_SYSTEM_ERROR = 2,
	NCCL_ABI_INVALID_ARGUMENT = 4,
	NCCL_ABI_INVALID_USAGE = 5,
};
enum { NCCL_ABI_FLOAT = 7 };
enum { NCCL_ABI_SUM = 0 };

struct ncclComm;

/* The check names the library's own type here, so that it can compare whole prototypes. */
#ifndef NCCL_ABI_TYPES
typedef struct nccl_stream *nccl_stream;
#endif

typedef nccl_status nccl_get_version_fn(int *);
typedef const char *nccl_get_error_string_fn(nccl_status);
typedef const char *nccl_get_last_error_fn(struct ncclComm *);
typedef nccl_status nccl_comm_init_all_fn(struct ncclComm **, int, const int *);
typedef nccl_status nccl_comm_destroy_fn(struct ncclComm *);
typedef nccl_status nccl_group_fn(void);
/* from, to, count, type, operation */
typedef nccl_status nccl_all_reduce_fn(const void *, void *, size_t, unsigned, unsigned, struct ncclComm *, nccl_stream);

#endif
