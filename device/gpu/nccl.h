/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NCCL and RCCL, two libraries of one ABI (device/gpu/nccl_abi.h), each opened at the first use.
 * Functions return 0 or -errno with the library's own words. The caller makes a device's context
 * current before a call that concerns the device.
 */
#ifndef GPUSIG_NCCL_H
#define GPUSIG_NCCL_H

#include "device/dev_collectives.h"

struct nccl;
struct ncclComm;
extern const struct nccl cuda_collectives, hip_collectives;

int nccl_load(const struct nccl *n); /* -ENODEV: no library */

/* Name and release. */
void nccl_describe(const struct nccl *n, char *text, size_t capacity);

/* One communicator per device, in order, of the default policy; -ENODEV: no library. */
int nccl_open(const struct nccl *n, const unsigned *indices, size_t count, struct ncclComm **comms);

/* The same of any policy, where the library has it: nccl_policy_open() begins it, then the calls of
 * all ranks are between nccl_begin() and nccl_end(). -ENOTSUP: the release lacks the policy, or a
 * function that it takes. After a failure all communicators that are not NULL are aborted. */
struct nccl_policy {
	enum dev_comm_policy policy;
	char id[128];
};
int nccl_policy_open(const struct nccl *n, enum dev_comm_policy policy, struct nccl_policy *p);
int nccl_open_rank(const struct nccl *n, const struct nccl_policy *p, size_t ranks, size_t rank,
		   struct ncclComm **comm_p);

/* A communicator that cannot be ended is leaked. NULL is left out. */
void nccl_close(const struct nccl *n, struct ncclComm **comms, size_t count);
/* The same after a failure: what runs on the devices ends without the others. */
void nccl_abort(const struct nccl *n, struct ncclComm **comms, size_t count);

/* Memory for communicators whose policy is not the default. */
int nccl_memory_alloc(const struct nccl *n, uint64_t bytes, void **ptr_p);
int nccl_memory_free(const struct nccl *n, void *ptr);
/* Make it known to one, as its policy needs it: the calls of all ranks are between nccl_begin() and
 * nccl_end(), which sets the handles. */
int nccl_register(const struct nccl *n, enum dev_comm_policy policy, struct ncclComm *comm,
		  void *ptr, uint64_t bytes, void **handle_p);
int nccl_deregister(const struct nccl *n, enum dev_comm_policy policy, struct ncclComm *comm,
		    void *handle);

/* The calls of several devices between begin and end are one operation. */
int nccl_begin(const struct nccl *n);
int nccl_end(const struct nccl *n);
/* `ranks`: devices of the communicator. */
int nccl_collective(const struct nccl *n, enum dev_comm_policy policy, struct ncclComm *comm,
		    void *stream, enum dev_collective what, size_t ranks, const float *from,
		    float *to, uint64_t count);

#endif
