/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Advice from tables whose answers are known: power laws, points, and what must hold between them.
 */
#include "lib/err.h"
#include "lib/rng.h"
#include "tests/unit/advise/advise_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>

enum { TEXT_BYTES = 1 << 16, WAYS = 3 };

static char text[TEXT_BYTES];
static size_t used;

__attribute__((format(printf, 1, 2))) static void add_text(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	used += (size_t)vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
}

static void begin_table(const char *error, const char *ways)
{
	used = 0;
	add_text("gpusig advice 1\nerror %s\ngrid ag-gemm bf16 8\nways %s\n", error, ways);
}

static struct advise_table *table;
static const struct advise_grid *grid;

static void end_table(void)
{
	add_text("end\n");
	require(used < sizeof(text));
	table = table_of(text);
	require(advise_find(table, "ag-gemm", "bf16", 8, &grid) == 0);
}

static struct advise_choice choice_at(double m, double n, double k)
{
	struct advise_choice choice = {.seconds = 0};
	require(advise(grid, m, n, k, &choice) == 0);
	return choice;
}

/* One point, at sides of 1. */
static struct advise_choice choice_of(const char *error, const char *ways, const char *seconds)
{
	begin_table(error, ways);
	add_text("m 1\nn 1\nk 1\n%s\n", seconds);
	end_table();
	struct advise_choice choice = choice_at(1, 1, 1);
	/* The names of a choice go with its table. */
	choice.schedule = strcmp(choice.schedule, "serial") == 0  ? "serial"
			  : strcmp(choice.schedule, "shard") == 0 ? "shard"
								  : "other";
	choice.copy_method = strcmp(choice.copy_method, "engine") == 0 ? "engine" : "kernel";
	advise_free(table);
	return choice;
}

static const char three_ways[] = "serial/engine shard/engine shard/kernel";
static const double sides[3][4] = {{256, 300, 1024, 16384}, {4096, 11008, 0, 0}, {64, 65, 4096, 0}};
static const unsigned counts[3] = {4, 2, 3};

static void add_sides(void)
{
	for (unsigned side = 0; side < 3; side++) {
		add_text("%c", "mnk"[side]);
		for (unsigned i = 0; i < counts[side]; i++)
			add_text(" %.17g", sides[side][i]);
		add_text("\n");
	}
}

static double power_law(unsigned way, double m, double n, double k)
{
	static const double exponent[WAYS][3] = {{1, 1, 1}, {0.7, 1.1, 0.4}, {-0.5, 0, 2}};
	return 1e-9 * (way + 1) * pow(m, exponent[way][0]) * pow(n, exponent[way][1]) *
	       pow(k, exponent[way][2]);
}

/* In logarithms a power law is a plane, so nothing is lost between the points. */
static void power_laws_are_exact(void)
{
	struct rng r;
	rng_seed(&r, 1, 0);
	begin_table("0", three_ways);
	add_sides();
	for (unsigned i = 0; i < 24; i++) {
		for (unsigned way = 0; way < WAYS; way++)
			add_text(" %.17g", power_law(way, sides[0][i / 6], sides[1][i / 3 % 2],
						     sides[2][i % 3]));
		add_text("\n");
	}
	end_table();
	for (unsigned i = 0; i < 1000; i++) {
		double side[3], seconds[WAYS];
		for (unsigned s = 0; s < 3; s++)
			side[s] = sides[s][0] +
				  rng_unit(&r) * (sides[s][counts[s] - 1] - sides[s][0]);
		require(advise_seconds(grid, side[0], side[1], side[2], seconds) == 0);
		for (unsigned way = 0; way < WAYS; way++)
			expect_near(seconds[way] / power_law(way, side[0], side[1], side[2]), 1,
				    1e-12);
	}
	advise_free(table);
}

/* Times without any law, a third of them impossible: [m][n][k][way]. */
static double wild[4][2][3][WAYS];

/* The ways in the order `order`. */
static void open_wild(const unsigned order[WAYS])
{
	static const char *const names[WAYS] = {"serial/engine", "shard/engine", "shard/kernel"};
	struct rng r;
	char ways[64];
	double *all = &wild[0][0][0][0];
	rng_seed(&r, 2, 0);
	for (unsigned i = 0; i < 24 * WAYS; i++)
		all[i] = rng_unit(&r) < 1.0 / 3 ? NAN : exp(10 * rng_unit(&r));
	snprintf(ways, sizeof(ways), "%s %s %s", names[order[0]], names[order[1]], names[order[2]]);
	begin_table("0.05", ways);
	add_sides();
	for (unsigned i = 0; i < 24; i++) {
		for (unsigned way = 0; way < WAYS; way++) {
			const double seconds = all[WAYS * i + order[way]];
			if (isnan(seconds))
				add_text(" -");
			else
				add_text(" %.17g", seconds);
		}
		add_text("\n");
	}
	end_table();
}

