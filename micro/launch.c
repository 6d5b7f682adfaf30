/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What does starting work cost? Calls, completions, dependencies and triggers, one by one; and the three taxes of
 * cutting work into kernels (arXiv 2511.02168; the decomposition into pairs of runs is ours): many launches instead of
 * one, a barrier after every stage, and a consumer that comes when the producer's data has left the cache.
 *
 * Every time is per operation. What is inside each:
 *   enqueue            the host's call, while the stream is held: nothing runs meanwhile
 *   back_to_back       device time from one empty kernel to the next in a full queue (issue interval)
 *   round_trip         launch one empty kernel and wait for it (completion latency)
 *   sync_idle          wait for a stream that has nothing to do
 *   event_round_trip   record an event on an idle stream and wait for it
 *   trigger            from the host's write of a value to its return from waiting for the stream that the value released
 *   stream_hop         one event dependency from stream to stream and the empty kernel behind it
 *   one_launch, many_launches    the same multiply-adds as one kernel and as 16
 *   staged_free, staged_barrier  two streams of 8 alternating long and short kernels, alone and with a barrier each stage
 *   producer_first, tile_by_tile 16 tiles written, then read; or each read right after it was written
 *
 *     bin/micro/launch --device host
 */
#include "device/kernels.h"
#include "lib/bench.h"

enum {
	ENQUEUE,
	BACK_TO_BACK,
	ROUND_TRIP,
	SYNC_IDLE,
	EVENT_ROUND_TRIP,
	TRIGGER,
	STREAM_HOP,
	ONE_LAUNCH,
	MANY_LAUNCHES,
	STAGED_FREE,
	STAGED_BARRIER,
	PRODUCER_FIRST,
	TILE_BY_TILE
};

#define PIECES 16u
#define STAGES 8u
#define HOPS 16u
/* Tiles together are twice the last-level cache, so that the whole has left it before it is read; one alone stays. */
#define TILES 16u

static const struct bench_variant variants[] = {
	[ENQUEUE] = {.name = "enqueue", .timing = BENCH_SELF},
	[BACK_TO_BACK] = {.name = "back_to_back", .timing = BENCH_DEVICE},
	[ROUND_TRIP] = {.name = "round_trip", .timing = BENCH_HOST},
	[SYNC_IDLE] = {.name = "sync_idle", .timing = BENCH_HOST},
	[EVENT_ROUND_TRIP] = {.name = "event_round_trip", .timing = BENCH_HOST},
	[TRIGGER] = {.name = "trigger", .timing = BENCH_SELF},
	[STREAM_HOP] = {.name = "stream_hop", .timing = BENCH_DEVICE, .queued = 6 * HOPS},
	[ONE_LAUNCH] = {.name = "one_launch", .timing = BENCH_DEVICE},
	[MANY_LAUNCHES] = {.name = "many_launches", .timing = BENCH_DEVICE, .queued = PIECES},
	[STAGED_FREE] = {.name = "staged_free", .timing = BENCH_DEVICE, .queued = 2 * STAGES},
	[STAGED_BARRIER] = {.name = "staged_barrier", .timing = BENCH_DEVICE, .queued = 4 * STAGES},
	[PRODUCER_FIRST] = {.name = "producer_first", .timing = BENCH_DEVICE, .queued = 2 * TILES},
	[TILE_BY_TILE] = {.name = "tile_by_tile", .timing = BENCH_DEVICE, .queued = 2 * TILES},
	{0}};

static const struct bench_metric primary[] = {
	{"launch_round_trip", "time", "round_trip", NULL, "min", "s", "lower"},
	{"launch_back_to_back", "time", "back_to_back", NULL, "min", "s", "lower"},
	{0}};

/* A piece of the launch-tax pair, and the short stage: some tens of microseconds on a CPU core. */
#define PIECE_FMAS (UINT64_C(256) * DEV_FMA_QUANTUM)
#define LONG_STAGE 3u

struct state {
	struct dev_kernel *empty, *fma, *write, *read;
	struct dev_stream *other;
	struct dev_event *event, *fork, *join;
	uint32_t *value, next_value;
	void *out, *tiles;
	uint32_t *sink;
	uint64_t tile_bytes;
	uint32_t blocks;
};

static struct state *state(const struct bench_case *c) { return c->state; }

