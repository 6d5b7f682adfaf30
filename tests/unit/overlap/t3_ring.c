/* SPDX-License-Identifier: BSD-3-Clause
 *
 * T3's ring (overlap/t3/t3_ring.h) on simulated devices with data: sums are right bit for bit, and
 * the devices' memories count the bytes of the formulas, (2N-1)/N and 2 of a result for
 * reduce-scatter after the GEMM and (N-2)/N and 2(N-1)/N with T3, for every N from 3 to 64.
 */
#include "lib/err.h"
#include "overlap/t3/t3_run.h"
#include "overlap/trigger/t3_traffic.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <string.h>

/* Results of few rows, of which a chunk of whole lines is as wide as a kernel's. */
enum { COLUMNS = 128, DEPTH = 6 };
/* Without a clock that jitter would seem to slow. */
#define DATA ",data=real,lacks=clock_rate"

static struct {
	uint32_t rows_of_a_device;
	unsigned devices, on, runs, wrong;
	double read[VARIANTS], written[VARIANTS]; /* of all devices, in results of one */
	struct t3_moved moved[VARIANTS];
	char text[256];
} seen;

static void note_failure(void)
{
	snprintf(seen.text, sizeof(seen.text), "%u devices: %.200s", seen.devices, err_text());
}

static int run_variant(struct bench_case *c, unsigned v)
{
	const struct bench_variant *row = &t3_variants[v];
	if (bench_has_results(c))
		t3_poison(c, row->arg);
	TRY(c->status, dev_stream_sync(c->dev, c->stream));
	if (TRY(c->status, t3_run_once(c, row->arg)))
		return c->status;
	seen.runs++;
	if (bench_has_results(c) && row->check(c, row->arg)) {
		seen.wrong++;
		note_failure();
	}
	c->status = 0;
	return 0;
}

/* All-gather is not among the formulas' bytes. */
static void count_bytes(const struct t3_run *r)
{
	const struct dev_memory_bytes *gather = &r->moved[AG_ALONE].memory;
	const double result = (double)r->ring.shape.m * (double)r->ring.row_bytes;
	for (unsigned v = 0; v < VARIANTS; v++) {
		const struct dev_memory_bytes *b = &r->moved[v].memory;
		seen.moved[v] = r->moved[v];
		seen.read[v] =
			(b->read[DEV_COMMUNICATION] - gather->read[DEV_COMMUNICATION]) / result;
		seen.written[v] = (b->written[DEV_COMPUTING] + b->written[DEV_COMMUNICATION] -
				   gather->written[DEV_COMMUNICATION]) /
				  result;
	}
}

static int setup(struct bench_case *c)
{
	const struct shape shape = {.m = seen.rows_of_a_device * seen.devices + 1,
				    .n = COLUMNS,
				    .k = DEPTH,
				    .scale = 1};
	int status = t3_run_open(c, &shape, (enum dev_type)axis_index(c, "type"), 0);
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++) {
		seen.on += bench_variant_on(c, v);
		status = bench_variant_on(c, v) ? run_variant(c, v) : 0;
	}
	if (status)
		note_failure();
	else
		count_bytes(c->state);
	return status;
}

/* Everything ran in setup. */
static int count_time(struct bench_case *c, long variant)
{
	c->self_seconds += 1e-3;
	return 0;
}

static int check(struct bench_case *c, long variant)
{
	return seen.wrong ? bench_wrong("%s", seen.text) : 0;
}

