/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares schedules with the tables of the papers: Swing (arXiv 2401.09356), Trivance
 * (2602.17254), Bine (2508.17311).
 */
#include "collectives/schedules/schedule.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { CAPACITY = 4096 };
static struct schedule_message messages[256];
static struct schedule_range ranges[CAPACITY];

static struct schedule *open_on(const char *name, const char *shape, enum schedule_ports ports,
				enum schedule_kind kind, enum schedule_layout layout)
{
	struct grid grid;
	struct schedule *s = NULL;
	require(grid_parse(shape, &grid) == 0);
	if (schedule_open(name, &grid, ports, kind, layout, &s))
		printf("# %s\n", err_text());
	require(s != NULL);
	return s;
}

static struct schedule *one_port(const char *name, uint32_t p)
{
	char shape[16];
	snprintf(shape, sizeof(shape), "%u", p);
	return open_on(name, shape, SCHEDULE_ONE_PORT, SCHEDULE_ALLREDUCE, SCHEDULE_INDEXED);
}

/* Messages of a rank at a step of part 0, as PEER:CHUNKS: "1:1,2,5,6 7:4". */
static const char *format_sends(const struct schedule *s, uint32_t rank, uint32_t step)
{
	static char text[2048];
	size_t used = 0;
	text[0] = '\0';
	for (unsigned i = 0, n = schedule_messages(s, 0, rank, step, messages); i < n; i++) {
		if (!messages[i].send)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u:", used ? " " : "",
					 messages[i].peer);
		const char *comma = "";
		for (uint32_t k = 0, count = schedule_ranges(s, 0, &messages[i], ranges); k < count;
		     k++)
			for (uint32_t b = 0; b < ranges[k].count; b++, comma = ",")
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u",
							 comma, ranges[k].first + b);
	}
	return text;
}

static const struct schedule_message *send_of(const struct schedule *s, uint32_t rank,
					      uint32_t step)
{
	require(schedule_messages(s, 0, rank, step, messages) >= 2 && messages[0].send);
	return &messages[0];
}

static void partners_swing(void)
{
	static const int rho[] = {1, -1, 3, -5, 11, -21, 43, -85, 171, -341, 683, -1365};
	struct schedule *s = one_port("swing-l", 4096);
	require(schedule_steps(s) == 12);
	for (unsigned step = 0; step < 12; step++)
		for (uint32_t r = 0; r < 4096; r += 5)
			expect(send_of(s, r, step)->peer ==
			       (4096 + r + (uint32_t)(r % 2 ? -rho[step] : rho[step])) % 4096);
	schedule_close(s);
}

/* Swing on a torus: omega(s) = s mod D, sigma(s) = s / D, the sign from the coordinate's parity;
 * mirrored parts negate. */
static void partners_on_a_torus(void)
{
	static const int rho[] = {1, -1, 3};
	struct schedule *s = open_on("swing-b", "8x8", SCHEDULE_ALL_PORTS, SCHEDULE_REDUCE_SCATTER,
				     SCHEDULE_RENAMED);
	require(schedule_parts(s) == 4 && schedule_steps(s) == 6 && schedule_chunks(s) == 64);
	for (unsigned part = 0; part < 4; part++)
		for (unsigned step = 0; step < 6; step++)
			for (uint32_t r = 0; r < 64; r++) {
				uint32_t x[2] = {r % 8, r / 8}, dim = (step + part) % 2;
				int sign = (x[dim] % 2 ? -1 : 1) * (part >= 2 ? -1 : 1);
				x[dim] = (x[dim] + 8 + (uint32_t)(sign * rho[step / 2])) % 8;
				require(schedule_messages(s, part, r, step, messages) == 2);
				expect(messages[0].peer == x[0] + 8 * x[1] &&
				       messages[1].peer == messages[0].peer);
				expect(messages[0].chunks == 32u >> step);
			}
	schedule_close(s);
}

