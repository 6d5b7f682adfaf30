/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/node/nic_facts.h"
#include "lib/network_adapter.h"
#include "lib/pci_ports.h"
#include "lib/processor.h"
#include "lib/text.h"
#include "topology/node/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NICS_MAX 64

/* From near to far. */
enum meeting { ONE_DEVICE, SWITCH, SWITCHES, HOST_BRIDGE, NUMA_NODE, PACKAGE, SYSTEM, UNKNOWN };

static const char *const meeting_words[] = {"device",    "switch",  "switches", "host_bridge",
					    "numa_node", "package", "system",   "unknown"};

struct nic {
	hwloc_obj_t pci;
	char bus[PCI_ADDRESS];
	struct network_adapter adapter;
};

struct nics {
	hwloc_topology_t topology;
	size_t count, left_out;
	struct nic nic[NICS_MAX];
	enum meeting meeting[NICS_MAX]; /* with the device that is at hand */
};

/* ---------------------------------------------------------------- finding */

static void find_nics(struct nics *n)
{
	const char *given = getenv("GPUSIG_PCI_DEVICES"),
		   *folder = given ? given : "/sys/bus/pci/devices";
	for (hwloc_obj_t o = NULL; (o = hwloc_get_next_pcidev(n->topology, o));) {
		const struct hwloc_pcidev_attr_s *pci = &o->attr->pcidev;
		struct nic nic = {.pci = o};
		if (pci->class_id >> 8 != 0x02)
			continue;
		snprintf(nic.bus, sizeof(nic.bus), "%04x:%02x:%02x.%x", pci->domain, pci->bus,
			 pci->dev, pci->func);
		network_adapter_read(folder, nic.bus, &nic.adapter);
		if (nic.adapter.virtual_function)
			continue;
		if (n->count < NICS_MAX)
			n->nic[n->count++] = nic;
		else
			n->left_out++;
	}
}

/* ---------------------------------------------------------------- distance */

/* The object where the ways of both to the root meet. hwloc_get_common_ancestor_obj() goes by
 * depth, which bridges below bridges do not have. */
static hwloc_obj_t find_meeting_place(hwloc_obj_t a, hwloc_obj_t b)
{
	for (hwloc_obj_t at = a->parent; at; at = at->parent)
		for (hwloc_obj_t there = b->parent; there; there = there->parent)
			if (at == there)
				return at;
	return NULL;
}

static unsigned count_bridges(hwloc_obj_t device, hwloc_obj_t place)
{
	unsigned count = 0;
	for (hwloc_obj_t at = device->parent; at && at != place; at = at->parent)
		count++;
	return count;
}

/* NULL: unknown. */
static hwloc_obj_t package_of(hwloc_topology_t topology, hwloc_obj_t near)
{
	if (near->type == HWLOC_OBJ_PACKAGE)
		return near;
	hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, near);
	if (!package && hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE) == 1)
		package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
	return package;
}

/* The number of the one NUMA node that a PCI device is next to; -1: unknown, or there are several.
 */
static int node_of(hwloc_topology_t topology, hwloc_obj_t pci)
{
	hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, pci);
	return near->nodeset && hwloc_bitmap_weight(near->nodeset) == 1
		       ? hwloc_bitmap_first(near->nodeset)
		       : -1;
}

static enum meeting find_meeting_of_parts(hwloc_topology_t topology, hwloc_obj_t a, hwloc_obj_t b)
{
	const int node = node_of(topology, a);
	if (node >= 0 && node == node_of(topology, b))
		return NUMA_NODE;
	hwloc_obj_t one = package_of(topology, hwloc_get_non_io_ancestor_obj(topology, a)),
		    other = package_of(topology, hwloc_get_non_io_ancestor_obj(topology, b));
	if (!one || !other)
		return UNKNOWN;
	return one == other ? PACKAGE : SYSTEM;
}

static bool is_one_device(const struct hwloc_pcidev_attr_s *a, const struct hwloc_pcidev_attr_s *b)
{
	return a->domain == b->domain && a->bus == b->bus && a->dev == b->dev;
}

static enum meeting find_meeting(hwloc_topology_t topology, hwloc_obj_t a, hwloc_obj_t b)
{
	if (is_one_device(&a->attr->pcidev, &b->attr->pcidev))
		return ONE_DEVICE;
	hwloc_obj_t place = find_meeting_place(a, b);
	if (!place || place->type != HWLOC_OBJ_BRIDGE)
		return find_meeting_of_parts(topology, a, b);
	if (place->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST)
		return HOST_BRIDGE;
	return count_bridges(a, place) <= 1 && count_bridges(b, place) <= 1 ? SWITCH : SWITCHES;
}

/* ---------------------------------------------------------------- nearest */

static double find_highest_rate(const struct nics *n)
{
	double highest = 0;
	for (size_t i = 0; i < n->count; i++)
		if (n->nic[i].adapter.bytes_per_s > highest)
			highest = n->nic[i].adapter.bytes_per_s;
	return highest;
}

/* Among those that a program would choose from. An unknown rate may be the highest. */
static bool is_candidate(const struct network_adapter *a, double highest)
{
	return a->link != NETWORK_LINK_DOWN && (a->bytes_per_s <= 0 || a->bytes_per_s >= highest);
}

