/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rotating buffers: how many sets there are, that every run and every turn uses its own and no
 * other, and what stays where it is. The last-level cache of the simulated device has 4 MiB.
 */
#include "bench/graph/rotation.h"
#include "bench/bench_gemm.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "tests/unit/bench/scene.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { KIB = 1024, LLC = 4 << 20, WORDS = 64 * KIB, BYTES = 4 * WORDS, FILLED = 0x01010101 };

/* Findings of a scene; scenes run inside a case. */
static int status_seen;
static uint32_t sets_seen[4];
static bool right;
static char text_seen[256];

static void note_status(int status)
{
	status_seen = status;
	snprintf(text_seen, sizeof(text_seen), "%s", status ? err_text() : "");
}

/* ------------------------------------------------------------------ how many sets */

static uint32_t sets_of(struct bench_case *c, const struct rotation_run *runs, size_t count)
{
	struct rotation *r = NULL;
	note_status(rotation_open(c, runs, count, &r));
	return r ? rotation_sets(r) : 0;
}

static void scene_counts(struct bench_case *c)
{
	char *a = bench_alloc(c, DEV_MEM_DEVICE, LLC), *b = bench_alloc(c, DEV_MEM_DEVICE, 1 << 20),
	     *pinned = bench_alloc(c, DEV_MEM_PINNED, 1 << 20);
	const struct rotation_range whole[] = {{a, LLC, false}, {b, 1 << 20, false}},
				    overlapping[] = {{a, 512 * KIB, false},
						     {a + 256 * KIB, 512 * KIB, false},
						     {b, 256 * KIB, false},
						     {a, 512 * KIB, false}},
				    host[] = {{pinned, 1 << 20, false}, {b, 512 * KIB, false}};
	const struct rotation_run runs[] = {{whole, 2}, {overlapping, 4}, {host, 2}};
	sets_seen[0] = sets_of(c, runs, 1);
	sets_seen[1] = sets_of(c, runs + 1, 1);
	sets_seen[2] = sets_of(c, runs + 2, 1);
	sets_seen[3] = sets_of(c, runs, 3);
}

/* The others hold at least 8 MiB: of 5 MiB each two, of 1 MiB eight, of 512 KiB sixteen. Memory of
 * the host is in no cache of a device that cannot see it. */
static void the_smallest_run_decides(void)
{
	expect(run_scene(scene_counts) == 0);
	expect(sets_seen[0] == 3);
	expect(sets_seen[1] == 9);
	expect(sets_seen[2] == 17);
	expect(sets_seen[3] == 17);
}

static void scene_outside(struct bench_case *c)
{
	char *a = bench_alloc(c, DEV_MEM_DEVICE, 1 << 20);
	const struct rotation_range past[] = {{a + 4096, 1 << 20, false}};
	const struct rotation_run run = {past, 1};
	sets_seen[0] = sets_of(c, &run, 1);
}

static void operands_outside_the_case_are_refused(void)
{
	run_scene(scene_outside);
	expect(status_seen == -EINVAL && sets_seen[0] == 0);
}

static void scene_unknown_cache(struct bench_case *c)
{
	char *a = bench_alloc(c, DEV_MEM_DEVICE, 1 << 20);
	const struct rotation_range one[] = {{a, 1 << 20, false}};
	const struct rotation_run run = {one, 1};
	c->dev->props.llc_bytes = 0;
	sets_seen[0] = sets_of(c, &run, 1);
	c->dev->props.llc_bytes = LLC;
}

static void an_unknown_cache_is_a_reason(void)
{
	expect(run_scene(scene_unknown_cache) == 0);
	expect(status_seen == -ENOTSUP && sets_seen[0] == 0);
	expect(strstr(text_seen, "last-level cache is unknown") != NULL);
}

