/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a torus as a platform of SimGrid's SMPI, so that the unmodified MPI programs run on it.
 */
#ifndef GPUSIG_SIMGRID_H
#define GPUSIG_SIMGRID_H

#include "topology/torus/links.h"

enum { SIMGRID_COMMAND = 768 };

/* Writes two files to the current folder: torus-SHAPE.xml, a cluster with split duplex links, and
 * torus-SHAPE.hosts, which makes node k rank k (without it smpirun sorts hosts by name). Writes to
 * `command` the smpirun command that uses them, up to the program's name. Its options select a
 * network model that matches cost_model.h:
 *
 *     network/model:CM02, TCP-gamma:0   bandwidth is shared fairly, latency is as given, and no
 *                                       window limits a flow
 *     network/crosstraffic:no           a flow takes no bandwidth from the other direction
 *     smpi/simulate-computation:no      only communication takes time
 *
 * -ENOTSUP for a network that is not a torus; -EIO with a text when a file cannot be written. */
int simgrid_write(const struct network *network, double link_s, double bytes_per_s,
		  char command[SIMGRID_COMMAND]);

#endif
