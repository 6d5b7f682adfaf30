/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/node/core_matrix.h"
#include "tests/unit/test.h"

enum { MANY = 1024 };

/* Processors 2, 5, 8, ...: some of a machine. */
static size_t choose_of(int *cores, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cores[i] = 2 + 3 * (int)i;
	return core_matrix_choose(cores, count);
}

static void few_are_all_there(void)
{
	int cores[MANY];
	for (size_t count = 0; count <= CORE_MATRIX_MOST; count++) {
		require(choose_of(cores, count) == count);
		for (size_t i = 0; i < count; i++)
			expect(cores[i] == 2 + 3 * (int)i);
	}
}

/* Two that follow each other are no farther apart than any others, give or take one. */
static void many_are_chosen_evenly(void)
{
	int cores[MANY];
	for (size_t count = CORE_MATRIX_MOST + 1; count <= MANY; count += 7) {
		const int least = (int)(count / CORE_MATRIX_MOST);
		require(choose_of(cores, count) == CORE_MATRIX_MOST);
		expect(cores[0] == 2);
		expect(cores[CORE_MATRIX_MOST - 1] < 2 + 3 * (int)count);
		for (size_t i = 1; i < CORE_MATRIX_MOST; i++) {
			const int step = (cores[i] - cores[i - 1]) / 3;
			expect(step == least || step == least + 1);
		}
	}
}

int main(void)
{
	test(few_are_all_there);
	test(many_are_chosen_evenly);
	return test_done();
}
