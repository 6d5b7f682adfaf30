/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who waits for whom at a copy engine? A small copy becomes ready while another stream copies in
 * bulk: it may wait for all of the bulk, for one copy of it, or not at all, and the priority of its
 * stream may count or not. How many engines there are is the question of micro/copy_engines, and in
 * which chunks to copy that of micro/copy_chunks.
 *
 * Timed: from when the small copy is ready to when a kernel that depends on it has run
 * (micro/copy_queue/late_copy.h). The bulk is one copy, or 16 back to back in its stream
 * (`chunks`). `bulk_rest` is how long the bulk goes on from when the small copy is ready.
 * wait_share is of that: 1 and more is a wait for all of the bulk. `alone` is the small copy
 * without a bulk.
 *
 * The order: four chunks are back to back in one stream. While the first is copied, a chunk in a
 * second stream, which was enqueued later, and then one in a third, which was enqueued before that,
 * become ready. Their turns, in units of a chunk, tell in which order the engine takes copies:
 *
 *     first_ready  first_enqueued
 *               2               3  ready_first: what became ready first
 *               3               2  round_robin: the next stream
 *               6               5  enqueued_first
 *               5               6  stream_first: on with its stream, then what became ready first
 *
 * `high_` has one of the two in a stream of the highest priority. Priority has an effect if each of
 * them then is next.
 *
 * The streams of the small copy and of the order are such that share the bulk's engine, where some
 * of those tried do. Otherwise the other engines are kept busy for the order, and for `switch` and
 * `stay`, the small copy behind a copy in another and in its own stream.
 *
 *     bin/micro/copy_queue --device host --direction up --size 32M
 */
#include "bench/bench_expect.h"
#include "bench/blocking_kernel.h"
#include "lib/err.h"
#include "micro/copy_queue/measures.h"

#include <errno.h>
#include <math.h>

/* Local copies are the same as those up where the host is the device. */
static const struct axis axes[] = {ROUTE_DIRECTIONS(.quick = "up,down,peer",
						    .full = "up,down,local,peer",
						    .gpu_class = "up,down,local,peer"),
				   {.name = "size",
				    .help = "bytes of the bulk",
				    .kind = AXIS_SIZE,
				    .min = 1u << 20,
				    .multiple = 1u << 20,
				    .quick = "32M",
				    .simulated = "4M",
				    .gpu_class = "256M"},
				   {.name = "small",
				    .help = "bytes of the small copy",
				    .kind = AXIS_SIZE,
				    .min = 4096,
				    .multiple = 4096,
				    .quick = "4K",
				    .full = "4K,64K"},
				   {0}};

static int admit(const struct bench_case *c)
{
	const uint64_t size = axis_u64(c, "size"), small = axis_u64(c, "small");
	if (small > size / BULK_CHUNKS)
		return err_note(-EINVAL, "a small copy of %llu bytes is more than 1/%d of the bulk",
				(unsigned long long)small, BULK_CHUNKS);
	return route_admit(c, (enum direction)axis_index(c, "direction"), size);
}

/* ------------------------------------------------------------------ setup */

static int setup(struct bench_case *c)
{
	struct measures *m = c->state;
	const struct queue_lanes *q = &m->scene.lanes;
	const char *lack;
	if (TRY(c->status, measures_open_memory(m, c)))
		return c->status;
	if (TRY(c->status,
		blocking_kernel_need_local_engine(c, BENCH_ALL, m->scene.route.to.ptr,
						  m->scene.route.from.ptr, m->scene.route.size)))
		return c->status;
	if (TRY(c->status, measures_open(m, c)))
		return c->status;
	lack = queue_lanes_lack(q);
	if (lack)
		return bench_variants_skip(c, OF_LANES, lack);
	if (q->sharing && !q->high_sharing)
		return bench_variants_skip(c, OF_HIGH_ORDER,
					   "no stream of high priority that was tried shares the "
					   "bulk's engine");
	return c->status;
}

/* ------------------------------------------------------------------ what is timed, and found */

static int time_copy(struct bench_case *c, long measure)
{
	return late_copy_time(&((struct measures *)c->state)->of[measure], c);
}

