/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The nominal rate of what joins a device to the host and to other devices, from what a driver
 * reports.
 */
#include "device/dev.h"
#include "lib/err.h"
#include "tests/unit/lib/recorded_machine.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#define TO_HOST(...)                                                                               \
	{                                                                                          \
		.kind = "PCIe", .state = DEV_LINK_UP, .end = DEV_LINK_TO_HOST, __VA_ARGS__         \
	}
#define LINK(...)                                                                                  \
	{                                                                                          \
		.kind = "XLink", .version = "4.0", .state = DEV_LINK_UP, __VA_ARGS__               \
	}
#define RATES .in_bytes_per_s = 25e9, .out_bytes_per_s = 20e9

static const struct dev_link pcie_5 = TO_HOST(.generation = 1, .lanes = 16, .generation_max = 5,
					      .lanes_max = 16),
			     pcie_4 = TO_HOST(.generation = 4, .lanes = 8, .generation_max = 4,
					      .lanes_max = 8);

/* Links of each device as a test's driver reports them. */
struct board {
	struct dev dev;
	struct dev_links links;
	const char *path_kind, *meet;
	double path_bytes_per_s;
};

static int read_links(struct dev *d, struct dev_links *links)
{
	*links = ((struct board *)(void *)d)->links;
	return 0;
}

static int read_path(struct dev *d, struct dev *other, struct dev_path *path)
{
	const struct board *board = (struct board *)(void *)d;
	memset(path, 0, sizeof(*path));
	snprintf(path->kind, sizeof(path->kind), "%s", board->path_kind);
	snprintf(path->meet, sizeof(path->meet), "%s", board->meet);
	path->bytes_per_s = board->path_bytes_per_s;
	return 0;
}

static const struct dev_ops ops = {
	.name = "board", .links_read = read_links, .path_read = read_path};

static struct board board_with(unsigned index, const struct dev_link *first,
			       const struct dev_link *others, size_t count)
{
	struct board b = {.dev = {.ops = &ops, .index = index}, .path_kind = "", .meet = ""};
	snprintf(b.dev.props.bus, sizeof(b.dev.props.bus), "0000:0%c:00.0", 'a' + (int)index);
	b.links.link[b.links.count++] = *first;
	for (size_t i = 0; i < count; i++)
		b.links.link[b.links.count++] = others[i];
	return b;
}

static void pcie_has_known_rates(void)
{
	expect_near(dev_pcie_bytes_per_s(1, 1), 0.25e9, 1);
	expect_near(dev_pcie_bytes_per_s(2, 8), 4.0e9, 1);
	expect_near(dev_pcie_bytes_per_s(3, 16), 15.754e9, 0.0005e9);
	expect_near(dev_pcie_bytes_per_s(4, 16), 31.508e9, 0.0005e9);
	expect_near(dev_pcie_bytes_per_s(5, 16), 63.015e9, 0.0005e9);
	expect_near(dev_pcie_bytes_per_s(6, 16), 128e9, 1);
	expect_near(dev_pcie_bytes_per_s(0, 16), 0, 0);
	expect_near(dev_pcie_bytes_per_s(7, 16), 0, 0);
	expect_near(dev_pcie_bytes_per_s(5, 0), 0, 0);
}

static void an_idle_link_is_taken_at_its_maximum(void)
{
	struct dev_link_limit limit;
	struct board b = board_with(0, &pcie_5, NULL, 0);
	require(dev_host_limit_read(&b.dev, &limit) == 0);
	expect_str(limit.link, "PCIe 5 x16");
	expect_near(limit.in_bytes_per_s, dev_pcie_bytes_per_s(5, 16), 0);
	expect_near(limit.out_bytes_per_s, limit.in_bytes_per_s, 0);
	/* A driver that reports less than the link does is wrong about its maximum. */
	b.links.link[0].generation_max = 3;
	b.links.link[0].generation = 4;
	require(dev_host_limit_read(&b.dev, &limit) == 0);
	expect_str(limit.link, "PCIe 4 x16");
}

static void expect_no_limit(struct board *b)
{
	struct dev_link_limit limit = {.link = "kept"};
	err_clear();
	expect(dev_host_limit_read(&b->dev, &limit) == -ENODATA && err_text()[0]);
	expect_str(limit.link, "kept");
}

