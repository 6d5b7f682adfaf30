/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many copy engines answer when several streams copy at once? And do streams share engines
 * although others are free, which a copy of one stream never shows? (The driver tells a number, but
 * it decides which engine a stream's copies go to, and that changed from release to release.)
 *
 * Timed: runs of a graph whose streams are released together (bench/graph/work_graph.h), by the
 * device's events. Behind its copy each stream runs an empty kernel, because an event behind a copy
 * may be queued at the engine, behind other streams' copies. A short copy has a thirty-second part
 * of the bytes of a bulk copy, and becomes ready when the bulk copies are at their engines.
 *
 * streams_K: one bulk copy in each of the first K streams.
 *
 * behind_K: the same, and a short copy in the next stream, which is what is timed. If it ends
 * before every bulk copy, an engine was free for it, so each K for which it does stands for one
 * more engine. Jitter cannot change the count.
 *
 * others: one bulk copy in the first stream, short copies in all others. Those that end after the
 * bulk copy share its engine: a second engine has time for all of them meanwhile. others_rotated:
 * enqueued in another order. If the same streams wait again, streams keep engines.
 *
 *     bin/micro/copy_engines --device 'sim:default?host_engines=2,engine_sticky=1' --direction up
 */
#include "bench/bench_expect.h"
#include "bench/blocking_kernel.h"
#include "lib/err.h"
#include "micro/copy_engines/sharing.h"

#include <math.h>

static const struct axis axes[] = {
	{"direction",
	 "up is H2D, down D2H, both: half of the streams each; local D2D; peer: to the second "
	 "device, peers: to all others",
	 AXIS_WORD, .words = engine_directions, .peers = "peer,peers",
	 .quick = "up,down,both,local,peer,peers"},
	{"size", "bytes of a bulk copy; a short one has a thirty-second part", AXIS_SIZE,
	 .min = 128 << 10, .multiple = 128 << 10, .quick = "4M", .gpu_class = "64M",
	 .simulated = "2M"},
	{0}};

enum {
	STREAMS_1,
	BEHIND_1 = STREAMS_1 + ENGINE_STREAMS,
	OTHERS = BEHIND_1 + ENGINE_STREAMS - 1,
	ROTATED,
	VARIANTS
};

struct state {
	struct engine_streams streams;
	struct work_graph *graph[VARIANTS];
	/* By number of bulk copies. */
	struct observed in_flight[ENGINE_STREAMS + 1], found_engine[ENGINE_STREAMS];
	struct sharing sharing;
};

/* The stamp of the first stream to end, of the first so many. */
static int first_seconds(struct bench_case *c, const struct work_graph *g, long streams,
			 double *seconds_p)
{
	const struct state *s = c->state;
	double end_s = 0.0;
	*seconds_p = INFINITY;
	for (unsigned i = 0; c->status == 0 && i < streams; i++) {
		TRY(c->status, engine_streams_seconds(&s->streams, g, i, &end_s));
		*seconds_p = fmin(*seconds_p, end_s);
	}
	return c->status;
}

/* While copies share what they pass evenly, the first one ends when as many have their bytes as are
 * in flight. */
static int copy_at_once(struct bench_case *c, long streams)
{
	struct state *s = c->state;
	struct work_graph *g = s->graph[STREAMS_1 + streams - 1];
	double all_s = 0.0, first_s = 0.0;
	TRY(c->status, work_graph_time(g, &all_s));
	if (first_seconds(c, g, streams, &first_s) == 0)
		observe(&s->in_flight[streams], (double)streams * first_s / all_s);
	c->self_seconds += all_s;
	return c->status;
}

static int copy_behind(struct bench_case *c, long bulk)
{
	struct state *s = c->state;
	struct work_graph *g = s->graph[BEHIND_1 + bulk - 1];
	double all_s = 0.0, first_s = 0.0, short_s = 0.0;
	TRY(c->status, work_graph_time(g, &all_s));
	TRY(c->status, engine_streams_seconds(&s->streams, g, (unsigned)bulk, &short_s));
	if (first_seconds(c, g, bulk, &first_s) == 0)
		observe(&s->found_engine[bulk], short_s < first_s);
	c->self_seconds += short_s;
	return c->status;
}

static int copy_others(struct bench_case *c, long rotated)
{
	struct state *s = c->state;
	struct work_graph *g = s->graph[OTHERS + rotated];
	double all_s = 0.0;
	TRY(c->status, work_graph_time(g, &all_s));
	TRY(c->status, sharing_observe(&s->sharing, &s->streams, g, (unsigned)rotated));
	c->self_seconds += all_s;
	return c->status;
}

static void model_streams(const struct bench_case *c, long streams, struct bench_model *m)
{
	m->bytes = (double)streams * (double)axis_u64(c, "size");
}

#define STREAMS(k)                                                                                 \
	[STREAMS_1 + (k)-1] = {"streams_" #k, BENCH_SELF, .arg = (k), .once = copy_at_once,        \
			       .model = model_streams}
#define BEHIND(k) [BEHIND_1 + (k)-1] = {"behind_" #k, BENCH_SELF, .arg = (k), .once = copy_behind}
static const struct bench_variant variants[] = {
	STREAMS(1),
	STREAMS(2),
	STREAMS(3),
	STREAMS(4),
	STREAMS(5),
	STREAMS(6),
	STREAMS(7),
	STREAMS(8),
	BEHIND(1),
	BEHIND(2),
	BEHIND(3),
	BEHIND(4),
	BEHIND(5),
	BEHIND(6),
	BEHIND(7),
	[OTHERS] = {"others", BENCH_SELF, .arg = 0, .once = copy_others},
	[ROTATED] = {"others_rotated", BENCH_SELF, .arg = 1, .once = copy_others},
	{0}};

static const struct engine_work work[VARIANTS] = {
	{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {8, 0},      {1, 1},
	{2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {1, 7}, {1, 7, true}};

static const struct bench_quantity_row quantities[] = {
	{"rate_share", BENCH_SHARE, "streams_2", "streams_1"},
	{"rate_share", BENCH_SHARE, "streams_3", "streams_1"},
	{"rate_share", BENCH_SHARE, "streams_4", "streams_1"},
	{"rate_share", BENCH_SHARE, "streams_5", "streams_1"},
	{"rate_share", BENCH_SHARE, "streams_6", "streams_1"},
	{"rate_share", BENCH_SHARE, "streams_7", "streams_1"},
	{"rate_share", BENCH_SHARE, "streams_8", "streams_1"},
	{"in_flight", BENCH_OBSERVED, .more_is_better = true},
	{"engines_that_answer", BENCH_OBSERVED, .more_is_better = true},
	{"independent_streams", BENCH_OBSERVED, .more_is_better = true},
	{0}};

#define CASE(direction) "direction=" direction
static const struct bench_metric primary[] = {
	{"up_engines_that_answer", "engines_that_answer", NULL, CASE("up")},
	{"down_engines_that_answer", "engines_that_answer", NULL, CASE("down")},
	{"both_engines_that_answer", "engines_that_answer", NULL, CASE("both")},
	{"local_engines_that_answer", "engines_that_answer", NULL, CASE("local")},
	{"peer_engines_that_answer", "engines_that_answer", NULL, CASE("peer")},
	{"up_independent_streams", "independent_streams", "others", CASE("up")},
	{"down_independent_streams", "independent_streams", "others", CASE("down")},
	{"peer_independent_streams", "independent_streams", "others", CASE("peer")},
	{0}};

/* ------------------------------------------------------------------ setup and results */

static enum engine_direction case_direction(const struct bench_case *c)
{
	return (enum engine_direction)axis_index(c, "direction");
}

static int admit(const struct bench_case *c)
{
	return engine_streams_admit(c, case_direction(c), axis_u64(c, "size"));
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	const struct engine_streams *e = &s->streams;
	const struct engine_stream *first = &e->stream[0];
	if (TRY(c->status, blocking_kernel_need_engine(c, BENCH_ALL)))
		return c->status;
	engine_streams_open(&s->streams, c, case_direction(c), axis_u64(c, "size"));
	if (TRY(c->status, blocking_kernel_need_local_engine(c, BENCH_ALL, first->to, first->from,
							     e->bulk_bytes)))
		return c->status;
	for (unsigned v = 0; v < VARIANTS; v++)
		if (bench_variant_on(c, v))
			s->graph[v] = engine_streams_graph(e, c, v, &work[v]);
	return engine_streams_time_alone(&s->streams, c, BEHIND_1);
}

static int verify_mechanism(struct bench_case *c)
{
	return engine_streams_verify(&((struct state *)c->state)->streams, c,
				     BENCH_ALL << BEHIND_1);
}

/* One observation of each behind_K makes one of the number of engines. */
static double derive_engines(struct bench_case *c)
{
	const struct observed *found = ((struct state *)c->state)->found_engine;
	struct observed engines = {.count = found[1].count};
	uint64_t uses = 0;
	for (unsigned k = 1; k < ENGINE_STREAMS; k++) {
		engines.count = found[k].count < engines.count ? found[k].count : engines.count;
		uses |= UINT64_C(1) << (BEHIND_1 + k - 1);
	}
	for (size_t i = 0; i < engines.count; i++) {
		engines.x[i] = 1.0;
		for (unsigned k = 1; k < ENGINE_STREAMS; k++)
			engines.x[i] += found[k].x[i];
	}
	TRY(c->status,
	    bench_derive_samples(c, "engines_that_answer", -1, "", uses, engines.x, engines.count,
				 "1 + the K for which the short copy behind K bulk copies "
				 "ends before all of them"));
	return observed_mean(&engines);
}

static void derive_in_flight(struct bench_case *c)
{
	const struct state *s = c->state;
	for (unsigned k = 1; k <= ENGINE_STREAMS; k++) {
		const unsigned v = STREAMS_1 + k - 1;
		const struct observed *o = &s->in_flight[k];
		TRY(c->status, bench_derive_samples(
				       c, "in_flight", (int)v, "", UINT64_C(1) << v, o->x, o->count,
				       "streams * seconds of the first copy to end / of the last"));
	}
}

static int derive(struct bench_case *c)
{
	const struct state *s = c->state;
	const enum engine_direction direction = case_direction(c);
	const bool one_way = direction != ENGINE_BOTH && direction != ENGINE_PEERS;
	const double engines = derive_engines(c);
	if (one_way)
		derive_in_flight(c);
	sharing_derive(&s->sharing, c, OTHERS, engine_streams_tell(&s->streams) ? engines : NAN,
		       bench_median(c, BEHIND_1), one_way);
	bench_fact_number(c, "engines_stated", dev_props(c->dev)->copy_engines);
	if (engines >= ENGINE_STREAMS)
		bench_fact_text(c, "engines_limit", "every stream had one: there may be more");
	return c->status;
}

static const struct bench bench = {
	.name = "micro/copy_engines",
	.question = "how many copy engines answer when streams copy at once?",
	.formula = "engines_that_answer = 1 + the number of K from 1 to 7 for which a short copy "
		   "behind K bulk copies ends before all of them; in_flight = K * seconds of the "
		   "first of K copies to end / of the last; independent_streams = 1 - the share of "
		   "the streams whose short copy ends after the bulk copy of the first one",
	.timed = "copies at once in streams filled beforehand, an empty kernel behind each; not "
		 "enqueueing",
	.limits =
		"eight streams: 8 means 8 or more. An engine that alternates between copies "
		"answers as two; streams that share a hardware queue wait for each other as if "
		"they shared an engine. in_flight needs copies that share a link evenly: jitter "
		"makes it smaller, and so does a number of streams that is no multiple of that of "
		"the engines",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_PEER,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
