/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long does one load take that the next one waits for, by footprint? A thread follows a chain of addresses through lines of
 * 256 bytes in random order: no other load is under way and none can be foreseen. The steps of the curve are the levels of
 * the hierarchy as one thread of one unit sees them, its end is memory.
 *
 * Timed: launches of one block that makes some ten thousand steps; the chains were built before. A footprint of more lines
 * than one launch may visit is cut into chains, each through random lines of all of it, and every launch follows the next
 * one, so that lines come back only after the whole footprint was visited. Where a unit divides memory between first-level cache
 * and shared memory, chase asks for cache, and chase_min_l1 is what kernels find that claim shared memory.
 *
 *     bin/micro/latency --device host --footprint 4K:1G:x2
 */
#include "device/kernels.h"
#include "lib/bench_own.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>

/* No cache has longer lines, nor fetches more than two neighbours of 128 bytes at once. */
#define LINE_BYTES 256u
enum { LINE_WORDS = LINE_BYTES / sizeof(uint64_t) };
/* Steps of a launch, so that starting it does not count, and most lines of a chain. */
#define STEPS 65536u
#define UPLOAD_LINES 65536u
/* No unit has a larger first-level cache. */
#define L1_AT_MOST (UINT64_C(512) << 10)
/* Footprints from here on, in last-level caches, are said to show memory. */
#define BEYOND_CACHE 16u

static const struct axis axes[] = {
	{.name = "footprint", .help = "bytes that the chain goes through", .kind = AXIS_SIZE, .min = 4096, .multiple = 4096,
	 .quick = "4K:256M:x4,4LLC,16LLC", .full = "4K:1G:x2,4LLC,8LLC,16LLC,32LLC", .simulated = "4K:16M:x16,16LLC"},
	{0}};

enum { CHASE, MIN_L1 };

/* The second: with as little first-level cache as a unit that divides it with shared memory can be left with. */
static const struct bench_variant variants[] = {
	[CHASE] = {.name = "chase", .timing = BENCH_DEVICE}, [MIN_L1] = {.name = "chase_min_l1", .timing = BENCH_DEVICE}, {0}};

static const struct bench_metric primary[] = {
	{"memory_latency", "memory_latency", "chase", NULL, "median", "s", "lower"},
	{"least_latency", "latency", "chase", NULL, "min", "s", "lower"},
	{0}};

/* The least line is where a chain begins, so all of it lies behind. */
struct chain {
	uint32_t begin, end; /* lines; where the steps of a launch lead */
};

struct state {
	struct dev_kernel *chase;
	char *ring;
	uint64_t footprint, steps, *out;
	uint32_t lines, length; /* of all, and of one chain */
	struct chain *chains;
	uint32_t count, next; /* of chains */
};

static struct state *state(const struct bench_case *c) { return c->state; }

/* As the device sees it: the host's addresses are its own. */
static uint64_t address(const struct state *s, uint32_t line) { return (uintptr_t)(s->ring + (uint64_t)line * LINE_BYTES); }

static int admit(const struct bench_case *c)
{
	uint64_t bytes = bench_number(c, "footprint");
	if (bytes > dev_props(c->dev)->memory_bytes / 2)
		return err_note(-ENOMEM, "this is more than half of the device's free memory");
	if (bytes / LINE_BYTES > UINT32_MAX)
		return err_note(-ENOTSUP, "chains go through at most %u lines", UINT32_MAX);
	return 0;
}

/* Link the lines of order[0..length) into one chain: in random order already, it is any such chain with equal chance. */
static struct chain link_chain(const struct state *s, const uint32_t *order, uint64_t *successor)
{
	uint32_t least = 0;
	assert(s->length > 0);
	for (uint32_t i = 1; i < s->length; i++)
		least = order[i] < order[least] ? i : least;
	for (uint32_t i = 0; i < s->length; i++)
		successor[order[i]] = address(s, order[(i + 1) % s->length]);
	return (struct chain){.begin = order[least], .end = order[(least + s->steps) % s->length]};
}

/* Only the first word of a line is used. */
static int upload(struct bench_case *c, const uint64_t *successor)
{
	struct state *s = state(c);
	uint32_t most = s->lines < UPLOAD_LINES ? s->lines : UPLOAD_LINES;
	uint64_t *lines = own_host(c, (uint64_t)most * LINE_BYTES);
	int status = own_status(c);
	for (uint64_t i = 0; status == 0 && i < (uint64_t)most * LINE_WORDS; i++)
		lines[i] = 0;
	for (uint64_t from = 0; status == 0 && from < s->lines; from += most) {
		uint32_t some = s->lines - from < most ? (uint32_t)(s->lines - from) : most;
		for (uint32_t i = 0; i < some; i++)
			lines[(uint64_t)i * LINE_WORDS] = successor[from + i];
		status = dev_upload(c->dev, s->ring + from * LINE_BYTES, lines, (uint64_t)some * LINE_BYTES);
	}
	return status;
}

