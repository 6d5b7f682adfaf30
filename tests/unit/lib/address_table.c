/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/address_table.h"
#include "tests/unit/test.h"

enum { ITEMS = 300, APART = 8 };

static char memory[ITEMS * APART];
static int items[ITEMS];

/* Adds and removes in an order that is neither ascending nor descending. */
static int shuffled_index(int i) { return i * 7 % ITEMS; }

static void items_are_found_by_address(void)
{
	struct address_table t = {0};
	for (int i = 0; i < ITEMS; i++)
		require(address_table_add(&t, memory + shuffled_index(i) * APART,
					  &items[shuffled_index(i)]) == 0);
	expect(t.count == ITEMS);
	for (int i = 0; i < ITEMS; i++) {
		expect(address_table_find(&t, memory + i * APART) == &items[i]);
		expect(address_table_find(&t, memory + i * APART + 1) == NULL);
		expect(address_table_below(&t, memory + i * APART) == &items[i]);
		expect(address_table_below(&t, memory + i * APART + APART - 1) == &items[i]);
	}
	expect(address_table_find(&t, NULL) == NULL && address_table_below(&t, NULL) == NULL);
	for (int i = 0; i < ITEMS; i++) {
		const int gone = shuffled_index(ITEMS - 1 - i);
		expect(address_table_remove(&t, memory + gone * APART + 1) == NULL);
		expect(address_table_remove(&t, memory + gone * APART) == &items[gone]);
		expect(address_table_remove(&t, memory + gone * APART) == NULL);
		expect(address_table_find(&t, memory + gone * APART) == NULL);
	}
	expect(t.at == NULL && t.count == 0 && t.capacity == 0);
}

static void of_equal_addresses_the_last_is_found(void)
{
	struct address_table t = {0};
	require(address_table_add(&t, memory, &items[0]) == 0);
	require(address_table_add(&t, memory, &items[1]) == 0);
	expect(address_table_below(&t, memory + 1) == &items[1]);
	expect(address_table_remove(&t, memory) == &items[1]);
	expect(address_table_remove(&t, memory) == &items[0]);
	expect(address_table_remove(&t, memory) == NULL);
}

int main(void)
{
	test(items_are_found_by_address);
	test(of_equal_addresses_the_last_is_found);
	return test_done();
}
