/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every algorithm on every shape: each contribution arrives exactly once, with the expected numbers
 * of bytes and messages.
 */
#include "collectives/schedules/schedule.h"
#include "collectives/schedules/verify.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>

/* Sanitizers slow this down tenfold. A stride of 7 covers every kind of number of ranks. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LEAST_STRIDE = 3 };
#else
enum { LEAST_STRIDE = 1 };
#endif

static uint32_t stride_of_ranks(void) { return test_all() ? LEAST_STRIDE : 7; }

static const char *const shapes[] = {
	"2x2",   "2x3",   "3x3",   "2x4",     "4x2",     "4x4",     "5x4",     "6x4",    "4x6",
	"6x6",   "8x2",   "8x8",   "9x9",     "9x3",     "4x16",    "16x4",    "16x8",   "10x12",
	"6x14",  "27x3",  "7x5",   "2x2x2",   "4x4x4",   "2x4x8",   "8x4x2",   "2x6x4",  "6x6x2",
	"3x3x3", "3x9x3", "2x3x4", "2x2x2x2", "4x4x4x4", "2x4x2x8", "2x4x6x2", "3x3x3x3"};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static struct grid parse_shape(const char *text)
{
	struct grid grid = {0};
	expect(grid_parse(text, &grid) == 0);
	return grid;
}

static void report_failure(const struct schedule_algorithm *algorithm, const struct grid *grid,
			   int ports, int kind, int layout)
{
	char text[700], words[GRID_TEXT];
	snprintf(text, sizeof(text), "%s on %s, ports %d, kind %d, layout %d: %s", algorithm->name,
		 grid_show(grid, words), ports, kind, layout, err_text());
	test_fail(__FILE__, __LINE__, text);
}

/* A rank sends p - 1 chunks in each half; with whole vectors, one per step and port. */
static void expect_minimal_traffic(const struct schedule_algorithm *algorithm,
				   const struct schedule *s, int kind,
				   const struct verify_counts *n)
{
	uint32_t p = schedule_grid(s)->nodes;
	uint64_t halves = kind == SCHEDULE_ALLREDUCE ? 2 : 1;
	bool folded =
		schedule_chunk(s, 0, p - 1) == UINT32_MAX || schedule_chunk(s, 0, 1) == UINT32_MAX;
	bool two_ports = strstr(algorithm->name, "bruck") || strstr(algorithm->name, "trivance");
	bool direct = strcmp(algorithm->name, "direct") == 0;
	if (schedule_chunks(s) == p && p > 1)
		expect(n->min_sent == halves * (p - 1) && n->max_sent == halves * (p - 1));
	if (schedule_chunks(s) == 1 && !folded && !strchr(algorithm->sides, ';'))
		expect(n->max_sent == (two_ports ? 2 : 1) * schedule_steps(s));
	if (p % 2 == 0 ||
	    !(strcmp(algorithm->name, "bine") == 0 || strcmp(algorithm->name, "swing-b") == 0)) {
		expect(n->max_on_port <= 1);
		expect(n->max_sends <= (direct && p > 1 ? p - 1 : two_ports ? 2u : 1u));
	}
}

static unsigned verify_case(const struct schedule_algorithm *algorithm, const struct grid *grid,
			    int ports, int kind, int layout)
{
	struct schedule *s;
	struct verify_counts n = {0};
	int status = schedule_open(algorithm->name, grid, (enum schedule_ports)ports,
				   (enum schedule_kind)kind, (enum schedule_layout)layout, &s);
	if (status == -ENOTSUP) {
		/* An algorithm for any shape may lack the renamed layout or separate halves. */
		if (strcmp(algorithm->sides, "any") == 0 && layout == SCHEDULE_INDEXED &&
		    kind == SCHEDULE_ALLREDUCE)
			report_failure(algorithm, grid, ports, kind, layout);
		return 0;
	}
	if (status == 0)
		status = verify_schedule(s, (enum schedule_kind)kind, &n);
	if (status)
		report_failure(algorithm, grid, ports, kind, layout);
	else
		expect_minimal_traffic(algorithm, s, kind, &n);
	if (layout == SCHEDULE_RENAMED && status == 0)
		expect(n.ranges == n.messages);
	if (status == 0)
		schedule_close(s);
	return status == 0;
}

static unsigned verify_all(const struct schedule_algorithm *algorithm, const struct grid *grid)
{
	unsigned done = 0;
	/* Those of a full mesh take all ports whatever is asked for, and many parts. */
	const bool of_mesh = strstr(algorithm->sides, "1024 ranks") != NULL;
	if (of_mesh && grid->nodes > 64)
		return 0;
	/* An allreduce is made of the halves; alone they are checked on small shapes. */
	int kinds = grid->nodes <= 40 ? 3 : 1;
	for (int ports = of_mesh; ports < 2; ports++)
		for (int kind = 0; kind < kinds; kind++)
			for (int layout = 0; layout < 2; layout++)
				done += verify_case(algorithm, grid, ports, kind, layout);
	return done;
}

static void one_dimension(void)
{
	unsigned done = 0;
	for (unsigned i = 0; schedule_algorithm(i); i++)
		for (uint32_t p = 1; p <= 128; p += stride_of_ranks()) {
			struct grid grid = grid_line(p);
			done += verify_all(schedule_algorithm(i), &grid);
		}
	expect(done > 3000 / stride_of_ranks());
}

static void more_dimensions(void)
{
	unsigned done = 0;
	for (unsigned i = 0; schedule_algorithm(i); i++)
		for (unsigned k = 0; k < SHAPES; k += stride_of_ranks()) {
			struct grid grid = parse_shape(shapes[k]);
			done += verify_all(schedule_algorithm(i), &grid);
		}
	expect(done > 800 / stride_of_ranks());
}

int main(void)
{
	test(one_dimension);
	test(more_dimensions);
	return test_done();
}
