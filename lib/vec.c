/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/vec.h"

#include <stdint.h>
#include <stdlib.h>

#define FIRST_CAPACITY 16u

void *vec_grow(void *items, size_t count, size_t *capacity_p, size_t item_bytes)
{
	if (count < *capacity_p)
		return items;
	size_t capacity = *capacity_p ? 2 * *capacity_p : FIRST_CAPACITY;
	if (capacity > SIZE_MAX / item_bytes)
		return NULL;
	void *grown = realloc(items, capacity * item_bytes);
	if (grown)
		*capacity_p = capacity;
	return grown;
}
