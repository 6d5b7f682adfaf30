/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/comm_load.h"
#include "bench/pattern.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_BYTES (16u * PATTERN_BYTES)

static int open_peer(struct comm_load *load, struct bench_case *c, size_t peer)
{
	struct dev *dev = c->devices->dev[peer];
	bench_status_add(c, dev_peer_enable(c->dev, dev));
	load->inbox[peer] = bench_alloc_on(c, dev, DEV_MEM_DEVICE, load->bytes);
	if (load->kind == COMM_LOAD_ALLREDUCE)
		load->contributed[peer] =
			pattern_alloc(c, dev, DEV_MEM_DEVICE, load->bytes, load->pattern);
	return bench_status(c);
}

int comm_load_open(struct comm_load *load, struct bench_case *c, enum comm_load_kind kind,
		   uint64_t bytes, uint32_t blocks, const float *pattern)
{
	*load = (struct comm_load){.kind = kind,
				   .dev = c->dev,
				   .devices = c->devices->count,
				   .bytes = bytes,
				   .blocks = blocks,
				   .pattern = pattern};
	if (load->devices > COMM_LOAD_MAX_DEVICES)
		return bench_status_add(c,
					err_note(-ENOTSUP, "%zu devices: at most %d are supported",
						 load->devices, COMM_LOAD_MAX_DEVICES));
	if (load->devices > 1 && !dev_can(c->dev, DEV_CAP_PEER))
		return bench_status_add(
			c,
			err_note(-ENOTSUP, "the devices lack peer access to each other's memory"));
	load->empty = bench_kernel(c, "empty");
	load->copy = bench_kernel(c, "copy");
	load->copy_nt = bench_kernel(c, "copy_nt");
	load->add = bench_kernel(c, "reduce_add");
	load->arrived = bench_alloc(c, DEV_MEM_DEVICE, bytes);
	load->inbox[0] = load->arrived;
	for (size_t peer = 1; peer < load->devices; peer++)
		open_peer(load, c, peer);
	return bench_status(c);
}

/* Where the part that belongs to a device begins. */
static uint64_t part_begin(const struct comm_load *load, size_t device)
{
	return load->bytes / DEV_KERNEL_ALIGN * device / load->devices * DEV_KERNEL_ALIGN;
}

/* copy, copy_nt and reduce_add take the same arguments. */
static int launch_kernel(const struct comm_load *load, struct dev_stream *stream,
			 struct dev_kernel *kernel, char *to, const char *from, uint64_t bytes)
{
	uint32_t once = 1;
	const void *const args[] = {&to, &from, &bytes, &once};
	struct dev_launch launch = {.grid = load->blocks, .args = args};
	return dev_launch(load->dev, stream, kernel, &launch);
}

static int enqueue_all_to_all(const struct comm_load *load, struct dev_stream *stream,
			      const char *from)
{
	int status = 0;
	for (size_t d = 0; status == 0 && d < load->devices; d++) {
		uint64_t at = part_begin(load, d);
		status = launch_kernel(load, stream, load->copy_nt, load->inbox[d] + at, from + at,
				       part_begin(load, d + 1) - at);
	}
	return status;
}

/* The first device's part; on a single device the whole message, to which it contributes twice. */
static int enqueue_allreduce(const struct comm_load *load, struct dev_stream *stream,
			     const char *from)
{
	uint64_t bytes = part_begin(load, 1);
	int status = launch_kernel(load, stream, load->copy, load->arrived, from, bytes);
	if (status == 0 && load->devices == 1)
		status = launch_kernel(load, stream, load->add, load->arrived, from, bytes);
	for (size_t d = 1; status == 0 && d < load->devices; d++)
		status = launch_kernel(load, stream, load->add, load->arrived, load->contributed[d],
				       bytes);
	for (size_t d = 1; status == 0 && d < load->devices; d++)
		status = launch_kernel(load, stream, load->copy, load->inbox[d], load->arrived,
				       bytes);
	return status;
}

