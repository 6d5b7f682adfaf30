/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/torus/simgrid.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Writes the text, and frees it. */
static int write_file(const char *path, struct text *content)
{
	const char *bytes = text_whole(content);
	int status = bytes ? 0 : err_note(-ENOMEM, "%s: out of memory", path);
	FILE *file = bytes ? fopen(path, "we") : NULL;
	const bool written = file && fwrite(bytes, content->length, 1, file) == 1;
	/* Closing writes what is left in a buffer, which may fail, too. */
	if (bytes && (!file || fclose(file) != 0 || !written))
		status = err_note(-EIO, "%s: %s", path, strerror(errno));
	text_free(content);
	return status;
}

int simgrid_write(const struct network *network, double link_s, double bytes_per_s,
		  char command[SIMGRID_COMMAND])
{
	char shape[GRID_TEXT], sides[GRID_TEXT], platform[GRID_TEXT + 16], hosts[GRID_TEXT + 16];
	const struct grid *grid = &network->grid;
	struct text cluster = {0}, names = {0};
	if (network->kind != LINKS_TORUS)
		return err_note(-ENOTSUP, "SimGrid export is supported for plain tori only");
	grid_show(grid, shape);
	snprintf(platform, sizeof(platform), "torus-%s.xml", shape);
	snprintf(hosts, sizeof(hosts), "torus-%s.hosts", shape);
	for (size_t i = 0; i <= strlen(shape); i++)
		sides[i] = shape[i] == 'x' ? ',' : shape[i];
	text_add(&cluster,
		 "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
		 "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n"
		 "<cluster id=\"t\" prefix=\"n\" radical=\"0-%u\" suffix=\"\" "
		 "speed=\"1Gf\" bw=\"%.17gBps\" lat=\"%.17gs\" "
		 "topology=\"TORUS\" topo_parameters=\"%s\" "
		 "sharing_policy=\"SPLITDUPLEX\"/>\n</platform>\n",
		 grid->nodes - 1, bytes_per_s, link_s, sides);
	for (uint32_t k = 0; k < grid->nodes; k++)
		text_add(&names, "n%u\n", k);
	int status = write_file(platform, &cluster);
	TRY(status, write_file(hosts, &names));
	text_free(&names);
	snprintf(command, SIMGRID_COMMAND,
		 "smpirun -np %u -platform %s -hostfile %s --cfg=network/model:CM02 "
		 "--cfg=network/crosstraffic:no "
		 "--cfg=network/TCP-gamma:0 --cfg=smpi/send-is-detached-thresh:0 "
		 "--cfg=smpi/simulate-computation:no "
		 "--cfg=smpi/host-speed:1Gf --log=root.thres:error",
		 grid->nodes, platform, hosts);
	return status;
}
