/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairings: every pair once in as few rounds as possible, random perfect matchings, and both for
 * pairs between nodes, of one rail or two, or within a node, alone.
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

static bool is_in_scope(enum pairing_scope scope, const int *node, const uint32_t *rail, uint32_t a,
			uint32_t b)
{
	switch (scope) {
	case PAIRING_BETWEEN:
		return node[a] != node[b];
	case PAIRING_SAME_RAIL:
		return node[a] != node[b] && rail[a] == rail[b];
	case PAIRING_CROSS_RAIL:
		return node[a] != node[b] && rail[a] != rail[b];
	case PAIRING_WITHIN:
		break;
	}
	return node[a] == node[b];
}

/* Also on nodes with different numbers of ranks, which come in any order. */
static void every_scope_has_its_pairs_once(void)
{
	static unsigned times[MOST][MOST];
	static const int node[] = {0, 0, 2, 2, 0, 5, 5};
	static const uint32_t alone[] = {0, 1, 0, 1, 2, 0, 1}, two[] = {0, 0, 0, 1, 1, 0, 1};
	enum { RANKS = sizeof(node) / sizeof(node[0]) };
	for (int scope = PAIRING_BETWEEN; scope <= PAIRING_WITHIN; scope++) {
		for (uint32_t rails = 0; rails <= 2; rails += 2) {
			struct pairing p;
			const struct pairing_request request = {.ranks = RANKS,
								.node = node,
								.rails = rails,
								.scope = (enum pairing_scope)scope};
			const uint32_t *rail = rails ? two : alone;
			require(pairing_open(&request, &p) == 0);
			count_pairs(&p, RANKS, times);
			expect(memcmp(p.rail, rail, sizeof(alone)) == 0);
			for (uint32_t a = 0; a < RANKS; a++)
				for (uint32_t b = a + 1; b < RANKS; b++)
					expect(times[a][b] ==
					       is_in_scope(request.scope, node, rail, a, b));
			pairing_close(&p);
		}
	}
}

/* Four nodes of two ranks: both rails are full in each of three rounds. */
static void all_rails_are_busy_at_once(void)
{
	static const int node[] = {0, 0, 2, 2, 4, 4, 6, 6};
	struct pairing_request request = {.ranks = 8, .node = node, .scope = PAIRING_SAME_RAIL};
	struct pairing p;
	require(pairing_open(&request, &p) == 0);
	expect(p.rounds == 3 && p.all_rounds == 3 && p.count == 12);
	for (size_t i = 0; i < p.count; i++)
		expect(p.slots[i].round == i / 4);
	pairing_close(&p);
	request.kind = PAIRING_RANDOM;
	request.rounds = 5;
	require(pairing_open(&request, &p) == 0);
	expect(p.rounds == 5 && p.count == 20);
	pairing_close(&p);
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

static void a_scope_may_say_how_many_rails(void)
{
	static const struct {
		const char *word;
		enum pairing_scope scope;
		uint32_t rails;
	} good[] = {
		{"between", PAIRING_BETWEEN, 0},       {"within", PAIRING_WITHIN, 0},
		{"same-rail", PAIRING_SAME_RAIL, 0},   {"cross-rail", PAIRING_CROSS_RAIL, 0},
		{"same-rail:1", PAIRING_SAME_RAIL, 1}, {"cross-rail:64", PAIRING_CROSS_RAIL, 64}};
	static const char *const bad[] = {
		"",         "betwee",       "betweens",     "between:2",
		"within:1", "same-rail:",   "same-rail:0",  "same-rail:65",
		"same",     "same-rail: 2", "same-rail:-1", "same-rail:4x"};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint32_t rails = 99;
		expect(pairing_accept_scope(good[i].word) == 0);
		expect(pairing_parse_scope(good[i].word, &rails) == good[i].scope);
		expect(rails == good[i].rails);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(pairing_accept_scope(bad[i]) == -EINVAL);
}

int main(void)
{
	test(every_pair_comes_once_in_the_fewest_rounds);
	test(the_first_rounds_are_those_of_all);
	test(random_matchings_are_perfect_and_seeded);
	test(random_matchings_favour_no_pair);
	test(every_scope_has_its_pairs_once);
	test(all_rails_are_busy_at_once);
	test(rounds_without_pairs_are_left_out);
	test(numbers_of_rounds);
	test(a_scope_may_say_how_many_rails);
	return test_done();
}
