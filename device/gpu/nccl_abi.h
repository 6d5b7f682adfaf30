/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of NCCL's ABI that we use, which RCCL shares. A stream is cudaStream_t or hipStream_t,
 * both pointers to opaque structures. tests/abi/nccl.c compares it with nccl.h, tests/abi/rccl.c
 * with rccl.h. What is newer than the oldest library that we take is marked with its release.
 */
#ifndef GPUSIG_NCCL_ABI_H
#define GPUSIG_NCCL_ABI_H

#include <limits.h>
#include <stddef.h>

typedef unsigned nccl_status;
enum {
	NCCL_ABI_SUCCESS = 0,
	NCCL_ABI_INVALID_ARGUMENT = 4,
	NCCL_ABI_INVALID_USAGE = 5,
};
enum { NCCL_ABI_FLOAT = 7 };
enum { NCCL_ABI_SUM = 0 };
/* 2.27; the last one 2.28 */
enum {
	NCCL_ABI_CTA_POLICY_DEFAULT = 0,
	NCCL_ABI_CTA_POLICY_EFFICIENCY = 1,
	NCCL_ABI_CTA_POLICY_ZERO = 2,
};
enum { NCCL_ABI_WINDOW_SYMMETRIC = 1 }; /* 2.27 */

struct ncclComm;

#define NCCL_ABI_ID_BYTES 128
struct nccl_abi_id {
	char bytes[NCCL_ABI_ID_BYTES];
};

/* ncclConfig_t as 2.27 has it. `version` is that of this layout: a newer library takes its defaults
 * for what it added since, an older one reads the fields that it has. */
#define NCCL_ABI_CONFIG_MAGIC 0xcafebeefu
#define NCCL_ABI_CONFIG_VERSION 22700u
#define NCCL_ABI_CONFIG_UNSET INT_MIN /* of pointers NULL */
struct nccl_abi_config {
	size_t size;
	unsigned magic, version;
	int blocking, cluster_size, min_ctas, max_ctas;
	const char *net_name;
	int split_share, traffic_class;
	const char *comm_name;
	int collnet_enable, cta_policy, shrink_share, nvls_ctas;
};

/* tests/abi defines these as the library's own types, so that it can compare whole prototypes. */
#ifndef NCCL_ABI_TYPES
typedef struct nccl_stream *nccl_stream;
typedef struct nccl_window *nccl_window;
typedef struct nccl_abi_id nccl_id;
typedef struct nccl_abi_config nccl_config;
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

typedef nccl_status nccl_get_id_fn(nccl_id *);
/* communicator of the current device, ranks, id, rank, configuration; 2.14 */
typedef nccl_status nccl_comm_init_rank_config_fn(struct ncclComm **, int, nccl_id, int,
						  nccl_config *);
typedef nccl_status nccl_mem_alloc_fn(void **, size_t); /* 2.19, of the current device */
typedef nccl_status nccl_mem_free_fn(void *);
/* memory, bytes, handle; 2.19 */
typedef nccl_status nccl_comm_register_fn(struct ncclComm *, void *, size_t, void **);
typedef nccl_status nccl_comm_deregister_fn(struct ncclComm *, void *);
/* memory, bytes, window, flags; 2.27. NULL: the library cannot use it */
typedef nccl_status nccl_window_register_fn(struct ncclComm *, void *, size_t, nccl_window *, int);
typedef nccl_status nccl_window_deregister_fn(struct ncclComm *, nccl_window);
/* from, to, count of each rank's part, type; 2.28 */
typedef nccl_status nccl_all_to_all_fn(const void *, void *, size_t, unsigned, struct ncclComm *,
				       nccl_stream);

#endif