static int setup_memory(struct bench_case *c)
{
	struct state *s = state(c);
	const struct dev_props *p = dev_props(c->dev);
	uint64_t tile = p->llc_bytes ? 2 * p->llc_bytes / TILES : 4u << 20;
	if (tile > p->memory_bytes / (4 * TILES))
		tile = p->memory_bytes / (4 * TILES);
	s->tile_bytes = tile - tile % DEV_KERNEL_ALIGN;
	int status = dev_alloc(c->dev, DEV_MEM_PINNED, 256, (void **)&s->value);
	if (status == 0)
		status = dev_post_value(c->dev, s->value, 0);
	if (status == 0)
		status = dev_alloc(c->dev, DEV_MEM_DEVICE, s->blocks * sizeof(float), &s->out);
	if (status == 0)
		status = dev_alloc(c->dev, DEV_MEM_DEVICE, 256, (void **)&s->sink);
	if (status == 0)
		status = dev_alloc(c->dev, DEV_MEM_DEVICE, s->tile_bytes * TILES, &s->tiles);
	return status ? status : dev_fill(c->dev, c->stream, s->tiles, 1, s->tile_bytes * TILES);
}

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	s->blocks = dev_props(c->dev)->busy_blocks;
	int status = dev_kernel_find(c->dev, "empty", &s->empty);
	if (status == 0)
		status = dev_kernel_find(c->dev, "fma_f32", &s->fma);
	if (status == 0)
		status = dev_kernel_find(c->dev, "write", &s->write);
	if (status == 0)
		status = dev_kernel_find(c->dev, "read", &s->read);
	if (status == 0)
		status = dev_stream_open(c->dev, dev_props(c->dev)->priority_normal, &s->other);
	if (status == 0)
		status = dev_event_open(c->dev, &s->event);
	if (status == 0)
		status = dev_event_open(c->dev, &s->fork);
	if (status == 0)
		status = dev_event_open(c->dev, &s->join);
	return status ? status : setup_memory(c);
}

static int empty(struct bench_case *c, struct dev_stream *stream)
{
	struct dev_launch launch = {.grid = 1};
	return dev_launch(c->dev, stream, state(c)->empty, &launch);
}

static int multiply_add(struct bench_case *c, struct dev_stream *stream, uint32_t grid, uint64_t fmas)
{
	struct state *s = state(c);
	const void *const args[] = {&s->out, &fmas};
	struct dev_launch launch = {.grid = grid, .args = args};
	return dev_launch(c->dev, stream, s->fma, &launch);
}

/* Later work of `to` starts after what `from` holds now. */
static int follow(struct bench_case *c, struct dev_stream *from, struct dev_stream *to, struct dev_event *event)
{
	int status = dev_event_record(c->dev, from, event);
	return status ? status : dev_stream_wait(c->dev, to, event);
}

static int enqueue(struct bench_case *c, uint64_t iterations)
{
	struct state *s = state(c);
	uint64_t most = dev_props(c->dev)->max_queued - 8, seconds_of = iterations < most ? iterations : most;
	int status = dev_wait_value(c->dev, c->stream, s->value, ++s->next_value);
	uint64_t start = dev_clock_ns(c->dev);
	for (uint64_t i = 0; status == 0 && i < seconds_of; i++)
		status = empty(c, c->stream);
	uint64_t end = dev_clock_ns(c->dev);
	int released = dev_post_value(c->dev, s->value, s->next_value);
	int drained = dev_stream_sync(c->dev, c->stream);
	/* The queue holds less than the iterations asked for: scale what was seen. */
	c->self_seconds = 1e-9 * (double)(end - start) * (double)iterations / (double)seconds_of;
	return status ? status : released ? released : drained;
}

static int trigger(struct bench_case *c, uint64_t iterations)
{
	struct state *s = state(c);
	uint64_t sum = 0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = dev_wait_value(c->dev, c->stream, s->value, ++s->next_value);
		uint64_t start = dev_clock_ns(c->dev);
		int released = dev_post_value(c->dev, s->value, s->next_value);
		int drained = dev_stream_sync(c->dev, c->stream);
		sum += dev_clock_ns(c->dev) - start;
		status = status ? status : released ? released : drained;
	}
	c->self_seconds = 1e-9 * (double)sum;
	return status;
}

static int stream_hops(struct bench_case *c)
{
	struct state *s = state(c);
	int status = 0;
	for (unsigned hop = 0; status == 0 && hop < HOPS / 2; hop++) {
		status = follow(c, c->stream, s->other, s->fork);
		if (status == 0)
			status = empty(c, s->other);
		if (status == 0)
			status = follow(c, s->other, c->stream, s->join);
		if (status == 0)
			status = empty(c, c->stream);
	}
	return status;
}

static int launches(struct bench_case *c, unsigned pieces)
{
	int status = 0;
	for (unsigned i = 0; status == 0 && i < pieces; i++)
		status = multiply_add(c, c->stream, state(c)->blocks, PIECE_FMAS * PIECES / pieces);
	return status;
}

/* When one stream has its long stage the other has its short one, so a barrier makes both wait each time. */
static int staged(struct bench_case *c, bool barrier)
{
	struct state *s = state(c);
	int status = follow(c, c->stream, s->other, s->fork);
	for (unsigned stage = 0; status == 0 && stage < STAGES; stage++) {
		status = multiply_add(c, c->stream, 1, PIECE_FMAS * (stage % 2 ? LONG_STAGE : 1));
		if (status == 0)
			status = multiply_add(c, s->other, 1, PIECE_FMAS * (stage % 2 ? 1 : LONG_STAGE));
		if (status == 0 && barrier)
			status = follow(c, s->other, c->stream, s->join);
		if (status == 0 && barrier)
			status = follow(c, c->stream, s->other, s->fork);
	}
	return status ? status : follow(c, s->other, c->stream, s->join);
}

