/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/peer_matrix/route.h"
#include "lib/err.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MAX_NUMBER 1023

/* ------------------------------------------------------------------ one route */

/* Parse a number of `length` characters. */
static bool parse_number(const char *text, size_t length, uint32_t *number_p)
{
	uint32_t number = 0;
	if (length == 0 || length > 4)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
		number = 10 * number + (uint32_t)(text[i] - '0');
	}
	*number_p = number;
	return number <= MAX_NUMBER;
}

static bool parse_end(const char *text, size_t length, struct route_end *end_p)
{
	static const char node[] = "numa";
	const size_t prefix = sizeof(node) - 1;
	if (length == 3 && strncmp(text, "all", length) == 0) {
		*end_p = (struct route_end){.kind = END_ALL};
		return true;
	}
	const bool is_node = length > prefix && strncmp(text, node, prefix) == 0;
	const size_t skip = is_node ? prefix : 0;
	end_p->kind = is_node ? END_NODE : END_DEVICE;
	return parse_number(text + skip, length - skip, &end_p->number);
}

static bool is_route(const struct peer_route *r)
{
	const struct route_end *from = &r->from, *to = &r->to;
	if (from->kind == END_NODE || to->kind == END_NODE)
		return from->kind == END_DEVICE || to->kind == END_DEVICE;
	return from->kind != END_DEVICE || to->kind != END_DEVICE || from->number != to->number;
}

int peer_route_parse(const char *word, struct peer_route *route_p)
{
	const char *arrow = strchr(word, '>');
	struct peer_route r = {{.kind = END_EACH}, {.kind = END_EACH}};
	if (strcmp(word, "each") != 0 &&
	    (!arrow || !parse_end(word, (size_t)(arrow - word), &r.from) ||
	     !parse_end(arrow + 1, strlen(arrow + 1), &r.to) || !is_route(&r)))
		return err_note(-EINVAL,
				"unknown route '%s'; routes: 0>3, 0>all, all>0, all>all, each, "
				"numa0>3, 3>numa0, or sweep, pairs, spread, exchange, numa",
				word);
	*route_p = r;
	return 0;
}

/* ------------------------------------------------------------------ on these devices */

static int check_end(const char *word, const struct route_end *end,
		     const struct axis_capacities *known)
{
	if (end->kind == END_DEVICE && end->number >= known->devices)
		return err_note(-EINVAL, "%s: the devices are 0 to %zu", word, known->devices - 1);
	if ((end->kind == END_ALL || end->kind == END_EACH) && known->devices < 2)
		return err_note(-EINVAL, "%s: there is one device", word);
	if (end->kind != END_NODE)
		return 0;
	for (size_t i = 0; i < known->node_count; i++)
		if (known->nodes[i] == end->number)
			return 0;
	return err_note(-EINVAL, "%s: no such NUMA node for this device", word);
}

static int check_route(const char *word, const struct axis_capacities *known)
{
	struct peer_route r;
	int status = peer_route_parse(word, &r);
	TRY(status, known ? check_end(word, &r.from, known) : 0);
	return TRY(status, known ? check_end(word, &r.to, known) : 0);
}

/* ------------------------------------------------------------------ groups */

/* Each group adds its words, with a comma behind each. */

static void add_sweep(struct text *l, const struct axis_capacities *known)
{
	if (known->devices > 1)
		text_add(l, "each,");
}

static void add_pairs(struct text *l, const struct axis_capacities *known)
{
	for (size_t from = 0; from < known->devices; from++)
		for (size_t to = 0; to < known->devices; to++)
			if (from != to)
				text_add(l, "%zu>%zu,", from, to);
}

/* With two devices these are the pairs. */
static void add_spread(struct text *l, const struct axis_capacities *known)
{
	for (size_t i = 0; known->devices > 2 && i < known->devices; i++)
		text_add(l, "%zu>all,", i);
	for (size_t i = 0; known->devices > 2 && i < known->devices; i++)
		text_add(l, "all>%zu,", i);
}

static void add_exchange(struct text *l, const struct axis_capacities *known)
{
	if (known->devices > 1)
		text_add(l, "all>all,");
}

static void add_nodes(struct text *l, const struct axis_capacities *known)
{
	for (size_t n = 0; n < known->node_count && n < AXIS_NODES; n++)
		for (size_t i = 0; i < known->devices; i++)
			text_add(l, "numa%u>%zu,%zu>numa%u,", known->nodes[n], i, i,
				 known->nodes[n]);
}

static const struct {
	const char *name;
	void (*add)(struct text *l, const struct axis_capacities *known);
} groups[] = {{"sweep", add_sweep},       {"pairs", add_pairs}, {"spread", add_spread},
	      {"exchange", add_exchange}, {"numa", add_nodes},  {0}};

int peer_route_expand(const char *word, const struct axis_capacities *known, char **words_p)
{
	struct text l = {0};
	size_t group = 0;
	while (groups[group].name && strcmp(groups[group].name, word) != 0)
		group++;
	const bool is_group = groups[group].name, stands = is_group && known;
	const int status = is_group ? 0 : check_route(word, known);
	if (status)
		return status;
	text_add(&l, "%s", stands ? "" : word);
	if (stands)
		groups[group].add(&l, known);
	if (!text_whole(&l)) {
		text_free(&l);
		return err_note(-ENOMEM, "%s: out of memory", word);
	}
	if (stands && l.length)
		l.bytes[l.length - 1] = '\0';
	*words_p = l.bytes;
	return 0;
}
