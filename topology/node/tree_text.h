/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine's tree as one line, such as Machine[Package[L3(32MB)[Core[PU#0] Core[PU#1]]]].
 */
#ifndef GPUSIG_TREE_TEXT_H
#define GPUSIG_TREE_TEXT_H

#include "device/dev.h"

/* A longer tree is cut. */
#define TREE_CAPACITY 65536

/* Zeroed: empty. */
struct tree_text {
	char bytes[TREE_CAPACITY];
	size_t used;
};

/* A node after those before it. */
void tree_node(struct tree_text *t, const char *node);

/* Around the children of the last node; there may be none. */
void tree_begin(struct tree_text *t);
void tree_end(struct tree_text *t);

/* A device with its cache and units; `links` stands behind its number unless it is "". */
void tree_device(struct tree_text *t, const struct dev *d, const char *links);

#endif
