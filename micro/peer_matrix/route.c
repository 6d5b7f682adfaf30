/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/peer_matrix/route.h"
#include "lib/err.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END_BYTES 20 /* "numa4294967295" */
#define ROUTE_BYTES (2 * END_BYTES)
#define MAX_NUMBER 1023

static const char each[] = "each";

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
	static const char all[] = "all", node[] = "numa";
	const size_t prefix = strlen(node);
	if (length == strlen(all) && strncmp(text, all, length) == 0) {
		*end_p = (struct route_end){.kind = END_ALL};
		return true;
	}
	bool is_node = length > prefix && strncmp(text, node, prefix) == 0;
	end_p->kind = is_node ? END_NODE : END_DEVICE;
	return parse_number(text + (is_node ? prefix : 0), length - (is_node ? prefix : 0),
			    &end_p->number);
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
	if (strcmp(word, each) == 0) {
		*route_p = r;
		return 0;
	}
	if (!arrow || !parse_end(word, (size_t)(arrow - word), &r.from) ||
	    !parse_end(arrow + 1, strlen(arrow + 1), &r.to) || !is_route(&r))
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
	for (size_t i = 0; end->kind == END_NODE && i < known->node_count; i++)
		if (known->nodes[i] == end->number)
			return 0;
	return end->kind == END_NODE
		       ? err_note(-EINVAL, "%s: no such NUMA node for this device", word)
		       : 0;
}

static int check_route(const char *word, const struct axis_capacities *known)
{
	struct peer_route r = {{.kind = END_ALL}, {.kind = END_ALL}};
	int status = peer_route_parse(word, &r);
	if (status || !known)
		return status;
	status = check_end(word, &r.from, known);
	return status ? status : check_end(word, &r.to, known);
}

/* ------------------------------------------------------------------ groups */

/* Words with commas between them, in memory that is large enough. */
struct route_list {
	char *text;
	size_t length, capacity;
};

static struct route_end device_end(size_t number)
{
	return (struct route_end){.kind = END_DEVICE, .number = (uint32_t)number};
}

static struct route_end node_end(uint32_t number)
{
	return (struct route_end){.kind = END_NODE, .number = number};
}

static const struct route_end all_end = {.kind = END_ALL};

static void print_end(char text[END_BYTES], const struct route_end *end)
{
	snprintf(text, END_BYTES, end->kind == END_NODE ? "numa%u" : "%u", end->number);
	if (end->kind == END_ALL)
		snprintf(text, END_BYTES, "all");
}

static void add_word(struct route_list *l, const char *word)
{
	int length = snprintf(l->text + l->length, l->capacity - l->length, "%s%s",
			      l->length ? "," : "", word);
	l->length += (size_t)length;
}

static void add_route(struct route_list *l, struct route_end from, struct route_end to)
{
	char source[END_BYTES], target[END_BYTES], word[ROUTE_BYTES];
	print_end(source, &from);
	print_end(target, &to);
	snprintf(word, sizeof(word), "%s>%s", source, target);
	add_word(l, word);
}

static void add_sweep(struct route_list *l, const struct axis_capacities *known)
{
	if (known->devices > 1)
		add_word(l, each);
}

static void add_pairs(struct route_list *l, const struct axis_capacities *known)
{
	for (size_t from = 0; from < known->devices; from++)
		for (size_t to = 0; to < known->devices; to++)
			if (from != to)
				add_route(l, device_end(from), device_end(to));
}

/* With two devices these are the pairs. */
static void add_spread(struct route_list *l, const struct axis_capacities *known)
{
	for (size_t i = 0; known->devices > 2 && i < known->devices; i++)
		add_route(l, device_end(i), all_end);
	for (size_t i = 0; known->devices > 2 && i < known->devices; i++)
		add_route(l, all_end, device_end(i));
}

static void add_exchange(struct route_list *l, const struct axis_capacities *known)
{
	if (known->devices > 1)
		add_route(l, all_end, all_end);
}

static void add_nodes(struct route_list *l, const struct axis_capacities *known)
{
	for (size_t n = 0; n < known->node_count && n < AXIS_NODES; n++) {
		for (size_t i = 0; i < known->devices; i++) {
			add_route(l, node_end(known->nodes[n]), device_end(i));
			add_route(l, device_end(i), node_end(known->nodes[n]));
		}
	}
}

static size_t max_routes(const struct axis_capacities *known)
{
	return known->devices * known->devices + 2 * known->devices * (AXIS_NODES + 1) + 1;
}

static const struct {
	const char *name;
	void (*add)(struct route_list *l, const struct axis_capacities *known);
} groups[] = {{"sweep", add_sweep},
	      {"pairs", add_pairs},
	      {"spread", add_spread},
	      {"exchange", add_exchange},
	      {"numa", add_nodes}};

int peer_route_expand(const char *word, const struct axis_capacities *known, char **words_p)
{
	size_t group = 0;
	while (group < sizeof(groups) / sizeof(groups[0]) && strcmp(groups[group].name, word) != 0)
		group++;
	bool is_group = group < sizeof(groups) / sizeof(groups[0]);
	int status = is_group ? 0 : check_route(word, known);
	if (status)
		return status;
	size_t capacity = is_group && known ? max_routes(known) * ROUTE_BYTES : strlen(word) + 1;
	struct route_list l = {.text = calloc(1, capacity), .capacity = capacity};
	if (!l.text)
		return err_note(-ENOMEM, "%s: out of memory", word);
	if (is_group && known)
		groups[group].add(&l, known);
	else
		snprintf(l.text, capacity, "%s", word);
	*words_p = l.text;
	return 0;
}
