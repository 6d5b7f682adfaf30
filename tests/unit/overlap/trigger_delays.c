/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whatever is delayed, and however long, bands are sent, added and handed round a ring when they
 * are complete, and never before. Random delays come before GEMMs, copies, kernels and waits, in
 * every lane: fills of random sizes, and events of a stream that spins for a random time. C is
 * poisoned before each round, so what is read too early is wrong; all of every band is checked
 * after each. The counterproofs take out what the order rests on, and the same checks fail.
 *
 * The number of bands that were checked is printed.
 */
#include "bench/bench_alloc.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "tests/unit/overlap/trigger_stage.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { SCRATCH = 1 << 20, SLOTS = 8192 };

/* Part that is removed. */
enum fault { FAULT_NONE, FAULT_HALF_COUNTED, FAULT_NO_EVENTS, FAULT_STORES, FAULT_NO_PEER_ADDS };

/* Delay of one device's work. */
struct noise {
	struct dev_stream *stream;
	struct dev_event *event;
	void *scratch;
	uint32_t *words;
	uint64_t *start_ns;
	struct dev_kernel *spins;
};

static struct {
	enum fault fault;
	unsigned rounds_of_case;
	const struct dev_ops *real;
	struct dev_ops ops;
	struct rng rng;
	struct noise noise[DEV_MAX];
	unsigned long bands;
	unsigned rounds[VARIANTS], wrong, refused, delays;
	bool delaying;
	char text[256];
} watch;

static struct producers senders;
static struct producer_round rounds[VARIANTS];

/* ------------------------------------------------------------------ delays */

/* Some slots are held for a random time, and the stream waits until they are free. */
static int wait_for_spinning(struct dev *d, struct dev_stream *s)
{
	struct noise *n = &watch.noise[d->index];
	uint64_t timeout_ns = 1000 + rng_below(&watch.rng, 30000);
	uint32_t *arrived = n->words + 1;
	const void *const args[] = {&n->words, &arrived, &n->start_ns, &timeout_ns};
	const struct dev_launch launch = {.grid = 1 + (uint32_t)rng_below(&watch.rng, 4),
					  .args = args};
	int status = watch.real->launch(d, n->stream, n->spins, &launch);
	if (status == 0)
		status = watch.real->event_record(d, n->stream, n->event);
	return status ? status : watch.real->stream_wait(d, s, n->event);
}

static int delay_randomly(struct dev *d, struct dev_stream *s)
{
	uint64_t kind = rng_below(&watch.rng, 32);
	if (!watch.delaying || kind > 8)
		return 0;
	watch.delays++;
	return kind ? watch.real->fill(d, s, watch.noise[d->index].scratch, 1,
				       256u << rng_below(&watch.rng, 12))
		    : wait_for_spinning(d, s);
}

static int delayed_copy(struct dev *d, struct dev_stream *s, void *dst, const void *src,
			uint64_t bytes)
{
	int status = delay_randomly(d, s);
	return status ? status : watch.real->copy(d, s, dst, src, bytes);
}

static int delayed_launch(struct dev *d, struct dev_stream *s, struct dev_kernel *k,
			  const struct dev_launch *l)
{
	int status = delay_randomly(d, s);
	return status ? status : watch.real->launch(d, s, k, l);
}

static bool is_own(const struct dev *d, const void *at)
{
	const struct producer *p = &senders.producer[senders.count > 1 ? d->index : 0];
	return p->receiver == d && at == p->sum;
}

static int delayed_gemm(struct dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	struct dev_gemm changed = *g;
	if (watch.fault == FAULT_NO_PEER_ADDS && g->adds && !is_own(d, g->c))
		return err_note(-ENOTSUP, "this link has no atomic adds");
	changed.adds = g->adds && watch.fault != FAULT_STORES;
	int status = delay_randomly(d, s);
	return status ? status : watch.real->gemm(d, s, &changed);
}

static int delayed_wait(struct dev *d, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	const uint32_t half = senders.band_rows * senders.shape.n / 2;
	bool early = watch.delaying && watch.fault == FAULT_HALF_COUNTED && value > half;
	int status = delay_randomly(d, s);
	return status ? status : watch.real->wait_value(d, s, at, early ? value - half : value);
}

static int stream_wait(struct dev *d, struct dev_stream *s, struct dev_event *e)
{
	bool skipped = watch.delaying && watch.fault == FAULT_NO_EVENTS;
	return skipped ? 0 : watch.real->stream_wait(d, s, e);
}