static void worked_examples(void)
{
	static const struct {
		uint32_t p, rank, step;
		const char *sent;
	} rows[] = {{8, 0, 0, "1:1,2,5,6"},
		    {8, 0, 1, "7:4,7"},
		    {8, 0, 2, "3:3"},
		    {8, 1, 0, "0:0,3,4,7"},
		    {8, 1, 1, "2:2,5"},
		    {8, 1, 2, "6:6"},
		    {16, 0, 0, "1:1,2,5,6,9,10,13,14"},
		    {16, 0, 1, "15:4,7,12,15"},
		    {16, 0, 2, "3:3,8"},
		    {16, 0, 3, "11:11"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct schedule *s = one_port("swing-b", rows[i].p);
		expect_str(format_sends(s, rows[i].rank, rows[i].step), rows[i].sent);
		schedule_close(s);
	}
}

/* The renaming of the authors' code: negabinary, Gray-decoded, reversed. */
static uint32_t paper_renaming(uint32_t r, uint32_t p)
{
	unsigned digits = (unsigned)__builtin_ctz(p);
	int value = r % 2 ? (int)r : -(int)r;
	uint32_t code = (0xAAAAAAAAu + (uint32_t)value) ^ 0xAAAAAAAAu, reversed = 0;
	if (code >= p)
		code = (0xAAAAAAAAu + (uint32_t)(r % 2 ? value - (int)p : value + (int)p)) ^
		       0xAAAAAAAAu;
	code ^= code >> 1;
	for (unsigned k = 0; k < digits; k++)
		reversed |= (code >> k & 1) << (digits - 1 - k);
	return reversed;
}

static void renaming_is_that_of_the_paper(void)
{
	static const uint32_t of_8[] = {0, 4, 6, 1, 3, 7, 5, 2};
	for (uint32_t p = 4; p <= 64; p *= 2) {
		char shape[8];
		snprintf(shape, sizeof(shape), "%u", p);
		struct schedule *s = open_on("swing-b", shape, SCHEDULE_ONE_PORT,
					     SCHEDULE_ALLREDUCE, SCHEDULE_RENAMED);
		for (uint32_t r = 0; r < p; r++) {
			expect(schedule_chunk(s, 0, r) == paper_renaming(r, p));
			expect(p != 8 || schedule_chunk(s, 0, r) == of_8[r]);
		}
		schedule_close(s);
	}
}

static void even_numbers_of_ranks(void)
{
	static const struct {
		uint32_t p, chunks[6];
	} rows[] = {{6, {2, 2, 1}},     {10, {2, 4, 2, 1}},     {12, {6, 2, 2, 1}},
		    {14, {6, 4, 2, 1}}, {20, {10, 2, 4, 2, 1}}, {36, {18, 2, 8, 4, 2, 1}}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct schedule *s = one_port("swing-b", rows[i].p);
		for (uint32_t step = 0; step < schedule_steps(s) / 2; step++)
			for (uint32_t r = 0; r < rows[i].p; r++) {
				const struct schedule_message m = *send_of(s, r, step);
				expect(m.chunks == rows[i].chunks[step]);
				expect(send_of(s, m.peer, step)->peer == r);
			}
		schedule_close(s);
	}
}

/* 7 ranks: the last one exchanges with 0 1 2, then 3 4, then 5. */
static void odd_numbers_of_ranks(void)
{
	struct schedule *s = one_port("swing-b", 7);
	expect(schedule_steps(s) == 6);
	expect_str(format_sends(s, 6, 0), "0:0 1:1 2:2");
	expect_str(format_sends(s, 6, 1), "3:3 4:4");
	expect_str(format_sends(s, 6, 2), "5:5");
	expect_str(format_sends(s, 6, 3), "5:6");
	expect_str(format_sends(s, 6, 5), "0:6 1:6 2:6");
	expect_str(format_sends(s, 4, 1), "3:0,3 6:6");
	schedule_close(s);
}

static void trivance_distances(void)
{
	struct schedule *b = one_port("trivance", 27), *l = one_port("trivance-l", 27);
	uint32_t distance = 1;
	bool held[27] = {[0] = true};
	require(schedule_steps(b) == 6 && schedule_steps(l) == 3);
	for (unsigned step = 0; step < 3; step++, distance *= 3) {
		require(schedule_messages(b, 0, 0, step, messages) == 4);
		expect(messages[0].peer == distance && messages[1].peer == 27 - distance);
		expect(messages[0].chunks == 9 / distance && messages[1].chunks == 9 / distance);
		/* After step k a rank holds the window of its 3^(k+1) neighbours. */
		bool next[27] = {false};
		require(schedule_messages(l, 0, 0, step, messages) == 4);
		for (uint32_t r = 0; r < 27; r++)
			next[r] = held[r] || held[(r + messages[2].peer) % 27] ||
				  held[(r + messages[3].peer) % 27];
		memcpy(held, next, sizeof(held));
		for (uint32_t r = 0; r < 27; r++)
			expect(held[r] ==
			       (r <= (3 * distance - 1) / 2 || 27 - r <= (3 * distance - 1) / 2));
	}
	schedule_close(b);
	schedule_close(l);
	for (uint32_t p = 2; p <= 40; p++) {
		struct schedule *s = one_port("trivance", p);
		uint32_t steps = 0, reach = 1, last;
		for (; reach < p; reach *= 3)
			steps++;
		last = (p - reach / 3 + 1) / 2;
		expect(schedule_steps(s) == 2 * steps);
		expect(send_of(s, 0, steps - 1)->peer == last);
		schedule_close(s);
	}
}

static uint32_t ring_distance(uint32_t a, uint32_t b, uint32_t p)
{
	uint32_t d = (a + p - b) % p;
	return d < p - d ? d : p - d;
}

/* Chunk 0 of an all-gather travels along the Bine tree. It reaches every rank once, over these mean
 * distances. */
static void bine_broadcast(void)
{
	static const struct {
		uint32_t p;
		double bine, binomial;
	} rows[] = {{8, 1.286, 1.714}, {16, 1.533, 2.133}, {32, 1.839, 2.581}, {64, 2.143, 3.048}};
	for (size_t i = 0; i < 4; i++)
		for (int doubling = 0; doubling < 2; doubling++) {
			uint32_t p = rows[i].p, total = 0, reached = 1;
			char shape[8];
			bool has[64] = {[0] = true};
			snprintf(shape, sizeof(shape), "%u", p);
			struct schedule *s =
				open_on(doubling ? "rd-b" : "bine", shape, SCHEDULE_ONE_PORT,
					SCHEDULE_ALLGATHER, SCHEDULE_INDEXED);
			for (uint32_t step = 0; step < schedule_steps(s); step++)
				for (uint32_t r = 0; r < p; r++) {
					const struct schedule_message m = *send_of(s, r, step);
					schedule_ranges(s, 0, &m, ranges);
					if (ranges[0].first != 0)
						continue;
					expect(has[r] && !has[m.peer]);
					has[m.peer] = true;
					total += ring_distance(r, m.peer, p);
					reached++;
				}
			expect(reached == p);
			expect_near((double)total / (p - 1),
				    doubling ? rows[i].binomial : rows[i].bine, 0.0005);
			schedule_close(s);
		}
}

/* The distances of recursive doubling add up to those of the ring (arXiv 2510.03491). */
static void doubling_distances_sum_to_the_ring(void)
{
	for (uint32_t p = 2; p <= 1024; p *= 2) {
		struct schedule *s = one_port("rd-l", p);
		uint32_t total = 0;
		for (uint32_t step = 0; step < schedule_steps(s); step++)
			total += ring_distance(0, send_of(s, 0, step)->peer, p);
		expect(total == p - 1);
		schedule_close(s);
	}
}

/* The two cycles of a torus use every edge once, and each is a ring. */
static void hamiltonian_cycles(void)
{
	static const char *const shapes[] = {"3x3", "4x4", "2x4",  "8x4",
					     "4x8", "5x5", "16x4", "9x3"};
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct schedule *s = open_on("ring", shapes[i], SCHEDULE_ALL_PORTS,
					     SCHEDULE_ALLREDUCE, SCHEDULE_RENAMED);
		const struct grid *grid = schedule_grid(s);
		bool used[CAPACITY][4] = {{false}};
		require(schedule_parts(s) == 4);
		for (unsigned part = 0; part < 4; part++)
			for (uint32_t r = 0; r < grid->nodes; r++) {
				require(schedule_messages(s, part, r, 0, messages) == 2 &&
					messages[0].send);
				unsigned dim =
					grid_at(grid, r, 0) == grid_at(grid, messages[0].peer, 0);
				uint32_t side = grid->side[dim];
				uint32_t by = (grid_at(grid, messages[0].peer, dim) + side -
					       grid_at(grid, r, dim)) %
					      side;
				expect(by == 1 || by == side - 1);
				/* On a side of 2 there are two edges between the same two
				 * nodes; count one of each. */
				unsigned edge =
					2 * dim +
					(by == 1 && !(side == 2 && used[r][2 * dim]) ? 0 : 1);
				expect(!used[r][edge]);
				used[r][edge] = true;
			}
		schedule_close(s);
	}
}

