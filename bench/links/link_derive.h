/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Derived quantities of links, from the passes that are samples: of one link, of the worst one, and
 * the median over all of them. In derive, after link_derive_take().
 */
#ifndef GPUSIG_LINK_DERIVE_H
#define GPUSIG_LINK_DERIVE_H

#include "bench/bench.h"
#include "bench/links/link_log.h"

/* Meaning of the seconds of a link in a pass. */
struct link_quantity {
	struct link_log *log;
	uint64_t variants; /* bit mask: a link in two variants counts as two */
	double work;       /* bytes of a link: value = work / seconds; or, */
	bool is_latency;   /* value = seconds / work */
	int variant;       /* that the value is reported for; -1: the whole case */
};

/* Mark the passes of a variant that are its samples, in the order of the rounds. */
void link_derive_take(const struct bench_case *c, struct link_log *log, unsigned variant);

/* The value of one link of q's only variant. */
int link_derive_one(struct bench_case *c, const struct link_quantity *q, size_t link,
		    const char *name, const char *formula);

/* The values of the link with the lowest median bandwidth, or the highest median latency. */
int link_derive_worst(struct bench_case *c, const struct link_quantity *q, const char *name,
		      const char *formula);

/* The median over the links, pass by pass. */
int link_derive_median(struct bench_case *c, const struct link_quantity *q, const char *name,
		       const char *formula);

#endif