static const unsigned in_order[WAYS] = {0, 1, 2};

/* Neighbours bring nothing that a point does not have, and take nothing. */
static void points_are_exact(void)
{
	open_wild(in_order);
	for (unsigned i = 0; i < 24; i++) {
		const unsigned m = i / 6, n = i / 3 % 2, k = i % 3;
		double seconds[WAYS];
		require(advise_seconds(grid, sides[0][m], sides[1][n], sides[2][k], seconds) == 0);
		for (unsigned way = 0; way < WAYS; way++) {
			const double at = wild[m][n][k][way];
			expect(isnan(seconds[way]) == isnan(at));
			if (!isnan(at))
				expect_near(seconds[way] / at, 1, 1e-13);
		}
	}
	advise_free(table);
}

/* Between points: within the range of the eight around, and impossible where it is at one. */
static void between_the_points(void)
{
	open_wild(in_order);
	for (unsigned i = 0; i < 3 * 1 * 2; i++) {
		const unsigned m = i / 2, k = i % 2;
		double seconds[WAYS];
		require(advise_seconds(grid, 0.3 * sides[0][m] + 0.7 * sides[0][m + 1], 5000,
				       0.6 * sides[2][k] + 0.4 * sides[2][k + 1], seconds) == 0);
		for (unsigned way = 0; way < WAYS; way++) {
			double low = INFINITY, high = 0;
			bool possible = true;
			for (unsigned c = 0; c < 8; c++) {
				const double at = wild[m + (c & 1)][c >> 1 & 1][k + (c >> 2)][way];
				possible = possible && !isnan(at);
				low = fmin(low, at);
				high = fmax(high, at);
			}
			expect(isnan(seconds[way]) == !possible);
			expect(!possible || (seconds[way] > low && seconds[way] < high));
		}
	}
	advise_free(table);
}

static const double asked[][3] = {{256, 4096, 64},
				  {400, 4096, 64.5},
				  {1024, 6000, 65},
				  {5000, 11008, 300},
				  {16384, 4096, 4096}};
enum { ASKED = sizeof(asked) / sizeof(asked[0]) };

