/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank's vectors in the memory of its device. All operations use one stream.
 *
 * Messages. `direct`: the MPI library says that it takes pointers of the device (dev.h,
 * mpi_queries); then it gets them. Otherwise messages are staged in pinned host memory.
 *
 * Errors. Copies and additions only enqueue and return nothing, because ranks that wait for each
 * other's messages cannot stop in the middle. The first error is kept. After it, calls do nothing
 * until device_vectors_result().
 */
#ifndef GPUSIG_DEVICE_VECTORS_H
#define GPUSIG_DEVICE_VECTORS_H

#include "device/dev.h"

#include <stdbool.h>
#include <stdint.h>

struct device_vectors {
	struct dev *dev;
	struct dev_stream *stream;
	struct dev_kernel *add;
	bool direct;
	char *in, *out;
	char *arrived;  /* received data that will be added, at the same offset as in `out` */
	uint64_t bytes; /* of each vector, a multiple of DEV_KERNEL_ALIGN */
	char *staging;  /* memory for messages; one exchange at a time uses it */
	uint64_t staging_bytes;
	int status; /* the first error; err_text() has its text */
};

/* Three vectors of at least `bytes`, contents undefined. Close it also after an error. -ENOMEM. */
int device_vectors_open(struct device_vectors *v, struct dev *dev, uint64_t bytes);
void device_vectors_close(struct device_vectors *v);

/* Provides at least `bytes` of staging memory, contents undefined; every call with the same kind.
 * The stream must be idle. -ENOMEM. */
int device_vectors_stage(struct device_vectors *v, enum dev_mem kind, uint64_t bytes);

/* Between DEVICE and PINNED memory, or within. Nothing where both are the same. */
void device_vectors_copy(struct device_vectors *v, void *to, const void *from, uint64_t bytes);

/* to[i] += from[i], floats. Both offsets are multiples of DEV_KERNEL_ALIGN. `bytes` is rounded up
 * to such a multiple; the additional elements are padding where chunks are cut at multiples. */
void device_vectors_add(struct device_vectors *v, char *to, const char *from, uint64_t bytes);

void device_vectors_wait(struct device_vectors *v);

/* Waits. Returns the first error since the last call, or 0. */
int device_vectors_result(struct device_vectors *v);

#endif
