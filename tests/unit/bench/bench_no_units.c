/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The proof that a graph takes no unit, on simulated devices, where it is known which do: copies by
 * engines, on both devices, do not, and a single block on the second device does.
 */
#include "bench/graph/bench_graph.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

enum { ENGINES, BLOCK, BYTES = 1 << 20 };

struct state {
	struct work_graph *graph[2];
};

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	bench_enable_peers(c);
	struct work_lanes *lanes = bench_lanes(c);
	for (unsigned v = ENGINES; v <= BLOCK; v++) {
		s->graph[v] = bench_graph(c, lanes);
		for (uint32_t d = 0; d < 2; d++) {
			struct dev *dev = c->devices->dev[d];
			void *to = bench_alloc_on(c, dev, DEV_MEM_DEVICE, BYTES);
			void *from = bench_alloc_on(c, dev, DEV_MEM_DEVICE, BYTES);
			work_graph_copy(s->graph[v], work_lane_normal(lanes, d), to, from, BYTES,
					v == BLOCK && d == 1);
		}
		bench_graph_prepare(c, s->graph[v]);
	}
	/* The model says it, so nothing is tried. */
	return TRY(c->status, bench_need_no_units(c, s->graph[BLOCK], BYTES));
}

static int body(struct bench_case *c, long v, uint64_t iterations)
{
	return bench_graph_time(c, ((struct state *)c->state)->graph[v], iterations);
}

static int verify_both(struct bench_case *c)
{
	const struct state *s = c->state;
	int status = 0;
	for (unsigned v = ENGINES; v <= BLOCK; v++)
		TRY(status, bench_verify_no_units(c, UINT64_C(1) << v, s->graph[v], BYTES));
	return status;
}

static void a_block_on_any_device_is_seen(void)
{
	static const struct bench_variant variants[] = {
		{"engines", BENCH_SELF, .arg = ENGINES, .body = body},
		{"block", BENCH_SELF, .arg = BLOCK, .body = body},
		{0}};
	static const struct bench stage = {.name = "test/no_units",
					   .question = "does it take units?",
					   .formula = "none",
					   .timed = "copies",
					   .needs = DEV_CAP_WAIT_VALUE,
					   .min_devices = 2,
					   .variants = variants,
					   .state_bytes = sizeof(struct state),
					   .setup = setup,
					   .verify_mechanism = verify_both};
	static char text[1 << 16];
	expect(0 == run_captured(&stage, text, "--device", "sim:0,1", "--format", "json",
				 "--min-samples", "6", "--max-samples", "6"));
	const char *mechanisms = strstr(text, "\"mechanism\":[");
	require(mechanisms != NULL);
	const char *first = strstr(mechanisms, "\"observed\":true");
	const char *second = strstr(mechanisms, "\"observed\":false");
	expect(first && second && first < second);
	expect(first && strstr(first, " 0 blocks timed out before it was done"));
	expect(strstr(text, "\"flag\":\"mechanism\",\"variant\":\"block\"") ||
	       strstr(text, "\"variant\":\"block\",\"flag\":\"mechanism\""));
	if (!first || !second)
		printf("# %.2000s\n", mechanisms);
}

int main(int argc, char **argv)
{
	test(a_block_on_any_device_is_seen);
	return test_done();
}
