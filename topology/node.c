/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is this machine? Reports packages, NUMA nodes, cores, caches, devices, and which of them
 * this process may use, as hwloc reports them. Nothing is timed. These facts help to interpret the
 * numbers of the other programs.
 *
 *     bin/topology/node
 */
#include "bench/bench.h"
#include "lib/err.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>

/* The tree as one line, such as Machine[Package[L3(32MB)[Core[PU#0] Core[PU#1]]]], is truncated to
 * this length. */
#define TREE_CAPACITY 16384

struct text {
	char bytes[TREE_CAPACITY];
	size_t used;
};

static void append_text(struct text *t, const char *piece)
{
	size_t length = strlen(piece);
	if (t->used + length + 1 > sizeof(t->bytes))
		return;
	memcpy(t->bytes + t->used, piece, length + 1);
	t->used += length;
}

static void append_object(struct text *t, hwloc_obj_t object)
{
	char type[64], attributes[128], line[256];
	hwloc_obj_type_snprintf(type, sizeof(type), object, 0);
	hwloc_obj_attr_snprintf(attributes, sizeof(attributes), object, " ", 0);
	if (hwloc_obj_type_is_cache(object->type) || object->type == HWLOC_OBJ_NUMANODE)
		snprintf(line, sizeof(line), "%s(%s)", type, attributes);
	else if (object->os_index != HWLOC_UNKNOWN_INDEX)
		snprintf(line, sizeof(line), "%s#%u", type, object->os_index);
	else
		snprintf(line, sizeof(line), "%s", type);
	append_text(t, line);
}

static void append_tree(struct text *t, hwloc_obj_t object)
{
	append_object(t, object);
	if (!object->memory_first_child && !object->first_child)
		return;
	append_text(t, "[");
	for (hwloc_obj_t child = object->memory_first_child; child; child = child->next_sibling) {
		append_tree(t, child);
		append_text(t, child->next_sibling || object->first_child ? " " : "");
	}
	for (hwloc_obj_t child = object->first_child; child; child = child->next_sibling) {
		append_tree(t, child);
		append_text(t, child->next_sibling ? " " : "");
	}
	append_text(t, "]");
}

static void report_counts(struct bench_case *c, hwloc_topology_t topology)
{
	static const struct {
		hwloc_obj_type_t type;
		const char *name;
	} types[] = {{HWLOC_OBJ_PACKAGE, "packages"},
		     {HWLOC_OBJ_NUMANODE, "numa_nodes"},
		     {HWLOC_OBJ_CORE, "cores"},
		     {HWLOC_OBJ_PU, "hardware_threads"}};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		bench_fact_number(c, types[i].name,
				  hwloc_get_nbobjs_by_type(topology, types[i].type));
	bench_fact_number(c, "memory_bytes", (double)hwloc_get_root_obj(topology)->total_memory);
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
		bench_fact_number(c, name, (double)object->attr->cache.size);
		snprintf(name, sizeof(name), "%s_count", type);
		bench_fact_number(c, name, (double)hwloc_get_nbobjs_by_depth(topology, depth));
		snprintf(name, sizeof(name), "%s_shared_by_threads", type);
		bench_fact_number(c, name, hwloc_bitmap_weight(object->cpuset));
	}
}

/* PCI classes: displays and accelerators (03, 12), network (02), storage (01). */
static void report_pci_devices(struct bench_case *c, hwloc_topology_t topology)
{
	unsigned index = 0;
	for (hwloc_obj_t o = hwloc_get_next_pcidev(topology, NULL); o;
	     o = hwloc_get_next_pcidev(topology, o)) {
		const struct hwloc_pcidev_attr_s *pci = &o->attr->pcidev;
		hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, o);
		char name[32], value[256], cpus[64];
		hwloc_bitmap_list_snprintf(cpus, sizeof(cpus), near->cpuset);
		snprintf(name, sizeof(name), "pci_device_%u", index++);
		snprintf(value, sizeof(value), "%04x:%02x:%02x.%x class %04x %s, near cores %s",
			 pci->domain, pci->bus, pci->dev, pci->func, pci->class_id,
			 o->name ? o->name : "(unnamed)", cpus);
		if (pci->class_id >> 8 == 0x03 || pci->class_id >> 8 == 0x12 ||
		    pci->class_id >> 8 == 0x02 || pci->class_id >> 8 == 0x01)
			bench_fact_text(c, name, value);
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
	for (unsigned from = 0; from < found->nbobjs; from++) {
		for (unsigned to = 0; to < found->nbobjs; to++) {
			snprintf(name, sizeof(name), "numa_distance_%u_%u", from, to);
			bench_fact_number(c, name,
					  (double)found->values[from * found->nbobjs + to]);
		}
	}
	hwloc_distances_release(topology, found);
}

static void report_affinity(struct bench_case *c, hwloc_topology_t topology)
{
	char text[256];
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	if (cpus && hwloc_get_cpubind(topology, cpus, HWLOC_CPUBIND_PROCESS) == 0) {
		hwloc_bitmap_list_snprintf(text, sizeof(text), cpus);
		bench_fact_text(c, "process_may_use_threads", text);
	}
	hwloc_bitmap_free(cpus);
}

static int derive(struct bench_case *c)
{
	struct text *text = c->state;
	hwloc_topology_t topology;
	if (hwloc_topology_init(&topology) != 0)
		return err_note(-ENOMEM, "hwloc: %s", strerror(errno));
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	if (hwloc_topology_load(topology) != 0) {
		hwloc_topology_destroy(topology);
		return err_note(-EIO, "hwloc could not read this machine: %s", strerror(errno));
	}
	append_tree(text, hwloc_get_root_obj(topology));
	bench_fact_text(c, "tree", text->bytes);
	report_counts(c, topology);
	report_caches(c, topology);
	report_pci_devices(c, topology);
	report_numa_distances(c, topology);
	report_affinity(c, topology);
	hwloc_topology_destroy(topology);
	return 0;
}

static const struct bench bench = {
	.name = "topology/node",
	.question = "what is this machine?",
	.formula = "facts as hwloc reports them; sizes in bytes",
	.timed = "nothing",
	.limits = "a virtual machine shows what its hypervisor lets it see",
	.share = 0.1,
	.state_bytes = sizeof(struct text),
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
