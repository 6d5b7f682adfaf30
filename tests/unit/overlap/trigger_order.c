/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bands that are sent when a counter says so: never before their rows are finished, and each
 * exactly once, whatever delays GEMMs and copies, however C is cut and however much memory blocks
 * claim. C is poisoned before each round, copies are counted where the device enqueues them, and a
 * sum with a band added twice differs from the GEMM. A case of a benchmark is the stage.
 */
#include "bench/bench_alloc.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "tests/unit/overlap/trigger_stage.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { COPIES = 4096, ROUNDS = 6, SCRATCH = 1 << 20 };

static struct {
	void (*scene)(struct bench_case *c);
	bool watching, no_waits; /* no_waits: waits for counters return at once */
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

static struct producers senders;
static struct producer_round rounds[VARIANTS];

/* ------------------------------------------------------------------ between program and device */

static int delay_randomly(struct dev *d, struct dev_stream *s)
{
	return rng_below(&watch.rng, 3) ? 0
					: watch.real->fill(d, s, watch.scratch[d->index], 1,
							   256u << rng_below(&watch.rng, 12));
}

static int copy_counted(struct dev *d, struct dev_stream *s, void *dst, const void *src,
			uint64_t bytes)
{
	if (watch.watching && watch.copies < COPIES) {
		watch.to[watch.copies] = dst;
		watch.bytes[watch.copies++] = bytes;
	}
	int status = watch.watching ? delay_randomly(d, s) : 0;
	return status ? status : watch.real->copy(d, s, dst, src, bytes);
}

static int gemm_claiming(struct dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	struct dev_gemm claiming = *g;
	if (dev_can(d, DEV_CAP_OCCUPANCY))
		claiming.shared_bytes = rng_below(&watch.rng, d->props.shared_per_block_bytes / 2);
	watch.claims += claiming.shared_bytes > 0;
	int status = delay_randomly(d, s);
	return status ? status : watch.real->gemm(d, s, &claiming);
}

static int wait_or_skip(struct dev *d, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	return watch.no_waits ? 0 : watch.real->wait_value(d, s, at, value);
}

static void intercept_device(struct bench_case *c)
{
	watch.real = c->dev->ops;
	watch.ops = *watch.real;
	watch.ops.copy = copy_counted;
	watch.ops.gemm = gemm_claiming;
	watch.ops.wait_value = wait_or_skip;
	for (size_t i = 0; i < c->devices->count; i++) {
		watch.scratch[c->devices->dev[i]->index] =
			bench_alloc_on(c, c->devices->dev[i], DEV_MEM_DEVICE, SCRATCH);
		c->devices->dev[i]->ops = &watch.ops;
	}
}

static void restore_device(struct bench_case *c)
{
	for (size_t i = 0; i < c->devices->count; i++)
		c->devices->dev[i]->ops = watch.real;
}

/* ------------------------------------------------------------------ rounds */

/* Occupies some slots for a random time. */
static int occupy_slots(struct bench_case *c, struct dev_stream *concurrent, uint32_t *words,
			uint64_t *start_ns)
{
	const struct dev_props *p = dev_props(c->dev);
	uint64_t timeout_ns = 1000 + rng_below(&watch.rng, 100000);
	uint32_t *arrived = words + 1;
	const void *const args[] = {&words, &arrived, &start_ns, &timeout_ns};
	struct dev_kernel *hold = NULL;
	struct dev_launch launch = {
		.grid = 1 + (uint32_t)rng_below(&watch.rng, p->units * p->slots_per_unit),
		.args = args};
	int status = dev_kernel_find(c->dev, "blocking_kernel", &hold);
	return status ? status : dev_launch(c->dev, concurrent, hold, &launch);
}

static unsigned copies_to(const char *to, uint64_t bytes)
{
	unsigned found = 0;
	for (size_t i = 0; i < watch.copies; i++)
		found += watch.to[i] == to && watch.bytes[i] == bytes;
	return found;
}

static uint64_t bytes_of_band(uint32_t band)
{
	uint32_t from = band * senders.band_rows, left = senders.shape.m - from;
	return senders.row_bytes * (left < senders.band_rows ? left : senders.band_rows);
}

/* Was each band, but those of the chunk that a producer keeps in an exchange, copied `times` times
 * to its place among the chunks of all producers, and nothing else? */
static bool copies_match(unsigned times)
{
	size_t all = 0;
	for (uint32_t i = 0; i < senders.count; i++)
		for (uint32_t j = 0; j < senders.count; j++) {
			uint32_t first = senders.bands * j / senders.count,
				 end = senders.bands * (j + 1) / senders.count;
			const char *to = senders.producer[j].inbox;
			for (uint32_t band = first; band < end; band++)
				to += i * bytes_of_band(band);
			bool stays = i == j && senders.count > 1;
			for (uint32_t band = first; !stays && band < end; band++, all += times) {
				if (copies_to(to, bytes_of_band(band)) != times)
					return false;
				to += bytes_of_band(band);
			}
		}
	return watch.copies == all;
}

/* Enqueues rounds without a wait between them, each on a poisoned C. */
static int enqueue_rounds(struct bench_case *c, const struct producer_round *r, unsigned count)
{
	int status = 0;
	watch.copies = 0;
	watch.watching = true;
	for (unsigned i = 0; status == 0 && i < count; i++) {
		status = producers_poison(&senders, c);
		if (status == 0)
			status = producers_round(&senders, r);
	}
	watch.watching = false;
	int synced = dev_stream_sync(c->dev, c->stream);
	return status ? status : synced;
}

static void note_result(int status)
{
	watch.wrong += status == -EBADMSG;
	if (status)
		snprintf(watch.text, sizeof(watch.text), "%s", err_text());
}

static int open_rounds(struct bench_case *c)
{
	producers_open(&senders, c);
	for (unsigned v = SPLIT; v <= COPY_THEN_ADD; v++)
		if (senders.kernels_add || trigger_strategies[v].add == ADD_NONE)
			producers_prepare(&senders, c, &trigger_strategies[v], &rounds[v]);
	return c->status;
}

/* A GEMM for each band waits for no value. */
static const struct producer_round *choose_round(void)
{
	static const unsigned found[] = {SPLIT, TRIGGERED, STAGGERED, COPY_THEN_ADD, ARRIVE_ADD};
	unsigned first = watch.no_waits ? 1 : 0, end = senders.kernels_add ? 5 : 3;
	return &rounds[found[first + rng_below(&watch.rng, end - first)]];
}

static void run_rounds(struct bench_case *c)
{
	rng_seed(&watch.rng, 7, axis_u64(c, "bands"));
	intercept_device(c);
	struct dev_stream *concurrent = bench_stream(c, dev_props(c->dev)->priority_high);
	uint64_t *start_ns = bench_alloc(c, DEV_MEM_PINNED, 8192 * sizeof(*start_ns));
	uint32_t *words = bench_alloc(c, DEV_MEM_PINNED, 256);
	int status = open_rounds(c);
	if (status == 0)
		memset(words, 0, 256);
	for (unsigned round = 0; status == 0 && round < ROUNDS; round++) {
		const struct producer_round *r = choose_round();
		unsigned times = 1 + (unsigned)rng_below(&watch.rng, 3);
		status = occupy_slots(c, concurrent, words, start_ns);
		if (status == 0)
			status = enqueue_rounds(c, r, times);
		if (status)
			break;
		watch.rounds++;
		note_result(producers_check(&senders, c, r));
		watch.miscounted += !copies_match(r->strategy->add == ADD_FROM_SENDER ? 0 : times);
		status = dev_stream_sync(c->dev, concurrent);
	}
	if (status)
		snprintf(watch.text, sizeof(watch.text), "%s", err_text());
	restore_device(c);
	TRY(c->status, status);
}

/* ------------------------------------------------------------------ the stage */

static int setup(struct bench_case *c)
{
	watch.scene(c);
	return c->status;
}

static int run_stage(void (*scene)(struct bench_case *c), const char *device)
{
	memset(&watch, 0, sizeof(watch));
	watch.scene = scene;
	int code = run_trigger_stage(setup, device, NULL);
	if (watch.text[0])
		printf("# %s: %s\n", device, watch.text);
	return code;
}

static void in_order_on(const char *device, unsigned min_rounds)
{
	int code = run_stage(run_rounds, device);
	if (code == 77)
		skip("the device lacks a GEMM that counts rows, or stream waits for values");
	expect(code == 0);
	expect(watch.rounds >= min_rounds);
	expect(watch.wrong == 0);
	expect(watch.miscounted == 0);
	expect(watch.claims > 0);
}

static void in_order_on_sim(void) { in_order_on("sim", 100); }
static void in_order_on_sims(void) { in_order_on("sim:0-2", 200); }
static void in_order_on_the_host(void) { in_order_on("host", 100); }
static void in_order_on_hosts(void) { in_order_on("host:0,1", 200); }

/* ------------------------------------------------------------------ the test itself */

static void run_without_waits(struct bench_case *c)
{
	watch.no_waits = true;
	run_rounds(c);
}

static void early_bands_are_found(void)
{
	run_stage(run_without_waits, "sim:0-2");
	expect(watch.rounds > 0);
	expect(watch.wrong > watch.rounds / 2);
	expect(strstr(watch.text, "differs from the GEMM's") || strstr(watch.text, "of the sum"));
}

/* As after years: the next GEMMs would exceed the range of stream waits. */
static void old_counters(struct bench_case *c)
{
	int status = open_rounds(c);
	uint32_t *values = bench_alloc_host(c, senders.bands * sizeof(*values));
	if (status || c->status)
		return;
	const uint32_t n = senders.shape.n;
	senders.gemms_counted = DEV_VALUE_MAX / (senders.band_rows * n) - 2;
	for (uint32_t band = 0; band < senders.bands; band++)
		values[band] = (uint32_t)(senders.gemms_counted * bytes_of_band(band) * n /
					  senders.row_bytes);
	for (uint32_t i = 0; status == 0 && i < senders.count; i++)
		status = dev_upload(c->devices->dev[i], senders.producer[i].counters, values,
				    senders.bands * sizeof(*values));
	if (status == 0)
		status = enqueue_rounds(c, &rounds[TRIGGERED], 5);
	watch.rounds++;
	if (status == 0 && senders.gemms_counted == 3)
		note_result(producers_check(&senders, c, &rounds[TRIGGERED]));
	else
		watch.wrong++;
	TRY(c->status, status);
}

static void counters_start_anew_before_they_are_full(void)
{
	static const char *const devices[] = {"sim", "sim:0-2", "host", "host:0,1"};
	for (size_t i = 0; i < 4; i++) {
		expect(run_stage(old_counters, devices[i]) == 0);
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
	test(early_bands_are_found);
	test(counters_start_anew_before_they_are_full);
	return test_done();
}
