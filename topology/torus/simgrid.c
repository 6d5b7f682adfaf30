/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/torus/simgrid.h"
#include "lib/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_file(const char *path, const char *text, size_t length)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), cause = 0;
	if (file < 0)
		return err_note(-EIO, "%s: %s", path, strerror(errno));
	while (length > 0 && cause == 0) {
		ssize_t done = write(file, text, length);
		if (done < 0 && errno != EINTR)
			cause = errno;
		text += done > 0 ? done : 0;
		length -= done > 0 ? (size_t)done : 0;
	}
	if (close(file) != 0 && cause == 0)
		cause = errno;
	return cause ? err_note(-EIO, "%s: %s", path, strerror(cause)) : 0;
}

static int write_hosts(const char *path, uint32_t nodes)
{
	size_t capacity = (size_t)nodes * 12, used = 0;
	char *text = malloc(capacity);
	if (!text)
		return err_note(-ENOMEM, "%s: out of memory", path);
	for (uint32_t k = 0; k < nodes; k++)
		used += (size_t)snprintf(text + used, capacity - used, "n%u\n", k);
	int status = write_file(path, text, used);
	free(text);
	return status;
}

int simgrid_write(const struct network *network, double link_s, double bytes_per_s,
		  char command[SIMGRID_COMMAND])
{
	char shape[GRID_TEXT], sides[GRID_TEXT], platform[GRID_TEXT + 16], hosts[GRID_TEXT + 16],
		text[1024];
	const struct grid *grid = &network->grid;
	if (network->kind != LINKS_TORUS)
		return err_note(-ENOTSUP, "SimGrid export is supported for plain tori only");
	grid_show(grid, shape);
	snprintf(platform, sizeof(platform), "torus-%s.xml", shape);
	snprintf(hosts, sizeof(hosts), "torus-%s.hosts", shape);
	for (size_t i = 0; i <= strlen(shape); i++)
		sides[i] = shape[i] == 'x' ? ',' : shape[i];
	int length = snprintf(text, sizeof(text),
			      "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
			      "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n"
			      "<cluster id=\"t\" prefix=\"n\" radical=\"0-%u\" suffix=\"\" "
			      "speed=\"1Gf\" bw=\"%.17gBps\" lat=\"%.17gs\" "
			      "topology=\"TORUS\" topo_parameters=\"%s\" "
			      "sharing_policy=\"SPLITDUPLEX\"/>\n</platform>\n",
			      grid->nodes - 1, bytes_per_s, link_s, sides);
	int status = write_file(platform, text, (size_t)length);
	if (status == 0)
		status = write_hosts(hosts, grid->nodes);
	if (status)
		return status;
	snprintf(command, SIMGRID_COMMAND,
		 "smpirun -np %u -platform %s -hostfile %s --cfg=network/model:CM02 "
		 "--cfg=network/crosstraffic:no "
		 "--cfg=network/TCP-gamma:0 --cfg=smpi/send-is-detached-thresh:0 "
		 "--cfg=smpi/simulate-computation:no "
		 "--cfg=smpi/host-speed:1Gf --log=root.thres:error",
		 grid->nodes, platform, hosts);
	return 0;
}
