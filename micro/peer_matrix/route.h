/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes between devices, and between host memory and devices: the axis of micro/peer_matrix.
 *
 *     0>3        from device 0 to device 3
 *     0>all      from device 0 to every other one at once
 *     all>0      from every other device to device 0 at once
 *     all>all    from every device to every other one at once
 *     each       every ordered pair of devices, one after the other: both ends are END_EACH
 *     numa0>3    from host memory of NUMA node 0 to device 3
 *     3>numa0    from device 3 to host memory of NUMA node 0
 *
 * Devices are numbered by their place in --device. A list may also have the words of groups:
 *
 *     pairs      every ordered pair of devices, a case each
 *     sweep      each, of two devices or more
 *     spread     0>all, 1>all, ..., all>0, all>1, ...: of three devices or more
 *     exchange   all>all, of two devices or more
 *     numa       every NUMA node to every device, and back
 */
#ifndef GPUSIG_PEER_ROUTE_H
#define GPUSIG_PEER_ROUTE_H

#include "bench/axis.h"

enum route_end_kind { END_DEVICE, END_ALL, END_NODE, END_EACH };

struct route_end {
	enum route_end_kind kind;
	uint32_t number; /* of the device or the NUMA node */
};

struct peer_route {
	struct route_end from, to;
};

/* Parse one route; -EINVAL with a text. */
int peer_route_parse(const char *word, struct peer_route *route_p);

/* For axis.expand. */
int peer_route_expand(const char *word, const struct axis_capacities *known, char **words_p);

#endif