static int build(struct bench_case *c)
{
	struct state *s = state(c);
	uint32_t *order = own_host(c, s->lines * sizeof(*order));
	uint64_t *successor = own_host(c, s->lines * sizeof(*successor));
	s->chains = own_host(c, s->count * sizeof(*s->chains));
	if (own_status(c))
		return own_status(c);
	rng_shuffle(&c->rng, order, s->lines);
	for (uint32_t line = 0; line < s->lines; line++)
		successor[line] = 0;
	for (uint32_t i = 0; i < s->count; i++)
		s->chains[i] = link_chain(s, order + (uint64_t)i * s->length, successor);
	return upload(c, successor);
}

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	s->footprint = bench_number(c, "footprint");
	s->lines = (uint32_t)(s->footprint / LINE_BYTES);
	s->count = (s->lines + STEPS - 1) / STEPS;
	s->length = s->lines / s->count;
	/* One step short of whole rounds, so that it does not end where it began. */
	s->steps = (STEPS + s->length - 1) / s->length * s->length - 1;
	s->chase = own_kernel(c, "chase");
	if (!dev_can(c->dev, DEV_CAP_CARVEOUT) || s->footprint > L1_AT_MOST)
		bench_variant_off(c, MIN_L1);
	s->ring = own_memory(c, DEV_MEM_DEVICE, s->footprint);
	s->out = own_memory(c, DEV_MEM_DEVICE, 256);
	return own_status(c) ? own_status(c) : build(c);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = state(c);
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		uint64_t from = address(s, s->chains[s->next].begin), bytes = s->footprint - (from - address(s, 0));
		const void *const args[] = {&from, &bytes, &s->steps, &s->out};
		struct dev_launch launch = {.grid = 1, .args = args, .prefer_cache = variant == CHASE};
		status = dev_launch(c->dev, c->stream, s->chase, &launch);
		s->next = (s->next + 1) % s->count;
	}
	return status;
}

static int spoil(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return dev_fill(c->dev, c->stream, state(c)->out, 0xa5, sizeof(*state(c)->out));
}

static int check(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	const struct chain *last = &s->chains[(s->next + s->count - 1) % s->count];
	uint64_t found = 0, expected = address(s, last->end);
	(void)variant;
	int status = dev_download(c->dev, &found, s->out, sizeof(found));
	if (status == 0 && found != expected)
		return bench_wrong("the chain ends at %#llx, not %#llx", (unsigned long long)found, (unsigned long long)expected);
	return status;
}

static double latency(const struct bench_case *c, const double *seconds)
{
	return seconds[CHASE] / (double)state(c)->steps;
}

static double latency_min_l1(const struct bench_case *c, const double *seconds)
{
	return seconds[MIN_L1] / (double)state(c)->steps;
}

static int derive(struct bench_case *c)
{
	uint64_t llc = dev_props(c->dev)->llc_bytes;
	int status = bench_derive(c, "latency", CHASE, "s", 1u << CHASE, latency, "seconds of a launch / its steps");
	if (status == 0 && bench_variant_on(c, MIN_L1))
		status = bench_derive(c, "latency", MIN_L1, "s", 1u << MIN_L1, latency_min_l1, "seconds of a launch / its steps");
	bench_fact_number(c, "chains", state(c)->count);
	bench_fact_number(c, "lines_of_a_chain", state(c)->length);
	if (llc && state(c)->footprint >= BEYOND_CACHE * llc)
		bench_alias(c, "latency", CHASE, "memory_latency",
		            "seconds of a launch / its steps, footprint at least 16 last-level caches");
	return status;
}

static const struct bench bench = {
	.name = "micro/latency",
	.question = "how long does one dependent load take, by footprint?",
	.formula = "latency = seconds of a launch / steps in it; s",
	.timed = "one thread going from line to line, about 65536 steps a launch; not building the chains, hardly the launch",
	.limits = "one thread of one unit; what finding an address costs (a missed TLB) is in it, and pages are as large as the "
	          "platform makes them",
	.share = 0.5,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.body = body,
	.spoil = spoil,
	.check = check,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
