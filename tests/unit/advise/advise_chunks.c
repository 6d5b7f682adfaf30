/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Advice on chunks of a bulk copy, on machines of which the best ones are known.
 */
#include "lib/err.h"
#include "tests/unit/advise/advise_truth.h"

#include <errno.h>

#define KIB 1024.0

/* A chunk takes bytes / rate and a gap; a small copy waits for one chunk, or for all of the bulk.
 */
struct engine {
	double rate, gap_s[ADVISE_YIELDS], whole_wait_s;
	bool yields[ADVISE_YIELDS];
};

static const struct engine stream_first = {.rate = 1e10,
					   .gap_s = {4e-6, 5e-6, 5.5e-6, 9e-6},
					   .whole_wait_s = 4e-2,
					   .yields = {false, true, true, true}};

static void parse_engine(const struct engine *e, const char *direction, double from, double upto,
			 double factor)
{
	for (unsigned yield = 0; yield < ADVISE_YIELDS; yield++)
		for (double bytes = from; bytes <= upto; bytes *= factor) {
			const double chunk_s = bytes / e->rate;
			parse_line("chunk %s %s %.12g %.12g %.12g %.12g", direction,
				   advise_yields[yield], bytes,
				   chunk_s / (chunk_s + e->gap_s[yield]),
				   e->yields[yield] ? 5e-6 + chunk_s : e->whole_wait_s,
				   e->whole_wait_s);
		}
	parse_line("chunkwaits %s %.12g 5e-6", direction, e->whole_wait_s);
}

static struct advise_copy_chunk chunk_for(unsigned direction, double keep)
{
	struct advise_copy_chunk chunk = {.bytes = 0};
	require(advise_copy_chunk(&machine, direction, keep, &chunk) == 0);
	return chunk;
}

/* keep = t / (t + gap), so t = gap keep / (1 - keep). */
static void the_smallest_that_keeps_the_rate(void)
{
	const double keeps[] = {0.8, 0.9, 0.95, 0.97};
	memset(&machine, 0, sizeof(machine));
	parse_engine(&stream_first, "up", 64 * KIB, 64 * KIB * KIB, 4);
	for (unsigned i = 0; i < 4; i++) {
		const struct advise_copy_chunk c = chunk_for(ADVISE_UP, keeps[i]);
		const double bytes = 1e10 * 5e-6 * keeps[i] / (1 - keeps[i]);
		expect(c.verdict == ADVISE_CHUNKS && c.yield == ADVISE_EVENT &&
		       c.bytes % 4096 == 0);
		if (bytes < 64 * KIB) {
			expect(c.bytes == 64 << 10 && c.smallest && c.rate_kept > keeps[i]);
			continue;
		}
		expect((double)c.bytes >= bytes && (double)c.bytes < 1.02 * bytes + 4096);
		expect(!c.smallest && c.rate_kept == keeps[i]);
		expect(fabs(c.wait_s / (5e-6 + (double)c.bytes / 1e10) - 1) < 0.01);
		expect(c.whole_wait_s == 4e-2 && c.idle_wait_s == 5e-6);
	}
}

/* An engine that changes streams between any two chunks needs nothing between them. */
static void back_to_back_where_that_suffices(void)
{
	struct engine e = stream_first;
	memset(&machine, 0, sizeof(machine));
	e.yields[ADVISE_NOTHING] = true;
	parse_engine(&e, "local", 64 * KIB, 64 * KIB * KIB, 2);
	expect(chunk_for(ADVISE_LOCAL, 0.95).yield == ADVISE_NOTHING);
	e.gap_s[ADVISE_NOTHING] = 1.03 * e.gap_s[ADVISE_EVENT];
	parse_engine(&e, "peer", 64 * KIB, 64 * KIB * KIB, 2);
	expect(chunk_for(ADVISE_PEER, 0.95).yield == ADVISE_NOTHING);
	e.gap_s[ADVISE_NOTHING] = 1.2 * e.gap_s[ADVISE_EVENT];
	parse_engine(&e, "down", 64 * KIB, 64 * KIB * KIB, 2);
	expect(chunk_for(ADVISE_DOWN, 0.95).yield == ADVISE_EVENT);
}

