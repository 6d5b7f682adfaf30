/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objects found by address: pairs of an address and an item, sorted by address. The owner keeps the
 * items and guards the table. A struct address_table starts as all zeroes; without entries it holds
 * no memory.
 */
#ifndef GPUSIG_ADDRESS_TABLE_H
#define GPUSIG_ADDRESS_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct address_entry {
	uintptr_t start;
	void *item;
};

struct address_table {
	struct address_entry *at;
	size_t count, capacity;
};

/* -ENOMEM, without a text. Of equal addresses the one added last is found. */
int address_table_add(struct address_table *t, const void *start, void *item);

/* The item with the highest address that is not above `address`; NULL when there is none. */
void *address_table_below(const struct address_table *t, const void *address);

/* The item of exactly this address, or NULL. */
void *address_table_find(const struct address_table *t, const void *start);

/* The same, and its entry is removed. */
void *address_table_remove(struct address_table *t, const void *start);

#endif