static void the_order_of_ways_is_irrelevant(void)
{
	static const unsigned orders[][WAYS] = {{0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
	int status[ASKED];
	char chosen[ASKED][64] = {""};
	for (unsigned o = 0; o <= 3; o++) {
		open_wild(o ? orders[o - 1] : in_order);
		for (unsigned i = 0; i < ASKED; i++) {
			struct advise_choice c = {.schedule = "", .copy_method = ""};
			char now[64];
			int got = advise(grid, asked[i][0], asked[i][1], asked[i][2], &c);
			snprintf(now, sizeof(now), "%s %s %.14g %.14g %d", c.schedule,
				 c.copy_method, c.seconds, c.serial_seconds, c.decided);
			if (o == 0) {
				status[i] = got;
				strcpy(chosen[i], now);
			}
			expect(got == status[i]);
			expect_str(now, chosen[i]);
		}
		advise_free(table);
	}
}

static void the_choice(void)
{
	struct advise_choice c = choice_of("0.05", three_ways, "3 2 1");
	expect_str(c.schedule, "shard");
	expect_str(c.copy_method, "kernel");
	expect(c.seconds == 1 && fabs(c.serial_seconds - 3) < 1e-14 && c.decided);
	c = choice_of("0.05", three_ways, "3 1 -");
	expect_str(c.copy_method, "engine");
	c = choice_of("0.05", three_ways, "- - 2");
	expect_str(c.copy_method, "kernel");
	expect(isnan(c.serial_seconds) && c.decided);
	c = choice_of("0.05", "serial/kernel serial/engine shard/engine", "3 2 4");
	expect_str(c.schedule, "serial");
	expect(c.seconds == c.serial_seconds && fabs(c.seconds - 2) < 1e-14);
}

/* The first of equal ways, also where the time is that of eight points. */
static void equal_ways(void)
{
	expect_str(choice_of("0", three_ways, "2 1 1").copy_method, "engine");
	expect_str(choice_of("0", "shard/kernel serial/engine", "7 7").schedule, "shard");
	begin_table("0", three_ways);
	add_text("m 1 7\nn 1 3\nk 1 11\n");
	for (unsigned i = 0; i < 8; i++)
		add_text("%u %u 9\n", i % 5 + 1, i % 5 + 1);
	end_table();
	expect_str(choice_at(2, 2, 2).schedule, "serial");
	advise_free(table);
}

/* Only another schedule makes a choice undecided, within the error of the best. */
static void decided_choices(void)
{
	expect(choice_of("0.05", three_ways, "1.06 1 1.01").decided);
	expect(!choice_of("0.05", three_ways, "1.04 1 2").decided);
	expect(!choice_of("0.05", three_ways, "1 2 1.04").decided);
	expect(choice_of("0", three_ways, "1.001 1 1").decided);
	expect(!choice_of("0", three_ways, "1 1 1").decided);
	expect(choice_of("0.05", "shard/engine shard/kernel", "1 1").decided);
	expect(!choice_of("-", three_ways, "9 1 8").decided);
	expect(!choice_of("-", "shard/engine", "1").decided);
}

/* Between points that do not choose the same schedule nothing is decided: times step there. */
static void points_that_disagree(void)
{
	begin_table("0.05", "serial/engine shard/engine shard/kernel");
	add_text("m 1 100 10000\nn 1\nk 1\n1 2 -\n9 2 3\n9 3 2\n");
	end_table();
	expect(choice_at(1, 1, 1).decided);
	expect_str(choice_at(2, 1, 1).schedule, "serial");
	expect(choice_at(2, 1, 1).seconds < 1.5 && !choice_at(2, 1, 1).decided);
	expect(choice_at(100, 1, 1).decided);
	expect_str(choice_at(101, 1, 1).schedule, "shard");
	expect(choice_at(101, 1, 1).decided && choice_at(9000, 1, 1).decided);
	advise_free(table);
}

static void sides_outside(void)
{
	static const struct {
		double side[3];
		const char *said;
	} rows[] = {
		{{255.9, 4096, 64}, "m is 255.9; the table has 256 to 512"},
		{{512.1, 4096, 64}, "m is 512.1; the table has 256 to 512"},
		{{NAN, 4096, 64}, "m is nan; the table has 256 to 512"},
		{{-INFINITY, 4096, 64}, "m is -inf; the table has 256 to 512"},
		{{256, 4097, 64}, "n is 4097; the table has 4096 alone"},
		{{256, 4096, 0}, "k is 0; the table has 64 to 128"},
		{{256, 4096, INFINITY}, "k is inf; the table has 64 to 128"},
	};
	begin_table("0", "serial/engine shard/engine");
	add_text("m 256 512\nn 4096\nk 64 128\n1 2\n- 2\n1 2\n- -\n");
	end_table();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct advise_choice c = {.seconds = 7};
		double seconds[2] = {7, 7};
		const double *side = rows[i].side;
		expect(advise(grid, side[0], side[1], side[2], &c) == -ERANGE);
		expect_str(err_text(), rows[i].said);
		expect(advise_seconds(grid, side[0], side[1], side[2], seconds) == -ERANGE);
		expect(c.seconds == 7 && seconds[0] == 7);
	}
	struct advise_choice c;
	expect(advise(grid, 512, 4096, 128, &c) == -ENODATA);
	expect_str(err_text(), "no way is possible for m 512, n 4096, k 128");
	expect(advise(grid, 511, 4096, 127, &c) == -ENODATA);
	expect_str(choice_at(512, 4096, 64).schedule, "serial");
	expect_str(choice_at(256, 4096, 65).schedule, "shard");
	advise_free(table);
}

static void *ask_again(void *wrong)
{
	for (unsigned i = 0; i < 2000; i++) {
		const double *side = asked[i % ASKED];
		double seconds[WAYS], again[WAYS];
		int status = advise_seconds(grid, side[0], side[1], side[2], seconds);
		status |= advise_seconds(grid, side[0], side[1], side[2], again);
		if (status || memcmp(seconds, again, sizeof(seconds)) != 0 ||
		    advise_seconds(grid, 1, 1, 1, again) != -ERANGE)
			++*(int *)wrong;
	}
	return NULL;
}

static void many_threads_ask(void)
{
	pthread_t thread[4];
	int wrong[4] = {0};
	open_wild(in_order);
	for (unsigned i = 0; i < 4; i++)
		require(pthread_create(&thread[i], NULL, ask_again, &wrong[i]) == 0);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		expect(wrong[i] == 0);
	}
	advise_free(table);
}

int main(void)
{
	open_file();
	test(power_laws_are_exact);
	test(points_are_exact);
	test(between_the_points);
	test(the_order_of_ways_is_irrelevant);
	test(the_choice);
	test(equal_ways);
	test(decided_choices);
	test(points_that_disagree);
	test(sides_outside);
	test(many_threads_ask);
	return test_done();
}
