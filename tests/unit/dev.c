/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device lists as users write them, and the table of backends.
 */
#include "device/dev.h"

#include <errno.h>

#include "device/backends.h"
#include "lib/err.h"
#include "tests/unit/test.h"

static void good_lists(void)
{
	static const struct {
		const char *spec;
		size_t count;
		unsigned index[4];
	} good[] = {
		{ "sim", 1, { 0 } },
		{ "sim:0", 1, { 0 } },
		{ "sim:5", 1, { 5 } },
		{ "sim:63", 1, { 63 } },
		{ "sim:0,1", 2, { 0, 1 } },
		{ "sim:3,1,2", 3, { 3, 1, 2 } },
		{ "sim:4-7", 4, { 4, 5, 6, 7 } },
		{ "sim:2-2", 1, { 2 } },
		{ "sim:9,0-1", 3, { 9, 0, 1 } },
		{ "sim:quiet", 1, { 0 } },
		{ "sim:quiet:2-3", 2, { 2, 3 } },
		{ "sim:0-63", 64, { 0, 1, 2, 3 } },
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct dev_set set = { 0 };
		int rc = dev_open(good[i].spec, 0, &set);
		if (rc)
			printf("# %s: %d: %s\n", good[i].spec, rc, err_text());
		expect(rc == 0 && set.count == good[i].count);
		for (size_t j = 0; j < set.count && j < 4; j++)
			expect(set.dev[j]->index == good[i].index[j]);
		dev_close(&set);
		expect(set.count == 0 && set.dev[0] == NULL);
		dev_close(&set);
	}
	dev_close(NULL);
}

static void bad_lists(void)
{
	static const struct {
		const char *spec;
		int rc;
		const char *says;
	} bad[] = {
		{ "", -EINVAL, "no backend is called" },
		{ "cuba", -EINVAL, "no backend is called 'cuba'" },
		{ "si", -EINVAL, "no backend is called" },
		{ "simm:0", -EINVAL, "no backend is called 'simm'" },
		{ "SIM", -EINVAL, "no backend is called" },
		{ "skeleton", -EINVAL, "no backend is called" },
		{ ":0", -EINVAL, "no backend is called" },
		{ "sim:", -EINVAL, "malformed" },
		{ "sim::", -EINVAL, "malformed" },
		{ "sim::0", -EINVAL, "malformed" },
		{ "sim:0:quiet", -EINVAL, "malformed" },
		{ "sim:quiet:", -EINVAL, "malformed" },
		{ "sim:quiet:x", -EINVAL, "malformed" },
		{ "sim:quiet:0:1", -EINVAL, "malformed" },
		{ "sim:0,", -EINVAL, "malformed" },
		{ "sim:,0", -EINVAL, "malformed" },
		{ "sim:0,,1", -EINVAL, "malformed" },
		{ "sim:-1", -EINVAL, "malformed" },
		{ "sim:1-", -EINVAL, "malformed" },
		{ "sim:3-1", -EINVAL, "malformed" },
		{ "sim:0-1-2", -EINVAL, "malformed" },
		{ "sim:99999999999999999999", -EINVAL, "malformed" },
		{ "sim:0,1,0", -EINVAL, "index 0 is listed twice" },
		{ "sim:0-3,2", -EINVAL, "index 2 is listed twice" },
		{ "sim:0-64", -EINVAL, "more than 64 devices" },
		{ "sim:64", -ENODEV, "there is no sim:64, only sim:0-63" },
		{ "sim:loud", -EINVAL, "no model is called 'loud'" },
		{ "sim: 0", -EINVAL, "no model is called ' 0'" },
		{ "host:quiet", -EINVAL, "" },
		{ "host:1", -EINVAL, "indices" },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct dev_set set = { .count = 77 };
		err_clear();
		int rc = dev_open(bad[i].spec, 0, &set);
		if (rc != bad[i].rc || !strstr(err_text(), bad[i].says))
			printf("# '%s': %d: %s\n", bad[i].spec, rc, err_text());
		expect(rc == bad[i].rc && set.count == 77);
		expect(err_text()[0] && strstr(err_text(), bad[i].says));
	}
	expect(dev_open(NULL, 0, NULL) == -EINVAL);
}

static const struct dev_backend_info *listed(const struct dev_backend_info *info, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(info[i].name, name) == 0)
			return &info[i];
	return NULL;
}

static void backends_are_listed(void)
{
	struct dev_backend_info info[8];
	memset(info, 0, sizeof(info));
	size_t count = dev_backends(info, 8);
	require(count >= 2 && count <= 8);
	for (size_t i = 0; i < count; i++)
		expect((info[i].devices > 0) == (info[i].why[0] == '\0'));
	require(listed(info, count, "host") && listed(info, count, "sim"));
	expect(listed(info, count, "host")->devices > 0 && listed(info, count, "sim")->devices > 0);
	expect(!listed(info, count, "skeleton"));
	memset(info, 0, sizeof(info));
	expect(dev_backends(info, 1) == count);
	expect(info[0].name && !info[1].name);
	expect(dev_backends(NULL, 0) == count);
}

