/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/comm_load.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Compared at once. */
#define CHECK_BYTES (1u << 20)

uint64_t comm_load_grain(size_t devices) { return devices * DEV_KERNEL_ALIGN; }

static uint32_t next_device(const struct comm_load *load, uint32_t device, uint32_t distance)
{
	return (device + distance) % load->devices;
}

void comm_load_drop_library(struct comm_load *load)
{
	load->library = NULL;
	text_fit(load->library_why, sizeof(load->library_why), "%s", err_text());
}

/* A device that lacks the library is not an error. */
static void find_library(struct comm_load *load, struct bench_case *c)
{
	if (c->status || load->devices < 2 || !dev_can(c->dev, DEV_CAP_COLLECTIVES))
		return;
	int status = dev_comm_find(c->devices, DEV_COMM_DEFAULT, &load->library);
	if (status == -ENOTSUP)
		comm_load_drop_library(load);
	else
		TRY(c->status, status);
}

int comm_load_open(struct comm_load *load, struct bench_case *c)
{
	load->devices = (uint32_t)c->devices->count;
	load->part_bytes = load->bytes / load->devices;
	load->wanted = bench_alloc_host(c, CHECK_BYTES);
	load->found = bench_alloc_host(c, CHECK_BYTES);
	load->magnitude = bench_alloc_host(c, CHECK_BYTES);
	if (load->devices > 1)
		bench_enable_peers(c);
	for (uint32_t d = 0; d < load->devices; d++) {
		struct dev *dev = c->devices->dev[d];
		load->result[d] = bench_alloc_on(c, dev, DEV_MEM_DEVICE, load->bytes);
		if (load->devices > 1 && !load->all_to_all)
			load->staging[d] = bench_alloc_on(c, dev, DEV_MEM_DEVICE,
							  load->bytes - load->part_bytes);
	}
	find_library(load, c);
	return c->status;
}

/* ------------------------------------------------------------------ graphs */

static uint32_t add_stand_in(const struct comm_load *load, struct work_graph *g,
			     const struct comm_call *call)
{
	char *to = load->result[0];
	const char *from = call->message[0];
	uint32_t lane = call->lanes[0];
	if (load->all_to_all)
		return work_graph_pass(g, lane, "copy_nt", to, from, load->bytes, load->blocks);
	work_graph_pass(g, lane, "copy", to, from, load->bytes, load->blocks);
	return work_graph_pass(g, lane, "reduce_add", to, from, load->bytes, load->blocks);
}

/* Sends a part to every other device, in the order of their distance; returns the last node. */
static uint32_t add_sends(const struct comm_load *load, struct work_graph *g,
			  const struct comm_call *call, uint32_t device)
{
	uint64_t part = load->part_bytes;
	uint32_t last = 0;
	for (uint32_t k = load->all_to_all ? 0 : 1; k < load->devices; k++) {
		uint32_t peer = next_device(load, device, k);
		char *to = load->all_to_all ? load->result[peer] + device * part
					    : load->staging[peer] + (k - 1) * part;
		last = work_graph_pass(g, call->lanes[device], "copy_nt", to,
				       call->message[device] + peer * part, part, load->blocks);
	}
	return last;
}

/* Adds the parts of the others to the device's own, in the order of their distance; then writes the
 * sum into every other device. Returns the last node. */
static uint32_t add_sum(const struct comm_load *load, struct work_graph *g,
			const struct comm_call *call, uint32_t device, const uint32_t *sent)
{
	uint64_t part = load->part_bytes, at = device * part;
	uint32_t lane = call->lanes[device], last = 0;
	char *sum = load->result[device] + at;
	work_graph_pass(g, lane, "copy", sum, call->message[device] + at, part, load->blocks);
	for (uint32_t k = 1; k < load->devices; k++) {
		uint32_t peer = next_device(load, device, load->devices - k);
		last = work_graph_pass(g, lane, "reduce_add", sum,
				       load->staging[device] + (k - 1) * part, part, load->blocks);
		work_graph_edge(g, sent[peer], last);
	}
	for (uint32_t k = 1; k < load->devices; k++)
		last = work_graph_pass(g, lane, "copy_nt",
				       load->result[next_device(load, device, k)] + at, sum, part,
				       load->blocks);
	return last;
}

static void add_exchange(const struct comm_load *load, struct work_graph *g, struct comm_call *call)
{
	uint32_t sent[DEV_MAX], last[DEV_MAX];
	for (uint32_t d = 0; d < load->devices; d++)
		last[d] = sent[d] = add_sends(load, g, call, d);
	for (uint32_t d = 0; d < load->devices && !load->all_to_all; d++)
		last[d] = add_sum(load, g, call, d, sent);
	for (uint32_t d = 0; d < load->devices; d++) {
		call->end[d] = work_graph_mark(g, call->lanes[d]);
		for (uint32_t peer = 0; peer < load->devices; peer++)
			work_graph_edge(g, last[peer], call->end[d]);
	}
}

