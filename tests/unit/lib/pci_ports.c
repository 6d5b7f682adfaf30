/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports of a machine as Linux shows it: two devices behind one switch, one behind a switch below
 * that, one behind a root port of the same root, one of another root, and one behind a VMD, whose
 * buses are of a domain of their own.
 */
#include "lib/pci_ports.h"
#include "tests/unit/lib/recorded_machine.h"
#include "tests/unit/test.h"

#define SWITCH "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/"
static const char *const ways[] = {
	SWITCH "0000:c2:00.0/0000:c3:00.0",
	SWITCH "0000:c2:01.0/0000:c4:00.0",
	SWITCH "0000:c2:02.0/0000:c5:00.0/0000:c6:00.0/0000:c7:00.0",
	"sys/devices/pci0000:c0/0000:c0:03.1/0000:c9:00.0",
	"sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0",
	"sys/devices/pci0000:c0/0000:c0:05.5/pci10000:00/10000:00:02.0/10000:01:00.0",
	"sys/devices/pci0000:c0/0000:c0:05.5/pci10000:00/10000:00:03.0/10000:02:00.0",
};

static char folder[64];

static void write_machine(void)
{
	char path[256], link[128], target[256];
	require(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/devices", root);
	require(mkdir(folder, 0700) == 0);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		snprintf(path, sizeof(path), "%s/vendor", ways[i]);
		write_under_root("0x10de", path);
		snprintf(link, sizeof(link), "%s%s", folder, strrchr(ways[i], '/'));
		snprintf(target, sizeof(target), "../%s", ways[i]);
		require(symlink(target, link) == 0);
	}
}

static const struct {
	const char *bus, *other, *port;
} pairs[] = {
	{"0000:c3:00.0", "0000:c4:00.0", "0000:c1:00.0"},
	{"0000:C3:00.0", "0000:c7:00.0", "0000:c1:00.0"},
	{"0000:c3:00.0", "0000:c9:00.0", ""},
	{"0000:c3:00.0", "0000:01:00.0", ""},
	{"0000:c3:00.0", "0000:c3:00.0", "0000:c3:00.0"},
	{"10000:01:00.0", "10000:02:00.0", "0000:c0:05.5"},
	{"10000:01:00.0", "0000:c9:00.0", ""},
};

static void the_last_port_of_both_ways(void)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char port[PCI_ADDRESS] = "left";
		expect(pci_shared_port(folder, pairs[i].bus, pairs[i].other, port));
		expect_str(port, pairs[i].port);
		expect(pci_shared_port(folder, pairs[i].other, pairs[i].bus, port));
		expect_str(port, pairs[i].port);
	}
}

static void a_device_that_is_not_there(void)
{
	char port[PCI_ADDRESS];
	expect(!pci_shared_port(folder, "0000:c3:00.0", "0000:ff:00.0", port));
	expect(!pci_shared_port(folder, "", "0000:c3:00.0", port));
	expect(!pci_shared_port("/dev/null/nowhere", "0000:c3:00.0", "0000:c4:00.0", port));
}

int main(void)
{
	write_machine();
	test(the_last_port_of_both_ways);
	test(a_device_that_is_not_there);
	forget_machine();
	return test_done();
}
