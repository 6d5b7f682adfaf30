/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/pairs/pairing.h"
#include "lib/err.h"
#include "lib/rng.h"
#include "lib/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_LINK UINT32_MAX
#define MAX_ROUNDS 1000000ul
#define MAX_RAILS 64u

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

static const char *const scopes[] = {[PAIRING_BETWEEN] = "between",
				     [PAIRING_SAME_RAIL] = "same-rail",
				     [PAIRING_CROSS_RAIL] = "cross-rail",
				     [PAIRING_WITHIN] = "within"};

/* False: there is no such scope, or no such number. */
static bool parse_scope(const char *word, enum pairing_scope *scope_p, uint32_t *rails_p)
{
	const size_t length = strcspn(word, ":");
	unsigned scope = 0;
	while (scope <= PAIRING_WITHIN &&
	       (strlen(scopes[scope]) != length || strncmp(scopes[scope], word, length) != 0))
		scope++;
	*scope_p = (enum pairing_scope)scope;
	*rails_p = 0;
	if (!word[length] || scope > PAIRING_WITHIN)
		return scope <= PAIRING_WITHIN;
	uint64_t rails = 0;
	const bool is_number = units_parse_integer(word + length + 1, 1, MAX_RAILS, &rails) == 0;
	*rails_p = (uint32_t)rails;
	return is_number && (scope == PAIRING_SAME_RAIL || scope == PAIRING_CROSS_RAIL);
}

enum pairing_scope pairing_parse_scope(const char *word, uint32_t *rails_p)
{
	enum pairing_scope scope;
	parse_scope(word, &scope, rails_p);
	return scope;
}

