/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Topology of this machine by hwloc, as facts of a case.
 */
#ifndef GPUSIG_NODE_MACHINE_H
#define GPUSIG_NODE_MACHINE_H

#include "bench/bench.h"
#include "topology/node/link_facts.h"

#include <hwloc.h>

/* Load this machine's topology; the caller destroys it. -ENOTSUP with the reason where hwloc cannot
 * read /sys, or what it loaded is not of this system. */
int machine_load(hwloc_topology_t *loaded);

/* The machine with the devices of the case in their places, of which `links` has the links. */
void machine_report(struct bench_case *c, hwloc_topology_t topology,
		    const struct device_links *links);

/* The PCI device of a device; NULL where hwloc sees none. */
hwloc_obj_t machine_pci_of(hwloc_topology_t topology, const struct dev *d);

/* The fact device_I: what it is, and where. */
void machine_report_device(struct bench_case *c, size_t at, const char *place);

#endif
