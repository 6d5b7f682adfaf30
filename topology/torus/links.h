/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The links of a network, and the load of a step's messages on them.
 *
 * A network is a kind and a grid: "64x64" is a torus, "hx2mesh:64x64" another kind.
 *
 *     torus          neighbours are linked, and so are the two ends of a line. When both directions
 *                    are equally long (half a side), a message takes the one without the
 *                    wrap-around link.
 *     torus-shared   the same, but half of such a message takes each direction
 *     hx2mesh        HammingMesh with boards of 2 x 2 nodes (2 per dimension). Neighbours on a
 *                    board are linked. Both edges of a board have links to one switch per line. A
 *                    route through a switch has two links.
 *     hx4mesh        the same with boards of 4 x 4 nodes
 *     hyperx         every two nodes of a line are linked
 *
 * Routes are minimal and take the dimensions in order, lowest first, as SimGrid's torus clusters
 * do. Every link has two directions, each with its own load.
 */
#ifndef GPUSIG_LINKS_H
#define GPUSIG_LINKS_H

#include "collectives/schedules/grid.h"

enum links_kind { LINKS_TORUS, LINKS_TORUS_SHARED, LINKS_HX2MESH, LINKS_HX4MESH, LINKS_HYPERX };

struct network {
	enum links_kind kind;
	struct grid grid;
};

/* -EINVAL or -ERANGE with a text about the kind, the shape, or sides that are not a multiple of a
 * board. */
int network_parse(const char *text, struct network *network_p);

/* For an axis' `accept`. */
int network_accept(const char *text);

/* Number of messages that can leave a node at once: 2 per dimension, or, if a line is fully linked,
 * one to each other node of it. */
unsigned network_ports(const struct network *network);

struct links;

/* `one_line`: counts the links of one line per dimension only, for traffic that is equal on all
 * lines. -ENOMEM; -ENOTSUP when there are too many links to count. */
int links_open(const struct network *network, bool one_line, struct links **l_p);
void links_close(struct links *l);

/* Sets all loads to zero. */
void links_clear(struct links *l);

/* Adds `load` to the links between two nodes. Returns the number of links on the longest route.
 * With one_line the nodes must differ in one dimension only. */
uint32_t links_send(struct links *l, uint32_t from, uint32_t to, double load);

/* The largest load of any link and direction since links_clear(). Add no loads after this call. */
double links_worst(struct links *l);

#endif
