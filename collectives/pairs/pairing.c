/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/pairs/pairing.h"
#include "lib/err.h"
#include "lib/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_LINK UINT32_MAX
#define MAX_ROUNDS 1000000ul

const struct pair_way pair_ways[PAIR_VARIANTS] = {
	[PAIR_FORWARD] = {1, 0, {true, false}, {false, true}},
	[PAIR_BACKWARD] = {1, 0, {false, true}, {true, false}},
	[PAIR_BOTH_WAYS] = {2, 0, {true, true}, {true, true}},
	[PAIR_ROUND_TRIP] = {0, PAIR_ROUND_TRIPS, {false, false}, {true, true}},
};

uint32_t pairing_all_rounds(uint32_t ranks) { return ranks % 2 ? ranks : ranks - 1; }

uint32_t pairing_parse_rounds(const char *word)
{
	return strcmp(word, "all") == 0 ? 0 : (uint32_t)strtoul(word, NULL, 10);
}

int pairing_accept_rounds(const char *word)
{
	char *end = NULL;
	unsigned long rounds = word[0] >= '1' && word[0] <= '9' ? strtoul(word, &end, 10) : 0;
	if (strcmp(word, "all") == 0 || (rounds >= 1 && rounds <= MAX_ROUNDS && !*end))
		return 0;
	return err_note(-EINVAL, "unknown number '%s'; numbers of rounds: all, 1 to %lu", word,
			MAX_ROUNDS);
}

static int compare_pairs(const struct pair_slot *a, const struct pair_slot *b)
{
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return (a->second > b->second) - (a->second < b->second);
}

/* By pair, the first round first. */
static int compare_slots(const void *a, const void *b)
{
	const struct pair_slot *const *x = a, *const *y = b;
	int order = compare_pairs(*x, *y);
	return order ? order : ((*x)->round > (*y)->round) - ((*x)->round < (*y)->round);
}

/* Numbers the pairs in order of their first slots. */
static int number_links(struct pairing *p)
{
	struct pair_slot **order = malloc((p->count + 1) * sizeof(struct pair_slot *));
	if (!order)
		return err_note(-ENOMEM, "%zu pairs: out of memory", p->count);
	for (size_t i = 0; i < p->count; i++)
		order[i] = &p->slots[i];
	qsort(order, p->count, sizeof(struct pair_slot *), compare_slots);
	/* Every slot refers to the first one of its pair, which comes before it. */
	for (size_t i = 0; i < p->count; i++) {
		bool repeats = i > 0 && compare_pairs(order[i], order[i - 1]) == 0;
		order[i]->link = repeats && order[i - 1]->link != NO_LINK ? order[i - 1]->link
				 : repeats ? (uint32_t)(order[i - 1] - p->slots)
					   : NO_LINK;
	}
	for (size_t i = 0; i < p->count; i++)
		p->slots[i].link = p->slots[i].link == NO_LINK ? (uint32_t)p->links++
							       : p->slots[p->slots[i].link].link;
	free(order);
	return 0;
}

static void add_pair(struct pairing *p, const struct pairing_request *request, uint32_t a,
		     uint32_t b)
{
	bool within = request->node[a] == request->node[b];
	if (within == (request->scope == PAIRING_WITHIN))
		p->slots[p->count++] = (struct pair_slot){
			.round = p->rounds, .first = a < b ? a : b, .second = a < b ? b : a};
}

/* One of an even number of places stays; the others move on by one a round and meet in mirrored
 * places. With an odd number of ranks the place that stays is empty. */
static void add_circle_round(struct pairing *p, const struct pairing_request *request,
			     uint32_t round)
{
	const uint32_t ranks = request->ranks, moving = pairing_all_rounds(ranks);
	if (ranks % 2 == 0)
		add_pair(p, request, round, ranks - 1);
	for (uint32_t i = 1; i <= (moving - 1) / 2; i++)
		add_pair(p, request, (round + i) % moving, (round + moving - i) % moving);
}

static void add_random_round(struct pairing *p, const struct pairing_request *request,
			     struct rng *rng, uint32_t *order)
{
	rng_shuffle(rng, order, request->ranks);
	for (uint32_t i = 0; i + 1 < request->ranks; i += 2)
		add_pair(p, request, order[i], order[i + 1]);
}

int pairing_open(const struct pairing_request *request, struct pairing *p)
{
	const uint32_t all = pairing_all_rounds(request->ranks), most = request->rounds;
	const uint32_t rounds =
		most && (most < all || request->kind == PAIRING_RANDOM) ? most : all;
	struct rng rng;
	uint32_t *order = calloc(request->ranks, sizeof(*order));
	*p = (struct pairing){
		.slots = calloc((size_t)rounds * (request->ranks / 2 + 1), sizeof(*p->slots))};
	int status = order && p->slots ? 0
				       : err_note(-ENOMEM, "%u rounds of %u ranks: out of memory",
						  rounds, request->ranks);
	rng_seed(&rng, request->seed, 0);
	for (uint32_t round = 0; status == 0 && round < rounds; round++) {
		size_t before = p->count;
		if (request->kind == PAIRING_RANDOM)
			add_random_round(p, request, &rng, order);
		else
			add_circle_round(p, request, round);
		p->rounds += p->count > before;
	}
	free(order);
	if (TRY(status, number_links(p)))
		pairing_close(p);
	return status;
}

void pairing_close(struct pairing *p)
{
	free(p->slots);
	*p = (struct pairing){0};
}
