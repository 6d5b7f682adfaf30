/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which CPUs, devices and links does this machine have? Reports packages, NUMA nodes, cores,
 * caches, and which of them this process may use, by hwloc, and the devices of --device where they
 * are attached. A topology that hwloc has from elsewhere (HWLOC_XMLFILE) is refused unless
 * HWLOC_THISSYSTEM=1 says that it is this machine's. Displays and accelerators that are not named
 * are left out. Simulated devices belong to no machine: with them only they are reported. For GPUs
 * the links to the host and to each other, and errors of their memory, are reported as the vendor's
 * management library gives them (topology/node/link_facts.h), and how far they are from each
 * network adapter (topology/node/nic_facts.h). These facts help to interpret the numbers of the
 * other programs. The only thing timed is the latency of a cache line between every two processors
 * that the process may use (topology/node/core_matrix.h).
 *
 *     bin/topology/node --device host
 */
#include "bench/bench.h"
#include "lib/err.h"
#include "topology/node/core_matrix.h"
#include "topology/node/link_facts.h"
#include "topology/node/machine.h"
#include "topology/node/nic_facts.h"
#include "topology/node/tree_text.h"

#include <hwloc.h>

struct state {
	hwloc_topology_t topology; /* NULL: none is loaded */
	struct device_links links[DEV_MAX];
};

static void report_simulated(struct bench_case *c)
{
	struct text tree = {0};
	tree_node(&tree, "Simulated");
	tree_begin(&tree);
	for (size_t i = 0; i < c->devices->count; i++) {
		tree_device(&tree, c->devices->dev[i], "");
		machine_report_device(c, i, "simulated");
	}
	tree_end(&tree);
	bench_fact_text(c, "tree", text_whole(&tree));
	text_free(&tree);
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	return dev_can(c->dev, DEV_CAP_VIRTUAL_TIME) ? 0 : machine_load(&s->topology);
}

static void report_machine(struct bench_case *c, const struct state *s)
{
	machine_report(c, s->topology, s->links);
	nic_facts_report(c, s->topology, s->links);
}

static int derive(struct bench_case *c)
{
	struct state *s = c->state;
	for (size_t i = 0; i < c->devices->count; i++)
		TRY(c->status, link_facts_read(c->devices->dev[i], &s->links[i]));
	if (c->status)
		return c->status;
	if (s->topology)
		report_machine(c, s);
	else
		report_simulated(c);
	link_facts_report(c, s->links);
	return s->topology ? core_matrix_derive(c) : c->status;
}

static void teardown(struct bench_case *c)
{
	struct state *s = c->state;
	if (s->topology)
		hwloc_topology_destroy(s->topology);
}

static const struct bench bench = {
	.name = "topology/node",
	.question = "which CPUs, devices and links are here?",
	.formula = "facts as hwloc and the devices report them; sizes in bytes; core_latency = "
		   "time of a cache line's round trip between two processors / 2; s",
	.timed = "64 round trips between two processors, one pair at a time, the fastest of each "
		 "visit; not the facts",
	.limits =
		"a virtual machine shows what its hypervisor exposes, which may migrate its "
		"processors; other load, or a clock that has not ramped up yet, raises the latency",
	.share = 0.1,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
