/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairing of ranks in rounds. In a round every rank has at most one partner, so all pairs of a
 * round may run at the same time.
 *
 * PAIRING_ROUND_ROBIN is the schedule of a tournament (the circle method, a 1-factorization of the
 * complete graph): every pair exactly once in n - 1 rounds for an even number n of ranks, and in n
 * rounds for an odd one, where one rank is idle in each. No schedule of disjoint pairs needs fewer
 * rounds. PAIRING_RANDOM draws a random perfect matching a round; pairs may come twice or not at
 * all. Ranks of one node, or of one rail, are paired among themselves, all nodes or rails in the
 * same rounds.
 *
 * Rails. A node's ranks are spread evenly over its network adapters in their order: of n ranks rank
 * l uses adapter l rails / n. Adapters of one number are a rail, as where they have a switch of
 * their own.
 */
#ifndef GPUSIG_PAIRING_H
#define GPUSIG_PAIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Measurements of a pair: windows of messages from its first rank to the second, back, and in both
 * directions at once; and PAIR_ROUND_TRIPS small messages there and back. */
enum { PAIR_FORWARD, PAIR_BACKWARD, PAIR_BOTH_WAYS, PAIR_ROUND_TRIP, PAIR_VARIANTS };
#define PAIR_ROUND_TRIPS 10u

/* One of these measurements. */
struct pair_way {
	unsigned windows, trips; /* of a pair */
	bool sends[2];           /* windows, from its first rank or its second */
	bool receives[2];        /* data that is checked */
};
extern const struct pair_way pair_ways[PAIR_VARIANTS];

enum pairing_kind { PAIRING_ROUND_ROBIN, PAIRING_RANDOM };

/* Pairs of ranks on different nodes, of these those of one rail or those of two, or pairs of ranks
 * of one node. */
enum pairing_scope { PAIRING_BETWEEN, PAIRING_SAME_RAIL, PAIRING_CROSS_RAIL, PAIRING_WITHIN };

/* One pair of a round; first < second. Slots are in order of rounds. */
struct pair_slot {
	uint32_t round, first, second;
	uint32_t link; /* the number of the pair: that of its first slot, counted without repeats */
};

struct pairing {
	uint32_t rounds;     /* with at least one pair */
	uint32_t all_rounds; /* in which every pair comes once */
	size_t count, links;
	struct pair_slot *slots;
	uint32_t *rail; /* of every rank */
};

/* Parameters of a pairing; the same on every rank. */
struct pairing_request {
	enum pairing_kind kind;
	enum pairing_scope scope;
	uint32_t ranks;
	const int *node; /* of every rank: any number that ranks of one node have in common */
	uint32_t rails;  /* of a node; 0: as many as it has ranks */
	uint32_t rounds; /* at most so many, the first ones; 0: those of all pairs */
	uint64_t seed;   /* of random matchings */
};

/* Rounds in which every pair of so many ranks comes once. */
uint32_t pairing_all_rounds(uint32_t ranks);

/* An option's value, "all" or a number from 1 on: for axis.accept, 0 or -EINVAL with a text; and
 * the number, 0 for all. */
int pairing_accept_rounds(const char *word);
uint32_t pairing_parse_rounds(const char *word);

/* The same of a scope, "between", "within", "same-rail" or "cross-rail", of a node's ranks behind
 * as many rails, or "same-rail:4". */
int pairing_accept_scope(const char *word);
enum pairing_scope pairing_parse_scope(const char *word, uint32_t *rails_p);

/* Pairs outside the scope are left out, and so are rounds without any pair. -ENOMEM. */
int pairing_open(const struct pairing_request *request, struct pairing *p);
void pairing_close(struct pairing *p);

#endif