/* Each part of multi-ring is one ring through all ranks, and no two use a link in one direction:
 * all links of an odd number of ranks, all but one of each rank's of an even one. */
static void rings_of_a_mesh(void)
{
	for (uint32_t p = 2; p <= 64; p++) {
		struct schedule *s = one_port("multi-ring", p);
		static bool used[64][64];
		memset(used, 0, sizeof(used));
		require(schedule_parts(s) == (p == 2 ? 1 : p % 2 ? p - 1 : p - 2));
		expect(schedule_ports(s) == schedule_parts(s));
		for (unsigned part = 0; part < schedule_parts(s); part++) {
			uint32_t rank = 0, visited = 0;
			do {
				require(schedule_messages(s, part, rank, 0, messages) == 2 &&
					messages[0].send && messages[0].port == part);
				uint32_t peer = messages[0].peer;
				require(peer < p && peer != rank && !used[rank][peer]);
				used[rank][peer] = true;
				rank = peer;
				visited++;
			} while (rank && visited <= p);
			expect(visited == p);
		}
		schedule_close(s);
	}
}

/* Rank r sends chunk j to rank j, all at once; then chunk r to all. */
static void all_pairs_at_once(void)
{
	for (uint32_t p = 2; p <= 64; p++) {
		struct schedule *s = one_port("direct", p);
		require(schedule_steps(s) == 2 && schedule_parts(s) == 1);
		expect(schedule_ports(s) == p - 1);
		for (uint32_t r = 0; r < p; r++)
			for (uint32_t step = 0; step < 2; step++) {
				bool sent[64] = {false};
				require(schedule_messages(s, 0, r, step, messages) == 2 * (p - 1));
				for (uint32_t i = 0; i < p - 1; i++) {
					const struct schedule_message *m = &messages[i];
					expect(m->send && m->port == i && m->peer != r &&
					       !sent[m->peer] && m->reduce == (step == 0));
					sent[m->peer] = true;
					expect(schedule_ranges(s, 0, m, ranges) == 1 &&
					       ranges[0].count == 1 &&
					       ranges[0].first == (step ? r : m->peer));
				}
			}
		schedule_close(s);
	}
}

