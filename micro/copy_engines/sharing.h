/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams that wait for the bulk copy of the first one, in runs that enqueue them in one order and
 * in another: do they share its engine, and do they keep it?
 */
#ifndef GPUSIG_ENGINE_SHARING_H
#define GPUSIG_ENGINE_SHARING_H

#include "micro/copy_engines/engine_streams.h"

/* Observations of a quantity; later ones are not kept. */
struct observed {
	double x[1024];
	size_t count;
};
void observe(struct observed *o, double x);
double observed_mean(const struct observed *o); /* NaN: there are none */

struct sharing {
	struct {
		unsigned runs, waited[ENGINE_STREAMS];
		struct observed independent;
	} in[2]; /* order: as the streams are numbered, and rotated */
	/* Sum over all runs: from the end of the last short copy that did not wait to that of the
	 * bulk copy. */
	double idle_s;
};

/* After a run of `g`, one bulk copy and short ones in all other streams. */
int sharing_observe(struct sharing *s, const struct engine_streams *e, const struct work_graph *g,
		    unsigned rotated);

/* In derive: "independent_streams" of the variants `first`, in order, and the next one, rotated;
 * and where all copies go `one_way`, the facts "sticky" and which streams waited. `engines` answer,
 * and a short copy takes `short_s`. No value where the short copies that did not wait go on until
 * the bulk copy ends: then the others may have waited for them. */
void sharing_derive(const struct sharing *s, struct bench_case *c, unsigned first, double engines,
		    double short_s, bool one_way);

#endif
