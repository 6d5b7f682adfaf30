/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares the cost model of tori with the numbers of Swing (arXiv 2401.09356), of Trivance
 * (2602.17254), and of a simulation of the same schedules without packets.
 */
#include "lib/err.h"
#include "tests/unit/test.h"
#include "topology/torus/candidates.h"

#include <errno.h>

static const struct cost_model_costs fitted = {
	.step_s = 0.455e-6, .link_s = 0.4e-6, .bytes_per_s = 50e9};
static const double KIB = 1024, MIB = 1048576;

static struct cost_model make_model(const char *algorithm, const char *shape,
				    enum schedule_ports ports)
{
	struct network n;
	struct cost_model p = {0};
	require(network_parse(shape, &n) == 0);
	if (cost_model_make(&n, algorithm, ports, &p))
		printf("# %s\n", err_text());
	require(p.run_count > 0);
	return p;
}

static double xi_of(const char *algorithm, const char *shape)
{
	struct cost_model p = make_model(algorithm, shape, SCHEDULE_ALL_PORTS);
	double xi = cost_model_xi(&p);
	cost_model_free(&p);
	return xi;
}

static double time_of(const char *algorithm, const char *shape, double bytes)
{
	struct cost_model p = make_model(algorithm, shape, SCHEDULE_ALL_PORTS);
	double time = cost_model_time(&p, &fitted, bytes);
	cost_model_free(&p);
	return time;
}

/* Table 2 at finite sizes. */
static void congestion_deficiency(void)
{
	static const struct {
		const char *shape;
		double swing, doubling;
	} rows[] = {{"4x4", 0.9375, 1.125},      {"8x8", 1.078125, 1.3125},
		    {"16x16", 1.1367, 1.4062},   {"32x32", 1.1689, 1.4531},
		    {"64x64", 1.1843, 1.4766},   {"128x128", 1.1922, 1.4883},
		    {"8x8x8", 1.0254, 1.1484},   {"16x16x16", 1.0339, 1.1621},
		    {"8x8x8x8", 1.0071, 1.0693}, {"64", 2.109375, 3.0}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		expect_near(xi_of("swing-b", rows[i].shape), rows[i].swing, 5e-5);
		expect_near(xi_of("rd-b", rows[i].shape), rows[i].doubling, 5.1e-5);
		expect_near(xi_of("bucket", rows[i].shape), 1, 1.0 / 16 + 1e-9);
	}
	/* Limits for p to infinity: 6/5, 28/27; 3/2, 7/6. */
	expect_near(xi_of("swing-b", "1024x1024"), 1.2, 0.0011);
	expect_near(xi_of("rd-b", "1024x1024"), 1.5, 0.0016);
	expect_near(xi_of("swing-b", "128x128x128"), 28.0 / 27, 0.0001);
	expect_near(xi_of("rd-b", "128x128x128"), 7.0 / 6, 0.0001);
	expect_near(xi_of("swing-b", "1024x1024") / xi_of("rd-b", "1024x1024"), 0.8, 0.0005);
}

static void all_deficiencies(void)
{
	static const struct {
		const char *algorithm, *shape;
		enum schedule_ports ports;
		double lambda, psi;
	} rows[] = {{"ring", "8x8", SCHEDULE_ALL_PORTS, 2 * 63 / 6.0, 1},
		    {"rd-l", "8x8", SCHEDULE_ALL_PORTS, 1, 12},
		    {"rd-b", "8x8", SCHEDULE_ALL_PORTS, 2, 4},
		    {"bucket", "8x8", SCHEDULE_ALL_PORTS, 4 * 7 / 6.0, 1},
		    {"swing-l", "8x8", SCHEDULE_ONE_PORT, 1, 12},
		    {"swing-b", "8x8", SCHEDULE_ALL_PORTS, 2, 1},
		    {"swing-b", "8x8", SCHEDULE_ONE_PORT, 2, 4},
		    {"swing-b", "4x4x4", SCHEDULE_ALL_PORTS, 2, 1},
		    {"swing-l", "4x4x4", SCHEDULE_ONE_PORT, 1, 18},
		    {"rd-mirrored", "8x8", SCHEDULE_ALL_PORTS, 2, 1},
		    {"bucket", "64x16", SCHEDULE_ALL_PORTS, 4 * 63 / 10.0, -1}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cost_model p = make_model(rows[i].algorithm, rows[i].shape, rows[i].ports);
		expect_near(cost_model_lambda(&p), rows[i].lambda, 1e-12);
		expect_near(cost_model_psi(&p), rows[i].psi < 0 ? cost_model_psi(&p) : rows[i].psi,
			    1e-12);
		expect_near(cost_model_psi(&p) * cost_model_xi(&p), p.dims * p.worst, 1e-12);
		cost_model_free(&p);
	}
}

