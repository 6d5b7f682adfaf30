/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every algorithm on every shape: each contribution arrives exactly once, with the bytes and messages it should take.
 */
#include "collectives/schedules/schedule.h"
#include "collectives/schedules/verify.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>

/* Sanitizers slow this down tenfold; they see every kind of number of ranks all the same. */
#ifdef __SANITIZE_ADDRESS__
enum { STRIDE = 7 };
#elif defined(__SANITIZE_THREAD__)
enum { STRIDE = 7 };
#else
enum { STRIDE = 1 };
#endif

static const char *const shapes[] = {"2x2", "2x3",  "3x3",  "2x4",   "4x2",   "4x4",    "5x4",     "6x4",    "4x6",
                                     "6x6", "8x2",  "8x8",  "9x9",   "9x3",   "4x16",   "16x4",    "16x8",   "10x12",
                                     "6x14", "27x3", "7x5", "2x2x2", "4x4x4", "2x4x8",  "8x4x2",   "2x6x4",  "6x6x2",
                                     "3x3x3", "3x9x3", "2x3x4", "2x2x2x2", "4x4x4x4", "2x4x2x8", "2x4x6x2", "3x3x3x3"};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static struct grid shape(const char *text)
{
	struct grid grid = {0};
	expect(grid_parse(text, &grid) == 0);
	return grid;
}

static void complain(const struct schedule_row *row, const struct grid *grid, int ports, int kind, int layout)
{
	char text[700], words[GRID_TEXT];
	snprintf(text, sizeof(text), "%s on %s, ports %d, kind %d, layout %d: %s", row->name, grid_show(grid, words), ports,
	         kind, layout, err_text());
	test_fail(__FILE__, __LINE__, text);
}

/* Bytes of the best: p - 1 blocks a half. Whole vectors: one a step and port. */
static void right_amount(const struct schedule_row *row, const struct schedule *s, int kind, const struct verify_counts *n)
{
	uint32_t p = schedule_grid(s)->nodes;
	uint64_t halves = kind == SCHEDULE_ALLREDUCE ? 2 : 1;
	bool folded = schedule_block(s, 0, p - 1) == UINT32_MAX || schedule_block(s, 0, 1) == UINT32_MAX;
	bool two_ports = strstr(row->name, "bruck") || strstr(row->name, "trivance");
	if (schedule_blocks(s) == p && p > 1)
		expect(n->least_sent == halves * (p - 1) && n->most_sent == halves * (p - 1));
	if (schedule_blocks(s) == 1 && !folded && !strchr(row->sides, ';'))
		expect(n->most_sent == (two_ports ? 2 : 1) * schedule_steps(s));
	if (p % 2 == 0 || !(strcmp(row->name, "bine") == 0 || strcmp(row->name, "swing-b") == 0)) {
		expect(n->most_on_port <= 1);
		expect(n->most_sends <= (two_ports ? 2u : 1u));
	}
}

static unsigned verify(const struct schedule_row *row, const struct grid *grid, int ports, int kind, int layout)
{
	struct schedule *s;
	struct verify_counts n = {0};
	int status = schedule_open(row->name, grid, (enum schedule_ports)ports, (enum schedule_kind)kind,
	                           (enum schedule_layout)layout, &s);
	if (status == -ENOTSUP) {
		/* What takes any shape refuses none, but may lack a contiguous layout or halves. */
		if (strcmp(row->sides, "any") == 0 && layout == SCHEDULE_INDEXED && kind == SCHEDULE_ALLREDUCE)
			complain(row, grid, ports, kind, layout);
		return 0;
	}
	if (status == 0)
		status = verify_schedule(s, (enum schedule_kind)kind, &n);
	if (status)
		complain(row, grid, ports, kind, layout);
	else
		right_amount(row, s, kind, &n);
	if (layout == SCHEDULE_RENAMED && status == 0)
		expect(n.ranges == n.messages);
	if (status == 0)
		schedule_close(s);
	return status == 0;
}

static unsigned verify_all(const struct schedule_row *row, const struct grid *grid)
{
	unsigned done = 0;
	/* An allreduce is made of the halves; alone they are checked on small shapes. */
	int kinds = grid->nodes <= 40 ? 3 : 1;
	for (int ports = 0; ports < 2; ports++)
		for (int kind = 0; kind < kinds; kind++)
			for (int layout = 0; layout < 2; layout++)
				done += verify(row, grid, ports, kind, layout);
	return done;
}

static void one_dimension(void)
{
	unsigned done = 0;
	for (unsigned i = 0; schedule_row(i); i++)
		for (uint32_t p = 1; p <= 128; p += STRIDE) {
			struct grid grid = grid_line(p);
			done += verify_all(schedule_row(i), &grid);
		}
	expect(done > 3000 / STRIDE);
}

static void more_dimensions(void)
{
	unsigned done = 0;
	for (unsigned i = 0; schedule_row(i); i++)
		for (unsigned k = 0; k < SHAPES; k += STRIDE) {
			struct grid grid = shape(shapes[k]);
			done += verify_all(schedule_row(i), &grid);
		}
	expect(done > 800 / STRIDE);
}

int main(void)
{
	test(one_dimension);
	test(more_dimensions);
	return test_done();
}