static void scene_too_large(struct bench_case *c)
{
	char *a = bench_alloc(c, DEV_MEM_DEVICE, 1 << 20);
	const struct rotation_range part[] = {{a, 4096, false}};
	const struct rotation_run run = {part, 1};
	uint64_t memory = c->dev->props.memory_bytes;
	c->dev->props.memory_bytes = 1 << 30;
	sets_seen[0] = sets_of(c, &run, 1);
	c->dev->props.memory_bytes = memory;
}

/* 2049 sets of the whole allocation, of which a run touches 4 KiB. */
static void sets_that_do_not_fit_are_a_reason(void)
{
	expect(run_scene(scene_too_large) == 0);
	expect(status_seen == -ENOTSUP && sets_seen[0] == 0);
	expect(strstr(text_seen, "2049 sets") != NULL);
}

/* ------------------------------------------------------------------ runs of a graph */

static void put_words(struct bench_case *c, void *at, uint32_t value)
{
	static uint32_t words[WORDS];
	for (size_t i = 0; i < WORDS; i++)
		words[i] = value;
	TRY(c->status, dev_upload(c->dev, at, words, BYTES));
}

static uint32_t get_word(struct bench_case *c, const void *at)
{
	static uint32_t words[WORDS];
	TRY(c->status, dev_download(c->dev, words, at, BYTES));
	for (size_t i = 1; i < WORDS; i++)
		right = right && words[i] == words[0];
	return words[0];
}

struct stage {
	char *a, *b;
	struct work_graph *graph;
	struct rotation *r;
};

/* A copy of a to b in each turn, by an engine or by a kernel. */
static bool open_stage(struct bench_case *c, struct stage *s, uint32_t turns)
{
	struct work_lanes *lanes = bench_lanes(c);
	uint32_t lane = work_lane_normal(lanes, 0);
	s->a = bench_alloc(c, DEV_MEM_DEVICE, BYTES);
	s->b = bench_alloc(c, DEV_MEM_DEVICE, BYTES);
	put_words(c, s->a, 7);
	put_words(c, s->b, 0);
	s->graph = bench_graph(c, lanes);
	for (uint32_t turn = 0; turn < turns; turn++) {
		if (turn)
			work_graph_turn(s->graph);
		work_graph_copy(s->graph, lane, s->b, s->a, BYTES, turn % 2);
	}
	bench_graph_prepare(c, s->graph);
	note_status(bench_rotate(c, &s->graph, 1, &s->r));
	return c->status == 0 && s->r;
}

static void *in_set(const struct stage *s, uint32_t set, const char *home)
{
	return rotation_address(s->r, set, home);
}

/* Every set's `a` gets a number of its own. */
static void number_sets(struct bench_case *c, const struct stage *s)
{
	for (uint32_t set = 0; set < rotation_sets(s->r); set++)
		put_words(c, in_set(s, set, s->a), 100 + set);
}

static void scene_runs(struct bench_case *c)
{
	struct stage s = {0};
	if (!open_stage(c, &s, 1))
		return;
	uint32_t sets = sets_seen[0] = rotation_sets(s.r);
	right = get_word(c, in_set(&s, 3, s.a)) == 7 && get_word(c, in_set(&s, 3, s.b)) == 7;
	number_sets(c, &s);
	for (uint32_t set = 0; set < sets; set++)
		put_words(c, in_set(&s, set, s.b), 0);
	for (uint32_t run = 0; run < sets; run++) {
		TRY(c->status, work_graph_complete(s.graph));
		for (uint32_t set = 0; set < sets; set++)
			right = right &&
				get_word(c, in_set(&s, set, s.b)) == (set <= run ? 100 + set : 0);
	}
	/* The home takes no part, and the first set follows the last one. */
	right = right && get_word(c, s.a) == 7 && get_word(c, s.b) == 7;
	put_words(c, in_set(&s, 0, s.a), 55);
	TRY(c->status, work_graph_complete(s.graph));
	right = right && get_word(c, in_set(&s, 0, s.b)) == 55;
	right = right && get_word(c, in_set(&s, 1, s.b)) == 101;
}

