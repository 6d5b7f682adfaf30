/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/node/tree_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void append_piece(struct tree_text *t, const char *piece)
{
	size_t length = strlen(piece);
	if (t->used + length + 1 > sizeof(t->bytes))
		return;
	memcpy(t->bytes + t->used, piece, length + 1);
	t->used += length;
}

static bool just_begun(const struct tree_text *t)
{
	return t->used == 0 || t->bytes[t->used - 1] == '[';
}

void tree_node(struct tree_text *t, const char *node)
{
	if (!just_begun(t))
		append_piece(t, " ");
	append_piece(t, node);
}

void tree_begin(struct tree_text *t) { append_piece(t, "["); }

void tree_end(struct tree_text *t)
{
	if (just_begun(t))
		t->bytes[--t->used] = '\0';
	else
		append_piece(t, "]");
}

void tree_device(struct tree_text *t, const struct dev *d, const char *links)
{
	const struct dev_props *p = dev_props(d);
	char node[96];
	snprintf(node, sizeof(node), "Device#%u%s%s%s", d->index, links[0] ? "(" : "", links,
		 links[0] ? ")" : "");
	tree_node(t, node);
	tree_begin(t);
	if (p->llc_bytes) {
		snprintf(node, sizeof(node), "Cache(%" PRIu64 "KB)", p->llc_bytes >> 10);
		tree_node(t, node);
		tree_begin(t);
	}
	for (uint32_t u = 0; u < p->units; u++) {
		snprintf(node, sizeof(node), "Unit#%u", u);
		tree_node(t, node);
	}
	if (p->llc_bytes)
		tree_end(t);
	tree_end(t);
}
