/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of one device that copy at once by copy engines: memory, lanes and graphs. Every stream
 * has a source and a target of its own, and the sources hold one repeating pattern.
 */
#ifndef GPUSIG_ENGINE_STREAMS_H
#define GPUSIG_ENGINE_STREAMS_H

#include "bench/graph/bench_graph.h"

enum { ENGINE_STREAMS = 8, SHORT_PART = 32 };

enum engine_direction {
	ENGINE_UP,
	ENGINE_DOWN,
	ENGINE_BOTH,
	ENGINE_LOCAL,
	ENGINE_PEER,
	ENGINE_PEERS
};
/* Words of the direction axis, in the order of the enum; NULL-terminated. */
extern const char *const engine_directions[];

struct engine_streams {
	struct work_lanes *lanes;
	uint64_t bulk_bytes, short_bytes;
	bool both_ways; /* odd streams copy back */
	struct engine_stream {
		uint32_t lane;
		struct dev *target_of; /* the device that the target was allocated with */
		void *from, *to;
	} stream[ENGINE_STREAMS];
	uint32_t *pattern;
	double bulk_s, short_s; /* one copy alone: from the release, and as late as short ones */
};

/* Work of a run: bulk copies in the first `bulk` of them, and short ones in the next `shorts`,
 * which are enqueued in their order, or beginning with the second of them. */
struct engine_work {
	unsigned bulk, shorts;
	bool rotated;
};

/* In admit: 0, or why the case is skipped: -ENODEV or -ENOMEM. */
int engine_streams_admit(const struct bench_case *c, enum engine_direction direction,
			 uint64_t bulk_bytes);

/* In setup: memory and lanes; the case owns them. */
int engine_streams_open(struct engine_streams *e, struct bench_case *c,
			enum engine_direction direction, uint64_t bulk_bytes);

/* In setup: the graph of one of the variants, and what it leaves behind. */
struct work_graph *engine_streams_graph(const struct engine_streams *e, struct bench_case *c,
					unsigned variant, const struct engine_work *work);

/* In setup, by graphs of one of the variants: bulk_s and short_s. Returns c->status. */
int engine_streams_time_alone(struct engine_streams *e, struct bench_case *c, unsigned variant);
/* Is it clearly less? Then short copies that do not end first were held up. */
bool engine_streams_tell(const struct engine_streams *e);

/* Seconds from the release to the end of a stream's copy in the latest run of a graph. */
int engine_streams_seconds(const struct engine_streams *e, const struct work_graph *g,
			   unsigned stream, double *seconds_p);

/* In verify_mechanism: engines copy, in both sizes and both ways, and a short
 * copy that nothing holds up ends before a bulk copy. The variants in `with_short` (bit
 * mask) rely on short copies, the others on bulk copies. */
int engine_streams_verify(const struct engine_streams *e, struct bench_case *c,
			  uint64_t with_short);

#endif
