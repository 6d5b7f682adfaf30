/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rule that calls a pair shared or apart: known answers, and its rate of errors where the truth
 * is the worst one, a median at the limit itself.
 */
#include "micro/link_contention/shared_links.h"
#include "lib/rng.h"
#include "tests/unit/test.h"

enum { ROUNDS = 12, PAIRS = 28, TRIALS = 2000 };

/* 28 pairs need an order statistic with 0.05 / 28: of ten rounds the last one, with 1 / 1024. */
static void all_rounds_of_ten_must_agree_for_28_pairs(void)
{
	double kept[10];
	for (int last = 0; last < 3; last++) {
		for (int i = 0; i < 10; i++)
			kept[i] = i < 9 ? 0.5 + 0.01 * i : (double[]){0.89, 0.91, 0.5}[last];
		expect(pair_judge(kept, 10, PAIRS) == (last == 1 ? PAIR_UNDECIDED : PAIR_SHARED));
	}
	for (int i = 0; i < 10; i++)
		kept[i] = 1.02 - 0.01 * i;
	expect(pair_judge(kept, 10, PAIRS) == PAIR_APART);
	kept[3] = 0.89;
	expect(pair_judge(kept, 10, PAIRS) == PAIR_UNDECIDED);
	expect(pair_judge(kept, 10, 1) == PAIR_APART);
}

static void too_few_rounds_decide_nothing(void)
{
	double kept[] = {0.5, 0.5, 0.5, 0.5, 0.5};
	expect(pair_judge(kept, 0, 1) == PAIR_UNDECIDED);
	expect(pair_judge(kept, 4, 1) == PAIR_UNDECIDED);
	expect(pair_judge(kept, 5, 1) == PAIR_SHARED);
	expect(pair_judge(kept, 5, 2) == PAIR_UNDECIDED);
}

/* At the limit both verdicts are wrong, and a trial is one where any pair gets one. Heavy tails. */
static void errors_are_as_rare_as_said(void)
{
	struct rng r;
	int wrong = 0;
	rng_seed(&r, 1, 1);
	for (int trial = 0; trial < TRIALS; trial++) {
		int of_trial = 0;
		for (int pair = 0; pair < PAIRS; pair++) {
			double kept[ROUNDS];
			for (int i = 0; i < ROUNDS; i++) {
				const double draw = rng_normal(&r);
				kept[i] = SHARED_BELOW + 0.01 * draw * draw * draw;
			}
			of_trial += pair_judge(kept, ROUNDS, PAIRS) == PAIR_SHARED;
		}
		wrong += of_trial > 0;
	}
	/* 28 * (1 / 4096) at this number of rounds, and at most 5 %. */
	expect_near((double)wrong / TRIALS, PAIRS / 4096.0, 0.006);
}

int main(void)
{
	test(all_rounds_of_ten_must_agree_for_28_pairs);
	test(too_few_rounds_decide_nothing);
	test(errors_are_as_rare_as_said);
	return test_done();
}
