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

int main(void)
{
	require(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/devices", root);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		write_under_root(files[i][1], files[i][0]);
	test(names_link_and_rate);
	test(a_virtual_function);
	test(a_device_that_is_not_there);
	forget_machine();
	return test_done();
}
