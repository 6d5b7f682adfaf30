/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Network adapters of this machine and how far each is from each device, as facts:
 *
 *     nic_0: rdma=mlx5_0 interface=ibs1 bus=0000:0c:00.0 numa_node=0 link=up bytes_per_s=5e+10
 *     nic_path_3_0: meet=switch port=0000:0a:00.0
 *     nearest_nics_3: nics=0,1 meet=switch
 *     peer_memory: found=none looked_for=/sys/module/a/version,/sys/module/b/version
 *     dma_buf_3: yes
 *
 * The first number of a path is a device's place in --device, the second an adapter's of nic_I.
 * `meet` is the nearest place that the ways of both to memory have in common, in words of struct
 * dev_path; in brackets those of the vendors' tools:
 *
 *     device       they are functions of one PCI device
 *     switch       one PCIe switch, or no more than one bridge (PIX)
 *     switches     PCIe switches, below the host bridge (PXB)
 *     host_bridge  a host bridge, which is the root of PCI buses (PHB)
 *     numa_node    one NUMA node, by two host bridges (NODE)
 *     package      one package, whose NUMA nodes differ or are not told (SYS)
 *     system       different packages: across sockets (SYS)
 *
 * `port` is the bridge where they meet. A nearest adapter is one of the fastest among those whose
 * link is not down; as many are named as are equally near. No adapter is named where one of unknown
 * place might be nearer. In a virtual machine nothing of places is reported, unless the user gives
 * a topology: a hypervisor shows buses of its own. Virtual functions are left out, for their
 * adapter is there. Devices without a PCI address have no paths.
 */
#ifndef GPUSIG_NIC_FACTS_H
#define GPUSIG_NIC_FACTS_H

#include "bench/bench.h"
#include "topology/node/link_facts.h"

#include <hwloc.h>

/* Add the facts; `links` has one entry a device. GPUSIG_PCI_DEVICES is as for
 * dev_upstream_read(). */
void nic_facts_report(struct bench_case *c, hwloc_topology_t topology,
		      const struct device_links *links);

#endif