static void no_chunks_where_nothing_waits_or_nothing_helps(void)
{
	struct engine e = stream_first;
	struct advise_copy_chunk c;
	memset(&machine, 0, sizeof(machine));
	e.whole_wait_s = 6e-6;
	parse_engine(&e, "up", 64 * KIB, 64 * KIB * KIB, 4);
	c = chunk_for(ADVISE_UP, 0.95);
	expect(c.verdict == ADVISE_NO_CHUNKS && c.bytes == 0 && c.whole_wait_s == 6e-6);
	e = stream_first;
	memset(e.yields, 0, sizeof(e.yields));
	parse_engine(&e, "down", 64 * KIB, 64 * KIB * KIB, 4);
	expect(chunk_for(ADVISE_DOWN, 0.95).verdict == ADVISE_CHUNKS_IN_VAIN);
}

/* The chunk that keeps 95 % has 928 KiB, twice as many as the largest measured; 99 % is too far. */
static void a_chunk_may_be_larger_than_those_measured(void)
{
	memset(&machine, 0, sizeof(machine));
	parse_engine(&stream_first, "peer", 64 * KIB, 512 * KIB, 2);
	const struct advise_copy_chunk c = chunk_for(ADVISE_PEER, 0.95);
	expect(c.verdict == ADVISE_CHUNKS && c.larger && c.rate_kept == 0.95);
	expect(fabs((double)c.bytes / (928 * KIB) - 1) < 0.01);
	expect(fabs(c.wait_s / (5e-6 + (double)c.bytes / 1e10) - 1) < 0.1);
	expect(!chunk_for(ADVISE_PEER, 0.8).larger);
	parse_line("chunkwaits peer 9e-5 5e-6"); /* the whole is shorter than that chunk */
	expect(chunk_for(ADVISE_PEER, 0.95).verdict == ADVISE_CHUNKS_IN_VAIN);
	parse_line("chunkwaits peer 4e-2 5e-6");
	expect(chunk_for(ADVISE_PEER, 0.99).verdict == ADVISE_CHUNKS_IN_VAIN);
}

/* A loss that noise makes nothing, or less, says nothing of the slope. */
static void small_losses_are_noise(void)
{
	const double large[] = {0.9999, 1.0, 1.01};
	for (unsigned i = 0; i < 3; i++) {
		memset(&machine, 0, sizeof(machine));
		parse_line("chunk up nothing 262144 0.9 3e-5 1e-2");
		parse_line("chunk up nothing 1048576 %g 11e-5 1e-2", large[i]);
		parse_line("chunkwaits up 1e-2 5e-6");
		const struct advise_copy_chunk c = chunk_for(ADVISE_UP, 0.95);
		expect(fabs((double)c.bytes / (262144 * (1 / 0.9 - 1) / (1 / 0.95 - 1)) - 1) <
		       0.01);
		expect(chunk_for(ADVISE_UP, 0.8).rate_kept == 0.9);
	}
}

static void bad_questions(void)
{
	struct advise_copy_chunk c = {.bytes = 77};
	memset(&machine, 0, sizeof(machine));
	parse_engine(&stream_first, "up", 64 * KIB, 64 * KIB * KIB, 4);
	expect(advise_copy_chunk(&machine, ADVISE_LOCAL, 0.95, &c) == -ENODATA);
	expect_str(err_text(), "no copies in chunks were measured of direction local");
	expect(advise_copy_chunk(&machine, ADVISE_DIRECTIONS, 0.95, &c) == -EINVAL);
	expect_str(err_text(), "unknown direction 4; directions: 0 to 3");
	const double keeps[] = {0, 1, -1, NAN};
	for (unsigned i = 0; i < 4; i++)
		expect(advise_copy_chunk(&machine, ADVISE_UP, keeps[i], &c) == -EINVAL);
	expect(c.bytes == 77);
	expect(advise_parse_line(&machine, "chunk up twice 4096 0.5 1e-6 1e-3") == -EINVAL);
	expect(advise_parse_line(&machine, "chunk sideways nothing 4096 0.5 1e-6 1e-3") == -EINVAL);
	expect(advise_parse_line(&machine, "chunk up nothing 4096 0.5 1e-6 1e-3") ==
	       -EINVAL); /* falls */
	expect(advise_parse_line(&machine, "chunkwaits up 1e-3") == -EINVAL);
	expect(advise_parse_line(&machine, "chunkwaits up 1e-3 0") == -EINVAL);
}

int main(void)
{
	test(the_smallest_that_keeps_the_rate);
	test(back_to_back_where_that_suffices);
	test(no_chunks_where_nothing_waits_or_nothing_helps);
	test(a_chunk_may_be_larger_than_those_measured);
	test(small_losses_are_noise);
	test(bad_questions);
	return test_done();
}
