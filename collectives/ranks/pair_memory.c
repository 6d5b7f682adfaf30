/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/pair_memory.h"
#include "collectives/ranks/mpi_job.h"
#include "lib/err.h"
#include "lib/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_WORDS = 1 << 16, POISON = 0xa5, TAG = 1, TAG_ARRIVED = 2 };
#define MAX_MESSAGE_BYTES (UINT64_C(1) << 30) /* MPI counts them with an int */
#define PATTERN_BYTES ((uint64_t)PATTERN_WORDS * 4)
/* Distance in the pattern between the contents of consecutive messages: no two of 65536 are
 * alike. */
#define CONTENTS_STEP 40961u

/* ------------------------------------------------------------------ contents */

/* Message `index` of a window of `rank`. */
static void write_contents(const struct pair_memory *m, char *to, int rank, uint32_t index,
			   uint64_t bytes)
{
	uint64_t message = (uint64_t)rank * m->window + index;
	const uint32_t *from = m->pattern + message * CONTENTS_STEP % PATTERN_WORDS;
	for (uint64_t at = 0; at < bytes; at += PATTERN_BYTES)
		memcpy(to + at, from, bytes - at < PATTERN_BYTES ? bytes - at : PATTERN_BYTES);
}

static int compare_message(const struct pair_memory *m, int peer, uint32_t index, uint64_t bytes)
{
	write_contents(m, m->expected, peer, index, bytes);
	if (memcmp(m->expected, m->received, bytes) == 0)
		return 0;
	uint64_t at = 0;
	while (m->expected[at] == m->received[at])
		at++;
	return err_note(-EBADMSG, "from rank %d: message %u: byte %llu is %02x, not %02x", peer,
			index, (unsigned long long)at, (unsigned char)m->received[at],
			(unsigned char)m->expected[at]);
}

/* ------------------------------------------------------------------ open and close */

uint64_t pair_memory_bytes(uint64_t size) { return size / 8 * 8; }

/* Every rank has two windows, and two messages to compare. */
int pair_memory_admit(const struct dev *dev, uint64_t size, uint64_t window)
{
	const uint64_t bytes = pair_memory_bytes(size),
		       needed = 2 * bytes * (window + 1) * (uint64_t)mpi_job.leader_host_ranks;
	if (!bytes || bytes > MAX_MESSAGE_BYTES)
		return err_note(-ENOTSUP, "%llu bytes: a message has 8 to %llu",
				(unsigned long long)size, (unsigned long long)MAX_MESSAGE_BYTES);
	if (dev_can(dev, DEV_CAP_HOST_ACCESS) && needed > dev_props(dev)->memory_bytes)
		return err_note(-ENOMEM, "the ranks of a node need %llu bytes; %llu are available",
				(unsigned long long)needed,
				(unsigned long long)dev_props(dev)->memory_bytes);
	return 0;
}

static uint64_t window_bytes(const struct pair_memory *m) { return m->bytes * m->window; }

static int open_windows(struct pair_memory *m, struct dev *dev)
{
	const uint64_t bytes = window_bytes(m);
	if (!dev) {
		m->out = malloc(bytes);
		m->in = malloc(bytes);
		return m->out && m->in ? 0
				       : err_note(-ENOMEM, "windows of %llu bytes: out of memory",
						  (unsigned long long)bytes);
	}
	int status = device_vectors_open(&m->vectors, dev, bytes);
	TRY(status, device_vectors_stage(&m->vectors, DEV_MEM_PINNED, 2 * bytes));
	m->out = m->vectors.direct ? m->vectors.in : m->vectors.staging;
	m->in = m->vectors.direct ? m->vectors.out : m->vectors.staging + bytes;
	return status;
}

static int fill_window(struct pair_memory *m)
{
	struct device_vectors *v = &m->vectors;
	char *host = v->dev ? v->staging : m->out;
	for (uint32_t i = 0; i < m->window; i++)
		write_contents(m, host + i * m->bytes, mpi_job.rank, i, m->bytes);
	if (v->dev) {
		device_vectors_copy(v, v->in, host, window_bytes(m));
		device_vectors_wait(v);
	}
	pair_memory_poison(m);
	return v->dev ? device_vectors_result(v) : 0;
}

int pair_memory_open(struct pair_memory *m, struct dev *dev, uint64_t bytes, uint32_t window,
		     uint64_t seed)
{
	struct rng rng;
	*m = (struct pair_memory){.bytes = bytes, .window = window};
	m->pattern = malloc(2 * PATTERN_BYTES);
	m->expected = malloc(bytes);
	m->received = malloc(bytes);
	m->requests = malloc(2 * (size_t)window * sizeof(MPI_Request));
	if (!m->pattern || !m->expected || !m->received || !m->requests)
		return err_note(-ENOMEM, "messages of %llu bytes: out of memory",
				(unsigned long long)bytes);
	rng_seed(&rng, seed, 1);
	rng_fill_u32(&rng, m->pattern, PATTERN_WORDS);
	memcpy(m->pattern + PATTERN_WORDS, m->pattern, PATTERN_BYTES);
	int status = open_windows(m, dev);
	return TRY(status, fill_window(m));
}

