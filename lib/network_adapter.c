/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/network_adapter.h"
#include "lib/first_line.h"

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In order of names; the caller frees what it finds. */
static size_t find_all(const char *folder, const char *pattern, glob_t *found)
{
	char whole[PATH_MAX];
	*found = (glob_t){0};
	if ((size_t)snprintf(whole, sizeof(whole), "%s/%s", folder, pattern) < sizeof(whole))
		glob(whole, 0, NULL, found);
	return found->gl_pathc;
}

/* The first path in order of names that fits, "" if there is none. A virtio adapter's interface is
 * one folder deeper than others. */
static void find_first(const char *folder, const char *pattern, char path[PATH_MAX])
{
	glob_t found;
	path[0] = '\0';
	if (find_all(folder, pattern, &found))
		snprintf(path, PATH_MAX, "%s", found.gl_pathv[0]);
	globfree(&found);
}

static bool read_in(const char *folder, const char *name, char *line, size_t capacity)
{
	char path[PATH_MAX];
	return (size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path) &&
	       first_line_read(path, line, capacity);
}

/* "4: ACTIVE", "1: DOWN" and others that carry nothing; "400 Gb/sec (4X NDR)". */
static void add_port(const char *folder, struct network_adapter *a)
{
	char state[64], rate[64];
	a->ports++;
	if (!read_in(folder, "state", state, sizeof(state)))
		return;
	if (strncmp(state, "4:", 2) != 0) {
		if (a->link == NETWORK_LINK_UNKNOWN)
			a->link = NETWORK_LINK_DOWN;
		return;
	}
	a->link = NETWORK_LINK_UP;
	if (!read_in(folder, "rate", rate, sizeof(rate)))
		return;
	char *unit;
	const double bytes_per_s = strtod(rate, &unit) * 1e9 / 8;
	if (strncmp(unit, " Gb/sec", 7) == 0 && bytes_per_s > a->bytes_per_s)
		a->bytes_per_s = bytes_per_s;
}

static void read_ports(const char *folder, struct network_adapter *a)
{
	glob_t ports;
	const size_t count = find_all(folder, "ports/*", &ports);
	for (size_t i = 0; i < count; i++)
		add_port(ports.gl_pathv[i], a);
	globfree(&ports);
}

/* The speed of a link that is down cannot be read, and one that is unknown is -1. */
static void read_interface(const char *folder, struct network_adapter *a)
{
	char state[64] = "", speed[64];
	read_in(folder, "operstate", state, sizeof(state));
	if (strcmp(state, "up") == 0)
		a->link = NETWORK_LINK_UP;
	else if (strcmp(state, "down") == 0 || strcmp(state, "lowerlayerdown") == 0)
		a->link = NETWORK_LINK_DOWN;
	if (a->link == NETWORK_LINK_UP && read_in(folder, "speed", speed, sizeof(speed))) {
		const long megabits_per_s = strtol(speed, NULL, 10);
		a->bytes_per_s = megabits_per_s > 0 ? (double)megabits_per_s * 1e6 / 8 : 0;
	}
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool network_adapter_read(const char *folder, const char *bus, struct network_adapter *adapter)
{
	char device[PATH_MAX], path[PATH_MAX];
	*adapter = (struct network_adapter){0};
	if (!bus[0] ||
	    (size_t)snprintf(device, sizeof(device), "%s/%s", folder, bus) >= sizeof(device))
		return false;
	for (char *at = device + strlen(folder); *at; at++)
		*at = (char)tolower((unsigned char)*at);
	if (access(device, F_OK) != 0)
		return false;
	find_first(device, "physfn", path);
	adapter->virtual_function = path[0] != '\0';
	find_first(device, "net/*", path);
	if (!path[0])
		find_first(device, "virtio*/net/*", path);
	snprintf(adapter->interface, sizeof(adapter->interface), "%.31s", last_part(path));
	if (path[0])
		read_interface(path, adapter);
	find_first(device, "infiniband/*", path);
	snprintf(adapter->rdma, sizeof(adapter->rdma), "%.63s", last_part(path));
	if (path[0]) {
		adapter->link = NETWORK_LINK_UNKNOWN;
		adapter->bytes_per_s = 0;
		read_ports(path, adapter);
	}
	return true;
}

/* ------------------------------------------------------------------ what ports sent */

struct port_list {
	struct network_port *ports;
	size_t count;
};

static bool is_hardware(const char *interface)
{
	char device[PATH_MAX];
	return (size_t)snprintf(device, sizeof(device), "%s/device", interface) < sizeof(device) &&
	       access(device, F_OK) == 0;
}

static void add_counted(struct port_list *list, const char *folder, const char *counter,
			uint64_t unit_bytes, struct network_port port)
{
	char count[64];
	if (list->count == NETWORK_PORTS_MAX || !read_in(folder, counter, count, sizeof(count)))
		return;
	port.sent_bytes = strtoull(count, NULL, 10) * unit_bytes;
	list->ports[list->count++] = port;
}

static void add_interface(struct port_list *list, const char *folder)
{
	struct network_adapter a = {0};
	struct network_port port;
	read_interface(folder, &a);
	port.bytes_per_s = a.bytes_per_s;
	snprintf(port.name, sizeof(port.name), "%.31s", last_part(folder));
	if (strcmp(port.name, "lo") != 0)
		add_counted(list, folder, "statistics/tx_bytes", 1, port);
}

/* ".../infiniband/mlx5_0/ports/1". The counter is of words of four bytes. */
static void add_verbs(struct port_list *list, const char *folder)
{
	struct network_adapter a = {0};
	struct network_port port;
	const char *number = last_part(folder), *end = number - sizeof("/ports"), *name = end;
	while (name[-1] != '/')
		name--;
	add_port(folder, &a);
	port.bytes_per_s = a.bytes_per_s;
	snprintf(port.name, sizeof(port.name), "%.*s:%.3s",
		 (int)(end - name < 28 ? end - name : 28), name, number);
	add_counted(list, folder, "counters/port_xmit_data", 4, port);
}

size_t network_ports_read(const char *folder, struct network_port *ports)
{
	struct port_list list = {ports, 0};
	glob_t found;
	size_t hardware = 0;
	const size_t interfaces = find_all(folder, "net/*", &found);
	for (size_t i = 0; i < interfaces; i++)
		hardware += is_hardware(found.gl_pathv[i]);
	for (size_t i = 0; i < interfaces; i++)
		if (!hardware || is_hardware(found.gl_pathv[i]))
			add_interface(&list, found.gl_pathv[i]);
	globfree(&found);
	const size_t verbs = find_all(folder, "infiniband/*/ports/*", &found);
	for (size_t i = 0; i < verbs; i++)
		add_verbs(&list, found.gl_pathv[i]);
	globfree(&found);
	return list.count;
}
