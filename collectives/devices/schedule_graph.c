/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/schedule_graph.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>

enum { COPY_GRAIN = 16 };

/* A range of the vector, in bytes. */
struct byte_range {
	uint64_t at, bytes;
};

/* A message that was sent in this step. */
struct transfer {
	struct schedule_message message;
	uint32_t from, copied; /* device; node of the last copy */
	char *staging;         /* of the receiver, if it adds */
};

struct builder {
	struct schedule *schedule;
	uint64_t grain_bytes, grains;
	uint32_t devices;
	struct schedule_message *messages;
	struct schedule_range *ranges;
	struct byte_range *byte_ranges;
	struct transfer *transfers;
	struct work_graph *g;
	const struct schedule_graph_places *places;
	char *staging[DEV_MAX];   /* by receiver: what no message has so far */
	uint32_t latest[DEV_MAX]; /* node of the first lane that second lanes start after */
};

uint64_t schedule_graph_bytes(uint64_t count)
{
	return (count * sizeof(float) + DEV_KERNEL_ALIGN - 1) / DEV_KERNEL_ALIGN * DEV_KERNEL_ALIGN;
}

/* ------------------------------------------------------------------ schedules */

/* The halves leave part i in device i. */
static int open_schedule(enum schedule_kind kind, const char *algorithm, uint32_t ranks,
			 struct schedule **s_p)
{
	struct grid line = grid_line(ranks);
	int status = -ENOTSUP;
	if (kind == SCHEDULE_ALLREDUCE)
		status = schedule_open(algorithm, &line, SCHEDULE_ONE_PORT, kind, SCHEDULE_RENAMED,
				       s_p);
	return status == -ENOTSUP ? schedule_open(algorithm, &line, SCHEDULE_ONE_PORT, kind,
						  SCHEDULE_INDEXED, s_p)
				  : status;
}

static void close_builder(struct builder *b)
{
	schedule_close(b->schedule);
	free(b->messages);
	free(b->ranges);
	free(b->byte_ranges);
	free(b->transfers);
}

/* After an error there is nothing to close. */
static int open_builder(struct builder *b, enum schedule_kind kind, const char *algorithm,
			uint32_t devices, uint64_t count)
{
	const uint64_t grain = kind == SCHEDULE_ALLGATHER ? COPY_GRAIN : DEV_KERNEL_ALIGN;
	*b = (struct builder){.grain_bytes = grain,
			      .grains = (count * sizeof(float) + grain - 1) / grain,
			      .devices = devices};
	int status = open_schedule(kind, algorithm, devices, &b->schedule);
	if (status)
		return status;
	size_t messages = schedule_max_messages(b->schedule), chunks = schedule_chunks(b->schedule);
	b->messages = calloc(messages, sizeof(*b->messages));
	b->ranges = calloc(chunks, sizeof(*b->ranges));
	b->byte_ranges = calloc(chunks, sizeof(*b->byte_ranges));
	b->transfers = calloc(messages * devices, sizeof(*b->transfers));
	if (b->messages && b->ranges && b->byte_ranges && b->transfers)
		return 0;
	close_builder(b);
	return err_note(-ENOMEM, "a schedule of %u devices: out of memory", devices);
}

/* The ranges of a message that are not empty; returns their number. */
static uint32_t find_byte_ranges(struct builder *b, const struct schedule_message *m)
{
	uint32_t chunks = schedule_chunks(b->schedule), found = 0,
		 ranges = schedule_ranges(b->schedule, 0, m, b->ranges);
	for (uint32_t i = 0; i < ranges; i++) {
		uint64_t first = b->ranges[i].first, end = first + b->ranges[i].count,
			 at = b->grains * first / chunks, grains = b->grains * end / chunks - at;
		if (grains)
			b->byte_ranges[found++] =
				(struct byte_range){at * b->grain_bytes, grains * b->grain_bytes};
	}
	return found;
}

/* ------------------------------------------------------------------ plans */

