/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device specs as users write them, and the table of backends.
 */
#include "device/dev.h"
#include "device/backends.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>

static void good_lists(void)
{
	static const struct {
		const char *spec;
		size_t count;
		unsigned index[4];
	} good[] = {
		{"sim", 1, {0}},
		{"sim:0", 1, {0}},
		{"sim:5", 1, {5}},
		{"sim:63", 1, {63}},
		{"sim:0,1", 2, {0, 1}},
		{"sim:3,1,2", 3, {3, 1, 2}},
		{"sim:4-7", 4, {4, 5, 6, 7}},
		{"sim:2-2", 1, {2}},
		{"sim:9,0-1", 3, {9, 0, 1}},
		{"sim:quiet", 1, {0}},
		{"sim:quiet:2-3", 2, {2, 3}},
		{"sim:quiet?units=3", 1, {0}},
		{"sim:quiet?units=3,launch_ns=2x:2-3", 2, {2, 3}},
		{"sim:quiet?links=torus:8x8", 1, {0}},
		{"sim:quiet?links=torus:8x8:9", 1, {9}},
		{"sim:0-63", 64, {0, 1, 2, 3}},
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct dev_set set = {0};
		int status = dev_open(good[i].spec, 0, &set);
		if (status)
			printf("# %s: %d: %s\n", good[i].spec, status, err_text());
		expect(status == 0 && set.count == good[i].count);
		for (size_t j = 0; j < set.count && j < 4; j++)
			expect(set.dev[j]->index == good[i].index[j]);
		dev_close(&set);
		expect(set.count == 0 && set.dev[0] == NULL);
		dev_close(&set);
	}
	dev_close(NULL);
}

static const struct {
	const char *spec;
	int status;
	const char *says;
} bad_specs[] = {
	{"", -EINVAL, "unknown backend"},
	{"cuba", -EINVAL, "unknown backend 'cuba'"},
	{"si", -EINVAL, "unknown backend"},
	{"simm:0", -EINVAL, "unknown backend 'simm'"},
	{"SIM", -EINVAL, "unknown backend"},
	{"skeleton", -EINVAL, "unknown backend"},
	{":0", -EINVAL, "unknown backend"},
	{"sim:", -EINVAL, "malformed"},
	{"sim::", -EINVAL, "malformed"},
	{"sim::0", -EINVAL, "malformed"},
	{"sim:0:quiet", -EINVAL, "malformed"},
	{"sim:quiet:", -EINVAL, "malformed"},
	{"sim:quiet:x", -EINVAL, "malformed"},
	{"sim:quiet:0:1", -EINVAL, "malformed"},
	{"sim:quiet?units=3:", -EINVAL, "units = '3:' is not a whole number"},
	{"sim:quiet?units=3:1,,2", -EINVAL, "malformed"},
	{"sim:0,", -EINVAL, "malformed"},
	{"sim:,0", -EINVAL, "malformed"},
	{"sim:0,,1", -EINVAL, "malformed"},
	{"sim:-1", -EINVAL, "malformed"},
	{"sim:1-", -EINVAL, "malformed"},
	{"sim:3-1", -EINVAL, "malformed"},
	{"sim:0-1-2", -EINVAL, "malformed"},
	{"sim:99999999999999999999", -EINVAL, "malformed"},
	{"sim:0,1,0", -EINVAL, "index 0 is listed twice"},
	{"sim:0-3,2", -EINVAL, "index 2 is listed twice"},
	{"sim:0-64", -EINVAL, "more than 64 devices"},
	{"sim:64", -ENODEV, "no device sim:64; devices: sim:0-63"},
	{"sim:loud", -EINVAL, "unknown model 'loud'"},
	{"sim: 0", -EINVAL, "unknown model ' 0'"},
	{"host:quiet", -EINVAL, ""},
	{"host:1", -EINVAL, "indices"},
};

