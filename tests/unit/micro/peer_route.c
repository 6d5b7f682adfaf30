/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes of micro/peer_matrix: what is one, and what groups stand for on the devices present.
 */
#include "lib/err.h"
#include "micro/peer_matrix/route.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>

static const struct axis axis = {.name = "route", .kind = AXIS_WORD, .expand = peer_route_expand};
static const struct axis_capacities three = {.devices = 3, .nodes = {0, 2}, .node_count = 2},
				    two = {.devices = 2}, one = {.devices = 1, .node_count = 1};

static void expect_words(const struct axis_capacities *known, const char *list, const char *wanted)
{
	struct axis_list values;
	char words[512] = "";
	require(axis_parse(&axis, list, true, known, &values) == 0);
	for (size_t i = 0; i < values.count; i++)
		snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s", i ? " " : "",
			 values.values[i].word);
	expect_str(words, wanted);
	axis_free(&values);
}

static void groups_stand_for_routes(void)
{
	expect_words(&three, "pairs", "0>1 0>2 1>0 1>2 2>0 2>1");
	expect_words(&three, "spread,exchange", "0>all 1>all 2>all all>0 all>1 all>2 all>all");
	expect_words(&three, "sweep,exchange", "each all>all");
	expect_words(&three, "numa",
		     "numa0>0 0>numa0 numa0>1 1>numa0 numa0>2 2>numa0 "
		     "numa2>0 0>numa2 numa2>1 1>numa2 numa2>2 2>numa2");
	expect_words(&two, "sweep,pairs,spread,exchange,numa", "each 0>1 1>0 all>all");
	expect_words(&one, "sweep,pairs,spread,exchange,numa", "numa0>0 0>numa0");
	expect_words(&three, "2>0,pairs", "2>0 0>1 0>2 1>0 1>2 2>1");
	expect_words(&three, "all>2,numa2>1,1>numa0", "all>2 numa2>1 1>numa0");
}

static void what_is_no_route(void)
{
	static const char *const bad[] = {"",       "0",      "0>",     ">1",        "0>0",
					  "0>x",    "x>0",    "0>1>2",  "-1>0",      "0>+1",
					  "0> 1",   "0-3",    "numa>0", "numa0>all", "numa0>numa2",
					  "all>al", "12345>0"};
	struct axis_list values;
	struct peer_route r;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		expect(peer_route_parse(bad[i], &r) == -EINVAL);
		expect(axis_parse(&axis, bad[i], true, NULL, &values) == -EINVAL);
		expect(strstr(err_text(), "--route") && strstr(err_text(), "unknown route"));
	}
	expect(axis_parse(&axis, "0>1,,1>0", true, &three, &values) == -EINVAL);
}

static void routes_of_devices_that_are_not_there(void)
{
	static const struct {
		const char *list, *says;
	} bad[] = {{"0>3", "--route: 0>3: the devices are 0 to 2"},
		   {"pairs,7>all", "7>all: the devices are 0 to 2"},
		   {"numa1>0", "numa1>0: no such NUMA node"},
		   {"0>numa1", "0>numa1: no such NUMA node"}};
	struct axis_list values;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		expect(axis_parse(&axis, bad[i].list, true, &three, &values) == -EINVAL);
		expect(strstr(err_text(), bad[i].says) != NULL);
		/* Without devices only the syntax counts. */
		require(axis_parse(&axis, bad[i].list, true, NULL, &values) == 0);
		axis_free(&values);
	}
	expect(axis_parse(&axis, "all>all", true, &one, &values) == -EINVAL);
	expect(axis_parse(&axis, "each", true, &one, &values) == -EINVAL);
	expect(axis_parse(&axis, "pairs", true, &one, &values) == -EINVAL);
	expect(strstr(err_text(), "no value applies to this device") != NULL);
}

int main(void)
{
	test(groups_stand_for_routes);
	test(what_is_no_route);
	test(routes_of_devices_that_are_not_there);
	return test_done();
}