static void an_unknown_backend_lists_the_known(void)
{
	struct dev_set set;
	expect(dev_open("cuba", 0, &set) == -EINVAL);
	expect(strstr(err_text(), "there are") && strstr(err_text(), "host") && strstr(err_text(), "sim"));
}

static void tables_are_checked(void)
{
	unsigned count = 77;
	struct dev *d = NULL;
	expect(dev_ops_check(&host_ops) == 0 && dev_ops_check(&sim_ops) == 0);
	expect(dev_ops_check(&skeleton_ops) == 0);
	expect(skeleton_ops.probe(&count) == 0 && count == 0 && err_text()[0]);
	expect(skeleton_ops.open(NULL, 0, 1, 0, &d) == -ENODEV && !d);
	struct dev_ops ops = sim_ops;
	ops.event_query = NULL;
	expect(dev_ops_check(&ops) == -EINVAL);
	expect(strstr(err_text(), "'event_query'") != NULL);
	ops = sim_ops;
	ops.gemm = NULL; /* optional */
	ops.clock_rate = NULL;
	ops.peer_enable = NULL;
	ops.wait_value = NULL;
	ops.write_value = NULL;
	ops.post_value = NULL;
	ops.gemm_prepare = NULL;
	ops.graph_begin = NULL;
	ops.crew_open = NULL;
	ops.ipc_export = NULL;
	ops.read_state = NULL;
	expect(dev_ops_check(&ops) == 0);
	ops.name = NULL;
	expect(dev_ops_check(&ops) == -EINVAL);
}

static void a_missing_slot_is_not_supported(void)
{
	struct dev_ops ops = sim_ops;
	struct dev bare = { .ops = &ops, .index = 3 }, twin = bare;
	struct dev_gemm g = { 0 };
	double hz;
	uint32_t at;
	ops.name = "bare";
	ops.gemm = NULL;
	ops.clock_rate = NULL;
	ops.peer_enable = NULL;
	ops.wait_value = NULL;
	ops.write_value = NULL;
	ops.post_value = NULL;
	expect(dev_clock_rate(&bare, &hz) == -ENOTSUP);
	expect(dev_wait_value(&bare, NULL, &at, 0) == -ENOTSUP);
	expect(dev_write_value(&bare, NULL, &at, 0) == -ENOTSUP);
	expect(dev_post_value(&bare, &at, 0) == -ENOTSUP);
	expect(dev_peer_enable(&bare, &twin) == -ENOTSUP);
	expect(dev_gemm(&bare, NULL, &g) == -ENOTSUP);
	expect_str(err_text(), "bare:3: gemm is not supported");
	struct dev other = { .ops = &host_ops };
	expect(dev_peer_enable(&other, &bare) == -ENOTSUP);
}

static void what_no_slot_offers_is_not_supported(void)
{
	static const struct dev_ops ops = { .name = "bare" };
	struct dev bare = { .ops = &ops, .index = 3 }, twin = bare;
	const struct dev_set one = { .count = 1, .dev = { &bare } }, two = { .count = 2, .dev = { &bare, &twin } };
	struct dev_graph *graph = NULL;
	struct dev_crew *crew = NULL;
	struct dev_ipc handle = { { 0 } };
	struct dev_reading readings[DEV_READINGS];
	size_t count = 77;
	void *memory = &bare;
	expect(dev_graph_begin(&bare, NULL) == -ENOTSUP);
	expect_str(err_text(), "bare:3: graph_begin is not supported");
	expect(dev_graph_end(&bare, NULL, &graph) == -ENOTSUP && !graph);
	expect(dev_graph_launch(&bare, NULL, NULL) == -ENOTSUP);
	dev_graph_close(&bare, NULL);
	expect(dev_crew_open(&one, &crew) == -ENODEV && !crew);
	expect_str(err_text(), "collectives need two devices, not 1");
	expect(dev_crew_open(&two, &crew) == -ENOTSUP && !crew);
	dev_crew_close(NULL);
	expect(dev_ipc_export(&bare, NULL, &handle) == -ENOTSUP);
	expect(dev_ipc_import(&bare, &handle, 1, &memory) == -ENOTSUP && memory == &bare);
	expect(dev_gemm_prepare(&bare, &(struct dev_gemm){ 0 }) == -ENOTSUP);
	expect(dev_gemm_chosen(&bare, &(struct dev_gemm){ 0 }, NULL) == -ENOTSUP);
	expect(dev_alloc(&bare, DEV_MEM_PAGEABLE, 1, &memory) == -ENOTSUP && memory == &bare);
	expect_str(err_text(), "bare:3: pageable memory is not supported");
	expect(dev_read_state(&bare, readings, &count) == 0 && count == 0);
}