void pair_memory_close(struct pair_memory *m)
{
	if (!m->vectors.dev) {
		free(m->out);
		free(m->in);
	}
	device_vectors_close(&m->vectors);
	free(m->pattern);
	free(m->expected);
	free(m->received);
	free(m->requests);
	*m = (struct pair_memory){0};
}

/* ------------------------------------------------------------------ messages */

/* To pinned host memory what is to be sent, or to the device what was received. */
static void stage_bytes(struct pair_memory *m, char *to, const char *from, uint64_t bytes)
{
	if (!m->vectors.dev || m->vectors.direct)
		return;
	device_vectors_copy(&m->vectors, to, from, bytes);
	device_vectors_wait(&m->vectors);
}

static void stage_sent(struct pair_memory *m, uint64_t bytes)
{
	stage_bytes(m, m->out, m->vectors.in, bytes);
}

static void stage_received(struct pair_memory *m, uint64_t bytes)
{
	stage_bytes(m, m->vectors.out, m->in, bytes);
}

static void start_sends(const struct pair_memory *m, int peer, MPI_Request *requests)
{
	for (uint32_t i = 0; i < m->window; i++)
		MPI_CHECK(MPI_Isend(m->out + i * m->bytes, (int)m->bytes, MPI_BYTE, peer, TAG,
				    MPI_COMM_WORLD, &requests[i]),
			  "MPI_Isend");
}

static void start_receives(const struct pair_memory *m, int peer, MPI_Request *requests)
{
	for (uint32_t i = 0; i < m->window; i++)
		MPI_CHECK(MPI_Irecv(m->in + i * m->bytes, (int)m->bytes, MPI_BYTE, peer, TAG,
				    MPI_COMM_WORLD, &requests[i]),
			  "MPI_Irecv");
}

static void wait_all(const struct pair_memory *m, uint32_t windows)
{
	MPI_CHECK(MPI_Waitall((int)(windows * m->window), m->requests, MPI_STATUSES_IGNORE),
		  "MPI_Waitall");
}

static void send_bytes(const char *from, int bytes, int peer, int tag)
{
	MPI_CHECK(MPI_Send(from, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD), "MPI_Send");
}

static void receive_bytes(char *to, int bytes, int peer, int tag)
{
	MPI_CHECK(MPI_Recv(to, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
		  "MPI_Recv");
}

void pair_memory_send(struct pair_memory *m, int peer)
{
	stage_sent(m, window_bytes(m));
	start_sends(m, peer, m->requests);
	wait_all(m, 1);
	receive_bytes(NULL, 0, peer, TAG_ARRIVED);
}

void pair_memory_receive(struct pair_memory *m, int peer)
{
	start_receives(m, peer, m->requests);
	wait_all(m, 1);
	stage_received(m, window_bytes(m));
	send_bytes(NULL, 0, peer, TAG_ARRIVED);
}

void pair_memory_exchange(struct pair_memory *m, int peer)
{
	start_receives(m, peer, m->requests);
	stage_sent(m, window_bytes(m));
	start_sends(m, peer, m->requests + m->window);
	wait_all(m, 2);
	stage_received(m, window_bytes(m));
}

void pair_memory_ping(struct pair_memory *m, int peer)
{
	stage_sent(m, PAIR_LATENCY_BYTES);
	send_bytes(m->out, PAIR_LATENCY_BYTES, peer, TAG);
	receive_bytes(m->in, PAIR_LATENCY_BYTES, peer, TAG);
	stage_received(m, PAIR_LATENCY_BYTES);
}

void pair_memory_pong(struct pair_memory *m, int peer)
{
	receive_bytes(m->in, PAIR_LATENCY_BYTES, peer, TAG);
	stage_received(m, PAIR_LATENCY_BYTES);
	stage_sent(m, PAIR_LATENCY_BYTES);
	send_bytes(m->out, PAIR_LATENCY_BYTES, peer, TAG);
}

/* ------------------------------------------------------------------ checks */

void pair_memory_poison(struct pair_memory *m)
{
	struct device_vectors *v = &m->vectors;
	if (!v->dev) {
		memset(m->in, POISON, window_bytes(m));
		return;
	}
	/* Both halves: what is staged next has to come from the device. */
	memset(v->staging, POISON, 2 * window_bytes(m));
	device_vectors_copy(v, v->out, v->staging, window_bytes(m));
	device_vectors_wait(v);
}

int pair_memory_check(struct pair_memory *m, int peer, uint32_t messages, uint64_t bytes)
{
	struct device_vectors *v = &m->vectors;
	int status = 0;
	for (uint32_t i = 0; status == 0 && i < messages; i++) {
		if (v->dev) {
			/* By way of pinned memory, which a copy engine reaches. */
			device_vectors_copy(v, v->staging, v->out + i * m->bytes, bytes);
			status = device_vectors_result(v);
			memcpy(m->received, v->staging, bytes);
		} else {
			memcpy(m->received, m->in + i * m->bytes, bytes);
		}
		TRY(status, compare_message(m, peer, i, bytes));
	}
	return status;
}

int pair_memory_result(struct pair_memory *m)
{
	return m->vectors.dev ? device_vectors_result(&m->vectors) : 0;
}