static int tile(struct bench_case *c, unsigned i, bool produce)
{
	struct state *s = state(c);
	const char *at = (const char *)s->tiles + i * s->tile_bytes;
	uint32_t reps = 1, word = i;
	const void *const write_args[] = {&at, &s->tile_bytes, &reps, &word};
	const void *const read_args[] = {&at, &s->tile_bytes, &reps, &s->sink};
	struct dev_launch launch = {.grid = s->blocks, .args = produce ? write_args : read_args};
	return dev_launch(c->dev, c->stream, produce ? s->write : s->read, &launch);
}

static int tiles(struct bench_case *c, bool by_tile)
{
	int status = 0;
	for (unsigned i = 0; status == 0 && i < 2 * TILES; i++)
		status = by_tile ? tile(c, i / 2, i % 2 == 0) : tile(c, i % TILES, i < TILES);
	return status;
}

static int round_of(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	int status;
	switch (variant) {
	case BACK_TO_BACK:
		return empty(c, c->stream);
	case ROUND_TRIP:
		status = empty(c, c->stream);
		return status ? status : dev_stream_sync(c->dev, c->stream);
	case SYNC_IDLE:
		return dev_stream_sync(c->dev, c->stream);
	case EVENT_ROUND_TRIP:
		status = dev_event_record(c->dev, c->stream, s->event);
		return status ? status : dev_event_sync(c->dev, s->event);
	case STREAM_HOP:
		return stream_hops(c);
	case ONE_LAUNCH:
		return launches(c, 1);
	case MANY_LAUNCHES:
		return launches(c, PIECES);
	case STAGED_FREE:
	case STAGED_BARRIER:
		return staged(c, variant == STAGED_BARRIER);
	default:
		return tiles(c, variant == TILE_BY_TILE);
	}
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	int status = 0;
	if (variant == ENQUEUE)
		return enqueue(c, iterations);
	if (variant == TRIGGER)
		return trigger(c, iterations);
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = round_of(c, variant);
	return status;
}

static double hop(const struct bench_case *c, const double *t)
{
	(void)c;
	return t[STREAM_HOP] / HOPS;
}

static double launch_tax(const struct bench_case *c, const double *t)
{
	(void)c;
	return (t[MANY_LAUNCHES] - t[ONE_LAUNCH]) / (PIECES - 1);
}

static double barrier_tax(const struct bench_case *c, const double *t)
{
	(void)c;
	return t[STAGED_BARRIER] / t[STAGED_FREE];
}

static double locality_tax(const struct bench_case *c, const double *t)
{
	(void)c;
	return t[PRODUCER_FIRST] / t[TILE_BY_TILE];
}

static int derive(struct bench_case *c)
{
	int status = bench_derive(c, "stream_hop_time", STREAM_HOP, "s", 1u << STREAM_HOP, hop,
	                          "seconds(stream_hop) / 16 hops");
	if (status == 0)
		status = bench_derive(c, "launch_tax", MANY_LAUNCHES, "s", 1u << MANY_LAUNCHES | 1u << ONE_LAUNCH, launch_tax,
		                      "(16 launches - 1 launch of the same work) / 15");
	if (status == 0)
		status = bench_derive(c, "barrier_tax", STAGED_BARRIER, "", 1u << STAGED_BARRIER | 1u << STAGED_FREE,
		                      barrier_tax, "with a barrier each stage / free; 1.5 if free stages even out");
	if (status == 0)
		status = bench_derive(c, "locality_tax", PRODUCER_FIRST, "", 1u << PRODUCER_FIRST | 1u << TILE_BY_TILE,
		                      locality_tax, "all written then read / each read when written");
	return status;
}

static void teardown(struct bench_case *c)
{
	struct state *s = state(c);
	if (s->other)
		dev_stream_sync(c->dev, s->other);
	dev_free(c->dev, s->value);
	dev_free(c->dev, s->out);
	dev_free(c->dev, s->sink);
	dev_free(c->dev, s->tiles);
	dev_event_close(c->dev, s->event);
	dev_event_close(c->dev, s->fork);
	dev_event_close(c->dev, s->join);
	dev_stream_close(c->dev, s->other);
}

static const struct bench bench = {
	.name = "micro/launch",
	.question = "what does starting work cost?",
	.formula = "time per operation; taxes are differences or ratios of two runs in the same block",
	.timed = "the operation named by the variant (top of the source file); not opening streams or events",
	.limits = "a waiting host thread shares the cores with a host device",
	.needs = DEV_CAP_WAIT_VALUE,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.body = body,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
