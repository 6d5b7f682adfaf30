/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Link loads: compares the counter with a simple one that adds every message link by link, and
 * counting by line with counting all messages.
 */
#include "lib/err.h"
#include "tests/unit/test.h"
#include "topology/torus/cost_model.h"

#include <errno.h>

static struct network parse_network(const char *text)
{
	struct network n = {.kind = LINKS_TORUS};
	if (network_parse(text, &n))
		printf("# %s\n", err_text());
	require(n.grid.nodes > 0);
	return n;
}

/* [node][dimension][up, down]: the load of the link that leaves the node, in a plain torus. */
static double link_load[4096][GRID_DIMS][2];

static void add_message(const struct grid *g, uint32_t from, uint32_t to, bool shared, double bytes)
{
	for (unsigned d = 0; d < g->dims; d++) {
		uint32_t side = g->side[d], x = grid_at(g, from, d), y = grid_at(g, to, d);
		uint32_t up = (y + side - x) % side, next = from + (y - x) * g->stride[d];
		bool tie = 2 * up == side;
		for (int down = 0; down < 2 && x != y; down++) {
			double part = tie && shared             ? bytes / 2
				      : tie                     ? (down == (y < x) ? bytes : 0)
				      : (2 * up > side) == down ? bytes
								: 0;
			for (uint32_t at = x; at != y && part > 0;
			     at = (at + (down ? side - 1 : 1)) % side)
				link_load[from + (at - x) * g->stride[d]][d][down] += part;
		}
		from = next;
	}
}

static double worst_load_by_message(const struct schedule *s, uint32_t step, bool shared)
{
	static struct schedule_message m[512];
	const struct grid *g = schedule_grid(s);
	double worst = 0;
	memset(link_load, 0, sizeof(link_load));
	for (uint32_t r = 0; r < g->nodes; r++)
		for (unsigned part = 0; part < schedule_parts(s); part++)
			for (unsigned i = 0, n = schedule_messages(s, part, r, step, m); i < n; i++)
				if (m[i].send)
					add_message(g, r, m[i].peer, shared, m[i].chunks);
	for (uint32_t r = 0; r < g->nodes; r++)
		for (unsigned d = 0; d < g->dims; d++)
			worst = fmax(worst, fmax(link_load[r][d][0], link_load[r][d][1]));
	return worst;
}

static struct schedule *open_if_supported(const char *name, const struct grid *grid, int ports)
{
	struct schedule *s = NULL;
	int status = schedule_open(name, grid, (enum schedule_ports)ports, SCHEDULE_ALLREDUCE,
				   SCHEDULE_INDEXED, &s);
	expect(status == 0 || status == -ENOTSUP);
	return status ? NULL : s;
}

/* Compares every step, not only the first of a run of equal ones. */
static void compare_every_step(const char *shape, const char *kind)
{
	char text[64];
	snprintf(text, sizeof(text), "%s:%s", kind, shape);
	struct network n = parse_network(text);
	for (unsigned i = 0; schedule_algorithm(i); i++)
		for (int ports = 0; ports < 2; ports++) {
			struct schedule *s =
				open_if_supported(schedule_algorithm(i)->name, &n.grid, ports);
			struct cost_model p = {0};
			uint32_t step = 0;
			if (!s)
				continue;
			require(cost_model_count(&n, s, false, &p) == 0);
			for (size_t run = 0; run < p.run_count; run++)
				for (uint32_t k = 0; k < p.runs[run].repeats; k++, step++)
					expect_near(worst_load_by_message(
							    s, step, n.kind == LINKS_TORUS_SHARED),
						    p.runs[run].worst, 0);
			expect(step == schedule_steps(s));
			cost_model_free(&p);
			schedule_close(s);
		}
}

static void link_by_link(void)
{
	static const char *const shapes[] = {"2",     "3",     "7",     "8",      "9",   "16",
					     "27",    "30",    "2x4",   "4x4",    "4x3", "6x6",
					     "8x8",   "4x16",  "16x2",  "9x3",    "5x7", "2x2x2",
					     "4x4x4", "2x4x8", "6x4x2", "2x2x4x4"};
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		compare_every_step(shapes[i], "torus");
		compare_every_step(shapes[i], "torus-shared");
	}
}

