/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In which chunks should a bulk copy be made, and what must stand between them? An engine that
 * copies in bulk lets other copies of its direction wait. It may change streams between chunks, or
 * only where the stream of the chunks has no copy that is ready at once: then something that takes
 * time must stand between them. What the chunks cost the bulk, and how long a small copy waits.
 *
 * The variants `whole` to `chunks_event` are the bulk alone. In those that begin with `wait_` a
 * small copy in another stream becomes ready while the bulk runs, without the host: an empty kernel
 * waits for a first piece of the bulk, and its end is when the small copy is ready. The wait is
 * from there to the end of an empty kernel behind the small copy, all by the device's stamps. A
 * bulk that had ended by then is no bulk that was waited for: such a sample is measured again.
 * `wait_idle` is without the bulk.
 *
 * The two streams are such that share an engine, if some of those tried do: others pass anyhow.
 *
 * A bulk is at most 128 chunks, and all variants copy as many bytes. `rate_kept` is that of a bulk
 * without end, because n chunks have n - 1 gaps.
 *
 *     bin/micro/copy_chunks --device host --direction up --chunk 64K:4M:x4
 */
#include "bench/bench_expect.h"
#include "bench/blocking_kernel.h"
#include "lib/err.h"
#include "micro/copy_chunks/cut_bulk.h"

#include <errno.h>

/* All directions but peer are the same copy where the host is the device. */
static const struct axis axes[] = {
	ROUTE_DIRECTIONS(.quick = "up,down,peer", .simulated = "up,down,local,peer",
			 .full = "up,down,local,peer", .gpu_class = "up,down,local,peer"),
	{.name = "chunk",
	 .help = "bytes of a chunk",
	 .kind = AXIS_SIZE,
	 .min = 4096,
	 .multiple = 4096,
	 .quick = "256K,1M,4M",
	 .full = "64K:16M:x2",
	 .gpu_class = "256K,1M,4M,16M",
	 .gpu_class_full = "64K:64M:x2"},
	{.name = "bulk",
	 .help = "bytes of the bulk copy",
	 .kind = AXIS_SIZE,
	 .min = PATTERN_BYTES,
	 .multiple = PATTERN_BYTES,
	 .quick = "32M",
	 .simulated = "8M",
	 .gpu_class = "256M"},
	{.name = "small",
	 .help = "bytes of the small copy",
	 .kind = AXIS_SIZE,
	 .min = 4096,
	 .multiple = 4096,
	 .quick = "4K",
	 .full = "4K,64K"},
	{0}};

/* A queue holds as many copies with something between them. */
#define MAX_CHUNKS 128u
#define TRIES 8u

struct state {
	struct cut_bulks bulks;
	struct {
		unsigned waits, repeated, missed;
	} of[CUTS];
};

static uint64_t chunks_of(const struct bench_case *c)
{
	const uint64_t chunks = axis_u64(c, "bulk") / axis_u64(c, "chunk");
	return chunks < MAX_CHUNKS ? chunks : MAX_CHUNKS;
}

static uint64_t bulk_bytes(const struct bench_case *c)
{
	return chunks_of(c) * axis_u64(c, "chunk");
}

static int admit(const struct bench_case *c)
{
	if (chunks_of(c) < 2)
		return err_note(-EINVAL, "a bulk of %llu bytes is not two chunks of %llu",
				(unsigned long long)axis_u64(c, "bulk"),
				(unsigned long long)axis_u64(c, "chunk"));
	return route_admit(c, (enum direction)axis_index(c, "direction"), axis_u64(c, "bulk"));
}

/* ------------------------------------------------------------------ work */

static int time_bulk(struct bench_case *c, long cut, uint64_t iterations)
{
	const struct state *s = c->state;
	return bench_graph_time(c, s->bulks.of[cut].alone, iterations);
}

static int time_idle(struct bench_case *c, long unused)
{
	c->self_seconds += cut_bulk_wait(&((struct state *)c->state)->bulks.idle, c);
	return c->status;
}