static const struct bench_variant variants[] = {
	[ALONE] = {"alone", BENCH_SELF, ALONE},
	[BEHIND] = {"behind_bulk", BENCH_SELF, BEHIND},
	[REST] = {"bulk_rest", BENCH_SELF, REST},
	[PRIORITY] = {"behind_bulk_priority", BENCH_SELF, PRIORITY, .needs = DEV_CAP_PRIORITY},
	[KERNEL] = {"behind_bulk_kernel", BENCH_SELF, KERNEL},
	[OPPOSITE] = {"behind_bulk_opposite", BENCH_SELF, OPPOSITE},
	[CHUNKS] = {"behind_chunks", BENCH_SELF, CHUNKS},
	[CHUNKS_PRIORITY] = {"behind_chunks_priority", BENCH_SELF, CHUNKS_PRIORITY,
			     .needs = DEV_CAP_PRIORITY},
	[CHUNK] = {"chunk", BENCH_SELF, CHUNK},
	[READY] = {"first_ready", BENCH_SELF, READY},
	[ENQUEUED] = {"first_enqueued", BENCH_SELF, ENQUEUED},
	[HIGH_READY] = {"high_first_ready", BENCH_SELF, HIGH_READY, .needs = DEV_CAP_PRIORITY},
	[HIGH_ENQUEUED] = {"high_first_enqueued", BENCH_SELF, HIGH_ENQUEUED,
			   .needs = DEV_CAP_PRIORITY},
	[SWITCH] = {"switch", BENCH_SELF, SWITCH},
	[STAY] = {"stay", BENCH_SELF, STAY},
	{0}};

#define WAIT(variant)                                                                              \
	{                                                                                          \
		"wait_share", BENCH_RATIO, variant, "bulk_rest"                                    \
	}
#define TURN(variant)                                                                              \
	{                                                                                          \
		"turn", BENCH_RATIO, variant, "chunk"                                              \
	}
static const struct bench_quantity_row quantities[] = {
	WAIT("behind_bulk"),
	WAIT("behind_bulk_priority"),
	WAIT("behind_bulk_kernel"),
	WAIT("behind_bulk_opposite"),
	WAIT("behind_chunks"),
	WAIT("behind_chunks_priority"),
	TURN("first_ready"),
	TURN("first_enqueued"),
	TURN("high_first_ready"),
	TURN("high_first_enqueued"),
	{"switch_time", BENCH_DIFFERENCE, "switch", "stay"},
	{0}};

/* A sample that came too late each time spoils its own variant alone. */
static void verify_readiness(const struct measures *all, struct bench_case *c)
{
	static const char name[] = "bulk_ran_when_the_copy_was_ready",
			  detail[] = "%u samples, %u repeated because the copy was late, %u given "
				     "up";
	struct late_copy sum = {0};
	uint64_t uses = 0;
	for (unsigned m = 0; m < MEASURES; m++) {
		const struct late_copy *l = &all->of[m];
		if (l->missed)
			bench_mechanism_of(c, BIT(m), name, false, detail, l->samples, l->repeated,
					   l->missed);
		if (l->missed || !l->chunks)
			continue;
		uses |= BIT(m);
		sum.samples += l->samples;
		sum.repeated += l->repeated;
	}
	bench_mechanism_of(c, uses, name, true, detail, sum.samples, sum.repeated, 0);
}

static int verify_mechanism(struct bench_case *c)
{
	const struct measures *s = c->state;
	const struct route *r = &s->scene.route;
	verify_readiness(s, c);
	TRY(c->status,
	    bench_verify_independent(c, BENCH_ALL, "streams_are_independent", s->held, s->other));
	TRY(c->status,
	    blocking_kernel_verify_engine(c, WITH_BULK, r->to.ptr, r->from.ptr, r->size));
	return TRY(c->status, blocking_kernel_verify_engine(c, OF_ORDER, r->to.ptr, r->from.ptr,
							    s->scene.memory.chunk));
}

/* Turns are whole numbers, but for what it takes to see the end of a copy. */
#define TURN_TOLERANCE 0.3

