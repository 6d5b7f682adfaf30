/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Equal items that are taken and given back without allocating, once enough were reserved. Not locked.
 */
#ifndef GPUSIG_HOST_POOL_H
#define GPUSIG_HOST_POOL_H

#include <stddef.h>

struct host_pool {
	size_t item_bytes; /* set by the owner; at least a pointer */
	void *free;
	void *chunks;
	size_t made;
};

/* Have at least `count` items, taken ones included. -ENOMEM. */
int host_pool_reserve(struct host_pool *p, size_t count);

/* An item of zeros, or NULL when none is left and there is no memory. */
void *host_pool_take(struct host_pool *p);

void host_pool_give(struct host_pool *p, void *item);

/* Free all items, taken ones included. */
void host_pool_clear(struct host_pool *p);

#endif