/* Messages on the worst link, over the steps of one half. */
static void expect_loads(const char *algorithm, const char *shape, enum schedule_ports ports,
			 const char *wanted)
{
	struct cost_model p = make_model(algorithm, shape, ports);
	char text[256] = "";
	bool whole = p.chunks == 1;
	for (size_t i = 0; i < (whole ? p.run_count : p.run_count / 2); i++) {
		size_t used = strlen(text);
		snprintf(text + used, sizeof(text) - used, "%s%g", i ? " " : "",
			 p.runs[i].worst / p.runs[i].port);
	}
	expect_str(text, wanted);
	cost_model_free(&p);
}

static void loads_of_each_step(void)
{
	expect_loads("swing-l", "256", SCHEDULE_ONE_PORT, "1 1 2 3 6 11 22 43");
	expect_loads("rd-l", "256", SCHEDULE_ONE_PORT, "1 2 4 8 16 32 64 128");
	expect_loads("rd-l", "torus-shared:256", SCHEDULE_ONE_PORT, "1 2 4 8 16 32 64 64");
	expect_loads("swing-b", "8x8", SCHEDULE_ALL_PORTS, "1 1 1 1 3 3");
	expect_loads("swing-b", "16x16", SCHEDULE_ALL_PORTS, "1 1 1 1 3 3 5 5");
	expect_loads("swing-b", "8x8x8", SCHEDULE_ALL_PORTS, "1 1 1 1 1 1 3 3 3");
	expect_loads("swing-b", "4x16", SCHEDULE_ALL_PORTS, "1 1 1 1 6 10");
	expect_loads("swing-b", "torus-shared:2x4", SCHEDULE_ALL_PORTS, "1 1 2");
	expect_loads("bucket", "8", SCHEDULE_ONE_PORT, "1");
	expect_loads("bucket", "8x8", SCHEDULE_ALL_PORTS, "1 1");
	expect_loads("ring", "8x8", SCHEDULE_ALL_PORTS, "1");
	expect_loads("trivance-l", "27", SCHEDULE_ALL_PORTS, "1 3 9");
	expect_loads("bruck-l", "27", SCHEDULE_ONE_PORT, "3 9 9");
	expect_loads("trivance", "27", SCHEDULE_ALL_PORTS, "1 3 9");
	expect_loads("bruck", "27", SCHEDULE_ONE_PORT, "3 9 9");
}

static void route_lengths(void)
{
	static const struct {
		const char *shape;
		double swing, doubling;
	} rows[] = {{"64x64", 84, 126}, {"128x128", 170, 254}, {"64", 42, 63}};
	for (size_t i = 0; i < 3; i++) {
		struct cost_model swing = make_model("swing-l", rows[i].shape, SCHEDULE_ONE_PORT),
				  doubling = make_model("rd-l", rows[i].shape, SCHEDULE_ONE_PORT);
		expect_near(swing.links, rows[i].swing, 0);
		expect_near(doubling.links, rows[i].doubling, 0);
		cost_model_free(&swing);
		cost_model_free(&doubling);
	}
}

/* Run times printed in the paper's figures at 32 bytes, in microseconds, within 10 %. */
static void small_vectors(void)
{
	static const struct {
		const char *shape;
		double swing, doubling, bucket, ring;
	} rows[] = {{"64x64", 40, 57, 230, 7000}, {"64x16", 26, 36, 230, 0},
		    {"128x8", 41, 59, 464, 0},    {"256x4", 74, 109, 932, 0},
		    {"8x8", 7, 8.7, 25, 0},       {"8x8x8", 10, 13, 38, 0},
		    {"8x8x8x8", 14, 17, 51, 0},   {"hyperx:64x64", 11, 11, 230, 7000}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		expect_near(1e6 * time_of("swing-l", rows[i].shape, 32) / rows[i].swing, 1, 0.1);
		expect_near(1e6 * time_of("rd-l", rows[i].shape, 32) / rows[i].doubling, 1, 0.1);
		expect_near(1e6 * time_of("bucket", rows[i].shape, 32) / rows[i].bucket, 1, 0.1);
		if (rows[i].ring > 0)
			expect_near(1e6 * time_of("ring", rows[i].shape, 32) / rows[i].ring, 1,
				    0.1);
	}
	/* "2 ms" and "120 us" have one and two digits. */
	expect_near(1e3 * time_of("ring", "64x16", 32), 1.75, 0.01);
	expect_near(1e6 * time_of("ring", "8x8", 32), 107.7, 0.1);
	expect_near(time_of("swing-l", "64x64", 32) / time_of("rd-l", "64x64", 32), 0.70, 0.005);
	expect_near(time_of("swing-l", "256x4", 32) / time_of("rd-l", "256x4", 32), 0.68, 0.005);
	expect_near(time_of("swing-l", "8x8", 32) / time_of("rd-l", "8x8", 32), 0.80, 0.01);
}

