/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/vec.h"
#include "tests/unit/test.h"

#include <stdint.h>

static void items_survive_growth(void)
{
	size_t count = 0, capacity = 0;
	unsigned *items = NULL;
	for (; count < 1000; count++) {
		unsigned *grown = vec_grow(items, count, &capacity, sizeof(*grown));
		require(grown && capacity > count && capacity <= 2 * count + 16);
		items = grown;
		items[count] = (unsigned)count;
	}
	for (unsigned i = 0; i < 1000; i++)
		expect(items[i] == i);
	free(items);
}

static void too_large_leaves_the_capacity(void)
{
	size_t capacity = SIZE_MAX / 4;
	expect(vec_grow(NULL, capacity, &capacity, 8) == NULL);
	expect(capacity == SIZE_MAX / 4);
}

int main(void)
{
	test(items_survive_growth);
	test(too_large_leaves_the_capacity);
	return test_done();
}
