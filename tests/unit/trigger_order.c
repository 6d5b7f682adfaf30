/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bands that leave behind a counter: never before their rows are finished and each exactly once, whatever else delays products
 * and copies, however C is cut and whatever blocks claim. C is poisoned before each round, copies are counted where the device
 * takes them, and a sum that a band was added to twice is not the product. One case of a benchmark is the stage.
 */
#include "device/kernels.h"
#include "lib/bench_own.h"
#include "lib/err.h"
#include "overlap/trigger/gains.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { COPIES = 4096, ROUNDS = 6, SCRATCH = 1 << 20 };

static struct {
	void (*scene)(struct bench_case *c);
	bool watching, heedless; /* heedless: nobody waits for counters */
	const struct dev_ops *real;
	struct dev_ops ops;
	struct rng rng;
	size_t copies;
	void *to[COPIES];
	uint64_t bytes[COPIES];
	unsigned claims, rounds, wrong, miscounted;
	void *scratch[DEV_MAX];
	char text[256];
} watch;

static struct senders senders;

/* ------------------------------------------------------------------ between program and device */

static int delay(struct dev *d, struct dev_stream *s)
{
	return rng_below(&watch.rng, 3) ? 0 : watch.real->fill(d, s, watch.scratch[d->index], 1, 256u << rng_below(&watch.rng, 12));
}

static int copy_counted(struct dev *d, struct dev_stream *s, void *dst, const void *src, uint64_t bytes)
{
	if (watch.watching && watch.copies < COPIES) {
		watch.to[watch.copies] = dst;
		watch.bytes[watch.copies++] = bytes;
	}
	int status = watch.watching ? delay(d, s) : 0;
	return status ? status : watch.real->copy(d, s, dst, src, bytes);
}

static int gemm_claiming(struct dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	struct dev_gemm claiming = *g;
	if (dev_can(d, DEV_CAP_OCCUPANCY))
		claiming.shared_bytes = rng_below(&watch.rng, d->props.shared_per_block_bytes / 2);
	watch.claims += claiming.shared_bytes > 0;
	int status = delay(d, s);
	return status ? status : watch.real->gemm(d, s, &claiming);
}

static int wait_heedless(struct dev *d, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	return watch.heedless ? 0 : watch.real->wait_value(d, s, at, value);
}

static void stand_between(struct bench_case *c)
{
	watch.real = c->dev->ops;
	watch.ops = *watch.real;
	watch.ops.copy = copy_counted;
	watch.ops.gemm = gemm_claiming;
	watch.ops.wait_value = wait_heedless;
	for (size_t i = 0; i < c->devices->count; i++) {
		watch.scratch[c->devices->dev[i]->index] = own_memory_on(c, c->devices->dev[i], DEV_MEM_DEVICE, SCRATCH);
		c->devices->dev[i]->ops = &watch.ops;
	}
}

static void step_aside(struct bench_case *c)
{
	for (size_t i = 0; i < c->devices->count; i++)
		c->devices->dev[i]->ops = watch.real;
}

/* ------------------------------------------------------------------ rounds */

/* Some slots are taken for a while. */
static int occupy(struct bench_case *c, struct dev_stream *beside, uint32_t *words, uint64_t *start_ns)
{
	const struct dev_props *p = dev_props(c->dev);
	uint64_t timeout_ns = 1000 + rng_below(&watch.rng, 100000);
	uint32_t *arrived = words + 1;
	const void *const args[] = {&words, &arrived, &start_ns, &timeout_ns};
	struct dev_kernel *hold = NULL;
	struct dev_launch launch = {.grid = 1 + (uint32_t)rng_below(&watch.rng, p->units * p->slots_per_unit), .args = args};
	int status = dev_kernel_find(c->dev, "hold", &hold);
	return status ? status : dev_launch(c->dev, beside, hold, &launch);
}