static void what_is_unknown_limits_nothing(void)
{
	const struct dev_ops bare_ops = {.name = "bare"};
	struct board b = board_with(0, &pcie_5, NULL, 0), bare = {.dev = {.ops = &bare_ops}};
	expect_no_limit(&bare);
	b.links.coherent_host = true;
	expect_no_limit(&b);
	b.links.coherent_host = false;
	b.links.link[0].generation_max = 0;
	expect_no_limit(&b);
	b.links.link[0].generation_max = 5;
	b.links.link[0].lanes_max = 0;
	expect_no_limit(&b);
	b.links.link[0].lanes_max = 16;
	b.links.link[0].generation_max = 9;
	expect_no_limit(&b);
}

static void other_links_to_the_host_replace_pcie(void)
{
	const struct dev_link to_host[] = {LINK(.end = DEV_LINK_TO_HOST, RATES),
					   LINK(.end = DEV_LINK_TO_HOST, RATES),
					   LINK(.end = DEV_LINK_TO_DEVICE, RATES)};
	struct dev_link_limit limit;
	struct board b = board_with(0, &pcie_5, to_host, 3);
	b.links.coherent_host = true;
	require(dev_host_limit_read(&b.dev, &limit) == 0);
	expect_str(limit.link, "2 XLink 4.0");
	expect_near(limit.in_bytes_per_s, 50e9, 0);
	expect_near(limit.out_bytes_per_s, 40e9, 0);
}

static void peers_are_as_fast_as_their_path(void)
{
	struct dev_link_limit limit;
	struct board a = board_with(0, &pcie_5, NULL, 0), b = board_with(1, &pcie_4, NULL, 0);
	a.path_kind = b.path_kind = "XLink";
	expect(dev_peer_limit_read(&a.dev, &b.dev, &limit) == -ENODATA);
	a.path_bytes_per_s = 30e9;
	b.path_bytes_per_s = 40e9;
	require(dev_peer_limit_read(&a.dev, &b.dev, &limit) == 0);
	expect_str(limit.link, "XLink");
	expect_near(limit.out_bytes_per_s, 30e9, 0);
	expect_near(limit.in_bytes_per_s, 40e9, 0);
	a.path_kind = b.path_kind = "PCIe";
	a.path_bytes_per_s = b.path_bytes_per_s = 0;
	require(dev_peer_limit_read(&a.dev, &b.dev, &limit) == 0);
	expect_str(limit.link, "PCIe 4 x8");
	expect_near(limit.in_bytes_per_s, dev_pcie_bytes_per_s(4, 8), 0);
}

/* Two links to each other, of which one is down; then links to a switch, of which one board has
 * fewer. */
static void peers_are_as_fast_as_their_links(void)
{
	const struct dev_link to_b[] = {
		LINK(.end = DEV_LINK_TO_DEVICE, .end_bus = "0000:0B:00.0", RATES),
		{.kind = "XLink", .state = DEV_LINK_DOWN},
		LINK(.end = DEV_LINK_TO_DEVICE, .end_bus = "0000:0c:00.0", RATES)};
	const struct dev_link to_a[] = {
		LINK(.end = DEV_LINK_TO_DEVICE, .end_bus = "0000:0a:00.0", RATES)};
	const struct dev_link switched[] = {LINK(.end = DEV_LINK_TO_SWITCH, RATES),
					    LINK(.end = DEV_LINK_TO_SWITCH, RATES),
					    LINK(.end = DEV_LINK_TO_SWITCH, RATES)};
	struct dev_link_limit limit;
	struct board a = board_with(0, &pcie_5, to_b, 3), b = board_with(1, &pcie_5, to_a, 1);
	a.path_kind = b.path_kind = "XLink";
	require(dev_peer_limit_read(&a.dev, &b.dev, &limit) == 0);
	expect_str(limit.link, "XLink 4.0");
	expect_near(limit.out_bytes_per_s, 20e9, 0);
	expect_near(limit.in_bytes_per_s, 20e9, 0);
	a = board_with(0, &pcie_5, switched, 3);
	b = board_with(1, &pcie_5, switched, 2);
	a.path_kind = b.path_kind = "XLink";
	require(dev_peer_limit_read(&a.dev, &b.dev, &limit) == 0);
	expect_str(limit.link, "2 XLink 4.0");
	expect_near(limit.out_bytes_per_s, 50e9, 0);
	expect_near(limit.in_bytes_per_s, 40e9, 0);
}

static void expect_upstream(struct board *a, struct board *b, enum dev_upstream_state state,
			    const char *port)
{
	struct dev_upstream upstream;
	require(dev_upstream_read(&a->dev, &b->dev, &upstream) == 0);
	expect(upstream.state == state);
	expect_str(upstream.port, port);
	expect((upstream.why[0] != '\0') == (state == DEV_UPSTREAM_UNKNOWN));
}

