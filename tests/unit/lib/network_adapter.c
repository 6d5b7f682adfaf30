/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Network adapters as Linux shows them: with ports of InfiniBand, with an interface alone, with a
 * link that is down, virtual ones.
 */
#include "lib/network_adapter.h"
#include "tests/unit/lib/recorded_machine.h"
#include "tests/unit/test.h"

#define AT(bus, name) "devices/0000:" bus ":00.0/" name

static const char *const files[][2] = {
	{AT("0c", "infiniband/mlx5_0/ports/1/state"), "4: ACTIVE"},
	{AT("0c", "infiniband/mlx5_0/ports/1/rate"), "400 Gb/sec (4X NDR)"},
	{AT("0c", "net/ibs1/operstate"), "down"},
	{AT("0d", "infiniband/mlx4_0/ports/1/state"), "1: DOWN"},
	{AT("0d", "infiniband/mlx4_0/ports/1/rate"), "100 Gb/sec (4X EDR)"},
	{AT("0d", "infiniband/mlx4_0/ports/2/state"), "4: ACTIVE"},
	{AT("0d", "infiniband/mlx4_0/ports/2/rate"), "2.5 Gb/sec (1X SDR)"},
	{AT("0e", "infiniband/mlx5_2/ports/1/state"), "2: INIT"},
	{AT("0e", "infiniband/mlx5_2/ports/1/rate"), "400 Gb/sec (4X NDR)"},
	{AT("0e", "net/ens3/operstate"), "up"},
	{AT("0e", "net/ens3/speed"), "400000"},
	{AT("1a", "net/ens1f0/operstate"), "up"},
	{AT("1a", "net/ens1f0/speed"), "25000"},
	{AT("1b", "net/ens1f1/operstate"), "down"},
	{AT("1b", "net/ens1f1/speed"), "-1"},
	{AT("1c", "virtio2/net/eth0/operstate"), "unknown"},
	{AT("1c", "virtio2/net/eth0/speed"), "-1"},
	{AT("1d", "physfn/vendor"), "0x15b3"},
	{AT("1e", "vendor"), "0x15b3"},
};

static const struct {
	const char *bus, *rdma, *interface;
	unsigned ports;
	enum network_link link;
	double bytes_per_s;
} adapters[] = {
	{"0000:0C:00.0", "mlx5_0", "ibs1", 1, NETWORK_LINK_UP, 50e9},
	{"0000:0d:00.0", "mlx4_0", "", 2, NETWORK_LINK_UP, 312.5e6},
	{"0000:0e:00.0", "mlx5_2", "ens3", 1, NETWORK_LINK_DOWN, 0},
	{"0000:1a:00.0", "", "ens1f0", 0, NETWORK_LINK_UP, 3.125e9},
	{"0000:1b:00.0", "", "ens1f1", 0, NETWORK_LINK_DOWN, 0},
	{"0000:1c:00.0", "", "eth0", 0, NETWORK_LINK_UNKNOWN, 0},
	{"0000:1e:00.0", "", "", 0, NETWORK_LINK_UNKNOWN, 0},
};

static char folder[64];

static void names_link_and_rate(void)
{
	for (size_t i = 0; i < sizeof(adapters) / sizeof(adapters[0]); i++) {
		struct network_adapter a;
		require(network_adapter_read(folder, adapters[i].bus, &a));
		expect_str(a.rdma, adapters[i].rdma);
		expect_str(a.interface, adapters[i].interface);
		expect(a.ports == adapters[i].ports);
		expect(a.link == adapters[i].link);
		expect(a.bytes_per_s <= adapters[i].bytes_per_s &&
		       a.bytes_per_s >= adapters[i].bytes_per_s);
		expect(!a.virtual_function);
	}
}

static void a_virtual_function(void)
{
	struct network_adapter a;
	require(network_adapter_read(folder, "0000:1d:00.0", &a));
	expect(a.virtual_function);
}

static void a_device_that_is_not_there(void)
{
	struct network_adapter a;
	expect(!network_adapter_read(folder, "0000:ff:00.0", &a));
	expect(!network_adapter_read(folder, "", &a));
}

/* Interfaces of hardware, and ports for verbs, which count words. */
static void what_ports_sent(void)
{
	struct network_port ports[NETWORK_PORTS_MAX];
	char class[64];
	snprintf(class, sizeof(class), "%s/class", root);
	write_under_root("123", "class/net/lo/statistics/tx_bytes");
	write_under_root("4096", "class/net/eth0/statistics/tx_bytes");
	write_under_root("up", "class/net/eth0/operstate");
	write_under_root("10000", "class/net/eth0/speed");
	write_under_root("5000", "class/net/veth7/statistics/tx_bytes");
	require(network_ports_read(class, ports) == 2);
	expect_str(ports[0].name, "eth0");
	expect(ports[0].sent_bytes == 4096);
	expect(ports[0].bytes_per_s >= 1.25e9 && ports[0].bytes_per_s <= 1.25e9);
	expect_str(ports[1].name, "veth7");
	write_under_root("0x15b3", "class/net/eth0/device/vendor");
	write_under_root("30", "class/infiniband/mlx5_0/ports/2/counters/port_xmit_data");
	write_under_root("4: ACTIVE", "class/infiniband/mlx5_0/ports/2/state");
	write_under_root("400 Gb/sec (4X NDR)", "class/infiniband/mlx5_0/ports/2/rate");
	write_under_root("1: DOWN", "class/infiniband/mlx5_0/ports/3/state");
	require(network_ports_read(class, ports) == 2);
	expect_str(ports[0].name, "eth0");
	expect_str(ports[1].name, "mlx5_0:2");
	expect(ports[1].sent_bytes == 120);
	expect(ports[1].bytes_per_s >= 50e9 && ports[1].bytes_per_s <= 50e9);
	expect(network_ports_read("/dev/null/none", ports) == 0);
}

static void ports_are_64_at_most(void)
{
	struct network_port ports[NETWORK_PORTS_MAX];
	char class[64], name[64];
	snprintf(class, sizeof(class), "%s/many", root);
	for (unsigned i = 0; i < NETWORK_PORTS_MAX + 3; i++) {
		snprintf(name, sizeof(name), "many/net/e%02u/statistics/tx_bytes", i);
		write_under_root("1", name);
	}
	require(network_ports_read(class, ports) == NETWORK_PORTS_MAX);
	expect_str(ports[NETWORK_PORTS_MAX - 1].name, "e63");
}

int main(void)
{
	require(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/devices", root);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		write_under_root(files[i][1], files[i][0]);
	test(names_link_and_rate);
	test(a_virtual_function);
	test(a_device_that_is_not_there);
	test(what_ports_sent);
	test(ports_are_64_at_most);
	forget_machine();
	return test_done();
}