static unsigned copies_to(const char *to, uint64_t bytes)
{
	unsigned found = 0;
	for (size_t i = 0; i < watch.copies; i++)
		found += watch.to[i] == to && watch.bytes[i] == bytes;
	return found;
}

/* Each band of each chunk that is sent was copied `times` times, and nothing else was. */
static bool counted(unsigned times)
{
	size_t all = 0;
	for (size_t i = 0; i < senders.count; i++) {
		const struct sender *one = &senders.sender[i];
		uint64_t row_bytes = senders.bytes / one->product.shape.m;
		for (uint32_t j = 0; j < senders.chunks; j++) {
			const struct chunk *chunk = &one->chunk[j];
			for (uint32_t band = chunk->first; chunk->to && band < chunk->end; band++, all += times) {
				uint64_t from = band * senders.band_bytes, left = one->product.shape.m * row_bytes - from;
				uint64_t bytes = left < senders.band_bytes ? left : senders.band_bytes;
				if (copies_to(chunk->to + (band - chunk->first) * senders.band_bytes, bytes) != times)
					return false;
			}
		}
	}
	return watch.copies == all;
}

/* Rounds in a row without a wait, each on a poisoned C. */
static int some_rounds(struct bench_case *c, const struct way *way, unsigned rounds)
{
	int status = 0;
	watch.copies = 0;
	watch.watching = true;
	for (unsigned i = 0; status == 0 && i < rounds; i++) {
		status = senders_spoil(&senders, c);
		if (status == 0)
			status = senders_round(&senders, c, way);
	}
	watch.watching = false;
	int synced = dev_stream_sync(c->dev, c->stream);
	return status ? status : synced;
}

static void note(int status)
{
	watch.wrong += status == -EBADMSG;
	if (status)
		snprintf(watch.text, sizeof(watch.text), "%s", err_text());
}

static void triggered(struct bench_case *c)
{
	static const unsigned found[] = {TRIGGERED, STAGGERED, COPY_THEN_ADD, ARRIVE_ADD};
	rng_seed(&watch.rng, 7, bench_number(c, "bands"));
	stand_between(c);
	struct dev_stream *beside = own_stream(c, dev_props(c->dev)->priority_high);
	uint64_t *start_ns = own_memory(c, DEV_MEM_PINNED, 8192 * sizeof(*start_ns));
	uint32_t *words = own_memory(c, DEV_MEM_PINNED, 256);
	int status = senders_open(&senders, c, false);
	if (status == 0)
		memset(words, 0, 256);
	for (unsigned round = 0; status == 0 && round < ROUNDS; round++) {
		const struct way *way = &trigger_ways[found[rng_below(&watch.rng, senders.adds ? 4 : 2)]];
		unsigned times = 1 + (unsigned)rng_below(&watch.rng, 3);
		status = occupy(c, beside, words, start_ns);
		if (status == 0)
			status = some_rounds(c, way, times);
		if (status)
			break;
		watch.rounds++;
		note(senders_check(&senders, way));
		watch.miscounted += !counted(way->adding == ADD_FROM_SENDER ? 0 : times);
		status = dev_stream_sync(c->dev, beside);
	}
	if (status)
		snprintf(watch.text, sizeof(watch.text), "%s", err_text());
	step_aside(c);
	own_result(c, status);
}

/* ------------------------------------------------------------------ the stage */

static int setup(struct bench_case *c)
{
	watch.scene(c);
	return own_status(c);
}

static const struct axis axes[] = {
	{.name = "type", .help = "", .kind = AXIS_WORD, .words = product_types, .quick = "f32"},
	{.name = "shape", .help = "", .kind = AXIS_WORD, .accept = shape_accept, .quick = "128x64x32,150x192x40,96x100x24"},
	{.name = "mflop", .help = "", .kind = AXIS_COUNT, .quick = "1"},
	{.name = "direction", .help = "", .kind = AXIS_WORD, .words = sender_directions, .quick = "down,local,peer,exchange"},
	{.name = "bands", .help = "", .kind = AXIS_COUNT, .quick = "1,3,8,31"},
	{.name = "mover", .help = "", .kind = AXIS_WORD, .words = (const char *const[]){"engine", "kernel", NULL}, .quick = "engine"},
	{0}};