int pairing_accept_scope(const char *word)
{
	enum pairing_scope scope;
	uint32_t rails;
	return parse_scope(word, &scope, &rails)
		       ? 0
		       : err_note(-EINVAL,
				  "unknown scope '%s'; scopes: between, within, same-rail, "
				  "cross-rail, same-rail:N and cross-rail:N of N rails, 1 to %u",
				  word, MAX_RAILS);
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

/* ------------------------------------------------------------------ groups */

static void find_rails(const struct pairing_request *request, uint32_t *rail)
{
	for (uint32_t r = 0; r < request->ranks; r++) {
		uint32_t before = 0, all = 0;
		for (uint32_t other = 0; other < request->ranks; other++) {
			const bool here = request->node[other] == request->node[r];
			all += here;
			before += here && other < r;
		}
		rail[r] = request->rails ? (uint32_t)((uint64_t)before * request->rails / all)
					 : before;
	}
}

/* Ranks that are paired among themselves. */
struct groups {
	const struct pairing_request *request;
	uint32_t *rail;            /* of every rank */
	uint32_t *members, *order; /* by group, the ranks of each; memory to shuffle one */
	uint32_t count, *size;
};

static bool is_same_group(const struct groups *g, uint32_t a, uint32_t b)
{
	switch (g->request->scope) {
	case PAIRING_SAME_RAIL:
		return g->rail[a] == g->rail[b];
	case PAIRING_WITHIN:
		return g->request->node[a] == g->request->node[b];
	case PAIRING_BETWEEN:
	case PAIRING_CROSS_RAIL:
		break;
	}
	return true;
}

static void form_groups(struct groups *g)
{
	uint32_t next = 0;
	for (uint32_t first = 0; first < g->request->ranks; first++) {
		uint32_t earlier = 0;
		while (earlier < first && !is_same_group(g, earlier, first))
			earlier++;
		if (earlier < first)
			continue;
		for (uint32_t r = first; r < g->request->ranks; r++) {
			if (!is_same_group(g, first, r))
				continue;
			g->members[next++] = r;
			g->size[g->count]++;
		}
		g->count++;
	}
}

static int open_groups(const struct pairing_request *request, uint32_t *rail, struct groups *g)
{
	const size_t ranks = request->ranks;
	*g = (struct groups){.request = request,
			     .rail = rail,
			     .members = calloc(ranks, sizeof(*g->members)),
			     .order = calloc(ranks, sizeof(*g->order)),
			     .size = calloc(ranks, sizeof(*g->size))};
	if (!g->rail || !g->members || !g->order || !g->size)
		return err_note(-ENOMEM, "pairs of %zu ranks: out of memory", ranks);
	find_rails(request, g->rail);
	form_groups(g);
	return 0;
}

static void close_groups(struct groups *g)
{
	free(g->members);
	free(g->order);
	free(g->size);
}

/* ------------------------------------------------------------------ rounds */

static bool is_in_scope(const struct groups *g, uint32_t a, uint32_t b)
{
	const bool within = g->request->node[a] == g->request->node[b];
	if (g->request->scope == PAIRING_CROSS_RAIL && g->rail[a] == g->rail[b])
		return false;
	return within == (g->request->scope == PAIRING_WITHIN);
}

static void add_pair(struct pairing *p, const struct groups *g, uint32_t a, uint32_t b)
{
	if (is_in_scope(g, a, b))
		p->slots[p->count++] = (struct pair_slot){
			.round = p->rounds, .first = a < b ? a : b, .second = a < b ? b : a};
}

/* One of an even number of places stays; the others move on by one a round and meet in mirrored
 * places. With an odd number of ranks the place that stays is empty. */
static void add_circle_round(struct pairing *p, const struct groups *g, const uint32_t *ranks,
			     uint32_t count, uint32_t round)
{
	const uint32_t moving = pairing_all_rounds(count);
	if (round >= moving)
		return;
	if (count % 2 == 0)
		add_pair(p, g, ranks[round], ranks[count - 1]);
	for (uint32_t i = 1; i <= (moving - 1) / 2; i++)
		add_pair(p, g, ranks[(round + i) % moving], ranks[(round + moving - i) % moving]);
}

static void add_random_round(struct pairing *p, const struct groups *g, const uint32_t *ranks,
			     uint32_t count, struct rng *rng)
{
	rng_shuffle(rng, g->order, count);
	for (uint32_t i = 0; i + 1 < count; i += 2)
		add_pair(p, g, ranks[g->order[i]], ranks[g->order[i + 1]]);
}

static void add_round(struct pairing *p, const struct groups *g, uint32_t round, struct rng *rng)
{
	const size_t before = p->count;
	const uint32_t *ranks = g->members;
	for (uint32_t i = 0; i < g->count; ranks += g->size[i++]) {
		if (g->request->kind == PAIRING_RANDOM)
			add_random_round(p, g, ranks, g->size[i], rng);
		else if (g->size[i] > 1)
			add_circle_round(p, g, ranks, g->size[i], round);
	}
	p->rounds += p->count > before;
}

static int add_rounds(struct pairing *p, const struct groups *g)
{
	const uint32_t most = g->request->rounds;
	struct rng rng;
	for (uint32_t i = 0; i < g->count; i++)
		if (g->size[i] > 1 && pairing_all_rounds(g->size[i]) > p->all_rounds)
			p->all_rounds = pairing_all_rounds(g->size[i]);
	const uint32_t rounds = most && (most < p->all_rounds || g->request->kind == PAIRING_RANDOM)
					? most
					: p->all_rounds;
	p->slots = calloc((size_t)rounds * (g->request->ranks / 2) + 1, sizeof(*p->slots));
	if (!p->slots)
		return err_note(-ENOMEM, "%u rounds of %u ranks: out of memory", rounds,
				g->request->ranks);
	rng_seed(&rng, g->request->seed, 0);
	for (uint32_t round = 0; round < rounds; round++)
		add_round(p, g, round, &rng);
	return number_links(p);
}

int pairing_open(const struct pairing_request *request, struct pairing *p)
{
	struct groups groups;
	*p = (struct pairing){.rail = calloc(request->ranks, sizeof(*p->rail))};
	int status = open_groups(request, p->rail, &groups);
	if (TRY(status, add_rounds(p, &groups)))
		pairing_close(p);
	close_groups(&groups);
	return status;
}

void pairing_close(struct pairing *p)
{
	free(p->slots);
	free(p->rail);
	*p = (struct pairing){0};
}