/* 512 KiB a run: sixteen others. */
static void each_run_uses_the_next_set_and_no_other(void)
{
	expect(run_scene(scene_runs) == 0);
	expect(sets_seen[0] == 17 && right);
}

static void scene_turns(struct bench_case *c)
{
	struct stage s = {0};
	if (!open_stage(c, &s, 3))
		return;
	right = work_graph_turns(s.graph) == 3;
	number_sets(c, &s);
	for (int run = 0; run < 2; run++)
		TRY(c->status, work_graph_complete(s.graph));
	for (uint32_t set = 0; set < 6; set++)
		right = right && get_word(c, in_set(&s, set, s.b)) == 100 + set;
	right = right && get_word(c, in_set(&s, 6, s.b)) == 7 && rotation_sets(s.r) == 17;
}

static void each_turn_uses_the_next_set(void)
{
	expect(run_scene(scene_turns) == 0);
	expect(right);
}

static void scene_spread(struct bench_case *c)
{
	struct stage s = {0};
	if (!open_stage(c, &s, 1))
		return;
	TRY(c->status, work_graph_complete(s.graph));
	number_sets(c, &s);
	/* Enqueued on the case's stream as a poison is. */
	TRY(c->status, dev_fill(c->dev, c->stream, s.a, 1, BYTES));
	TRY(c->status, rotation_spread(s.r, 2));
	right = get_word(c, in_set(&s, 1, s.a)) == FILLED;
	right = right && get_word(c, in_set(&s, 2, s.a)) == FILLED;
	right = right && get_word(c, in_set(&s, 0, s.a)) == 100;
	right = right && get_word(c, in_set(&s, 3, s.a)) == 103;
	TRY(c->status, work_graph_complete(s.graph));
	put_words(c, in_set(&s, 1, s.a), 9);
	TRY(c->status, rotation_collect(s.r));
	right = right && get_word(c, s.a) == 9 && get_word(c, s.b) == FILLED;
}

static void a_check_sees_the_set_that_was_used(void)
{
	expect(run_scene(scene_spread) == 0);
	expect(right);
}

/* A kernel brings 512 KiB into the cache, and an engine copies beside it; another graph only
 * copies, 2 MiB. */
static void scene_two_kinds(struct bench_case *c)
{
	struct work_lanes *lanes = bench_lanes(c);
	struct work_graph *graph[3] = {bench_graph(c, lanes), NULL, bench_graph(c, lanes)};
	uint32_t lane = work_lane_normal(lanes, 0);
	char *a = bench_alloc(c, DEV_MEM_DEVICE, BYTES), *b = bench_alloc(c, DEV_MEM_DEVICE, BYTES),
	     *far = bench_alloc(c, DEV_MEM_PINNED, BYTES),
	     *from = bench_alloc(c, DEV_MEM_DEVICE, 4 * BYTES),
	     *to = bench_alloc(c, DEV_MEM_DEVICE, 4 * BYTES);
	struct rotation *r = NULL;
	work_graph_pass(graph[0], lane, "copy", b, a, BYTES, 0);
	work_graph_copy(graph[0], lane, to, far, BYTES, 0);
	work_graph_copy(graph[2], lane, to, from, 4 * BYTES, 0);
	for (int i = 0; i < 3; i += 2)
		bench_graph_prepare(c, graph[i]);
	note_status(bench_rotate(c, graph, 3, &r));
	if (c->status || !r)
		return;
	sets_seen[0] = rotation_sets(r);
	for (uint32_t set = 0; set < 2; set++)
		put_words(c, rotation_address(r, set, a), 100 + set);
	put_words(c, rotation_address(r, 0, b), 0);
	for (int i = 0; i < 3; i++)
		TRY(c->status, work_graph_complete(graph[2]));
	/* Three sets of the other kind were taken, and none of these. */
	TRY(c->status, work_graph_complete(graph[0]));
	right = get_word(c, rotation_address(r, 0, b)) == 100;
	TRY(c->status, rotation_collect(r));
	right = right && get_word(c, b) == 100;
	/* A spread reaches the sets of both kinds. */
	put_words(c, from, 5);
	TRY(c->status, rotation_spread(r, 1));
	TRY(c->status, work_graph_complete(graph[2]));
	TRY(c->status, rotation_collect(r));
	right = right && get_word(c, to) == 5;
}