static void plan_device(struct builder *b, uint32_t device, struct schedule_graph_plan *plan)
{
	uint64_t staging_bytes = 0;
	for (uint32_t step = 0; step < schedule_steps(b->schedule); step++) {
		uint32_t count = schedule_messages(b->schedule, 0, device, step, b->messages);
		for (uint32_t i = 0; i < count; i++) {
			const struct schedule_message *m = &b->messages[i];
			uint32_t ranges = m->send ? 0 : find_byte_ranges(b, m);
			plan->copies += ranges;
			for (uint32_t k = 0; k < ranges; k++) {
				plan->bytes += b->byte_ranges[k].bytes;
				staging_bytes += m->reduce ? b->byte_ranges[k].bytes : 0;
			}
		}
	}
	if (staging_bytes > plan->staging_bytes)
		plan->staging_bytes = staging_bytes;
}

int schedule_graph_plan(enum schedule_kind kind, const char *algorithm, uint32_t devices,
			uint64_t count, struct schedule_graph_plan *plan_p)
{
	struct schedule_graph_plan plan = {0};
	struct builder b;
	int status = open_builder(&b, kind, algorithm, devices, count);
	if (status)
		return status;
	for (uint32_t i = 0; i < devices; i++)
		plan_device(&b, i, &plan);
	close_builder(&b);
	*plan_p = plan;
	return 0;
}

/* ------------------------------------------------------------------ graphs */

/* Returns false if the message is empty. */
static bool add_send(struct builder *b, uint32_t device, const struct schedule_message *m,
		     struct transfer *t)
{
	const struct schedule_graph_places *p = b->places;
	uint32_t ranges = find_byte_ranges(b, m),
		 lane = p->lane[m->port % SCHEDULE_GRAPH_PORTS][device];
	*t = (struct transfer){.message = *m, .from = device, .staging = b->staging[m->peer]};
	for (uint32_t i = 0; i < ranges; i++) {
		struct byte_range r = b->byte_ranges[i];
		char *to = m->reduce ? b->staging[m->peer] : (char *)p->vector[m->peer] + r.at;
		t->copied = work_graph_copy(b->g, lane, to, (char *)p->vector[device] + r.at,
					    r.bytes, 0);
		work_graph_edge(b->g, b->latest[device], t->copied);
		b->staging[m->peer] += m->reduce ? r.bytes : 0;
	}
	return ranges > 0;
}

static void add_wait(struct builder *b, uint32_t device, uint32_t node)
{
	b->latest[device] = work_graph_mark(b->g, b->places->lane[0][device]);
	work_graph_edge(b->g, node, b->latest[device]);
}

static void add_receive(struct builder *b, struct transfer t)
{
	uint32_t device = t.message.peer,
		 ranges = t.message.reduce ? find_byte_ranges(b, &t.message) : 0;
	add_wait(b, device, t.copied);
	for (uint32_t i = 0; i < ranges; i++) {
		struct byte_range r = b->byte_ranges[i];
		b->latest[device] = work_graph_pass(b->g, b->places->lane[0][device], "reduce_add",
						    (char *)b->places->vector[device] + r.at,
						    t.staging, r.bytes, 0);
		t.staging += r.bytes;
	}
}

/* Nothing may be added to memory that a second lane still reads, so the device's first lane waits
 * for it before it receives. */
static void add_step(struct builder *b, uint32_t step)
{
	size_t sent = 0;
	for (uint32_t device = 0; device < b->devices; device++) {
		uint32_t count = schedule_messages(b->schedule, 0, device, step, b->messages);
		for (uint32_t i = 0; i < count; i++)
			if (b->messages[i].send)
				sent += add_send(b, device, &b->messages[i], &b->transfers[sent]);
	}
	for (size_t i = 0; i < sent; i++)
		if (b->transfers[i].message.port % SCHEDULE_GRAPH_PORTS)
			add_wait(b, b->transfers[i].from, b->transfers[i].copied);
	for (size_t i = 0; i < sent; i++)
		add_receive(b, b->transfers[i]);
}

int schedule_graph_add(struct work_graph *g, enum schedule_kind kind, const char *algorithm,
		       uint64_t count, const struct schedule_graph_places *places)
{
	struct builder b;
	int status = open_builder(&b, kind, algorithm, places->devices, count);
	if (status)
		return status;
	b.g = g;
	b.places = places;
	for (uint32_t i = 0; i < b.devices; i++) {
		b.staging[i] = places->staging[i];
		b.latest[i] = work_graph_mark(g, places->lane[0][i]);
	}
	for (uint32_t step = 0; step < schedule_steps(b.schedule); step++)
		add_step(&b, step);
	close_builder(&b);
	return 0;
}