static void add_library(const struct comm_load *load, struct work_graph *g, struct comm_call *call)
{
	float *from[DEV_MAX], *to[DEV_MAX];
	for (uint32_t d = 0; d < load->devices; d++) {
		from[d] = (float *)(void *)call->message[d];
		to[d] = (float *)(void *)load->result[d];
	}
	const enum dev_collective what = load->all_to_all ? DEV_ALL_TO_ALL : DEV_ALLREDUCE;
	const uint64_t bytes = load->all_to_all ? load->part_bytes : load->bytes;
	uint32_t first = work_graph_collective(g, load->library, what, call->lanes, from, to,
					       bytes / sizeof(float));
	for (uint32_t d = 0; d < load->devices; d++)
		call->end[d] = first + d;
}

void comm_load_add(const struct comm_load *load, struct work_graph *g, struct comm_call *call)
{
	for (uint32_t d = 0; d < load->devices; d++) {
		const void *const args[] = {&call->start_ns[d]};
		uint32_t lane = call->lanes[d];
		call->begin[d] = work_graph_kernel(g, lane, "empty", 1, NULL);
		work_graph_edge(g, call->after[d], call->begin[d]);
		if (call->start_ns[d]) {
			work_graph_kernel(g, lane, "empty", 1, NULL);
			call->begin[d] = work_graph_kernel(g, lane, "stamp", 1, args);
		}
	}
	if (load->devices == 1)
		call->end[0] = add_stand_in(load, g, call);
	else if (call->by_library)
		add_library(load, g, call);
	else
		add_exchange(load, g, call);
}

/* ------------------------------------------------------------------ checks */

int comm_load_poison(const struct comm_load *load, struct bench_case *c)
{
	for (uint32_t d = 0; d < load->devices; d++)
		TRY(c->status, dev_fill(c->dev, c->stream, load->result[d], 0xa5, load->bytes));
	return c->status;
}

/* Written so that NaN is wrong. `magnitude` counts only with a tolerance: copies have none. */
static int compare_words(const struct comm_load *load, uint32_t device, uint64_t at, uint64_t words,
			 double tolerance)
{
	for (uint64_t i = 0; i < words; i++) {
		double wrong = fabs((double)load->found[i] - (double)load->wanted[i]);
		double limit = tolerance > 0.0 ? tolerance * (double)load->magnitude[i] : 0.0;
		if (!(wrong <= limit))
			return bench_wrong("device %u: element %" PRIu64
					   " that arrived is %.9g, expected %.9g",
					   device, at / sizeof(float) + i, (double)load->found[i],
					   (double)load->wanted[i]);
	}
	return 0;
}

/* Adds in the order of the kernels: the owner's own, then that of the device before it, and so on.
 * A stand-in adds its own a second time. */
static void sum_messages(const struct comm_load *load, struct bench_case *c, char *const *message,
			 uint32_t owner, uint64_t at, uint64_t words)
{
	const uint32_t terms = load->devices > 1 ? load->devices : 2;
	for (uint64_t i = 0; i < words; i++)
		load->wanted[i] = load->magnitude[i] = 0.0f;
	for (uint32_t k = 0; k < terms; k++) {
		const uint32_t d = next_device(load, owner, load->devices * terms - k);
		TRY(c->status, dev_download(c->devices->dev[d], load->found, message[d] + at,
					    words * sizeof(float)));
		for (uint64_t i = 0; c->status == 0 && i < words; i++) {
			load->wanted[i] += load->found[i];
			load->magnitude[i] += fabsf(load->found[i]);
		}
	}
}

/* Compares what arrived at a device with `wanted`. */
static void check_arrived(const struct comm_load *load, struct bench_case *c, uint32_t device,
			  uint64_t at, uint64_t words, double tolerance)
{
	TRY(c->status, dev_download(c->devices->dev[device], load->found, load->result[device] + at,
				    words * sizeof(float)));
	TRY(c->status, compare_words(load, device, at, words, tolerance));
}

static void check_sums(const struct comm_load *load, struct bench_case *c, char *const *message,
		       double tolerance)
{
	const uint64_t part = load->part_bytes;
	for (uint64_t at = 0, bytes; c->status == 0 && at < load->bytes; at += bytes) {
		const uint64_t left = part - at % part;
		bytes = left < CHECK_BYTES ? left : CHECK_BYTES;
		sum_messages(load, c, message, (uint32_t)(at / part), at, bytes / sizeof(float));
		for (uint32_t d = 0; d < load->devices; d++)
			check_arrived(load, c, d, at, bytes / sizeof(float), tolerance);
	}
}

/* Part `to` of the message of `from`. */
static void check_part(const struct comm_load *load, struct bench_case *c, const char *message,
		       uint32_t from, uint32_t to)
{
	const uint64_t part = load->part_bytes;
	for (uint64_t at = 0, bytes; c->status == 0 && at < part; at += bytes) {
		bytes = part - at < CHECK_BYTES ? part - at : CHECK_BYTES;
		TRY(c->status, dev_download(c->devices->dev[from], load->wanted,
					    message + to * part + at, bytes));
		check_arrived(load, c, to, from * part + at, bytes / sizeof(float), 0.0);
	}
}

int comm_load_check(const struct comm_load *load, struct bench_case *c, char *const *message,
		    bool by_library)
{
	if (!load->all_to_all)
		check_sums(load, c, message,
			   by_library ? load->devices * (double)FLT_EPSILON : 0.0);
	for (uint32_t from = 0; load->all_to_all && from < load->devices; from++)
		for (uint32_t to = 0; to < load->devices; to++)
			check_part(load, c, message[from], from, to);
	return c->status;
}