static void what_bypasses_caches_displaces_nothing(void)
{
	expect(run_scene(scene_two_kinds) == 0);
	expect(sets_seen[0] == 17 && right);
}

/* ------------------------------------------------------------------ what rotates */

static void scene_operands(struct bench_case *c)
{
	static const struct shape shape = {40, 48, 64, 1};
	const struct work_operand *o;
	struct bench_gemm p;
	size_t count = 0;
	struct work_lanes *lanes = bench_lanes(c);
	struct work_graph *g = bench_graph(c, lanes);
	uint32_t lane = work_lane_normal(lanes, 0);
	uint64_t *stamp = bench_alloc(c, DEV_MEM_PINNED, sizeof(*stamp));
	uint32_t *counter = bench_alloc(c, DEV_MEM_DEVICE, sizeof(*counter));
	const void *const stamp_args[] = {&stamp};
	if (bench_gemm_open(&p, c, c->dev, &shape, DEV_F32))
		return;
	const struct dev_gemm piece = bench_gemm_piece(&p, SHAPE_CUT_K, 16, 32);
	work_graph_fill(g, lane, counter, 0, sizeof(*counter));
	work_graph_wait_value(g, lane, counter, 0);
	work_graph_kernel(g, lane, "stamp", 1, stamp_args);
	work_graph_gemm(g, lane, &piece);
	work_graph_turn(g);
	work_graph_pass(g, lane, "copy", p.c, p.a, 4096, 2);
	bench_graph_prepare(c, g);
	note_status(work_graph_operands(g, &o, &count));
	if (c->status)
		return;
	right = count == 6 && o[0].at == counter && o[0].bytes == 4;
	/* Rows are as long as in the whole; the last one ends with the piece. */
	right = right && o[1].at == piece.a && o[1].bytes == (39 * 64 + 32) * 4;
	right = right && o[2].at == piece.b && o[2].bytes == (31 * 48 + 48) * 4;
	right = right && o[3].at == piece.c && o[3].bytes == 40 * 48 * 4;
	right = right && o[4].at == p.c && o[5].at == p.a && o[5].bytes == 4096;
	right = right && o[0].bypasses && !o[1].bypasses && !o[5].bypasses;
	right = right && o[3].turn == 0 && o[4].turn == 1;
}

static void operands_are_data_alone(void)
{
	expect(run_scene(scene_operands) == 0);
	expect(right);
}

static void scene_warm(struct bench_case *c)
{
	char *a = bench_alloc(c, DEV_MEM_DEVICE, 4096);
	right = rotation_address(NULL, 5, a) == a && rotation_sets(NULL) == 1;
	right = right && rotation_take(NULL, 3) == 0 && rotation_spread(NULL, 1) == 0;
	right = right && rotation_collect(NULL) == 0;
}

static void without_sets_everything_stays(void)
{
	expect(run_scene(scene_warm) == 0);
	expect(right);
}

int main(void)
{
	test(the_smallest_run_decides);
	test(operands_outside_the_case_are_refused);
	test(an_unknown_cache_is_a_reason);
	test(sets_that_do_not_fit_are_a_reason);
	test(each_run_uses_the_next_set_and_no_other);
	test(each_turn_uses_the_next_set);
	test(a_check_sees_the_set_that_was_used);
	test(what_bypasses_caches_displaces_nothing);
	test(operands_are_data_alone);
	test(without_sets_everything_stays);
	return test_done();
}
