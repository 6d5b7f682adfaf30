/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Open handles: a hash table of addresses, so that a wrong handle is an error and never read, and a
 * right one is found at once among many.
 */
#include "device/sim/device/calls.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY 256u

struct handle {
	const void *at; /* NULL: free */
	const struct sim_dev *dev;
};

static struct handle *handles;
static size_t capacity, open_handles;

static size_t place_of(const void *at)
{
	return (size_t)((uintptr_t)at * UINT64_C(0x9fb21c651e98df25) >> 32) & (capacity - 1);
}

static struct handle *find_place(const void *at)
{
	size_t i = place_of(at);
	while (handles[i].at && handles[i].at != at)
		i = (i + 1) & (capacity - 1);
	return &handles[i];
}

static int grow_table(void)
{
	struct handle *old = handles, *const end = old + capacity;
	struct handle *grown = calloc(capacity ? 2 * capacity : FIRST_CAPACITY, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	capacity = capacity ? 2 * capacity : FIRST_CAPACITY;
	handles = grown;
	for (struct handle *h = old; h < end; h++)
		if (h->at)
			*find_place(h->at) = *h;
	free(old);
	return 0;
}

int sim_handle_add(const struct sim_dev *d, const void *at)
{
	if (2 * (open_handles + 1) > capacity && grow_table())
		return -ENOMEM;
	*find_place(at) = (struct handle){at, d};
	open_handles++;
	return 0;
}

/* Those that follow without a gap are entered again, for they may have been moved by this one. */
void sim_handle_remove(const void *at)
{
	struct handle *h = capacity ? find_place(at) : NULL;
	if (!h || !h->at)
		return;
	*h = (struct handle){0};
	for (size_t i = (size_t)(h - handles + 1) & (capacity - 1); handles[i].at;
	     i = (i + 1) & (capacity - 1)) {
		const struct handle moved = handles[i];
		handles[i] = (struct handle){0};
		*find_place(moved.at) = moved;
	}
	if (--open_handles > 0)
		return;
	free(handles);
	handles = NULL;
	capacity = 0;
}

const struct sim_dev *sim_handle_owner(const void *at)
{
	return capacity ? find_place(at)->dev : NULL;
}