static int time_wait(struct bench_case *c, long cut)
{
	struct state *s = c->state;
	const struct cut_bulk *b = &s->bulks.of[cut];
	double wait_s = 0.0, left_s = 0.0;
	for (unsigned try = 0; c->status == 0 && try < TRIES && left_s <= 0.0; try++) {
		wait_s = cut_bulk_wait(b, c);
		left_s = cut_bulk_left(b, c);
		s->of[cut].repeated += left_s <= 0.0;
	}
	s->of[cut].waits++;
	s->of[cut].missed += left_s <= 0.0;
	c->self_seconds += wait_s;
	return c->status;
}

static void model_bulk(const struct bench_case *c, long cut, struct bench_model *m)
{
	m->bytes = (double)bulk_bytes(c);
}

enum { WAITS = CUTS, IDLE = WAITS + CUTS };
#define BULK(name, cut) [cut] = {name, BENCH_SELF, cut, .body = time_bulk, .model = model_bulk}
#define WAIT(name, cut) [WAITS + (cut)] = {"wait_" name, BENCH_SELF, cut, .once = time_wait}
static const struct bench_variant variants[] = {
	BULK("whole", WHOLE),
	BULK("chunks", CHUNKS),
	BULK("chunks_kernel", KERNELS),
	BULK("chunks_value", VALUES),
	BULK("chunks_event", EVENTS),
	WAIT("whole", WHOLE),
	WAIT("chunks", CHUNKS),
	WAIT("chunks_kernel", KERNELS),
	WAIT("chunks_value", VALUES),
	WAIT("chunks_event", EVENTS),
	[IDLE] = {"wait_idle", BENCH_SELF, .once = time_idle},
	{0}};

#define OF_WHOLE (UINT64_C(1) << WHOLE | UINT64_C(1) << (WAITS + WHOLE))
#define OF_IDLE (UINT64_C(1) << IDLE)
#define OF_CHUNKS (((UINT64_C(1) << IDLE) - 1) & ~OF_WHOLE)
#define OF_WAITS (((UINT64_C(1) << CUTS) - 1) << WAITS)

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	struct cut_bulks *all = &s->bulks;
	struct route *r = &all->route;
	all->bulk_bytes = axis_u64(c, "bulk");
	all->small_bytes = axis_u64(c, "small");
	route_open_one_way(r, c, (enum direction)axis_index(c, "direction"),
			   all->bulk_bytes + all->small_bytes);
	bench_expect(c, ~OF_IDLE, r->to.dev, r->to.ptr, bulk_bytes(c), r->pattern, 0.0f);
	bench_expect(c, OF_WAITS | OF_IDLE, r->to.dev, r->to.ptr + all->bulk_bytes,
		     all->small_bytes, r->pattern, 0.0f);
	if (TRY(c->status, blocking_kernel_need_local_engine(c, BENCH_ALL, r->to.ptr, r->from.ptr,
							     axis_u64(c, "chunk"))))
		return c->status;
	cut_bulks_open(all, c);
	cut_bulks_cut(all, c, WHOLE, 1, bulk_bytes(c));
	for (enum cut cut = CHUNKS; c->status == 0 && cut < CUTS; cut++)
		cut_bulks_cut(all, c, cut, chunks_of(c), axis_u64(c, "chunk"));
	return c->status;
}

/* The small copy may be one by a kernel: a runtime may choose so, and it is what users get. */
static int verify_mechanism(struct bench_case *c)
{
	const struct state *s = c->state;
	const struct route *r = &s->bulks.route;
	for (unsigned cut = WHOLE; cut < CUTS; cut++)
		bench_mechanism_of(c, UINT64_C(1) << (WAITS + cut),
				   "bulk_ran_when_the_small_copy_was_ready", s->of[cut].missed == 0,
				   "%u waits, %u repeated because the bulk had ended, %u given up",
				   s->of[cut].waits, s->of[cut].repeated, s->of[cut].missed);
	TRY(c->status, bench_verify_independent(c, OF_WAITS, "streams_are_independent",
						s->bulks.of[CHUNKS].alone, s->bulks.idle.waited));
	TRY(c->status,
	    blocking_kernel_verify_engine(c, OF_WHOLE, r->to.ptr, r->from.ptr, bulk_bytes(c)));
	return TRY(c->status, blocking_kernel_verify_engine(c, OF_CHUNKS, r->to.ptr, r->from.ptr,
							    axis_u64(c, "chunk")));
}

