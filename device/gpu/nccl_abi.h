/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of NCCL's ABI that we use, which RCCL shares. A stream is cudaStream_t or hipStream_t,
 * both pointers to opaque structures. tests/abi/nccl.c compares it with nccl.h, tests/abi/rccl.c
 * with rccl.h.
 */
#ifndef GPUSIG_NCCL_ABI_H
#define GPUSIG_NCCL_ABI_H

#include <stddef.h>

typedef unsigned nccl_status;
enum {
	NCCL_ABI_SUCCESS = 0,
	NCCL_ABI_INVALID_ARGUMENT = 4,
	NCCL_ABI_INVALID_USAGE = 5,
};
enum { NCCL_ABI_FLOAT = 7 };
enum { NCCL_ABI_SUM = 0 };

struct ncclComm;

/* tests/abi defines this as the library's own type, so that it can compare whole prototypes. */
#ifndef NCCL_ABI_TYPES
typedef struct nccl_stream *nccl_stream;
#endif

typedef nccl_status nccl_get_version_fn(int *);
typedef const char *nccl_get_error_string_fn(nccl_status);
typedef const char *nccl_get_last_error_fn(struct ncclComm *);
typedef nccl_status nccl_comm_init_all_fn(struct ncclComm **, int, const int *);
/* ncclCommDestroy, ncclCommAbort */
typedef nccl_status nccl_comm_end_fn(struct ncclComm *);
typedef nccl_status nccl_group_fn(void);
/* from, to, count, type, operation */
typedef nccl_status nccl_all_reduce_fn(const void *, void *, size_t, unsigned, unsigned,
				       struct ncclComm *, nccl_stream);
/* The same; the count is that of each rank's part. */
typedef nccl_status nccl_reduce_scatter_fn(const void *, void *, size_t, unsigned, unsigned,
					   struct ncclComm *, nccl_stream);
/* from, to, count of each rank's part, type */
typedef nccl_status nccl_all_gather_fn(const void *, void *, size_t, unsigned, struct ncclComm *,
				       nccl_stream);
/* memory, count, type, peer */
typedef nccl_status nccl_send_fn(const void *, size_t, unsigned, int, struct ncclComm *,
				 nccl_stream);
typedef nccl_status nccl_recv_fn(void *, size_t, unsigned, int, struct ncclComm *, nccl_stream);

#endif
