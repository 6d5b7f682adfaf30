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

/* The first path in order of names that fits, "" if there is none. A virtio adapter's interface is
 * one folder deeper than others. */
static void find_first(const char *folder, const char *pattern, char path[PATH_MAX])
{
	char whole[PATH_MAX];
	glob_t found = {0};
	path[0] = '\0';
	if ((size_t)snprintf(whole, sizeof(whole), "%s/%s", folder, pattern) < sizeof(whole) &&
	    glob(whole, 0, NULL, &found) == 0)
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
	char pattern[PATH_MAX];
	glob_t ports = {0};
	if ((size_t)snprintf(pattern, sizeof(pattern), "%s/ports/*", folder) < sizeof(pattern) &&
	    glob(pattern, 0, NULL, &ports) == 0)
		for (size_t i = 0; i < ports.gl_pathc; i++)
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
