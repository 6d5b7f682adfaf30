/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rate of each network adapter while all pairs exchange windows both ways: in passes after the
 * samples, the first rank of every node reads the adapters' counters before and after. Of each
 *
 *     adapter_rate 4/mlx5_0:1   bytes per second, with headers, that the port "mlx5_0:1" of the
 *                               node with rank 4 sends, over the time in which the node has a pair
 *
 * with the port's nominal rate as the bound. Where the counters of a node have less than its ranks
 * sent, as of drivers that update them late or of paths without a counter, it has no rates, and the
 * fact `adapters_not_counted` says so.
 */
#ifndef GPUSIG_PAIR_ADAPTERS_H
#define GPUSIG_PAIR_ADAPTERS_H

#include "collectives/ranks/pair_session.h"

/* In derive; of pairs between nodes that exchange at once, else nothing. */
int pair_adapters_derive(struct bench_case *c, const struct pair_session *s);

#endif