static void ways_to_the_host_meet_where_the_driver_says(void)
{
	struct board a = board_with(0, &pcie_5, NULL, 0), b = board_with(1, &pcie_4, NULL, 0);
	setenv("GPUSIG_PCI_DEVICES", "/dev/null", 1);
	expect_upstream(&a, &b, DEV_UPSTREAM_UNKNOWN, "");
	a.meet = "switches";
	expect_upstream(&a, &b, DEV_UPSTREAM_SHARED, "");
	a.meet = "host_bridge";
	expect_upstream(&a, &b, DEV_UPSTREAM_APART, "");
	a.meet = "numa_node";
	expect_upstream(&a, &b, DEV_UPSTREAM_UNKNOWN, "");
	unsetenv("GPUSIG_PCI_DEVICES");
}

/* The two are behind one switch, or not: what Linux shows goes before what the driver says. */
static void the_system_goes_before_the_driver(void)
{
	struct board a = board_with(0, &pcie_5, NULL, 0), b = board_with(1, &pcie_4, NULL, 0);
	char folder[64];
	require(mkdtemp(root));
	write_under_root("0x10de", "sys/pci0000:09/0000:09:01.0/0000:0a:00.0/vendor");
	write_under_root("0x10de", "sys/pci0000:09/0000:09:01.0/0000:0b:00.0/vendor");
	snprintf(folder, sizeof(folder), "%s/sys/pci0000:09/0000:09:01.0", root);
	a.meet = "system";
	setenv("GPUSIG_PCI_DEVICES", folder, 1);
	expect_upstream(&a, &b, DEV_UPSTREAM_SHARED, "0000:09:01.0");
	unsetenv("GPUSIG_PCI_DEVICES");
	forget_machine();
}

static void peer_memory_is_the_first_file_that_is_there(void)
{
	static const char *const files[] = {"/sys/module/one/version", "/sys/peers/other/version",
					    NULL};
	struct dev_ops own_ops = {.name = "test", .peer_memory_files = files};
	const struct dev dev = {.ops = &own_ops};
	strcpy(root + strlen(root) - 6, "XXXXXX");
	require(mkdtemp(root));
	write_under_root("1.0", "sys/module/none/version");
	expect(dev_peer_memory_file(&dev, root) == NULL);
	write_under_root("1.0", "sys/peers/other/version");
	expect_str(dev_peer_memory_file(&dev, root), files[1]);
	write_under_root("1.0", "sys/module/one/version");
	expect_str(dev_peer_memory_file(&dev, root), files[0]);
	own_ops.peer_memory_files = NULL;
	expect(dev_peer_memory_file(&dev, root) == NULL);
	forget_machine();
}

static void simulated_devices_report_their_model(void)
{
	struct dev_set set;
	struct dev_link_limit limit;
	require(dev_open("sim:quiet:0,1", 0, &set) == 0);
	require(dev_host_limit_read(set.dev[0], &limit) == 0);
	expect_str(limit.link, "link");
	expect_near(limit.in_bytes_per_s, 25e9, 0);
	expect_near(limit.out_bytes_per_s, 25e9, 0);
	require(dev_peer_limit_read(set.dev[0], set.dev[1], &limit) == 0);
	expect_near(limit.in_bytes_per_s, 50e9, 0);
	dev_close(&set);
	/* Also in a virtual machine. */
	struct dev_upstream upstream;
	require(dev_open("sim:quiet?uplink_devices=2,uplink_bandwidth=1e9:0-2", 0, &set) == 0);
	require(dev_upstream_read(set.dev[0], set.dev[1], &upstream) == 0);
	expect(upstream.state == DEV_UPSTREAM_SHARED);
	require(dev_upstream_read(set.dev[1], set.dev[2], &upstream) == 0);
	expect(upstream.state == DEV_UPSTREAM_APART);
	dev_close(&set);
}

int main(void)
{
	test(pcie_has_known_rates);
	test(an_idle_link_is_taken_at_its_maximum);
	test(what_is_unknown_limits_nothing);
	test(other_links_to_the_host_replace_pcie);
	test(peers_are_as_fast_as_their_path);
	test(peers_are_as_fast_as_their_links);
	test(ways_to_the_host_meet_where_the_driver_says);
	test(the_system_goes_before_the_driver);
	test(peer_memory_is_the_first_file_that_is_there);
	test(simulated_devices_report_their_model);
	return test_done();
}