static const char *const networks[] = {"2",
				       "8",
				       "24",
				       "81",
				       "4x4",
				       "8x8",
				       "16x16",
				       "4x16",
				       "16x4",
				       "6x4",
				       "6x6",
				       "10x12",
				       "9x27",
				       "32x8",
				       "4x4x4",
				       "2x4x8",
				       "6x4x2",
				       "3x3x3",
				       "4x4x4x4",
				       "2x6x2x4",
				       "torus-shared:8x8",
				       "torus-shared:6x4",
				       "hx2mesh:8x8",
				       "hx2mesh:16x4",
				       "hx2mesh:6x4",
				       "hx4mesh:8x8",
				       "hx4mesh:16x8",
				       "hx4mesh:12x4",
				       "hx2mesh:4x4x4",
				       "hyperx:8x8",
				       "hyperx:6x4",
				       "hyperx:16x4",
				       "hyperx:4x4x4"};

/* True when the algorithm supports the network and counting by line applies to it. */
static bool compare_by_line(const char *text, const char *algorithm, int ports)
{
	struct network n = parse_network(text);
	struct schedule *s = open_if_supported(algorithm, &n.grid, ports);
	struct cost_model all = {0}, line = {0};
	bool by_line = s && schedule_by_line(s);
	if (by_line) {
		require(cost_model_count(&n, s, false, &all) == 0 &&
			cost_model_count(&n, s, true, &line) == 0);
		require(all.run_count == line.run_count);
		expect(memcmp(all.runs, line.runs, all.run_count * sizeof(*all.runs)) == 0);
		expect_near(line.worst, all.worst, 0);
		cost_model_free(&all);
		cost_model_free(&line);
	}
	schedule_close(s);
	return by_line;
}

/* Counting one line per dimension gives the same runs as counting every message of every node. */
static void one_line_stands_for_all(void)
{
	unsigned compared = 0;
	for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
		for (unsigned k = 0; schedule_algorithm(k); k++)
			for (int ports = 0; ports < 2; ports++)
				compared += compare_by_line(networks[i],
							    schedule_algorithm(k)->name, ports);
	expect(compared > 400);
}

/* Boards of four in a line: 0 1 2 3 | 4 5 6 7 | ... */
static void board_routes(void)
{
	static const struct {
		const char *network;
		uint32_t from, to, links;
	} routes[] = {{"hx4mesh:16", 0, 3, 3},
		      {"hx4mesh:16", 0, 4, 2},
		      {"hx4mesh:16", 1, 14, 4},
		      {"hx4mesh:16", 2, 9, 4},
		      {"hx2mesh:8", 0, 1, 1},
		      {"hx2mesh:8", 1, 6, 2},
		      {"hx2mesh:8x8", 0, 63, 4},
		      {"hyperx:8", 0, 5, 1},
		      {"hyperx:4x4x4", 0, 63, 3},
		      {"16", 0, 9, 7},
		      {"16", 0, 8, 8},
		      {"4x4", 0, 15, 2},
		      {"torus-shared:16", 0, 8, 8}};
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		struct network n = parse_network(routes[i].network);
		struct links *l = NULL;
		require(links_open(&n, false, &l) == 0);
		expect(links_send(l, routes[i].from, routes[i].to, 8) == routes[i].links);
		expect_near(links_worst(l), n.kind == LINKS_TORUS_SHARED ? 4 : 8, 0);
		links_clear(l);
		expect_near(links_worst(l), 0, 0);
		links_close(l);
	}
}

static void network_names(void)
{
	static const struct {
		const char *text, *error;
	} bad[] = {{"hx3mesh:8x8", "unknown network 'hx3mesh:'; networks: torus:"},
		   {":8x8", "unknown network"},
		   {"torus:", "unknown shape"},
		   {"hx2mesh:5x4", "side 5 is not a multiple of the board size 2"},
		   {"hx4mesh:6x8", "side 6 is not a multiple of the board size 4"},
		   {"8x8:torus", "unknown network"},
		   {"Torus:8", "unknown network"}};
	struct network n;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect(network_parse(bad[i].text, &n) == -EINVAL &&
		       strstr(err_text(), bad[i].error));
	expect(network_parse("torus:4x4", &n) == 0 && n.kind == LINKS_TORUS);
	expect(network_parse("hx2mesh:4x4", &n) == 0 && n.kind == LINKS_HX2MESH);
}

int main(void)
{
	test(link_by_link);
	test(one_line_stands_for_all);
	test(board_routes);
	test(network_names);
	return test_done();
}