static void open_noise(struct bench_case *c, struct dev *d)
{
	struct noise *n = &watch.noise[d->index];
	n->stream = bench_stream_on(c, d, dev_props(d)->priority_high);
	n->scratch = bench_alloc_on(c, d, DEV_MEM_DEVICE, SCRATCH);
	n->start_ns = bench_alloc_on(c, d, DEV_MEM_PINNED, SLOTS * sizeof(*n->start_ns));
	n->words = bench_alloc_on(c, d, DEV_MEM_PINNED, 256);
	TRY(c->status, dev_event_open(d, &n->event));
	TRY(c->status, dev_kernel_find(d, "blocking_kernel", &n->spins));
	if (n->words)
		memset(n->words, 0, 256);
}

static void intercept_devices(struct bench_case *c)
{
	watch.real = c->dev->ops;
	watch.ops = *watch.real;
	watch.ops.copy = delayed_copy;
	watch.ops.launch = delayed_launch;
	watch.ops.gemm = delayed_gemm;
	watch.ops.wait_value = delayed_wait;
	watch.ops.stream_wait = stream_wait;
	for (size_t i = 0; i < c->devices->count; i++) {
		open_noise(c, c->devices->dev[i]);
		c->devices->dev[i]->ops = &watch.ops;
	}
}

static int restore_devices(struct bench_case *c)
{
	int status = 0;
	for (size_t i = 0; i < c->devices->count; i++) {
		struct dev *d = c->devices->dev[i];
		d->ops = watch.real;
		int synced = watch.noise[i].stream ? dev_stream_sync(d, watch.noise[i].stream) : 0;
		status = status ? status : synced;
	}
	return status;
}

/* ------------------------------------------------------------------ rounds */

static uint64_t open_rounds(struct bench_case *c)
{
	const bool ring = senders.direction == DIRECTION_RING;
	int adds = senders.gemms_add ? producers_try_adding(&senders, c) : -ENOTSUP;
	watch.refused += senders.gemms_add && adds == -ENOTSUP;
	uint64_t opened = 0;
	for (unsigned v = WHOLE; v <= REMOTE_ADD && c->status == 0; v++) {
		const struct strategy *strategy = &trigger_strategies[v];
		bool by_kernel = strategy->add != ADD_NONE;
		if ((v == REMOTE_ADD && adds) || (by_kernel && (ring || !senders.kernels_add)) ||
		    (v == REMOTE_STORE && ring))
			continue;
		producers_prepare(&senders, c, strategy, &rounds[v]);
		opened |= UINT64_C(1) << v;
	}
	return opened;
}

static unsigned choose_variant(uint64_t opened)
{
	unsigned v;
	do
		v = WHOLE + (unsigned)rng_below(&watch.rng, REMOTE_ADD - WHOLE + 1);
	while (!(opened >> v & 1));
	return v;
}

/* One round on a poisoned C, or two that both add. */
static int run_round(struct bench_case *c, unsigned v)
{
	const unsigned times = 1 + (rng_below(&watch.rng, 4) == 0);
	int status = producers_poison(&senders, c);
	watch.delaying = true;
	for (unsigned i = 0; status == 0 && i < times; i++)
		status = producers_round(&senders, &rounds[v]);
	watch.delaying = false;
	/* The lanes of a graph that lost its edges do not end with the case's stream. */
	int synced = work_lanes_sync(senders.lanes);
	status = status ? status : synced;
	if (status)
		return status;
	int checked = producers_check(&senders, c, &rounds[v]);
	watch.wrong += checked == -EBADMSG;
	if (checked)
		snprintf(watch.text, sizeof(watch.text), "%s", err_text());
	watch.rounds[v]++;
	watch.bands += (unsigned long)senders.bands * senders.count;
	return checked == -EBADMSG ? 0 : checked;
}

static int run_rounds(struct bench_case *c)
{
	rng_seed(&watch.rng, 11, rng_u64(&c->rng));
	producers_open(&senders, c);
	intercept_devices(c);
	uint64_t opened = c->status ? 0 : open_rounds(c);
	int status = c->status;
	for (unsigned i = 0; status == 0 && i < watch.rounds_of_case; i++)
		status = run_round(c, choose_variant(opened));
	if (status)
		snprintf(watch.text, sizeof(watch.text), "%s", err_text());
	int restored = restore_devices(c);
	TRY(c->status, status);
	return TRY(c->status, restored);
}

/* ------------------------------------------------------------------ stages */

