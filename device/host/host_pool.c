/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A free item and the head of a chunk both begin with a pointer to the next one. */
struct link {
	struct link *next;
};

#define CHUNK_HEAD 64 /* a cache line, so that items start on one */
#define CHUNK_MIN 64

static int pool_grow(struct host_pool *p, size_t count)
{
	char *chunk = malloc(CHUNK_HEAD + count * p->item_bytes);
	if (!chunk)
		return -ENOMEM;
	((struct link *)(void *)chunk)->next = p->chunks;
	p->chunks = chunk;
	p->made += count;
	for (size_t i = count; i-- > 0;)
		host_pool_give(p, chunk + CHUNK_HEAD + i * p->item_bytes);
	return 0;
}

int host_pool_reserve(struct host_pool *p, size_t count)
{
	return count > p->made ? pool_grow(p, count - p->made) : 0;
}

void *host_pool_take(struct host_pool *p)
{
	if (!p->free && pool_grow(p, CHUNK_MIN))
		return NULL;
	struct link *item = p->free;
	p->free = item->next;
	return memset(item, 0, p->item_bytes);
}

void host_pool_give(struct host_pool *p, void *item)
{
	struct link *link = item;
	link->next = p->free;
	p->free = link;
}

void host_pool_clear(struct host_pool *p)
{
	for (struct link *chunk = p->chunks; chunk;) {
		struct link *next = chunk->next;
		free(chunk);
		chunk = next;
	}
	p->free = p->chunks = NULL;
	p->made = 0;
}
