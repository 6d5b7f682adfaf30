/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/address_table.h"
#include "lib/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Number of entries whose address is not above this one. */
static size_t count_below(const struct address_table *t, uintptr_t address)
{
	size_t low = 0, high = t->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->at[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int address_table_add(struct address_table *t, const void *start, void *item)
{
	struct address_entry *grown = vec_grow(t->at, t->count, &t->capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	t->at = grown;
	size_t i = count_below(t, (uintptr_t)start);
	memmove(grown + i + 1, grown + i, (t->count - i) * sizeof(*grown));
	grown[i] = (struct address_entry){.start = (uintptr_t)start, .item = item};
	t->count++;
	return 0;
}

void *address_table_below(const struct address_table *t, const void *address)
{
	size_t i = count_below(t, (uintptr_t)address);
	return i ? t->at[i - 1].item : NULL;
}

void *address_table_find(const struct address_table *t, const void *start)
{
	size_t i = count_below(t, (uintptr_t)start);
	return i && t->at[i - 1].start == (uintptr_t)start ? t->at[i - 1].item : NULL;
}

void *address_table_remove(struct address_table *t, const void *start)
{
	size_t i = count_below(t, (uintptr_t)start);
	if (i == 0 || t->at[i - 1].start != (uintptr_t)start)
		return NULL;
	void *item = t->at[i - 1].item;
	t->count--;
	memmove(t->at + i - 1, t->at + i, (t->count - (i - 1)) * sizeof(*t->at));
	if (t->count == 0) {
		free(t->at);
		*t = (struct address_table){0};
	}
	return item;
}
