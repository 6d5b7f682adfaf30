/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/node/machine.h"
#include "lib/err.h"
#include "topology/node/tree_text.h"

#include <errno.h>
#include <glob.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct machine {
	hwloc_topology_t topology;
	const struct dev_set *devices;
	const struct device_links *links;
};

/* ---------------------------------------------------------------- loading */

/* A container may hide the folder's content, and then hwloc ends the process. */
static int check_numa_folder(void)
{
	const char *root = getenv("HWLOC_FSROOT");
	char folder[4096], node[4200];
	glob_t paths = {0};
	snprintf(folder, sizeof(folder), "%s/sys/devices/system/node", root ? root : "");
	snprintf(node, sizeof(node), "%s/node[0-9]*", folder);
	const bool empty = access(folder, F_OK) == 0 && glob(node, 0, NULL, &paths) != 0;
	globfree(&paths);
	return empty ? err_note(-ENOTSUP, "/sys/devices/system/node is empty, which hwloc cannot "
					  "read: is /sys masked?")
		     : 0;
}

int machine_load(hwloc_topology_t *loaded)
{
	hwloc_topology_t topology;
	int status = check_numa_folder();
	if (status)
		return status;
	if (hwloc_topology_init(&topology) != 0)
		return err_note(-ENOMEM, "hwloc: %s", strerror(errno));
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	/* Plug-ins that look for these open GPUs, through drivers that may fail or hang. */
	hwloc_topology_set_type_filter(topology, HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_NONE);
	if (hwloc_topology_load(topology) != 0)
		status = err_note(-EIO, "hwloc could not read this machine: %s", strerror(errno));
	else if (!hwloc_topology_is_thissystem(topology))
		status = err_note(
			-ENOTSUP,
			"hwloc's topology is of a file, not of this machine: is one of "
			"HWLOC_XMLFILE, HWLOC_SYNTHETIC, HWLOC_FSROOT, HWLOC_THISSYSTEM set?");
	if (status)
		hwloc_topology_destroy(topology);
	else
		*loaded = topology;
	return status;
}

/* ---------------------------------------------------------------- reporting */

#define UNKNOWN "unknown: out of memory"

/* "0-7,16-23", to be freed; NULL without memory. */
static char *list_of(hwloc_const_bitmap_t set)
{
	char *list;
	return hwloc_bitmap_list_asprintf(&list, set) < 0 ? NULL : list;
}

static void append_object(struct text *t, hwloc_obj_t object)
{
	char type[64], attributes[1024], line[1200];
	hwloc_obj_type_snprintf(type, sizeof(type), object, 0);
	hwloc_obj_attr_snprintf(attributes, sizeof(attributes), object, " ", 0);
	if (attributes[0] &&
	    (hwloc_obj_type_is_cache(object->type) || object->type == HWLOC_OBJ_NUMANODE))
		text_fit(line, sizeof(line), "%s(%s)", type, attributes);
	else if (object->os_index != HWLOC_UNKNOWN_INDEX)
		snprintf(line, sizeof(line), "%s#%u", type, object->os_index);
	else
		snprintf(line, sizeof(line), "%s", type);
	tree_node(t, line);
}

/* The host's cores as a device: the tree of cores and caches is its own. */
static bool is_host(const struct dev *d)
{
	return dev_can(d, DEV_CAP_HOST_ACCESS) && !dev_props(d)->bus[0];
}

hwloc_obj_t machine_pci_of(hwloc_topology_t topology, const struct dev *d)
{
	return dev_props(d)->bus[0] ? hwloc_get_pcidev_by_busidstring(topology, dev_props(d)->bus)
				    : NULL;
}

/* Object that a device is attached to; the whole machine if hwloc does not know it. */
static hwloc_obj_t parent_of(hwloc_topology_t topology, const struct dev *d)
{
	hwloc_obj_t pci = machine_pci_of(topology, d);
	return pci ? hwloc_get_non_io_ancestor_obj(topology, pci) : hwloc_get_root_obj(topology);
}

static void append_tree(struct text *t, const struct machine *m, hwloc_obj_t object)
{
	append_object(t, object);
	tree_begin(t);
	for (hwloc_obj_t child = object->memory_first_child; child; child = child->next_sibling)
		append_tree(t, m, child);
	for (hwloc_obj_t child = object->first_child; child; child = child->next_sibling)
		append_tree(t, m, child);
	for (size_t i = 0; i < m->devices->count; i++) {
		struct dev *d = m->devices->dev[i];
		if (!is_host(d) && parent_of(m->topology, d) == object)
			tree_device(t, d, m->links[i].brief);
	}
	tree_end(t);
}

/* Nothing where it is 0, for that is how hwloc says that it does not know. */
static void report_known(struct bench_case *c, const char *name, double value)
{
	if (value > 0)
		bench_fact_number(c, name, value);
}

