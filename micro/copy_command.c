/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What does a copy command cost? One copy after the other, and several copies given to an engine in
 * different ways; the report fits what is fixed and what grows with the bytes (DMA-Latte, arXiv
 * 2511.06605, whose phases of a copy are control, schedule, copy and sync). How fast copies are is
 * the question of micro/copy_path.
 *
 * All are timed by the host, from the first call until it has waited for the last copy:
 *
 *   each          one copy, and the wait for it; the next one is of the next part of the memory
 *   back_to_back  n copies in one stream, and one wait
 *   batch         the same n copies by one call (dev_copy_batch()), and one wait
 *   graph         the same n copies in a graph, one launch, and one wait
 *   prelaunched   the same n copies queued behind a gate beforehand: from the one write that
 *                 releases them
 *   swap          a copy and the copy back, in two streams at once, and a wait for each
 *   turns         the same two one after the other in one stream, and one wait
 *
 * n is 16, and for copies of more than 4 MiB as many as are 64 MiB, but at least 2. up is host to
 * device, down device to host, local within the device, peer to the second device of --device.
 *
 *     bin/micro/copy_command --device host --direction up,local --size 4K:16M:x4
 */
#include "bench/bench_expect.h"
#include "bench/blocking_kernel.h"
#include "lib/err.h"
#include "micro/copy_command/commands.h"

#include <errno.h>

static const struct axis axes[] = {ROUTE_DIRECTIONS(.quick = "up,down,local,peer"),
				   {.name = "size",
				    .help = "bytes of one copy",
				    .kind = AXIS_SIZE,
				    .min = 4096,
				    .multiple = 4096,
				    .quick = "4K:64M:x4",
				    .full = "4K:64M:x2"},
				   {0}};

enum { EACH, BACK_TO_BACK, BATCH, GRAPH, PRELAUNCHED, SWAP, TURNS, VARIANTS };
#define ALL ((1u << VARIANTS) - 1)
#define AT_ONCE (1u << BATCH | 1u << GRAPH)
#define ONE_PART (1u << EACH | 1u << SWAP | 1u << TURNS)

enum { LEAST_COPIES = 2, PAIR = 2 };
#define MOST_BYTES (UINT64_C(64) << 20)
#define RESERVED 4u /* queue entries: the gate, and what a driver adds */

static const struct bench_quantity_row quantities[] = {
	{"copy_time", BENCH_TIME},
	{"speedup_over_each", BENCH_SHARE},
	{"batch_time_ratio", BENCH_RATIO, "batch", "back_to_back"},
	{"graph_time_ratio", BENCH_RATIO, "graph", "back_to_back"},
	{"prelaunched_time_ratio", BENCH_RATIO, "prelaunched", "back_to_back"},
	{"swap_time_ratio", BENCH_RATIO, "swap", "turns"},
	{0}};

static const struct bench_metric primary[] = {
	{"up_command_time", "copy_time", "back_to_back", "direction=up size=4K"},
	{"down_command_time", "copy_time", "back_to_back", "direction=down size=4K"},
	{"batch_time_ratio_64k", "batch_time_ratio", "batch", "direction=up size=64K"},
	{"swap_time_ratio_64k", "swap_time_ratio", "swap", "direction=up size=64K"},
	{0}};

static size_t copies_of(const struct bench_case *c)
{
	const uint64_t fit = MOST_BYTES / axis_u64(c, "size");
	return fit > MOST_COPIES ? MOST_COPIES : fit < LEAST_COPIES ? LEAST_COPIES : fit;
}

static int admit(const struct bench_case *c)
{
	if (dev_props(c->dev)->max_queued < MOST_COPIES + RESERVED)
		return err_note(-ENOTSUP, "a stream takes %u operations; %u are needed",
				dev_props(c->dev)->max_queued, MOST_COPIES + RESERVED);
	return route_admit(c, (enum direction)axis_index(c, "direction"),
			   copies_of(c) * axis_u64(c, "size"));
}

/* `arg`: copies of an iteration; 0: all. */
static double copies_in(const struct bench_case *c, long arg)
{
	return arg ? (double)arg : (double)copies_of(c);
}

static void model(const struct bench_case *c, long arg, struct bench_model *m)
{
	m->bytes = copies_in(c, arg) * (double)axis_u64(c, "size");
}

#define ENGINE .needs = DEV_CAP_COPY_ENGINE
static const struct bench_variant variants[] = {
	[EACH] = {"each", BENCH_HOST, .arg = 1, .body = copy_each, ENGINE},
	[BACK_TO_BACK] = {"back_to_back", BENCH_HOST, .once = copy_back_to_back, ENGINE},
	[BATCH] = {"batch", BENCH_HOST, .once = copy_batch, ENGINE | DEV_CAP_COPY_BATCH},
	[GRAPH] = {"graph", BENCH_HOST, .once = launch_graph, ENGINE | DEV_CAP_GRAPH},
	[PRELAUNCHED] = {"prelaunched", BENCH_SELF, .once = release_copies, ENGINE},
	[SWAP] = {"swap", BENCH_HOST, .arg = PAIR, .once = copy_both_ways, ENGINE},
	[TURNS] = {"turns", BENCH_HOST, .arg = PAIR, .once = copy_in_turns, ENGINE},
	{0}};