static void bad_lists(void)
{
	for (size_t i = 0; i < sizeof(bad_specs) / sizeof(bad_specs[0]); i++) {
		struct dev_set set = {.count = 77};
		err_clear();
		int status = dev_open(bad_specs[i].spec, 0, &set);
		if (status != bad_specs[i].status || !strstr(err_text(), bad_specs[i].says))
			printf("# '%s': %d: %s\n", bad_specs[i].spec, status, err_text());
		expect(status == bad_specs[i].status && set.count == 77);
		expect(err_text()[0] && strstr(err_text(), bad_specs[i].says));
	}
	expect(dev_open(NULL, 0, NULL) == -EINVAL);
}

static const struct dev_backend_info *find_backend(const struct dev_backend_info *info,
						   size_t count, const char *name)
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
	require(find_backend(info, count, "host") && find_backend(info, count, "sim"));
	expect(find_backend(info, count, "host")->devices > 0 &&
	       find_backend(info, count, "sim")->devices > 0);
	expect(!find_backend(info, count, "skeleton"));
	memset(info, 0, sizeof(info));
	expect(dev_backends(info, 1) == count);
	expect(info[0].name && !info[1].name);
	expect(dev_backends(NULL, 0) == count);
	const char *models = dev_backend_models("sim");
	expect(models && strstr(models, "default, quiet, a100") && strstr(models, "mi300x"));
	expect(!dev_backend_models("host") && !dev_backend_models("cuba"));
}

static void an_unknown_backend_lists_the_known(void)
{
	struct dev_set set;
	expect(dev_open("cuba", 0, &set) == -EINVAL);
	expect(strstr(err_text(), "backends: ") && strstr(err_text(), "host") &&
	       strstr(err_text(), "sim"));
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
	ops.copy_batch = NULL;
	ops.clock_rate = NULL;
	ops.peer_enable = NULL;
	ops.wait_value = NULL;
	ops.write_value = NULL;
	ops.post_value = NULL;
	ops.gemm_prepare = NULL;
	ops.graph_begin = NULL;
	ops.comm_open = NULL;
	ops.ipc_export = NULL;
	ops.telemetry_read = NULL;
	expect(dev_ops_check(&ops) == 0);
	ops.name = NULL;
	expect(dev_ops_check(&ops) == -EINVAL);
}

static void a_missing_slot_is_not_supported(void)
{
	struct dev_ops ops = sim_ops;
	struct dev bare = {.ops = &ops, .index = 3}, twin = bare;
	struct dev_gemm g = {0};
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
	expect(dev_copy_batch(&bare, NULL, 1, NULL, NULL, NULL) == -ENOTSUP);
	struct dev_file f = {0};
	expect(dev_file_open(&bare, 0, &f) == -ENOTSUP);
	dev_file_close(&bare, &f);
	expect(dev_file_read(&bare, NULL, &f, 0, NULL, 1) == -ENOTSUP);
	expect(dev_gemm(&bare, NULL, &g) == -ENOTSUP);
	expect_str(err_text(), "bare:3: gemm is not supported");
	struct dev other = {.ops = &host_ops};
	expect(dev_peer_enable(&other, &bare) == -ENOTSUP);
}

static void every_optional_slot_may_be_missing(void)
{
	static const struct dev_ops ops = {.name = "bare"};
	struct dev bare = {.ops = &ops, .index = 3}, twin = bare;
	struct dev_set one = {.count = 1, .dev = {&bare}},
		       two = {.count = 2, .dev = {&bare, &twin}};
	struct dev_graph *graph = NULL;
	struct dev_comm *comm = NULL;
	struct dev_ipc handle = {{0}};
	struct dev_telemetry samples[DEV_TELEMETRY_MAX];
	size_t count = 77;
	void *memory = &bare;
	expect(dev_graph_begin(&bare, NULL) == -ENOTSUP);
	expect_str(err_text(), "bare:3: graph_begin is not supported");
	expect(dev_graph_end(&bare, NULL, &graph) == -ENOTSUP && !graph);
	expect(dev_graph_launch(&bare, NULL, NULL) == -ENOTSUP);
	dev_graph_close(&bare, NULL);
	expect(dev_comm_find(&one, DEV_COMM_DEFAULT, &comm) == -ENODEV && !comm);
	expect_str(err_text(), "collectives need at least two devices, not 1");
	expect(dev_comm_find(&two, DEV_COMM_DEFAULT, &comm) == -ENOTSUP && !comm);
	expect(dev_ipc_export(&bare, NULL, &handle) == -ENOTSUP);
	expect(dev_ipc_import(&bare, &handle, 1, &memory) == -ENOTSUP && memory == &bare);
	expect(dev_gemm_prepare(&bare, &(struct dev_gemm){0}) == -ENOTSUP);
	expect(dev_gemm_chosen(&bare, &(struct dev_gemm){0}, NULL) == -ENOTSUP);
	expect(dev_alloc(&bare, DEV_MEM_PAGEABLE, 1, &memory) == -ENOTSUP && memory == &bare);
	expect_str(err_text(), "bare:3: pageable memory is not supported");
	expect(dev_telemetry_read(&bare, samples, &count) == 0 && count == 0);
}