static void report_nearest(struct bench_case *c, const struct nics *n, size_t device)
{
	const double highest = find_highest_rate(n);
	enum meeting least = UNKNOWN;
	bool unknown = false;
	struct text list = {0};
	char name[32];
	for (size_t i = 0; i < n->count; i++) {
		if (!is_candidate(&n->nic[i].adapter, highest))
			continue;
		unknown |= n->meeting[i] == UNKNOWN;
		least = n->meeting[i] < least ? n->meeting[i] : least;
	}
	if (least == UNKNOWN || (unknown && least > HOST_BRIDGE))
		return;
	for (size_t i = 0; i < n->count; i++)
		if (is_candidate(&n->nic[i].adapter, highest) && n->meeting[i] == least)
			text_add(&list, "%s%zu", list.length ? "," : "", i);
	snprintf(name, sizeof(name), "nearest_nics_%zu", device);
	if (text_whole(&list))
		bench_fact_format(c, name, "nics=%s meet=%s", list.bytes, meeting_words[least]);
	text_free(&list);
}

/* ---------------------------------------------------------------- reporting */

static void report_nic(struct bench_case *c, const struct nics *n, size_t at, bool places)
{
	static const char *const links[] = {"unknown", "up", "down"};
	const struct nic *nic = &n->nic[at];
	const struct network_adapter *a = &nic->adapter;
	const int node = places ? node_of(n->topology, nic->pci) : -1;
	char name[32];
	struct text words = {0};
	if (a->rdma[0])
		text_add(&words, "rdma=%s ", a->rdma);
	if (a->interface[0])
		text_add(&words, "interface=%s ", a->interface);
	text_add(&words, "bus=%s", nic->bus);
	if (node >= 0)
		text_add(&words, " numa_node=%d", node);
	text_add(&words, " link=%s", links[a->link]);
	if (a->bytes_per_s > 0)
		text_add(&words, " bytes_per_s=%.4g", a->bytes_per_s);
	if (a->ports > 1)
		text_add(&words, " ports=%u", a->ports);
	snprintf(name, sizeof(name), "nic_%zu", at);
	bench_fact_text(c, name, text_whole(&words));
	text_free(&words);
}

static void report_path(struct bench_case *c, const struct nics *n, size_t device, hwloc_obj_t pci,
			size_t nic)
{
	char name[48], port[PCI_ADDRESS] = "";
	const enum meeting meeting = n->meeting[nic];
	if (meeting == SWITCH || meeting == SWITCHES) {
		const struct hwloc_pcidev_attr_s *at =
			&find_meeting_place(pci, n->nic[nic].pci)->attr->bridge.upstream.pci;
		snprintf(port, sizeof(port), "%04x:%02x:%02x.%x", at->domain, at->bus, at->dev,
			 at->func);
	}
	snprintf(name, sizeof(name), "nic_path_%zu_%zu", device, nic);
	bench_fact_format(c, name, "meet=%s%s%s", meeting_words[meeting], port[0] ? " port=" : "",
			  port);
}

static void report_paths(struct bench_case *c, struct nics *n)
{
	for (size_t d = 0; d < c->devices->count; d++) {
		hwloc_obj_t pci = machine_pci_of(n->topology, c->devices->dev[d]);
		if (!pci)
			continue;
		for (size_t i = 0; i < n->count; i++) {
			n->meeting[i] = find_meeting(n->topology, pci, n->nic[i].pci);
			report_path(c, n, d, pci, i);
		}
		report_nearest(c, n, d);
	}
}

static void report_peer_memory(struct bench_case *c, const struct device_links *links)
{
	const char *const *file = c->dev->ops->peer_memory_files,
			  *found = dev_peer_memory_file(c->dev, "");
	struct text looked_for = {0};
	for (const char *const *at = file; at && *at; at++)
		text_add(&looked_for, "%s%s", at == file ? "" : ",", *at);
	if (found)
		bench_fact_format(c, "peer_memory", "found=%s", found);
	else if (text_whole(&looked_for) && looked_for.length)
		bench_fact_format(c, "peer_memory", "found=none looked_for=%s", looked_for.bytes);
	text_free(&looked_for);
	for (size_t i = 0; i < c->devices->count; i++) {
		char name[32];
		snprintf(name, sizeof(name), "dma_buf_%zu", i);
		if (links[i].links.dma_buf != DEV_DMA_BUF_UNKNOWN)
			bench_fact_text(c, name,
					links[i].links.dma_buf == DEV_DMA_BUF_YES ? "yes" : "no");
	}
}

void nic_facts_report(struct bench_case *c, hwloc_topology_t topology,
		      const struct device_links *links)
{
	struct nics n = {.topology = topology};
	const bool places = processor_is_virtual() <= 0 || getenv("HWLOC_XMLFILE");
	find_nics(&n);
	for (size_t i = 0; i < n.count; i++)
		report_nic(c, &n, i, places);
	if (n.left_out)
		bench_fact_number(c, "nics_left_out", (double)n.left_out);
	if (places)
		report_paths(c, &n);
	else if (n.count && dev_props(c->dev)->bus[0])
		bench_fact_text(c, "nic_paths_unknown", "a virtual machine has buses of its own");
	report_peer_memory(c, links);
}
