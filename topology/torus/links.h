/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The links of a network, and what a step's messages put on them.
 *
 * A network is a kind and a grid: "64x64" is a torus, "hx2mesh:64x64" another kind.
 *
 *     torus         neighbours are linked, ends too. A message that may go either way round (half a side away) takes
 *                   the way without the wrap-around link
 *     torus-shared  the same, but half of such a message takes each way
 *     hx2mesh       HammingMesh: boards of 2 x 2 nodes (2 per dimension); neighbours on a board are linked; both edges
 *     hx4mesh       of a board have links to a switch per line. Boards of 4 x 4 nodes. Through a switch is two links
 *     hyperx        every two nodes of a line are linked
 *
 * Routes are minimal and take the dimensions in order, lowest first, as SimGrid's torus clusters do. Every link has
 * two directions, each with its own load.
 */
#ifndef GPUSIG_LINKS_H
#define GPUSIG_LINKS_H

#include "collectives/schedules/grid.h"

enum links_kind { LINKS_TORUS, LINKS_TORUS_SHARED, LINKS_HX2MESH, LINKS_HX4MESH, LINKS_HYPERX };

struct network {
	enum links_kind kind;
	struct grid grid;
};

/* -EINVAL or -ERANGE with a text that lists what exists: a kind, a shape, sides that whole boards fill. */
int network_parse(const char *text, struct network *network_p);

/* For an axis' `accept`. */
int network_accept(const char *text);

struct links;

/* With `one_line`, the links of one line per dimension: for traffic that is alike on all of them.
 * -ENOMEM; -ENOTSUP when there are too many links to count. */
int links_open(const struct network *network, bool one_line, struct links **l_p);
void links_close(struct links *l);

/* Forget all loads. */
void links_clear(struct links *l);

/* Put `amount` on the links between two nodes; returns the number of links on the longest way. With one_line the nodes
 * differ in one dimension, and the line stands for all parallel ones. */
uint32_t links_send(struct links *l, uint32_t from, uint32_t to, double amount);

/* The largest load of any link and direction since links_clear(). Loads can't be added after it. */
double links_worst(struct links *l);

#endif
