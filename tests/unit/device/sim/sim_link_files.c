/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links of simulated devices that a file lists.
 */
#include "tests/unit/device/sim/sim_node.h"

static char links_path[256];

/* A file of links next to those that sim_try() writes. */
static const char *write_links(const char *text)
{
	const char *folder = getenv("TMPDIR");
	snprintf(links_path, sizeof(links_path), "%s/gpusig-XXXXXX.links",
		 folder && folder[0] ? folder : "/tmp");
	int file = mkstemps(links_path, 6);
	require(file >= 0);
	require(write(file, text, strlen(text)) == (ssize_t)strlen(text));
	close(file);
	return strrchr(links_path, '/') + 1;
}

static const char *file_model(const char *before, const char *links)
{
	static char model[2000];
	snprintf(model, sizeof(model), "%slinks = %s\n", before, links);
	return model;
}

static void a_file_says_which_links_there_are(void)
{
	static const char *const way[] = {"0>1"};
	struct dev_path path;
	const char *name = write_links("0-1 = 20e9 65\n0-2 = 20e9\n#\n 1-3=10e9   9 # slow\n"
				       "2-3\t= 20e9 5\n3>4 = 20e9\t11\n4>0 = 5e9\n");
	begin_node(file_model(ONLY_LINKS "devices = 5\npeer_latency_ns = 300\n", name), ":0,3");
	/* Over 1, the lower number: 65 + 9. Nothing limits injection. */
	expect_each(way, 1, 65 + 9 + bytes / 10);
	ok(dev_path_read(sim.d, sim.other, &path));
	expect(path.hops == 2);
	expect_str(path.access, "yes");
	expect_near(path.bytes_per_s, 10e9, 0);
	/* Back over 1, not over 4. */
	ok(dev_path_read(sim.other, sim.d, &path));
	expect(path.hops == 2);
	sim_end();
	/* 4>0>2, and back 2>3>4. */
	begin_node(file_model(ONLY_LINKS "devices = 5\npeer_latency_ns = 300\n", links_path),
		   ":4,2");
	expect_each(way, 1, 300 + 300 + bytes / 5);
	static const char *const back[] = {"1>0"};
	expect_each(back, 1, 5 + 11 + bytes / 20);
	sim_end();
	/* A line of the model wins. */
	begin_node(file_model(ONLY_LINKS "devices = 5\npeer_latency_ns 4>0 = 1\n"
					 "peer_bandwidth 4>0 = 8e9\n",
			      links_path),
		   ":4,0");
	expect_each(way, 1, 1 + bytes / 8);
	sim_end();
	unlink(links_path);
}

static void devices_that_no_links_join_are_no_peers(void)
{
	struct dev_path path;
	const char *name = write_links("0>1 = 1e9\n1>2 = 1e9\n2>1 = 1e9\n");
	ok(sim_try(file_model(PLAIN "devices = 3\n", name), ":0,2"));
	expect_error(dev_peer_enable(sim.d, sim.other), -ENOTSUP);
	expect_str(err_text(), "sim:0: no links from sim:2");
	expect_error(dev_peer_enable(sim.other, sim.d), -ENOTSUP);
	expect_str(err_text(), "sim:2: no links to sim:0");
	ok(dev_path_read(sim.d, sim.other, &path));
	expect_str(path.access, "not_supported");
	expect(path.hops == 0);
	sim_end();
	ok(sim_try(file_model(PLAIN "devices = 3\n", name), ":1,2"));
	ok(dev_peer_enable(sim.d, sim.other));
	sim_end();
	unlink(links_path);
}

static void lines_of_a_model_are_its_links(void)
{
	static const char *const way[] = {"0>1"};
	static const char links[] = "devices = 4\nlinks = pairs\npeer_latency_ns = 300\n"
				    "peer_bandwidth 0>1 = 20e9\npeer_bandwidth 1>3 = 10e9\n"
				    "peer_latency_ns 1>3 = 9\npeer_bandwidth 3>0 = 5e9\n";
	struct dev_path path;
	char model[1000];
	snprintf(model, sizeof(model), ONLY_LINKS "%s", links);
	begin_node(model, ":0,3");
	/* Over 1. */
	expect_each(way, 1, 300 + 9 + bytes / 10);
	ok(dev_path_read(sim.other, sim.d, &path));
	expect(path.hops == 1);
	sim_end();
	ok(sim_try(model, ":0,2"));
	expect_error(dev_peer_enable(sim.d, sim.other), -ENOTSUP);
	sim_end();
	snprintf(model, sizeof(model), PLAIN "%speer_latency_ns 0>3 = 1\n", links);
	expect_error(sim_try(model, ""), -EINVAL);
	expect(strstr(err_text(), "peer_latency_ns 0>3: no link of 'pairs'"));
}

static void bad_files_are_refused_with_their_line(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"0>1 = 1e9\n\n0>1", ":3: '0>1' is not a link, such as 0>1 = 50e9 700"},
		{"0+1 = 1e9", ":1: '0+1' is not an ordered pair of devices"},
		{"0>0 = 1e9", ":1: '0>0': a pair needs two different devices"},
		{"0>3 = 1e9", ":1: 0>3: devices are 0 to 2"},
		{"0-1 = 1e9\n1>0 = 1e9", ":2: 1>0 is set twice"},
		{"0>1 = 0", ":1: bandwidth = 0 is outside"},
		{"0>1 = 1e9 -1", ":1: latency_ns = -1 is outside"},
		{"0>1 = 1e9 1 1", ":1: latency_ns = '1 1' is not a number"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *name = write_links(bad[i].text);
		expect_error(sim_try(file_model(PLAIN "devices = 3\n", name), ""), -EINVAL);
		if (!strstr(err_text(), bad[i].says))
			printf("# %s\n", err_text());
		expect(strstr(err_text(), bad[i].says) && strstr(err_text(), name));
		unlink(links_path);
	}
	/* A line of the model for a link that the file lacks. */
	const char *name = write_links("0>1 = 1e9\n");
	expect_error(sim_try(file_model(PLAIN "peer_latency_ns 1>0 = 1\n", name), ""), -EINVAL);
	expect(strstr(err_text(), "peer_latency_ns 1>0: no link of"));
	unlink(links_path);
}

/* A line of 64 devices: 63 links up and 63 down are more than a flow can pass. */
static void a_way_that_is_too_long_is_refused(void)
{
	char text[2000];
	size_t used = 0;
	for (unsigned i = 0; i < 63 && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%u-%u = 20e9\n", i,
					 i + 1);
	require(used < sizeof(text));
	begin_node(file_model(ONLY_LINKS "peer_latency_ns = 2\n", write_links(text)), ":0,63");
	static const char *const up[] = {"0>1"}, *const down[] = {"1>0"};
	expect_each(up, 1, 63 * 2 + bytes / 20);
	expect_each(down, 1, 63 * 2 + bytes / 20);
	expect_error(
		dev_copy(sim.d, node.stream[0][1], node.memory[1], node.memory[1] + BYTES, BYTES),
		-ENOTSUP);
	expect(strstr(err_text(), "passes 126 links between devices; the limit is 72"));
	sync_streams();
	sim_end();
	unlink(links_path);
}

int main(void)
{
	test(a_file_says_which_links_there_are);
	test(devices_that_no_links_join_are_no_peers);
	test(lines_of_a_model_are_its_links);
	test(bad_files_are_refused_with_their_line);
	test(a_way_that_is_too_long_is_refused);
	return test_done();
}
