/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank's vectors in the memory of its device, and what is done there, all in one stream.
 *
 * Errors. Copies and additions only enqueue and return nothing: ranks that wait for each other's messages can't stop in the
 * middle. The first failure is kept; until device_vectors_result() all that follows does nothing.
 */
#ifndef GPUSIG_DEVICE_VECTORS_H
#define GPUSIG_DEVICE_VECTORS_H

#include "device/dev.h"

#include <stdint.h>

struct device_vectors {
	struct dev *dev;
	struct dev_stream *stream;
	struct dev_kernel *add;
	char *in, *out;
	char *arrived;  /* what came and is to be added, as far from its beginning as its place in `out` */
	uint64_t bytes; /* of each, a multiple of DEV_KERNEL_ALIGN */
	char *staging;  /* PINNED memory for messages; one exchange at a time uses it */
	uint64_t staging_bytes;
	int status;     /* the first failure, with its text in err_text() */
};

/* Three vectors of at least `bytes`, contents undefined. After a failure, too, to be closed. -ENOMEM. */
int device_vectors_open(struct device_vectors *v, struct dev *dev, uint64_t bytes);
void device_vectors_close(struct device_vectors *v);

/* At least so much staging memory, contents undefined. The stream is idle. -ENOMEM. */
int device_vectors_stage(struct device_vectors *v, uint64_t bytes);

/* Between DEVICE and PINNED memory, or within. */
void device_vectors_copy(struct device_vectors *v, void *to, const void *from, uint64_t bytes);

/* to[i] += from[i], floats, both from a multiple of DEV_KERNEL_ALIGN in their vectors on. What lies behind `bytes` up to the next
 * such multiple is added, too: nothing that counts, where blocks are cut there. */
void device_vectors_add(struct device_vectors *v, char *to, const char *from, uint64_t bytes);

void device_vectors_wait(struct device_vectors *v);

/* Wait; the first failure since the last call, or 0. */
int device_vectors_result(struct device_vectors *v);

#endif
