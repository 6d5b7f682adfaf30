/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A work graph over devices that a test opens: `here.g`, with lanes `here.lanes`.
 */
#ifndef GPUSIG_GRAPH_SCENE_H
#define GPUSIG_GRAPH_SCENE_H

#include "bench/graph/work_graph.h"
#include "device/kernels.h"
#include "tests/unit/device/sim/sim.h"

enum { FLOATS = 1024, BYTES = FLOATS * sizeof(float) };

static struct {
	struct dev_set set;
	struct work_lanes *lanes;
	struct work_graph *g;
} here;

static inline void open_graph(void)
{
	for (size_t i = 1; i < here.set.count; i++)
		for (size_t k = 0; k < i; k++)
			ok(dev_peer_enable(here.set.dev[i], here.set.dev[k]));
	ok(work_lanes_open(here.set.dev, here.set.count, &here.lanes));
	ok(work_graph_open(here.lanes, &here.g));
}

static inline void open_devices(const char *spec)
{
	int status = dev_open(spec, DEV_CAP_GEMM | DEV_CHECKED, &here.set);
	if (status)
		printf("# %s: %s\n", spec, err_text());
	require(status == 0);
	open_graph();
}

static inline void open_sim_model(const char *model)
{
	ok(sim_try(model, ":0,1"));
	here.set = sim.set;
	sim.set.count = 0;
	open_graph();
}

static inline void close_devices(void)
{
	work_graph_close(here.g);
	work_lanes_close(here.lanes);
	here.g = NULL;
	here.lanes = NULL;
	dev_close(&here.set);
	here.set.count = 0;
}

static inline uint32_t open_lane(uint32_t device)
{
	return work_lane(here.lanes, device, dev_props(here.set.dev[device])->priority_normal);
}

static inline uint32_t add_empty(uint32_t lane)
{
	return work_graph_kernel(here.g, lane, "empty", 1, NULL);
}

static inline float *alloc_floats(uint32_t device, float value)
{
	float *memory = alloc_memory_on(here.set.dev[device], DEV_MEM_DEVICE, BYTES),
	      filled[FLOATS];
	for (int i = 0; i < FLOATS; i++)
		filled[i] = value;
	ok(dev_upload(here.set.dev[device], memory, filled, BYTES));
	return memory;
}

static inline float read_value(uint32_t device, const float *memory)
{
	float found[FLOATS];
	ok(dev_download(here.set.dev[device], found, memory, BYTES));
	for (int i = 1; i < FLOATS; i++)
		expect(found[i] == found[0]);
	return found[0];
}

static inline double run_gated(void)
{
	double seconds = -1;
	ok(work_graph_hold(here.g));
	ok(work_graph_release(here.g, work_graph_run(here.g), &seconds));
	return seconds;
}

#endif