static void unsupported_cases(void)
{
	static const struct {
		const char *name, *shape;
		int ports, kind, layout, status;
	} rows[] = {
		{"ringg", "8", 0, 0, 0, -EINVAL},          {"swing-b", "3x4", 0, 0, 0, -ENOTSUP},
		{"swing-b", "6", 0, 0, 1, -ENOTSUP},       {"rd-b", "6", 0, 0, 0, -ENOTSUP},
		{"rd-l", "6x4", 0, 0, 0, -ENOTSUP},        {"rd-mirrored", "8", 0, 0, 0, -ENOTSUP},
		{"swing-l", "8", 0, 1, 0, -ENOTSUP},       {"rabenseifner", "6", 0, 2, 0, -ENOTSUP},
		{"trivance-l", "8", 0, 0, 0, -ENOTSUP},    {"ring", "4x4x4", 0, 0, 0, -ENOTSUP},
		{"ring", "4x6", 1, 0, 0, -ENOTSUP},        {"direct", "1025", 0, 0, 0, -ENOTSUP},
		{"multi-ring", "64x64", 1, 0, 0, -ENOTSUP}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct grid grid;
		struct schedule *s = NULL;
		require(grid_parse(rows[i].shape, &grid) == 0);
		err_clear();
		expect(schedule_open(rows[i].name, &grid, (enum schedule_ports)rows[i].ports,
				     (enum schedule_kind)rows[i].kind,
				     (enum schedule_layout)rows[i].layout, &s) == rows[i].status);
		expect(s == NULL && strstr(err_text(), rows[i].name));
	}
}

static void grid_shapes(void)
{
	static const char *const bad[] = {
		"",          "x",           "0",          "8x",
		"x8",        "8xx8",        "1x8",        "8x1",
		"2x2x2x2x2", "-4",          "4 ",         "8*8",
		"4K",        "65536x65536", "4294967296", "99999999999999999999"};
	struct grid grid;
	char text[GRID_TEXT];
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(grid_parse(bad[i], &grid) != 0);
	expect(grid_parse("2x4x8", &grid) == 0 && grid.nodes == 64 && grid.dims == 3 &&
	       grid_at(&grid, 63 - 2, 1) == 2);
	expect_str(grid_show(&grid, text), "2x4x8");
	expect(grid_parse("1", &grid) == 0 && grid.nodes == 1);
}

int main(void)
{
	test(partners_swing);
	test(partners_on_a_torus);
	test(worked_examples);
	test(renaming_is_that_of_the_paper);
	test(even_numbers_of_ranks);
	test(odd_numbers_of_ranks);
	test(trivance_distances);
	test(bine_broadcast);
	test(doubling_distances_sum_to_the_ring);
	test(hamiltonian_cycles);
	test(rings_of_a_mesh);
	test(all_pairs_at_once);
	test(unsupported_cases);
	test(grid_shapes);
	return test_done();
}
