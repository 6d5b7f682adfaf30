/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The vendor's collectives (NCCL, RCCL). Part of the contract in device/dev.h, which includes this
 * file.
 */
#ifndef GPUSIG_DEV_COLLECTIVES_H
#define GPUSIG_DEV_COLLECTIVES_H

#include <stddef.h>
#include <stdint.h>

struct dev_ops;
struct dev_set;
struct dev_stream;

/* Between P devices. A buffer consists of parts of `count` floats; from[i] and to[i] are those of
 * device i, in its DEVICE memory:
 *
 *                        from    to        result
 *     DEV_ALLREDUCE      1 part  1 part    to[i] is the sum of all from[]
 *     DEV_ALLGATHER      1 part  P parts   part j of to[i] is from[j]
 *     DEV_REDUCE_SCATTER P parts 1 part    to[i] is the sum of part i of all from[]
 *     DEV_ALL_TO_ALL     P parts P parts   part j of to[i] is part i of from[j]
 *
 * In place: to[i] may be from[i] for DEV_ALLREDUCE, from[i] may be part i of to[i] for
 * DEV_ALLGATHER, to[i] may be part i of from[i] for DEV_REDUCE_SCATTER. Otherwise to[i] does not
 * overlap from[i]. from[i] keeps its contents where to[i] does not replace them. DEV_ALLGATHER and
 * DEV_ALL_TO_ALL keep every bit, so the floats may be any data of that size. */
enum dev_collective {
	DEV_ALLREDUCE,
	DEV_ALLGATHER,
	DEV_REDUCE_SCATTER,
	DEV_ALL_TO_ALL,
	DEV_COLLECTIVES
};

/* Policy of a communicator: what its collectives take of the devices. A library need not have an
 * algorithm that follows it: then it takes blocks as ever and does not say so. A program that
 * reports a collective without blocks proves it. */
enum dev_comm_policy {
	DEV_COMM_DEFAULT,    /* whatever is fastest */
	DEV_COMM_EFFICIENCY, /* few blocks, for memory of dev_comm_alloc() */
	DEV_COMM_ZERO_CTA,   /* copy engines and no block, for memory of dev_comm_alloc() */
	DEV_COMM_POLICIES
};

/* First member of what a backend returns from comm_open. */
struct dev_comm {
	const struct dev_ops *ops;
	size_t count;     /* of devices */
	char library[64]; /* "NCCL 2.28.9" */
	enum dev_comm_policy policy;
};

/* The communicator of a policy over the devices of a set, ranked in the set's order. The first call
 * opens it, which may take seconds; the set owns it. Collectives of two communicators must not run
 * at the same time: they may wait for each other. -ENODEV: fewer than two devices. -ENOTSUP: no
 * library, one that lacks the policy, or one that fails here, with its own words; later calls
 * return the same. [optional] */
int dev_comm_find(struct dev_set *set, enum dev_comm_policy policy, struct dev_comm **comm_p);

/* Allocate so many bytes of DEVICE memory on every device of the communicator, ptrs[i] on device i,
 * registered with its library as the policy needs it. It is like memory of dev_alloc(), but that
 * dev_comm_free() frees it, and that the library may round it up, to 2 MiB. All at once: errors as
 * of dev_alloc(), and -ENOTSUP with the words of a library that fails. */
int dev_comm_alloc(struct dev_comm *comm, uint64_t bytes, void **ptrs);

/* Frees what one dev_comm_alloc() allocated, under the conditions of dev_free(). What is left when
 * the set is closed is freed then. -EFAULT: none begins with these pointers. */
int dev_comm_free(struct dev_comm *comm, void *const *ptrs);

/* Enqueue a collective: on streams[i] the part of device i, for all devices of the communicator.
 * The first of its kind and size may wait for all work of the devices, because libraries connect
 * them then: run it once before anything is blocked. -EINVAL: no floats, or no such collective.
 * -ENOTSUP: the library fails here, with its own words; so does every later collective of the
 * communicator, and what was enqueued of this one is given up. */
int dev_collective(struct dev_comm *comm, enum dev_collective what,
		   struct dev_stream *const *streams, float *const *from, float *const *to,
		   uint64_t count);

/* "allreduce", ...; "?" for what is not a collective. */
const char *dev_collective_name(enum dev_collective what);
/* "default", "efficiency", "zero-CTA" */
const char *dev_comm_policy_name(enum dev_comm_policy policy);

/* Number of parts of from[i] and to[i] with so many devices. */
static inline size_t dev_collective_sends(enum dev_collective what, size_t devices)
{
	return what == DEV_REDUCE_SCATTER || what == DEV_ALL_TO_ALL ? devices : 1;
}
static inline size_t dev_collective_receives(enum dev_collective what, size_t devices)
{
	return what == DEV_ALLGATHER || what == DEV_ALL_TO_ALL ? devices : 1;
}

#endif
