/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A torus as SimGrid's SMPI wants it, so that the unmodified MPI programs run on it.
 */
#ifndef GPUSIG_SIMGRID_H
#define GPUSIG_SIMGRID_H

#include "topology/torus/links.h"

enum { SIMGRID_COMMAND = 768 };

/* Writes torus-SHAPE.xml (a cluster of `nodes` with split duplex links) and torus-SHAPE.hosts (node k is rank k; without
 * it ranks go to hosts in the order of their names) into the current folder, and into `command` the smpirun command
 * that uses them with a model of links that matches profile.h, up to the program's name. What smpirun is told and why:
 *
 *     network/model:CM02, TCP-gamma:0   bandwidth is shared fairly, latency is as given, and no window limits a flow
 *     network/crosstraffic:no           a flow costs nothing in the other direction
 *     smpi/simulate-computation:no      only communication takes time
 *
 * -ENOTSUP for what is not a torus, -EIO with a text for a file that can't be written. */
int simgrid_write(const struct network *network, double link_s, double bytes_per_s, char command[SIMGRID_COMMAND]);

#endif