/* ------------------------------------------------------------------ descriptions of products */

static int products;

static int count_product(struct dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	(void)d, (void)s, (void)g;
	products++;
	return 0;
}

static void types_have_sizes(void)
{
	static const uint32_t bytes[DEV_TYPES] = { 4, 8, 4, 2, 2, 1 };
	for (int type = 0; type < DEV_TYPES; type++) {
		expect(dev_type_bytes((enum dev_type)type) == bytes[type]);
		expect(dev_type_result_bytes((enum dev_type)type) == (type == DEV_F8 ? 2 : bytes[type]));
	}
}

static void products_are_checked_before_the_backend(void)
{
	static const struct dev_ops ops = { .name = "bare", .gemm = count_product };
	struct dev bare = { .ops = &ops, .props = { .gemm_tiled_types = 1u << DEV_F16, .gemm_fast_types = 1u << DEV_F16,
	                                            .gemm_tile_rows = 64 } };
	uint32_t counter;
	const struct dev_gemm good = { .type = DEV_F16, .m = 128, .n = 16, .k = 32, .lda = 32, .ldb = 16, .ldc = 16 };
	static const struct {
		struct dev_gemm changed;
		int rc;
		const char *says;
	} cases[] = {
		{ { .type = DEV_TYPES }, -EINVAL, "no element type 6" },
		{ { .type = DEV_F16, .m = 0 }, -EINVAL, "a dimension is zero" },
		{ { .type = DEV_F16, .m = 9, .lda = 31 }, -EINVAL, "shorter than its row" },
		{ { .type = DEV_F16, .m = 9, .b_transposed = true }, -EINVAL, "shorter than its row" }, /* ldb is that of k */
		{ { .type = DEV_F32, .m = 9, .tiled = true }, -ENOTSUP, "a tiled gemm of type 0" },
		{ { .type = DEV_F32, .m = 9, .fast_accumulation = true }, -ENOTSUP, "type 0 with fast accumulation" },
		{ { .type = DEV_F16, .m = 9, .tiled = true, .fast_accumulation = true }, -ENOTSUP, "with fast accumulation" },
		{ { .type = DEV_F16, .m = 9, .fast_accumulation = true }, 0, "" },
		{ { .type = DEV_F16, .m = 9, .tiled = true, .done_rows = 0 }, -EINVAL, "0 rows to a counter" },
		{ { .type = DEV_F16, .m = 9, .tiled = true, .done_rows = 65 }, -EINVAL, "no multiple of the 64" },
		{ { .type = DEV_F8, .m = 16 }, -EINVAL, "f8 takes B transposed only" },
		{ { .type = DEV_F8, .m = 9, .b_transposed = true, .ldb = 32 }, -EINVAL, "multiples of 16" },
		{ { .type = DEV_F8, .m = 16, .b_transposed = true, .ldb = 32 }, 0, "" },
		{ { .type = DEV_F16, .m = 9, .tiled = true, .done_rows = 128 }, 0, "" },
		{ { .type = DEV_F16, .m = 9, .b_transposed = true, .ldb = 32 }, 0, "" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dev_gemm g = good;
		const struct dev_gemm *changed = &cases[i].changed;
		g.type = changed->type;
		g.m = changed->m;
		g.lda = changed->lda ? changed->lda : good.lda;
		g.ldb = changed->ldb ? changed->ldb : good.ldb;
		g.b_transposed = changed->b_transposed;
		g.fast_accumulation = changed->fast_accumulation;
		g.tiled = changed->tiled;
		g.done = g.tiled ? &counter : NULL;
		g.done_rows = changed->done_rows;
		err_clear();
		products = 0;
		expect(dev_gemm(&bare, NULL, &g) == cases[i].rc && products == (cases[i].rc == 0));
		if (!strstr(err_text(), cases[i].says))
			printf("# case %zu says: %s\n", i, err_text());
		expect(strstr(err_text(), cases[i].says) != NULL);
		expect(dev_gemm_prepare(&bare, &g) == cases[i].rc); /* without a slot of its own: checked, and nothing to do */
	}
}

int main(void)
{
	test(good_lists);
	test(bad_lists);
	test(backends_are_listed);
	test(an_unknown_backend_lists_the_known);
	test(tables_are_checked);
	test(a_missing_slot_is_not_supported);
	test(what_no_slot_offers_is_not_supported);
	test(types_have_sizes);
	test(products_are_checked_before_the_backend);
	return test_done();
}
