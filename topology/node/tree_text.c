/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/node/tree_text.h"

#include <inttypes.h>
#include <stdio.h>

static bool just_begun(const struct text *t)
{
	return t->length == 0 || t->bytes[t->length - 1] == '[';
}

void tree_node(struct text *t, const char *node)
{
	text_add(t, "%s%s", just_begun(t) ? "" : " ", node);
}

void tree_begin(struct text *t) { text_add(t, "["); }

void tree_end(struct text *t)
{
	if (!just_begun(t))
		text_add(t, "]");
	else if (t->length)
		t->bytes[--t->length] = '\0';
}

void tree_device(struct text *t, const struct dev *d, const char *links)
{
	const struct dev_props *p = dev_props(d);
	char node[160];
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
