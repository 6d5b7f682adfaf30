/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/pci_ports.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Such as /sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0. */
static bool find_way(const char *folder, const char *bus, char way[PATH_MAX])
{
	char path[PATH_MAX];
	if (!bus[0] || strlen(folder) + strlen(bus) + 2 > sizeof(path))
		return false;
	snprintf(path, sizeof(path), "%s/%s", folder, bus);
	for (char *at = path + strlen(folder); *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return realpath(path, way) != NULL;
}

/* True if it is an address such as 0000:c1:00.0, and not a root such as pci0000:c0. */
static bool is_address(const char *name, size_t length)
{
	unsigned domain, bus, device, function;
	int end = 0;
	return length < PCI_ADDRESS && name[0] != 'p' &&
	       sscanf(name, "%x:%x:%x.%x%n", &domain, &bus, &device, &function, &end) == 4 &&
	       (size_t)end == length;
}

bool pci_shared_port(const char *folder, const char *bus, const char *other, char port[PCI_ADDRESS])
{
	char way[PATH_MAX], others[PATH_MAX];
	if (!find_way(folder, bus, way) || !find_way(folder, other, others))
		return false;
	port[0] = '\0';
	for (const char *at = way, *there = others; *at == '/' && *there == '/';) {
		const size_t length = strcspn(at + 1, "/");
		if (length != strcspn(there + 1, "/") || memcmp(at, there, length + 1) != 0)
			break;
		if (is_address(at + 1, length))
			snprintf(port, PCI_ADDRESS, "%.*s", (int)length, at + 1);
		at += length + 1;
		there += length + 1;
	}
	return true;
}