static int run_on(const char *changes, unsigned devices, uint32_t rows_of_a_device, char *type)
{
	static const struct axis axes[] = {{.name = "type",
					    .help = "",
					    .kind = AXIS_WORD,
					    .words = dev_type_names,
					    .quick = "f32"},
					   {0}};
	static struct bench_variant rows[VARIANTS + 1];
	static const struct bench stage = {.name = "test/stage",
					   .question = "is it right?",
					   .formula = "none",
					   .timed = "nothing",
					   .axes = axes,
					   .variants = rows,
					   .state_bytes = sizeof(struct t3_run),
					   .setup = setup,
					   .once = count_time,
					   .check = check};
	/* Those with formulas: 64 devices have much to do. */
	static const char with_formulas[] =
		"all_gather_alone,sequential,t3,t3_mca,t3_mca_unstaggered";
	char spec[256];
	snprintf(spec, sizeof(spec), "sim:t3?llc_bytes=64K,devices=%u%s:0-%u", devices, changes,
		 devices - 1);
	memset(&seen, 0, sizeof(seen));
	for (unsigned v = 0; v < VARIANTS; v++)
		rows[v] = (struct bench_variant){t3_variants[v].name, BENCH_SELF};
	seen.devices = devices;
	seen.rows_of_a_device = rows_of_a_device;
	int code = run_captured(&stage, NULL, "--device", spec, "--type", type, "--out",
				"/dev/null", changes[0] ? NULL : "--variant", with_formulas);
	if (seen.text[0])
		printf("# %s\n", seen.text);
	return code;
}

static void expect_right(int code)
{
	expect(code == 0);
	expect(seen.runs == seen.on && seen.on >= 5);
	expect(seen.wrong == 0);
}

static void expect_formulas(double n)
{
	expect_near(seen.read[SEQUENTIAL], 2 * n - 1, 0);
	expect_near(seen.written[SEQUENTIAL], 2 * n, 0);
	static const unsigned hardware[] = {FUSED, FUSED_MCA, UNSTAGGERED};
	for (size_t i = 0; i < sizeof(hardware) / sizeof(hardware[0]); i++) {
		expect_near(seen.read[hardware[i]], n - 2, 0);
		expect_near(seen.written[hardware[i]], 2 * (n - 1), 0);
	}
}

static void bytes_follow_the_formulas(void)
{
	for (unsigned n = 3; n <= 64; n += n < 8 || test_all() ? 1 : 19) {
		expect_right(run_on("", n, 3, "f32"));
		expect_formulas(n);
		if (n > 8)
			continue;
		expect_right(run_on(DATA, n, 3, "f32"));
		expect_formulas(n);
	}
}

static void sums_are_right_whatever_is_late(void)
{
	static const char *const changes[] = {
		DATA ",jitter_sigma=0.3,block_jitter_sigma=0.5",
		",tracker_entries=2",
		DATA ",tracker_entries=3,jitter_sigma=0.5,outlier_probability=0.2",
		",copy_engines=1,peer_bandwidth=1e8",
		",peer_bandwidth=1e12,units=4",
		DATA ",gemm_tile=32,gemm_tile_columns=16,gemm_tile_min=0,block_jitter_sigma=0.4"};
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		for (unsigned n = test_all() ? 3 : 3 + (unsigned)i % 3; n <= 8;
		     n += test_all() ? 1 : 3) {
			expect_right(run_on(changes[i], n, 150, "f32"));
			expect_formulas(n);
		}
	}
}

static void narrow_sums_are_right(void) { expect_right(run_on(DATA, 5, 40, "f16")); }

static void every_tile_is_sent_once(void)
{
	const unsigned n = 6;
	expect_right(run_on(DATA, n, 300, "f32"));
	/* Chunks of 300 rows, the last of 301, have three rows of tiles of one column. */
	expect(seen.moved[FUSED].tracker.forwarded == n * (n - 2) * 3);
	expect(seen.moved[FUSED].tracker.tiles == n * (n - 1) * 3);
}

static void thresholds_cover_both_needs(void)
{
	expect_near(t3_threshold(0.1, 1e-3, 2e8, 1e12), 0.3, 1e-12);
	expect_near(t3_threshold(0.1, 1e-3, 2.1e8, 1e12), 0.35, 1e-12);
	expect_near(t3_threshold(0.9, 1e-3, 5e8, 1e12), 1.0, 0);
}

int main(void)
{
	test(bytes_follow_the_formulas);
	test(sums_are_right_whatever_is_late);
	test(narrow_sums_are_right);
	test(every_tile_is_sent_once);
	test(thresholds_cover_both_needs);
	return test_done();
}