int comm_load_send(const struct comm_load *load, struct dev_stream *stream, const char *from,
		   struct dev_kernel *stamp, uint64_t *start_ns)
{
	const void *const args[] = {&start_ns};
	struct dev_launch first = {.grid = 1, .args = args};
	int status = dev_launch(load->dev, stream, load->empty, &first);
	if (status == 0 && start_ns)
		status = dev_launch(load->dev, stream, load->empty, &first);
	if (status == 0 && start_ns)
		status = dev_launch(load->dev, stream, stamp, &first);
	if (status)
		return status;
	return load->kind == COMM_LOAD_ALLREDUCE ? enqueue_allreduce(load, stream, from)
						 : enqueue_all_to_all(load, stream, from);
}

int comm_load_poison(const struct comm_load *load, struct bench_case *c)
{
	int status = 0;
	for (size_t d = 0; status == 0 && d < load->devices; d++)
		status = dev_fill(c->dev, c->stream, load->inbox[d], 0xa5, load->bytes);
	return status;
}

/* Adds in the order of the kernels, so that float sums are equal bit for bit. */
static float expected_value(const struct comm_load *load, float sent, uint64_t word)
{
	float sum = sent;
	if (load->kind == COMM_LOAD_ALL_TO_ALL)
		return sent;
	if (load->devices == 1)
		return sum + sent;
	for (size_t d = 1; d < load->devices; d++)
		sum += load->pattern[word % PATTERN_WORDS];
	return sum;
}

/* Compares bits: exact, and NaN equals no number. */
static uint32_t float_bits(float x)
{
	uint32_t word;
	memcpy(&word, &x, sizeof(word));
	return word;
}

static int compare_words(const struct comm_load *load, size_t device, const float *sent,
			 const float *found, uint64_t first_word, uint64_t words)
{
	for (uint64_t i = 0; i < words; i++) {
		float wanted = expected_value(load, sent[i], first_word + i);
		if (float_bits(found[i]) != float_bits(wanted))
			return bench_wrong("device %zu: element %" PRIu64
					   " that arrived is %.9g, expected %.9g",
					   device, first_word + i, (double)found[i],
					   (double)wanted);
	}
	return 0;
}

static int check_part(const struct comm_load *load, const struct bench_case *c, size_t device,
		      const char *from, uint64_t begin, uint64_t end, float *buffer)
{
	int status = 0;
	for (uint64_t at = begin; status == 0 && at < end; at += CHECK_BYTES) {
		uint64_t bytes = end - at < CHECK_BYTES ? end - at : CHECK_BYTES;
		float *found = buffer + CHECK_BYTES / sizeof(float);
		status = dev_download(c->dev, buffer, from + at, bytes);
		if (status == 0)
			status = dev_download(c->devices->dev[device], found,
					      load->inbox[device] + at, bytes);
		if (status == 0)
			status = compare_words(load, device, buffer, found, at / sizeof(float),
					       bytes / sizeof(float));
	}
	return status;
}

int comm_load_check(const struct comm_load *load, struct bench_case *c, const char *from)
{
	float *buffer = malloc(2 * (size_t)CHECK_BYTES);
	int status = buffer ? 0 : err_note(-ENOMEM, "check of a message: out of memory");
	for (size_t d = 0; status == 0 && d < load->devices; d++) {
		size_t part = load->kind == COMM_LOAD_ALL_TO_ALL ? d : 0;
		status = check_part(load, c, d, from, part_begin(load, part),
				    part_begin(load, part + 1), buffer);
	}
	free(buffer);
	return status;
}

const char *comm_load_label(const struct comm_load *load)
{
	if (load->devices == 1)
		return "stand-in: kernels within the memory of one device, no link";
	return "peers: the first rank's share of a direct exchange, the other ranks idle";
}
