/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine's tree as one line, such as Machine[Package[L3(32MB)[Core[PU#0] Core[PU#1]]]].
 */
#ifndef GPUSIG_TREE_TEXT_H
#define GPUSIG_TREE_TEXT_H

#include "device/dev.h"
#include "lib/text.h"

/* A node after those before it. */
void tree_node(struct text *t, const char *node);

/* Around the children of the last node; there may be none. */
void tree_begin(struct text *t);
void tree_end(struct text *t);

/* A device with its cache and units; `links` stands behind its number unless it is "". */
void tree_device(struct text *t, const struct dev *d, const char *links);

#endif