/* A driver that has the function may still refuse a batch on this device. */
static int try_batch(struct bench_case *c)
{
	const struct copies *s = c->state;
	if (c->status || !bench_variant_on(c, BATCH))
		return c->status;
	int status = dev_copy_batch(c->dev, c->stream, s->count, s->dsts, s->srcs, s->bytes);
	if (status == -ENOTSUP)
		return TRY(c->status, bench_variants_skip(c, 1u << BATCH, err_text()));
	TRY(c->status, status);
	return TRY(c->status, dev_stream_sync(c->dev, c->stream));
}

static int setup(struct bench_case *c)
{
	struct copies *s = c->state;
	struct route *r = &s->route;
	const uint64_t size = axis_u64(c, "size");
	s->count = copies_of(c);
	if (route_open_pinned(r, c, (enum direction)axis_index(c, "direction"), s->count * size))
		return c->status;
	for (size_t i = 0; i < s->count; i++) {
		s->dsts[i] = r->to.ptr + i * size;
		s->srcs[i] = r->from.ptr + i * size;
		s->bytes[i] = size;
	}
	bench_expect(c, ONE_PART, r->to.dev, r->to.ptr, size, r->pattern, 0.0f);
	bench_expect(c, ALL & ~ONE_PART, r->to.dev, r->to.ptr, r->size, r->pattern, 0.0f);
	bench_expect(c, 1u << SWAP | 1u << TURNS, r->back_to.dev, r->back_to.ptr, size, r->pattern,
		     0.0f);
	s->back = bench_stream(c, dev_props(c->dev)->priority_normal);
	s->gate = bench_gate(c, GATE_LIMIT_NS);
	bench_fact_number(c, "copies", (double)s->count);
	TRY(c->status, blocking_kernel_need_local_engine(c, ALL, r->to.ptr, r->from.ptr, size));
	try_batch(c);
	return c->status || !bench_variant_on(c, GRAPH) ? c->status : capture_copies(c);
}

/* A driver may copy a batch, or a graph, by units where it copies single ones by an engine. */
static int verify_mechanism(struct bench_case *c)
{
	const struct copies *s = c->state;
	const struct route *r = &s->route;
	const struct blocking_copy batch = {.dev = c->dev,
					    .stream = c->stream,
					    .bytes = r->size,
					    .enqueue = enqueue_batch},
				   graph = {.dev = c->dev,
					    .stream = c->stream,
					    .bytes = r->size,
					    .enqueue = enqueue_graph};
	TRY(c->status,
	    blocking_kernel_verify_engine(c, ALL & ~AT_ONCE, r->to.ptr, r->from.ptr, s->bytes[0]));
	TRY(c->status, blocking_kernel_verify_copy(c, &batch, 1u << BATCH, false));
	TRY(c->status, blocking_kernel_verify_copy(c, &graph, 1u << GRAPH, false));
	return TRY(c->status,
		   blocking_kernel_verify_back(c, 1u << SWAP | 1u << TURNS, r->back_to.ptr,
					       r->back_from.ptr, s->bytes[0]));
}

static int derive(struct bench_case *c)
{
	for (unsigned v = 0; v < VARIANTS; v++) {
		const double copies = copies_in(c, variants[v].arg);
		const struct bench_quantity speedup = {
			BENCH_SHARE, .of = {BENCH_OF(v), BENCH_OF(EACH)}, .factor = copies};
		TRY(c->status,
		    bench_time_each(c, "copy_time", v, copies, "seconds / copies of an iteration"));
		if (!variants[v].arg)
			TRY(c->status, bench_derive(c, "speedup_over_each", (int)v, &speedup,
						    "copy_time(each) / copy_time"));
	}
	return c->status;
}

static void teardown(struct bench_case *c)
{
	dev_graph_close(c->dev, ((struct copies *)c->state)->graph);
}

static const struct bench bench = {
	.name = "micro/copy_command",
	.question = "what does a copy command cost?",
	.formula = "copy_time = time from the first call until the last copy is waited for / "
		   "copies; s",
	.timed = "calls, copies and the wait of the host; of prelaunched copies from the write "
		 "that releases them; not capturing graphs, allocation or checking",
	.limits = "copies of a few KiB may come from a cache; a waiting host thread shares the "
		  "cores with a host device",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_COPY_BATCH | DEV_CAP_GRAPH | DEV_CAP_PEER,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct copies),
	.admit = admit,
	.setup = setup,
	.model = model,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
