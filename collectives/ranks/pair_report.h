/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Facts about the ranks in a record of collectives/pairs: the host of each, the number of rounds,
 * how data moved, and whether ranks share cores or devices.
 */
#ifndef GPUSIG_PAIR_REPORT_H
#define GPUSIG_PAIR_REPORT_H

#include "bench/bench.h"
#include "collectives/ranks/pair_session.h"

/* Leader only, in derive, after PAIR_OPEN. -ENOMEM. */
int pair_report(struct bench_case *c, const struct pair_session *s);

#endif
