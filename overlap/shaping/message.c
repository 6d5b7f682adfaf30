/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/message.h"
#include "device/kernels.h"
#include "lib/bench_tile.h"
#include "lib/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_BYTES (16u * TILE_BYTES)

static int open_peer(struct message *m, struct bench_case *c, size_t peer)
{
	struct dev *dev = c->devices->dev[peer];
	own_result(c, dev_peer_enable(c->dev, dev));
	m->inbox[peer] = own_memory_on(c, dev, DEV_MEM_DEVICE, m->bytes);
	if (m->kind == MESSAGE_ALLREDUCE)
		m->contributed[peer] = tile_memory(c, dev, DEV_MEM_DEVICE, m->bytes, m->tile);
	return own_status(c);
}

int message_open(struct message *m, struct bench_case *c, enum message_kind kind, uint64_t bytes, uint32_t blocks,
                 const float *tile)
{
	*m = (struct message){.kind = kind, .dev = c->dev, .devices = c->devices->count, .bytes = bytes, .blocks = blocks,
	                      .tile = tile};
	if (m->devices > MESSAGE_DEVICES_MOST)
		return own_result(c, err_note(-ENOTSUP, "%zu devices: %d at most", m->devices, MESSAGE_DEVICES_MOST));
	if (m->devices > 1 && !dev_can(c->dev, DEV_CAP_PEER))
		return own_result(c, err_note(-ENOTSUP, "these devices can't reach each other's memory"));
	m->empty = own_kernel(c, "empty");
	m->copy = own_kernel(c, "copy");
	m->copy_nt = own_kernel(c, "copy_nt");
	m->add = own_kernel(c, "reduce_add");
	m->arrived = own_memory(c, DEV_MEM_DEVICE, bytes);
	m->inbox[0] = m->arrived;
	for (size_t peer = 1; peer < m->devices; peer++)
		open_peer(m, c, peer);
	return own_status(c);
}

/* Where the part that belongs to a device begins. */
static uint64_t part_begin(const struct message *m, size_t device)
{
	return m->bytes / DEV_KERNEL_ALIGN * device / m->devices * DEV_KERNEL_ALIGN;
}

/* Copy and reduce_add take the same arguments. */
static int move(const struct message *m, struct dev_stream *stream, struct dev_kernel *kernel, char *to, const char *from,
                uint64_t bytes)
{
	uint32_t once = 1;
	const void *const args[] = {&to, &from, &bytes, &once};
	struct dev_launch launch = {.grid = m->blocks, .args = args};
	return dev_launch(m->dev, stream, kernel, &launch);
}

static int all_to_all(const struct message *m, struct dev_stream *stream, const char *from)
{
	int status = 0;
	for (size_t d = 0; status == 0 && d < m->devices; d++) {
		uint64_t at = part_begin(m, d);
		status = move(m, stream, m->copy_nt, m->inbox[d] + at, from + at, part_begin(m, d + 1) - at);
	}
	return status;
}

/* The first device's part; of a single device, the whole, to which it contributes twice. */
static int allreduce(const struct message *m, struct dev_stream *stream, const char *from)
{
	uint64_t bytes = part_begin(m, 1);
	int status = move(m, stream, m->copy, m->arrived, from, bytes);
	if (status == 0 && m->devices == 1)
		status = move(m, stream, m->add, m->arrived, from, bytes);
	for (size_t d = 1; status == 0 && d < m->devices; d++)
		status = move(m, stream, m->add, m->arrived, m->contributed[d], bytes);
	for (size_t d = 1; status == 0 && d < m->devices; d++)
		status = move(m, stream, m->copy, m->inbox[d], m->arrived, bytes);
	return status;
}

int message_send(const struct message *m, struct dev_stream *stream, const char *from, struct dev_kernel *stamp,
                 uint64_t *start_ns)
{
	const void *const args[] = {&start_ns};
	struct dev_launch first = {.grid = 1, .args = args};
	int status = dev_launch(m->dev, stream, m->empty, &first);
	if (status == 0 && start_ns)
		status = dev_launch(m->dev, stream, m->empty, &first);
	if (status == 0 && start_ns)
		status = dev_launch(m->dev, stream, stamp, &first);
	if (status)
		return status;
	return m->kind == MESSAGE_ALLREDUCE ? allreduce(m, stream, from) : all_to_all(m, stream, from);
}

int message_spoil(const struct message *m, struct bench_case *c)
{
	int status = 0;
	for (size_t d = 0; status == 0 && d < m->devices; d++)
		status = dev_fill(c->dev, c->stream, m->inbox[d], 0xa5, m->bytes);
	return status;
}

/* In the order in which the kernels add: sums of floats are the same then, to the bit. */
static float expected(const struct message *m, float sent, uint64_t word)
{
	float sum = sent;
	if (m->kind == MESSAGE_ALL_TO_ALL)
		return sent;
	if (m->devices == 1)
		return sum + sent;
	for (size_t d = 1; d < m->devices; d++)
		sum += m->tile[word % TILE_WORDS];
	return sum;
}

/* Exact, and what is no number is like nothing else. */
static uint32_t bits(float x)
{
	uint32_t word;
	memcpy(&word, &x, sizeof(word));
	return word;
}

static int compare(const struct message *m, size_t device, const float *sent, const float *found, uint64_t first_word,
                   uint64_t words)
{
	for (uint64_t i = 0; i < words; i++) {
		float right = expected(m, sent[i], first_word + i);
		if (bits(found[i]) != bits(right))
			return bench_wrong("device %zu: element %" PRIu64 " that arrived is %.9g, not %.9g", device, first_word + i,
			                   (double)found[i], (double)right);
	}
	return 0;
}

static int check_part(const struct message *m, const struct bench_case *c, size_t device, const char *from, uint64_t begin,
                      uint64_t end, float *room)
{
	int status = 0;
	for (uint64_t at = begin; status == 0 && at < end; at += CHECK_BYTES) {
		uint64_t bytes = end - at < CHECK_BYTES ? end - at : CHECK_BYTES;
		float *found = room + CHECK_BYTES / sizeof(float);
		status = dev_download(c->dev, room, from + at, bytes);
		if (status == 0)
			status = dev_download(c->devices->dev[device], found, m->inbox[device] + at, bytes);
		if (status == 0)
			status = compare(m, device, room, found, at / sizeof(float), bytes / sizeof(float));
	}
	return status;
}

int message_check(const struct message *m, struct bench_case *c, const char *from)
{
	float *room = malloc(2 * (size_t)CHECK_BYTES);
	int status = room ? 0 : err_note(-ENOMEM, "room to check a message: out of memory");
	for (size_t d = 0; status == 0 && d < m->devices; d++) {
		size_t part = m->kind == MESSAGE_ALL_TO_ALL ? d : 0;
		status = check_part(m, c, d, from, part_begin(m, part), part_begin(m, part + 1), room);
	}
	free(room);
	return status;
}

const char *message_label(const struct message *m)
{
	if (m->devices == 1)
		return "stand-in: kernels within the memory of one device, no link";
	return "peers: the first rank's share of a direct exchange, the other ranks idle";
}
