/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/cases/case_list.h"
#include "tests/unit/test.h"

static void the_ends_are_coarse_and_the_gaps_close(void)
{
	static const unsigned nine[] = {0, 3, 2, 3, 1, 3, 2, 3, 0};
	for (size_t i = 0; i < 9; i++)
		expect(case_list_level(i, 9) == nine[i]);
	expect(case_list_level(0, 1) == 0);
	expect(case_list_level(0, 2) == 0 && case_list_level(1, 2) == 0);
	expect(case_list_level(1, 3) == 1);
}

/* Up to every level, the values that are there lie about evenly: no gap is over twice another. */
static void every_level_spreads(void)
{
	for (size_t n = 2; n < 70; n++)
		for (unsigned level = 0; level < 7; level++) {
			size_t last = 0, least = n, most = 0;
			for (size_t i = 1; i < n; i++) {
				if (case_list_level(i, n) > level)
					continue;
				least = i - last < least ? i - last : least;
				most = i - last > most ? i - last : most;
				last = i;
			}
			expect(last == n - 1);
			expect(most <= 2 * least + 1);
		}
}

int main(void)
{
	test(the_ends_are_coarse_and_the_gaps_close);
	test(every_level_spreads);
	return test_done();
}