static bool is_known(const struct bench_case *c, enum measure measure)
{
	const struct measures *all = c->state;
	return bench_variant_on(c, measure) && all->of[measure].missed == 0;
}

/* The turn of a copy, one of those below; 0: none. What the engine's changes of streams before it
 * take is not part of it. */
static unsigned turn_of(const struct bench_case *c, enum measure measure)
{
	static const struct {
		unsigned turn, changes;
	} turns[] = {{2, 1}, {3, 2}, {5, 1}, {6, 2}};
	const double chunk_s = bench_median(c, CHUNK);
	const double change_s = is_known(c, SWITCH) && is_known(c, STAY)
					? bench_median(c, SWITCH) - bench_median(c, STAY)
					: 0.0;
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		const double copies_s = bench_median(c, measure) - turns[i].changes * change_s;
		if (fabs(copies_s / chunk_s - turns[i].turn) <= TURN_TOLERANCE)
			return turns[i].turn;
	}
	return 0;
}

static const char *order_of(const struct bench_case *c)
{
	static const struct {
		const char *name;
		unsigned ready, enqueued;
	} orders[] = {{"ready_first", 2, 3},
		      {"round_robin", 3, 2},
		      {"enqueued_first", 6, 5},
		      {"stream_first", 5, 6}};
	if (!is_known(c, READY) || !is_known(c, ENQUEUED) || !is_known(c, CHUNK))
		return "not measured";
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (turn_of(c, READY) == orders[i].ready &&
		    turn_of(c, ENQUEUED) == orders[i].enqueued)
			return orders[i].name;
	return "none of those known";
}

static const char *priority_effect(const struct bench_case *c)
{
	if (!is_known(c, HIGH_READY) || !is_known(c, HIGH_ENQUEUED) || !is_known(c, CHUNK))
		return "not measured";
	const unsigned ready = turn_of(c, HIGH_READY), enqueued = turn_of(c, HIGH_ENQUEUED);
	if (!ready || !enqueued)
		return "unclear";
	return ready == 2 && enqueued == 2 ? "yes" : "no effect here";
}

static int derive(struct bench_case *c)
{
	const struct queue_lanes *q = &((struct measures *)c->state)->scene.lanes;
	bench_fact_number(c, "streams_tried", q->tried);
	bench_fact_number(c, "streams_that_share_an_engine", q->sharing);
	bench_fact_number(c, "engines_kept_busy", q->busy);
	bench_fact_text(c, "engine_order", order_of(c));
	bench_fact_text(c, "priority_effect", priority_effect(c));
	return 0;
}

#define CASE(direction) "direction=" direction " small=4K"
#define WAITS(direction)                                                                           \
	{direction "_wait_share_behind_bulk", "wait_share", "behind_bulk", CASE(direction)},       \
		{direction "_wait_share_behind_chunks", "wait_share", "behind_chunks",             \
		 CASE(direction)},                                                                 \
		{direction "_wait_share_with_priority", "wait_share", "behind_chunks_priority",    \
		 CASE(direction)},                                                                 \
	{                                                                                          \
		direction "_turn_of_first_ready", "turn", "first_ready", CASE(direction)           \
	}
static const struct bench_metric primary[] = {WAITS("up"), WAITS("down"), WAITS("peer"), {0}};

static const struct bench bench = {
	.name = "micro/copy_queue",
	.question = "who waits for whom at a copy engine?",
	.formula = "wait_share = wait of a small copy / rest of the bulk when it is ready; turn = "
		   "time to the end of a copy / time of a chunk",
	.timed = "from the moment when a copy is ready to the end of a kernel that depends on it; "
		 "not enqueueing",
	.limits = "streams that share a hardware queue count as sharing an engine; a runtime may "
		  "make small copies by kernels; on a host device copy engines share the cores",
	.needs = DEV_CAP_WAIT_VALUE | DEV_CAP_COPY_ENGINE,
	.wants = DEV_CAP_PRIORITY | DEV_CAP_PEER,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct measures),
	.admit = admit,
	.setup = setup,
	.once = time_copy,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