static double swing_at(const char *shape, double bytes)
{
	return fmin(time_of("swing-b", shape, bytes), time_of("swing-l", shape, bytes));
}

static double known_at(const char *shape, double bytes)
{
	double doubling = fmin(time_of("rd-l", shape, bytes), time_of("rd-b", shape, bytes));
	return fmin(doubling, fmin(time_of("bucket", shape, bytes), time_of("ring", shape, bytes)));
}

static void middle_and_large_vectors(void)
{
	expect(known_at("64x64", 2 * MIB) / swing_at("64x64", 2 * MIB) > 2.25);
	expect_near(time_of("rd-mirrored", "64x64", 2 * MIB) / swing_at("64x64", 2 * MIB), 1.5,
		    0.05);
	for (double bytes = 32; bytes <= 32 * MIB; bytes *= 4)
		expect(known_at("64x64", bytes) > swing_at("64x64", bytes));
	for (double bytes = 128 * MIB; bytes <= 512 * MIB; bytes *= 2)
		expect(time_of("bucket", "64x64", bytes) < swing_at("64x64", bytes));
	/* More than half of the peak, and less than the 1 / Xi that sharing leaves. */
	expect_near(512 * MIB / swing_at("64x64", 512 * MIB) / 100e9, 1 / 1.1843, 0.02);
	/* Three and four dimensions, and full-bandwidth networks: Swing at every size. */
	expect(swing_at("8x8x8", 64 * MIB) < time_of("bucket", "8x8x8", 64 * MIB));
	expect(swing_at("8x8x8x8", 512 * MIB) < time_of("bucket", "8x8x8x8", 512 * MIB));
	for (double bytes = 32; bytes <= 512 * MIB; bytes *= 4)
		expect(swing_at("hyperx:64x64", bytes) < known_at("hyperx:64x64", bytes));
	expect(known_at("hyperx:64x64", 2 * MIB) / swing_at("hyperx:64x64", 2 * MIB) > 2.4);
	expect(known_at("hx2mesh:64x64", 2 * MIB) / swing_at("hx2mesh:64x64", 2 * MIB) > 2.1);
	expect(known_at("hx4mesh:64x64", 2 * MIB) / swing_at("hx4mesh:64x64", 2 * MIB) > 2.1);
}

/* After the steps of the short side all 2D collectives use the long side, with D delta messages a
 * link. So each remaining step adds D / (3 d_min^(D-1)). (The paper estimates 1 / (6 d_min^(D-1)),
 * but its own simulation of 256x4 loses 60 % to the ring, as this count does.) */
static void rectangular_tori(void)
{
	static const struct {
		const char *shape;
		uint32_t short_side, long_side;
	} rows[] = {{"64x16", 16, 64}, {"128x8", 8, 128}, {"256x4", 4, 256}};
	for (size_t i = 0; i < 3; i++) {
		double extra = log2((double)rows[i].long_side / rows[i].short_side) * 2 /
			       (3.0 * rows[i].short_side);
		char square[16];
		snprintf(square, sizeof(square), "%ux%u", rows[i].short_side, rows[i].short_side);
		expect_near(xi_of("swing-b", rows[i].shape) - xi_of("swing-b", square), extra,
			    0.02 * extra);
		/* The bucket's steps depend on the long side alone. */
		expect_near(time_of("bucket", rows[i].shape, 32),
			    4 * (rows[i].long_side - 1) * 0.855e-6, 1e-8);
		expect_near(time_of("bucket", rows[i].shape, 512 * MIB), 512 * MIB / 100e9,
			    0.45 * 512 * MIB / 100e9 + 1e-3);
	}
	/* 256x4 loses to the ring at 512 MiB; 128x8 wins by far in between. */
	expect_near(swing_at("256x4", 512 * MIB) / time_of("ring", "256x4", 512 * MIB), 1.5, 0.1);
	double best = 0;
	for (double bytes = 32; bytes <= 32 * MIB; bytes *= 2)
		best = fmax(best, known_at("128x8", bytes) / swing_at("128x8", bytes));
	expect(best > 2.0 && best < 3.2);
}

/* The same schedules under SMPI (CM02, 400 Gb/s, 400 ns a hop, no software overhead), in
 * microseconds. */
