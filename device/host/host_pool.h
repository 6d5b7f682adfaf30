/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Items of one size that are taken and given back without allocating, once enough are reserved. Not
 * locked.
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

/* Allocate until there are `count` items, including those that are taken. -ENOMEM. */
int host_pool_reserve(struct host_pool *p, size_t count);

/* A zeroed item; NULL if none is left and memory is exhausted. */
void *host_pool_take(struct host_pool *p);

void host_pool_give(struct host_pool *p, void *item);

/* Free all items, including those that are taken. */
void host_pool_clear(struct host_pool *p);

#endif
