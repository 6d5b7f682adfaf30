/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairings: every pair once in as few rounds as possible, random perfect matchings, and both for
 * pairs between nodes, or within one, alone.
 */
#include "collectives/pairs/pairing.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { MOST = 33 };

static struct pairing_request all_apart(uint32_t ranks, enum pairing_kind kind, uint32_t rounds,
					uint64_t seed)
{
	static int own[MOST];
	for (int i = 0; i < MOST; i++)
		own[i] = i;
	return (struct pairing_request){
		.kind = kind, .ranks = ranks, .node = own, .rounds = rounds, .seed = seed};
}

/* In order of rounds, no rank twice in one, and links numbered from 0 without gaps, the same number
 * for the same pair alone. Counts how often each pair comes. */
static void count_pairs(const struct pairing *p, uint32_t ranks, unsigned times[MOST][MOST])
{
	uint32_t link_of[MOST][MOST], round_of[MOST], next = 0;
	memset(times, 0, MOST * sizeof(times[0]));
	memset(round_of, 0xff, sizeof(round_of));
	for (size_t i = 0; i < p->count; i++) {
		const struct pair_slot *s = &p->slots[i];
		require(s->first < s->second && s->second < ranks && s->round < p->rounds);
		expect(i == 0 || s->round >= p->slots[i - 1].round);
		expect(round_of[s->first] != s->round && round_of[s->second] != s->round);
		round_of[s->first] = round_of[s->second] = s->round;
		if (times[s->first][s->second]++ == 0)
			link_of[s->first][s->second] = next++;
		expect(s->link == link_of[s->first][s->second]);
	}
	expect(p->links == next);
}

static void every_pair_comes_once_in_the_fewest_rounds(void)
{
	static unsigned times[MOST][MOST];
	for (uint32_t n = 2; n <= MOST; n++) {
		struct pairing p;
		const struct pairing_request request = all_apart(n, PAIRING_ROUND_ROBIN, 0, 0);
		require(pairing_open(&request, &p) == 0);
		count_pairs(&p, n, times);
		expect(p.rounds == (n % 2 ? n : n - 1) && pairing_all_rounds(n) == p.rounds);
		expect(p.count == (size_t)n * (n - 1) / 2 && p.links == p.count);
		for (uint32_t a = 0; a < n; a++)
			for (uint32_t b = a + 1; b < n; b++)
				expect(times[a][b] == 1);
		pairing_close(&p);
	}
}

static void the_first_rounds_are_those_of_all(void)
{
	struct pairing some, all;
	const struct pairing_request few = all_apart(10, PAIRING_ROUND_ROBIN, 4, 0),
				     whole = all_apart(10, PAIRING_ROUND_ROBIN, 0, 0),
				     more = all_apart(10, PAIRING_ROUND_ROBIN, 99, 0);
	require(pairing_open(&few, &some) == 0 && pairing_open(&whole, &all) == 0);
	expect(some.rounds == 4 && some.count == 20);
	expect(memcmp(some.slots, all.slots, some.count * sizeof(some.slots[0])) == 0);
	pairing_close(&some);
	pairing_close(&all);
	require(pairing_open(&more, &all) == 0);
	expect(all.rounds == 9);
	pairing_close(&all);
}

static void random_matchings_are_perfect_and_seeded(void)
{
	static unsigned times[MOST][MOST];
	for (uint32_t n = 2; n <= MOST; n++) {
		struct pairing p, same, other;
		const struct pairing_request request = all_apart(n, PAIRING_RANDOM, 50, 7),
					     again = all_apart(n, PAIRING_RANDOM, 50, 8);
		require(pairing_open(&request, &p) == 0 && pairing_open(&request, &same) == 0 &&
			pairing_open(&again, &other) == 0);
		count_pairs(&p, n, times);
		expect(p.rounds == 50 && p.count == 50 * (size_t)(n / 2));
		expect(same.count == p.count &&
		       memcmp(same.slots, p.slots, p.count * sizeof(p.slots[0])) == 0);
		expect(n < 5 || memcmp(other.slots, p.slots, p.count * sizeof(p.slots[0])) != 0);
		pairing_close(&p);
		pairing_close(&same);
		pairing_close(&other);
	}
}

/* With 4 ranks there are 6 pairs: each is in a third of the rounds. */
static void random_matchings_favour_no_pair(void)
{
	static unsigned times[MOST][MOST];
	struct pairing p;
	const struct pairing_request request = all_apart(4, PAIRING_RANDOM, 30000, 1);
	require(pairing_open(&request, &p) == 0);
	count_pairs(&p, 4, times);
	for (uint32_t a = 0; a < 4; a++)
		for (uint32_t b = a + 1; b < 4; b++)
			expect_near(times[a][b], 10000, 400); /* five standard deviations */
	pairing_close(&p);
}

static void pairs_of_one_node_are_apart_from_those_between_nodes(void)
{
	static unsigned times[MOST][MOST];
	static const int node[] = {0, 0, 2, 2, 0, 5, 5};
	enum { RANKS = sizeof(node) / sizeof(node[0]) };
	struct pairing_request request = {.ranks = RANKS, .node = node};
	size_t sum = 0;
	for (int scope = PAIRING_BETWEEN; scope <= PAIRING_WITHIN; scope++) {
		struct pairing p;
		request.scope = (enum pairing_scope)scope;
		require(pairing_open(&request, &p) == 0);
		count_pairs(&p, RANKS, times);
		for (uint32_t a = 0; a < RANKS; a++)
			for (uint32_t b = a + 1; b < RANKS; b++)
				expect(times[a][b] ==
				       ((node[a] == node[b]) == (scope == PAIRING_WITHIN)));
		sum += p.count;
		pairing_close(&p);
	}
	expect(sum == RANKS * (RANKS - 1) / 2);
}

/* Two nodes of two ranks: the round of both pairs within a node is left out. */
static void rounds_without_pairs_are_left_out(void)
{
	static const int node[] = {0, 0, 2, 2};
	struct pairing_request request = {.ranks = 4, .node = node};
	struct pairing p;
	require(pairing_open(&request, &p) == 0);
	expect(p.rounds == 2 && p.count == 4);
	pairing_close(&p);
	request.scope = PAIRING_WITHIN;
	require(pairing_open(&request, &p) == 0);
	expect(p.rounds == 1 && p.count == 2);
	pairing_close(&p);
	request.rounds = 1;
	request.ranks = 1;
	require(pairing_open(&request, &p) == 0);
	expect(p.rounds == 0 && p.count == 0 && p.links == 0);
	pairing_close(&p);
}

static void numbers_of_rounds(void)
{
	static const char *const good[] = {"all", "1", "12", "1000000"},
				 *const bad[] = {"",
						 "0",
						 "-1",
						 "1x",
						 "al",
						 "alll",
						 "1.5",
						 "+1",
						 " 1",
						 "1000001",
						 "99999999999999999999"};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		expect(pairing_accept_rounds(good[i]) == 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(pairing_accept_rounds(bad[i]) == -EINVAL);
	expect(pairing_parse_rounds("all") == 0 && pairing_parse_rounds("12") == 12);
}

int main(void)
{
	test(every_pair_comes_once_in_the_fewest_rounds);
	test(the_first_rounds_are_those_of_all);
	test(random_matchings_are_perfect_and_seeded);
	test(random_matchings_favour_no_pair);
	test(pairs_of_one_node_are_apart_from_those_between_nodes);
	test(rounds_without_pairs_are_left_out);
	test(numbers_of_rounds);
	return test_done();
}