static int run_stage(const char *device, enum fault fault, unsigned rounds_of_case,
		     const char *const *more)
{
	memset(&watch, 0, sizeof(watch));
	watch.fault = fault;
	watch.rounds_of_case = rounds_of_case;
	int code = run_trigger_stage(run_rounds, device, more);
	printf("# %s: %lu bands checked, %u delays, %u rounds wrong\n", device, watch.bands,
	       watch.delays, watch.wrong);
	if (watch.text[0])
		printf("# %s\n", watch.text);
	return code;
}

/* 24 cases with one device, 60 with several, but for what a shape has no rows for. */
static void never_early_on(const char *device, unsigned rounds_of_case)
{
	static const char *const many[] = {"--shape",
					   "128x64x4,150x128x16",
					   "--direction",
					   "down,local,peer,exchange,ring",
					   "--bands",
					   "5,31,128",
					   "--copy-method",
					   "engine,kernel",
					   NULL};
	const unsigned more = test_all() ? 4 : 1;
	int code = run_stage(device, FAULT_NONE, more * rounds_of_case, many);
	if (code == 77)
		skip("the device lacks a GEMM that counts rows, or stream waits for values");
	expect(code == 0);
	expect(watch.bands > 500ul * rounds_of_case);
	expect(watch.delays > watch.bands / 100);
	expect(watch.wrong == 0);
	for (unsigned v = WHOLE; v <= REMOTE_STORE; v++)
		expect(watch.rounds[v] > 0);
}

static void never_early_on_sim(void) { never_early_on("sim", 2); }
static void never_early_on_two_sims(void) { never_early_on("sim:0,1", 2); }
static void never_early_on_four_sims(void) { never_early_on("sim:0-3", 1); }
static void never_early_with_jitter(void)
{
	never_early_on("sim:default?jitter_sigma=0.8,block_jitter_sigma=0.8:0-2", 2);
}
static void never_early_on_the_host(void) { never_early_on("host", 2); }
static void never_early_on_hosts(void)
{
	never_early_on("host:0,1", 1);
	expect(watch.rounds[REMOTE_ADD] > 0);
}

/* ------------------------------------------------------------------ the counterproofs */

static void counters_that_are_half_full_are_found(void)
{
	static const char *const bands[] = {
		"--shape", "150x192x40", "--direction", "local,exchange,ring",
		"--bands", "3",          NULL};
	run_stage("sim:default?units=2,slots_per_unit=1,gemm_tile=16:0-2", FAULT_HALF_COUNTED, 20,
		  bands);
	expect(watch.wrong > 5);
	expect(watch.rounds[TRIGGERED] + watch.rounds[STAGGERED] >= watch.wrong / 3);
}

static void missing_edges_are_found(void)
{
	static const char *const ring[] = {"--direction", "ring", "--bands", "8", NULL};
	run_stage("sim:0-2", FAULT_NO_EVENTS, 20, ring);
	expect(watch.wrong > 20);
}

static void stores_in_place_of_additions_are_found(void)
{
	static const char *const sums[] = {"--direction", "exchange,ring", "--bands", "4", NULL};
	int code = run_stage("host:0,1", FAULT_STORES, 10, sums);
	if (code == 77)
		skip("no GEMM on the host");
	expect(watch.rounds[REMOTE_ADD] > 0);
	expect(watch.wrong == watch.rounds[REMOTE_ADD]);
}

/* ------------------------------------------------------------------ links */

static void what_a_link_cannot_add_is_refused_before_it_is_timed(void)
{
	static const char *const sums[] = {"--direction", "local,exchange,ring", "--bands", "4",
					   "--shape",     "128x64x32",           NULL};
	int code = run_stage("host:0,1", FAULT_NO_PEER_ADDS, 20, sums);
	if (code == 77)
		skip("no GEMM on the host");
	expect(code == 0);
	expect(watch.refused == 2);
	expect(watch.wrong == 0);
	expect(watch.rounds[REMOTE_ADD] > 0 && watch.rounds[TRIGGERED] > 0);
}

int main(void)
{
	test(never_early_on_sim);
	test(never_early_on_two_sims);
	test(never_early_on_four_sims);
	test(never_early_with_jitter);
	test(never_early_on_the_host);
	test(never_early_on_hosts);
	test(counters_that_are_half_full_are_found);
	test(missing_edges_are_found);
	test(stores_in_place_of_additions_are_found);
	test(what_a_link_cannot_add_is_refused_before_it_is_timed);
	return test_done();
}