static void without_the_operations_nothing_is_known_of_links(void)
{
	struct dev_ops ops = {.name = "bare"}, others = {.name = "other"};
	struct dev bare = {.ops = &ops}, twin = {.ops = &ops}, other = {.ops = &others};
	struct dev_links links = {.numa_node = 7, .count = 7};
	struct dev_path path = {.kind = "x"};
	size_t count = 77;
	expect(dev_links_read(&bare, &links) == 0 && links.count == 0 && links.numa_node == -1);
	expect(dev_path_read(&bare, &twin, &path) == 0 && !path.kind[0]);
	expect(dev_path_read(&bare, &other, &path) == -EINVAL);
	expect_str(err_text(), "bare:0 and other:0: paths exist only within one backend");
	expect(dev_health_read(&bare, NULL, &count) == 0 && count == 0);
}

static void devices_are_checked_where_that_is_wanted(void)
{
	struct dev_set plain, checked, simulated;
	require(dev_open("host", 0, &plain) == 0);
	require(dev_open("host", DEV_CHECKED, &checked) == 0);
	require(dev_open("sim", DEV_CHECKED, &simulated) == 0);
	expect(!plain.dev[0]->checks && plain.dev[0]->ops == &host_ops);
	expect(checked.dev[0]->checks && checked.dev[0]->ops != &host_ops);
	expect_str(checked.dev[0]->ops->name, "host");
	expect(!checked.dev[0]->ops->graph_begin); /* what the backend lacks is still lacking */
	expect(!simulated.dev[0]->checks && sim_ops.always_checked);
	expect(dev_peer_enable(plain.dev[0], checked.dev[0]) == -EINVAL);
	expect(dev_peer_enable(checked.dev[0], plain.dev[0]) == -EINVAL);
	expect_str(err_text(), "host:0 and host:0: one was opened with DEV_CHECKED, the other "
			       "without");
	dev_close(&simulated);
	dev_close(&checked);
	dev_close(&plain);
}

static void a_pass_has_a_vector_a_thread(void)
{
	struct dev d = {.props = {.block_threads = 256}};
	expect(dev_pass_blocks(&d, UINT64_C(1) << 30) == 0);
	d.props.pass_block_bytes = 4096;
	expect(dev_pass_blocks(&d, 256) == 1);
	expect(dev_pass_blocks(&d, 4096) == 1);
	expect(dev_pass_blocks(&d, 4096 + 256) == 2);
	expect(dev_pass_blocks(&d, UINT64_C(1) << 30) == 1 << 18);
	/* 2^32 threads would be too many. */
	expect(dev_pass_blocks(&d, (UINT64_C(64) << 30) - 4096) == (1 << 24) - 1);
	expect(dev_pass_blocks(&d, UINT64_C(64) << 30) == (1 << 24) - 1);
	expect(dev_pass_blocks(&d, UINT64_C(1) << 50) == (1 << 24) - 1);
}

int main(void)
{
	test(good_lists);
	test(bad_lists);
	test(backends_are_listed);
	test(an_unknown_backend_lists_the_known);
	test(tables_are_checked);
	test(a_missing_slot_is_not_supported);
	test(every_optional_slot_may_be_missing);
	test(without_the_operations_nothing_is_known_of_links);
	test(devices_are_checked_where_that_is_wanted);
	test(a_pass_has_a_vector_a_thread);
	return test_done();
}