static void report_counts(struct bench_case *c, hwloc_topology_t topology)
{
	report_known(c, "packages", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
	report_known(c, "numa_nodes", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
	report_known(c, "cores", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
	report_known(c, "hardware_threads", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
	report_known(c, "memory_bytes", (double)hwloc_get_root_obj(topology)->total_memory);
}

static void report_caches(struct bench_case *c, hwloc_topology_t topology)
{
	char name[64], type[32];
	for (int depth = 0; depth < hwloc_topology_get_depth(topology); depth++) {
		hwloc_obj_t object = hwloc_get_obj_by_depth(topology, depth, 0);
		if (!object || !hwloc_obj_type_is_cache(object->type))
			continue;
		hwloc_obj_type_snprintf(type, sizeof(type), object, 0);
		snprintf(name, sizeof(name), "%s_bytes", type);
		report_known(c, name, (double)object->attr->cache.size);
		snprintf(name, sizeof(name), "%s_count", type);
		bench_fact_number(c, name, (double)hwloc_get_nbobjs_by_depth(topology, depth));
		snprintf(name, sizeof(name), "%s_shared_by_threads", type);
		bench_fact_number(c, name, hwloc_bitmap_weight(object->cpuset));
	}
}

static bool is_named(const struct machine *m, hwloc_obj_t pci)
{
	for (size_t i = 0; i < m->devices->count; i++)
		if (machine_pci_of(m->topology, m->devices->dev[i]) == pci)
			return true;
	return false;
}

/* PCI classes: network (02), storage (01); of displays and accelerators (03, 12) those named. */
static void report_pci_devices(struct bench_case *c, const struct machine *m)
{
	hwloc_topology_t topology = m->topology;
	unsigned index = 0;
	for (hwloc_obj_t o = hwloc_get_next_pcidev(topology, NULL); o;
	     o = hwloc_get_next_pcidev(topology, o)) {
		const struct hwloc_pcidev_attr_s *pci = &o->attr->pcidev;
		hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, o);
		unsigned class = pci->class_id >> 8;
		if (class != 0x02 && class != 0x01 &&
		    !((class == 0x03 || class == 0x12) && is_named(m, o)))
			continue;
		char name[32], *cpus = list_of(near->cpuset);
		snprintf(name, sizeof(name), "pci_device_%u", index++);
		bench_fact_format(c, name, "%04x:%02x:%02x.%x class %04x %s, near cores %s",
				  pci->domain, pci->bus, pci->dev, pci->func, pci->class_id,
				  o->name ? o->name : "(unnamed)", cpus ? cpus : UNKNOWN);
		free(cpus);
	}
}

static void report_numa_distances(struct bench_case *c, hwloc_topology_t topology)
{
	struct hwloc_distances_s *found;
	unsigned count = 1;
	char name[64];
	if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &found, 0, 0) != 0 ||
	    count == 0)
		return;
	const unsigned nodes = found->nbobjs;
	for (unsigned i = 0; i < nodes * nodes; i++) {
		snprintf(name, sizeof(name), "numa_distance_%u_%u", i / nodes, i % nodes);
		bench_fact_number(c, name, (double)found->values[i]);
	}
	hwloc_distances_release(topology, found);
}

static void report_affinity(struct bench_case *c, hwloc_topology_t topology)
{
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	if (cpus && hwloc_get_cpubind(topology, cpus, HWLOC_CPUBIND_PROCESS) == 0) {
		char *list = list_of(cpus);
		bench_fact_text(c, "process_may_use_threads", list ? list : UNKNOWN);
		free(list);
	}
	hwloc_bitmap_free(cpus);
}

void machine_report_device(struct bench_case *c, size_t at, const char *place)
{
	const struct dev *d = c->devices->dev[at];
	char name[32];
	snprintf(name, sizeof(name), "device_%zu", at);
	bench_fact_format(c, name, "%s:%u %s, %s", d->ops->name, d->index, dev_props(d)->name,
			  place);
}

static void report_devices(struct bench_case *c, const struct machine *m)
{
	for (size_t i = 0; i < m->devices->count; i++) {
		const struct dev *d = m->devices->dev[i];
		hwloc_obj_t pci = machine_pci_of(m->topology, d);
		char *cpus = pci ? list_of(hwloc_get_non_io_ancestor_obj(m->topology, pci)->cpuset)
				 : NULL;
		struct text place = {0};
		if (pci)
			text_add(&place, "%s, near cores %s", dev_props(d)->bus,
				 cpus ? cpus : UNKNOWN);
		else
			text_add(&place, "%s", is_host(d) ? "on these cores" : "not seen by hwloc");
		machine_report_device(c, i, place.lost ? UNKNOWN : text_whole(&place));
		text_free(&place);
		free(cpus);
	}
}

void machine_report(struct bench_case *c, hwloc_topology_t topology,
		    const struct device_links *links)
{
	const struct machine m = {topology, c->devices, links};
	struct text tree = {0};
	append_tree(&tree, &m, hwloc_get_root_obj(topology));
	bench_fact_text(c, "tree", text_whole(&tree));
	text_free(&tree);
	report_counts(c, topology);
	report_caches(c, topology);
	report_devices(c, &m);
	report_pci_devices(c, &m);
	report_numa_distances(c, topology);
	report_affinity(c, topology);
}