static void agrees_with_simulation(void)
{
	static const struct {
		const char *algorithm, *shape;
		double bytes, us;
	} rows[] = {{"swing-b", "64x64", 2, 92.10},
		    {"bucket", "64x64", 2, 121.86},
		    {"swing-b", "64x64", 128, 1656.84},
		    {"swing-b", "16x16", 2, 39.9}};
	struct cost_model_costs costs = fitted;
	costs.step_s = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cost_model p =
			make_model(rows[i].algorithm, rows[i].shape, SCHEDULE_ALL_PORTS);
		expect_near(1e6 * cost_model_time(&p, &costs, rows[i].bytes * MIB) / rows[i].us, 1,
			    0.0034);
		cost_model_free(&p);
	}
}

static void fastest_by_size(void)
{
	struct network n;
	struct candidates r;
	char text[512];
	require(network_parse("16x16", &n) == 0 &&
		candidates_make(&n, SCHEDULE_ALL_PORTS, &r) == 0);
	for (double bytes = 1; bytes < 4096 * MIB; bytes *= 1.37) {
		const struct candidate *best = candidates_best(&r, &fitted, bytes);
		double from, to;
		require(best && candidates_wins(&r, best, &fitted, &from, &to));
		expect(from <= bytes * (1 + 1e-9) && bytes <= to * (1 + 1e-9));
		expect(strstr(candidates_show(&r, &fitted, text, sizeof(text)), best->name));
	}
	expect(candidates_find(&r, "trivance-l")->status == -ENOTSUP &&
	       candidates_find(&r, "no-such") == NULL);
	expect(candidates_best(&r, &fitted, 32 * KIB)->status == 0);
	candidates_free(&r);
}

/* On one dimension a bucket is a ring, and hops of equal length cost the same. */
static void equal_times_are_a_tie(void)
{
	struct network n;
	struct candidates r;
	char text[512];
	require(network_parse("64", &n) == 0 && candidates_make(&n, SCHEDULE_ALL_PORTS, &r) == 0);
	expect(strcmp(candidates_show_best(&r, &fitted, 512 * MIB, text, sizeof(text)),
		      "tie of ring and bucket") == 0);
	expect(strcmp(candidates_show_best(&r, &fitted, 32, text, sizeof(text)), "swing-l") == 0);
	expect(strstr(candidates_show(&r, &fitted, text, sizeof(text)),
		      "swing-b, from 3052000 tie of ring and bucket"));
	candidates_free(&r);
	require(network_parse("hyperx:64x64", &n) == 0 &&
		candidates_make(&n, SCHEDULE_ONE_PORT, &r) == 0);
	expect(strncmp(candidates_show_best(&r, &fitted, 32, text, sizeof(text)), "tie of ", 7) ==
		       0 &&
	       strstr(text, "rd-l") && strstr(text, "swing-l"));
	candidates_free(&r);
}

/* With a link between every two nodes, direct loads each link with a chunk a step, and several
 * rings load theirs with a chunk of a part. A torus has too few ports for them. */
static void algorithms_of_a_full_mesh(void)
{
	const struct cost_model_costs costs = {.bytes_per_s = 1};
	struct network n;
	struct cost_model p;
	require(network_parse("hyperx:8", &n) == 0 && network_ports(&n) == 7);
	require(cost_model_make(&n, "direct", SCHEDULE_ALL_PORTS, &p) == 0);
	expect_near(cost_model_slope(&p, &costs), 2.0 / 8, 1e-12);
	expect(p.steps == 2 && p.links == 2);
	cost_model_free(&p);
	require(cost_model_make(&n, "multi-ring", SCHEDULE_ALL_PORTS, &p) == 0);
	expect_near(cost_model_slope(&p, &costs), 2.0 * 7 / 8 / 6, 1e-12);
	expect(p.steps == 14 && p.links == 14);
	cost_model_free(&p);
	require(network_parse("8", &n) == 0 && network_ports(&n) == 2);
	expect(cost_model_make(&n, "direct", SCHEDULE_ALL_PORTS, &p) == -ENOTSUP &&
	       strstr(err_text(), "7 messages at once"));
	expect(cost_model_make(&n, "multi-ring", SCHEDULE_ALL_PORTS, &p) == -ENOTSUP);
}

int main(void)
{
	test(congestion_deficiency);
	test(all_deficiencies);
	test(loads_of_each_step);
	test(route_lengths);
	test(small_vectors);
	test(middle_and_large_vectors);
	test(rectangular_tori);
	test(agrees_with_simulation);
	test(fastest_by_size);
	test(equal_times_are_a_tie);
	test(algorithms_of_a_full_mesh);
	return test_done();
}