/* ------------------------------------------------------------------ what follows */

/* n chunks have n - 1 gaps. */
static double rate_kept(const struct bench_round *r)
{
	const double n = (double)chunks_of(r->c);
	return 1.0 / (1.0 + (r->seconds[r->variant] / r->seconds[WHOLE] - 1.0) * n / (n - 1.0));
}

static double chunks_waited(const struct bench_round *r)
{
	const int bulk = r->variant - WAITS;
	return r->seconds[r->variant] * (double)chunks_of(r->c) / r->seconds[bulk];
}

static const struct bench_quantity_row quantities[] = {
	{"rate_kept", BENCH_FORMULA, .more_is_better = true},
	{"chunks_waited", BENCH_FORMULA},
	{"wait_ratio", BENCH_RATIO, "wait_chunks", "wait_whole"},
	{"wait_ratio", BENCH_RATIO, "wait_chunks_kernel", "wait_whole"},
	{"wait_ratio", BENCH_RATIO, "wait_chunks_value", "wait_whole"},
	{"wait_ratio", BENCH_RATIO, "wait_chunks_event", "wait_whole"},
	{0}};

static int derive(struct bench_case *c)
{
	bench_fact_number(c, "chunks", (double)chunks_of(c));
	bench_fact_number(c, "bulk_bytes", (double)bulk_bytes(c));
	for (int cut = CHUNKS; cut < CUTS; cut++) {
		const struct bench_quantity kept = {BENCH_FORMULA,
						    {BENCH_OF(cut), BENCH_OF(WHOLE)},
						    .f = rate_kept},
					    waited = {BENCH_FORMULA,
						      {BENCH_OF(WAITS + cut), BENCH_OF(cut)},
						      .f = chunks_waited};
		TRY(c->status,
		    bench_derive(c, "rate_kept", cut, &kept,
				 "1 / (1 + (seconds / seconds(whole) - 1) * n / (n - 1))"));
		TRY(c->status, bench_derive(c, "chunks_waited", WAITS + cut, &waited,
					    "wait / (seconds of the bulk alone / chunks)"));
	}
	return c->status;
}

#define CHUNK(direction) "direction=" direction " chunk=1M|4M|1M small=4K"
static const struct bench_metric primary[] = {
	{"up_wait_behind_chunks", "time", "wait_chunks_kernel", CHUNK("up")},
	{"down_wait_behind_chunks", "time", "wait_chunks_kernel", CHUNK("down")},
	{"up_rate_kept_by_chunks", "rate_kept", "chunks_kernel", CHUNK("up")},
	{"down_rate_kept_by_chunks", "rate_kept", "chunks_kernel", CHUNK("down")},
	{0}};

static const struct bench bench = {
	.name = "micro/copy_chunks",
	.question = "in which chunks to copy, so that small copies do not wait?",
	.formula = "rate_kept = 1 / (1 + (seconds / seconds(whole) - 1) * n / (n - 1)) of n "
		   "chunks; wait = end of the small copy - when it was ready; s",
	.timed = "a bulk copy by device events; the wait of a small copy that becomes ready while "
		 "the bulk runs; not enqueueing",
	.limits = "the small copy becomes ready soon after the bulk began, which is nearly the "
		  "longest wait; on a host device copy engines share the cores",
	.needs = DEV_CAP_WAIT_VALUE | DEV_CAP_COPY_ENGINE,
	.wants = DEV_CAP_PEER,
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
