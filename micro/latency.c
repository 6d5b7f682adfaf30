/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is the dependent-load latency of each cache and of memory? A thread follows a chain of
 * addresses through lines of 256 bytes in random order: only one load is in flight, and no
 * prefetcher can predict the next. The steps of the curve are the levels of the memory hierarchy as
 * one thread of one unit sees them; its end is memory.
 *
 * Timed: launches of one block that makes some ten thousand steps; the chains were built before. A
 * footprint with more lines than one launch visits is cut into chains, each through random lines of
 * the whole footprint. Launches take the chains in turn, so a line is visited again only after the
 * whole footprint. Where a unit divides memory between first-level cache and shared memory, `chase`
 * asks for cache; `chase_min_l1` is the latency for kernels that claim shared memory.
 *
 *     bin/micro/latency --device host --footprint 4K:1G:x2
 */
#include "bench/bench_alloc.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* No cache has longer lines or fetches more than two neighbouring lines of 128 bytes at once. */
#define LINE_BYTES 256u
enum { LINE_WORDS = LINE_BYTES / sizeof(uint64_t) };
/* Steps of a launch, so many that its start weighs little; also the maximum of lines in a chain. */
#define STEPS 65536u
#define UPLOAD_LINES 65536u
/* No unit has a larger first-level cache. */
#define MAX_L1_BYTES (UINT64_C(512) << 10)
/* Footprints of at least this many last-level caches count as memory. */
#define BEYOND_CACHE 16u

static const struct axis axes[] = {
	{"footprint", "bytes that the chain visits", AXIS_SIZE, .min = 4096, .multiple = 4096,
	 .octave = 5, .quick = "4K:256M:x4,4LLC,16LLC", .full = "4K:1G:x2,4LLC,8LLC,16LLC,32LLC",
	 .simulated = "4K:16M:x16,16LLC"},
	{0}};

/* A chain begins at its lowest line, so all its lines have higher addresses. */
struct chain {
	uint32_t begin, end; /* lines; `end` is where a launch stops */
};

struct state {
	struct dev_kernel *chase;
	char *ring;
	uint64_t footprint, steps, *out;
	uint32_t lines, length; /* of the footprint, and of one chain */
	struct chain *chains;
	uint32_t chain_count, next_chain;
};

/* Device and host use the same addresses. */
static uint64_t line_address(const struct state *s, uint32_t line)
{
	return (uintptr_t)(s->ring + (uint64_t)line * LINE_BYTES);
}

static int admit(const struct bench_case *c)
{
	uint64_t bytes = axis_u64(c, "footprint");
	if (bytes > dev_props(c->dev)->memory_bytes / 2)
		return err_note(-ENOMEM, "footprint exceeds half of the device's free memory");
	if (bytes / LINE_BYTES > UINT32_MAX)
		return err_note(-ENOTSUP, "a chain has at most %u lines", UINT32_MAX);
	return 0;
}

/* Links the lines order[0..length) into one chain. `order` is a random permutation, so every chain
 * is equally probable. */
static struct chain link_chain(const struct state *s, const uint32_t *order, uint64_t *successor)
{
	uint32_t min_at = 0;
	assert(s->length > 0);
	for (uint32_t i = 1; i < s->length; i++)
		min_at = order[i] < order[min_at] ? i : min_at;
	for (uint32_t i = 0; i < s->length; i++)
		successor[order[i]] = line_address(s, order[(i + 1) % s->length]);
	return (struct chain){.begin = order[min_at],
			      .end = order[(min_at + s->steps) % s->length]};
}

/* Only the first word of a line is used. */
static void upload_chains(struct bench_case *c, const uint64_t *successor)
{
	const struct state *s = c->state;
	const uint32_t most = s->lines < UPLOAD_LINES ? s->lines : UPLOAD_LINES;
	uint64_t *lines = bench_alloc_host(c, (uint64_t)most * LINE_BYTES);
	if (lines)
		memset(lines, 0, (size_t)most * LINE_BYTES);
	for (uint64_t from = 0; lines && c->status == 0 && from < s->lines; from += most) {
		const uint64_t some = s->lines - from < most ? s->lines - from : most;
		for (uint64_t i = 0; i < some; i++)
			lines[i * LINE_WORDS] = successor[from + i];
		TRY(c->status,
		    dev_upload(c->dev, s->ring + from * LINE_BYTES, lines, some * LINE_BYTES));
	}
}

