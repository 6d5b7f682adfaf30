/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/comm_load.h"
#include "bench/pattern.h"
#include "device/kernels.h"

#include <inttypes.h>

/* Compared at once. */
#define CHECK_BYTES (16u * PATTERN_BYTES)

int comm_load_open(struct comm_load *load, struct bench_case *c, const float *pattern)
{
	load->devices = c->devices->count;
	load->pattern = pattern;
	load->sent = bench_alloc_host(c, CHECK_BYTES);
	load->found = bench_alloc_host(c, CHECK_BYTES);
	for (size_t d = 0; bench_status(c) == 0 && d < load->devices; d++) {
		struct dev *dev = c->devices->dev[d];
		load->inbox[d] = bench_alloc_on(c, dev, DEV_MEM_DEVICE, load->bytes);
		if (d > 0)
			bench_status_add(c, dev_peer_enable(c->dev, dev));
		if (d > 0 && !load->all_to_all)
			load->contributed[d] =
				pattern_alloc(c, dev, DEV_MEM_DEVICE, load->bytes, pattern);
	}
	return bench_status(c);
}

/* Where the part that belongs to a device begins. */
static uint64_t part_begin(const struct comm_load *load, size_t device)
{
	return load->bytes / DEV_KERNEL_ALIGN * device / load->devices * DEV_KERNEL_ALIGN;
}

static uint32_t add_all_to_all(const struct comm_load *load, struct work_graph *g, uint32_t lane,
			       const char *from)
{
	uint32_t last = 0;
	for (size_t d = 0; d < load->devices; d++) {
		uint64_t at = part_begin(load, d);
		last = work_graph_pass(g, lane, "copy_nt", load->inbox[d] + at, from + at,
				       part_begin(load, d + 1) - at, load->blocks);
	}
	return last;
}

/* The first device's part; on a single device the whole message, to which it contributes twice. */
static uint32_t add_allreduce(const struct comm_load *load, struct work_graph *g, uint32_t lane,
			      const char *from)
{
	uint64_t bytes = part_begin(load, 1);
	char *sum = load->inbox[0];
	uint32_t last = work_graph_pass(g, lane, "copy", sum, from, bytes, load->blocks);
	for (size_t d = load->devices > 1; d < load->devices; d++)
		last = work_graph_pass(g, lane, "reduce_add", sum, d ? load->contributed[d] : from,
				       bytes, load->blocks);
	for (size_t d = 1; d < load->devices; d++)
		last = work_graph_pass(g, lane, "copy", load->inbox[d], sum, bytes, load->blocks);
	return last;
}

uint32_t comm_load_add(const struct comm_load *load, struct work_graph *g, uint32_t lane,
		       const char *from, uint64_t *start_ns)
{
	const void *const args[] = {&start_ns};
	work_graph_kernel(g, lane, "empty", 1, NULL);
	if (start_ns) {
		work_graph_kernel(g, lane, "empty", 1, NULL);
		work_graph_kernel(g, lane, "stamp", 1, args);
	}
	return load->all_to_all ? add_all_to_all(load, g, lane, from)
				: add_allreduce(load, g, lane, from);
}

/* Adds in the order of the kernels, so that sums are exact. Written so that NaN is wrong. */
static int check_words(const struct comm_load *load, size_t device, uint64_t first_word,
		       uint64_t words)
{
	for (uint64_t i = 0; i < words; i++) {
		float wanted = load->sent[i];
		if (!load->all_to_all && load->devices == 1)
			wanted += load->sent[i];
		for (size_t d = 1; !load->all_to_all && d < load->devices; d++)
			wanted += load->pattern[(first_word + i) % PATTERN_WORDS];
		if (!(load->found[i] == wanted))
			return bench_wrong("device %zu: element %" PRIu64
					   " that arrived is %.9g, expected %.9g",
					   device, first_word + i, (double)load->found[i],
					   (double)wanted);
	}
	return 0;
}

int comm_load_check(const struct comm_load *load, struct bench_case *c, const char *from)
{
	int status = 0;
	for (size_t d = 0; status == 0 && d < load->devices; d++) {
		size_t part = load->all_to_all ? d : 0;
		uint64_t at = part_begin(load, part), end = part_begin(load, part + 1);
		for (uint64_t bytes; status == 0 && at < end; at += bytes) {
			bytes = end - at < CHECK_BYTES ? end - at : CHECK_BYTES;
			status = dev_download(c->dev, load->sent, from + at, bytes);
			if (status == 0)
				status = dev_download(c->devices->dev[d], load->found,
						      load->inbox[d] + at, bytes);
			if (status == 0)
				status = check_words(load, d, at / sizeof(float),
						     bytes / sizeof(float));
		}
	}
	return status;
}
