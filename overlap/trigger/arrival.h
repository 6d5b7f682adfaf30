/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks after rounds (overlap/trigger/round.h): data that arrived, and sums.
 */
#ifndef GPUSIG_TRIGGER_ARRIVAL_H
#define GPUSIG_TRIGGER_ARRIVAL_H

#include "overlap/trigger/round.h"

/* Checks that GEMMs are right, that the rows that arrived equal C bit for bit, and that sums are
 * those of C, once for every round that added to them, without any rounding. Where a strategy
 * leaves no C, its GEMMs are computed once more, into C. -EBADMSG with a text, or a device's
 * error. */
int producers_check(const struct producers *s, struct bench_case *c,
		    const struct producer_round *r);

#endif