static void build_chains(struct bench_case *c)
{
	struct state *s = c->state;
	uint32_t *order = bench_alloc_host(c, s->lines * sizeof(*order));
	uint64_t *successor = bench_alloc_host(c, s->lines * sizeof(*successor));
	if (c->status)
		return;
	rng_shuffle(&c->rng, order, s->lines);
	memset(successor, 0, s->lines * sizeof(*successor));
	for (uint32_t i = 0; i < s->chain_count; i++)
		s->chains[i] = link_chain(s, order + (uint64_t)i * s->length, successor);
	upload_chains(c, successor);
}

static int launch_chain(struct bench_case *c, long prefer_cache)
{
	struct state *s = c->state;
	const uint64_t from = line_address(s, s->chains[s->next_chain].begin),
		       bytes = s->footprint - (from - line_address(s, 0));
	const void *const args[] = {&from, &bytes, &s->steps, &s->out};
	const struct dev_launch launch = {.grid = 1, .args = args, .prefer_cache = prefer_cache};
	s->next_chain = (s->next_chain + 1) % s->chain_count;
	return dev_launch(c->dev, c->stream, s->chase, &launch);
}

enum { CHASE, MIN_L1 };

/* MIN_L1: with the smallest first-level cache that a unit can have next to shared memory. */
static const struct bench_variant variants[] = {
	[CHASE] = {"chase", BENCH_DEVICE, .arg = true},
	[MIN_L1] = {"chase_min_l1", BENCH_DEVICE, .arg = false},
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"latency", BENCH_TIME}, {"memory_latency", BENCH_TIME}, {0}};

static const struct bench_metric primary[] = {
	{"memory_latency", "memory_latency", "chase", "footprint=16LLC"},
	{"load_latency_4k", "latency", "chase", "footprint=4K"},
	{0}};

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	s->footprint = axis_u64(c, "footprint");
	s->lines = (uint32_t)(s->footprint / LINE_BYTES);
	s->chain_count = (s->lines + STEPS - 1) / STEPS;
	s->length = s->lines / s->chain_count;
	/* One step less than a multiple of the length, so a launch does not stop where it began. */
	s->steps = (STEPS + s->length - 1) / s->length * s->length - 1;
	s->chase = bench_kernel(c, "chase");
	if (!dev_can(c->dev, DEV_CAP_CARVEOUT) || s->footprint > MAX_L1_BYTES)
		bench_variant_off(c, MIN_L1);
	s->ring = bench_alloc(c, DEV_MEM_DEVICE, s->footprint);
	s->out = bench_alloc(c, DEV_MEM_DEVICE, 256);
	s->chains = bench_alloc_host(c, s->chain_count * sizeof(*s->chains));
	if (c->status)
		return c->status;
	/* Without results no entry is followed, and every chain begins at the first line. */
	memset(s->chains, 0, s->chain_count * sizeof(*s->chains));
	if (bench_has_results(c))
		build_chains(c);
	return c->status;
}

static int poison(struct bench_case *c, long unused)
{
	const struct state *s = c->state;
	return dev_fill(c->dev, c->stream, s->out, 0xa5, sizeof(*s->out));
}

static int check(struct bench_case *c, long unused)
{
	const struct state *s = c->state;
	const uint32_t last = (s->next_chain + s->chain_count - 1) % s->chain_count;
	const uint64_t expected = line_address(s, s->chains[last].end);
	uint64_t found = 0;
	TRY(c->status, dev_download(c->dev, &found, s->out, sizeof(found)));
	if (c->status == 0 && found != expected)
		return bench_wrong("the chain ends at %#llx, not %#llx", (unsigned long long)found,
				   (unsigned long long)expected);
	return c->status;
}

static int derive(struct bench_case *c)
{
	const struct state *s = c->state;
	const uint64_t llc = dev_props(c->dev)->llc_bytes;
	for (unsigned v = 0; v < bench_variants(c); v++)
		TRY(c->status, bench_time_each(c, "latency", v, (double)s->steps,
					       "seconds of a launch / its steps"));
	bench_fact_number(c, "chains", s->chain_count);
	bench_fact_number(c, "lines_of_a_chain", s->length);
	bench_fact_number(c, "steps", (double)s->steps);
	if (llc && s->footprint >= BEYOND_CACHE * llc)
		bench_alias(
			c, "latency", CHASE, "memory_latency",
			"seconds of a launch / its steps, footprint at least 16 last-level caches");
	return c->status;
}

static const struct bench bench = {
	.name = "micro/latency",
	.question = "what is the latency of memory and caches?",
	.formula = "latency = seconds of a launch / steps in it; s",
	.timed = "one thread following a chain, about 65536 steps a launch; not building the "
		 "chains; the launch is negligible",
	.limits = "one thread of one unit; TLB misses are included, and the platform chooses the "
		  "page size",
	.share = 0.5,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.cliff = {"footprint", "latency", "chase"},
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.once = launch_chain,
	.poison = poison,
	.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