static int play(void (*scene)(struct bench_case *c), const char *device)
{
	static const struct bench stage = {.name = "test/stage", .question = "is it in order?", .formula = "none", .timed = "nothing",
	                                   .needs = DEV_CAP_GEMM | DEV_CAP_GEMM_TILED | DEV_CAP_WAIT_VALUE, .wants = DEV_CAP_PEER,
	                                   .axes = axes, .admit = senders_admit, .setup = setup};
	char spec[32], *argv[] = {"stage", "--device", spec, "--out", "/dev/null", NULL};
	int kept = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
	snprintf(spec, sizeof(spec), "%s", device);
	memset(&watch, 0, sizeof(watch));
	watch.scene = scene;
	fflush(stdout);
	dup2(nowhere, STDOUT_FILENO);
	int code = bench_main(&stage, 5, argv);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(nowhere);
	close(kept);
	if (watch.text[0])
		printf("# %s: %s\n", device, watch.text);
	return code;
}

static void in_order_on(const char *device, unsigned least_rounds)
{
	int code = play(triggered, device);
	if (code == 77)
		skip("the device lacks a product that counts, or can't wait for a value");
	expect(code == 0);
	expect(watch.rounds >= least_rounds);
	expect(watch.wrong == 0);
	expect(watch.miscounted == 0);
	expect(watch.claims > 0);
}

static void in_order_on_sim(void) { in_order_on("sim", 100); }
static void in_order_on_sims(void) { in_order_on("sim:0-2", 200); }
static void in_order_on_the_host(void) { in_order_on("host", 100); }
static void in_order_on_hosts(void) { in_order_on("host:0,1", 200); }

/* ------------------------------------------------------------------ what the test rests on */

static void early(struct bench_case *c)
{
	watch.heedless = true;
	triggered(c);
}

static void what_leaves_early_is_found(void)
{
	play(early, "sim:0-2");
	expect(watch.rounds > 0);
	expect(watch.wrong > watch.rounds / 2);
	expect(strstr(watch.text, "is not the product's") || strstr(watch.text, "of the sum"));
}

/* As after years: the next products would pass what can be waited for. */
static void old_counters(struct bench_case *c)
{
	int status = senders_open(&senders, c, false);
	struct sender *one = &senders.sender[0];
	uint32_t *values = own_host(c, senders.bands * sizeof(*values));
	if (status || own_status(c))
		return;
	const uint32_t n = one->product.shape.n, m = one->product.shape.m;
	one->turns = DEV_VALUE_MAX / (senders.band_rows * n) - 2;
	for (uint32_t band = 0; band < senders.bands; band++) {
		uint32_t left = m - band * senders.band_rows;
		values[band] = one->turns * (left < senders.band_rows ? left : senders.band_rows) * n;
	}
	status = dev_upload(c->dev, one->done, values, senders.bands * sizeof(*values));
	if (status == 0)
		status = some_rounds(c, &trigger_ways[TRIGGERED], 5);
	watch.rounds++;
	if (status == 0 && one->turns == 3)
		note(senders_check(&senders, &trigger_ways[TRIGGERED]));
	else
		watch.wrong++;
	own_result(c, status);
}

static void counters_start_anew_before_they_are_full(void)
{
	static const char *const devices[] = {"sim", "host"};
	for (size_t i = 0; i < 2; i++) {
		expect(play(old_counters, devices[i]) == 0);
		expect(watch.rounds > 10);
		expect(watch.wrong == 0);
	}
}

int main(void)
{
	test(in_order_on_sim);
	test(in_order_on_sims);
	test(in_order_on_the_host);
	test(in_order_on_hosts);
	test(what_leaves_early_is_found);
	test(counters_start_anew_before_they_are_full);
	return test_done();
}
