/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/schedule_graph.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { COPY_GRAIN = 16 };

/* A range of the vector, in bytes. */
struct byte_range {
	uint64_t at, bytes;
};

struct grain_range {
	uint64_t at, count;
};

/* A message that was sent in this step. */
struct transfer {
	struct schedule_message message;
	uint32_t from, copied; /* device; node of the last copy */
	unsigned part;
	char *staging; /* of the receiver, if it adds */
};

struct builder {
	struct schedule *schedule;
	enum schedule_kind kind;
	uint64_t grain_bytes, grains;
	uint32_t devices;
	struct schedule_message *messages;
	struct schedule_range *ranges;
	struct byte_range *byte_ranges;
	struct transfer *transfers;
	struct work_graph *g;
	const struct schedule_graph_places *places;
	char *staging[DEV_MAX]; /* by receiver: what no message has so far */
	/* By part and device: the node of its first lane that its other lanes start after. */
	uint32_t latest[DEV_MAX][DEV_MAX];
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
	*b = (struct builder){.kind = kind,
			      .grain_bytes = grain,
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

/* In grains: pieces [first, end) of `of` when it is cut into `pieces`. */
static struct grain_range cut_grains(struct grain_range of, uint64_t pieces, uint64_t first,
				     uint64_t end)
{
	const uint64_t from = of.count * first / pieces, to = of.count * end / pieces;
	return (struct grain_range){of.at + from, to - from};
}

/* An allreduce cuts the vector into parts, and these into chunks. In the halves chunk i of all
 * parts is part i of the vector, so they cut it into chunks first; with several parts a message
 * there is one chunk. */
static struct grain_range find_grains(const struct builder *b, unsigned part,
				      struct schedule_range r)
{
	const uint64_t parts = schedule_parts(b->schedule), chunks = schedule_chunks(b->schedule),
		       end = (uint64_t)r.first + r.count;
	const struct grain_range whole = {0, b->grains};
	if (b->kind == SCHEDULE_ALLREDUCE)
		return cut_grains(cut_grains(whole, parts, part, part + 1), chunks, r.first, end);
	assert(parts == 1 || r.count == 1);
	return cut_grains(cut_grains(whole, chunks, r.first, end), parts, part, part + 1);
}

/* The ranges of a message that are not empty; returns their number. */
static uint32_t find_byte_ranges(struct builder *b, unsigned part, const struct schedule_message *m)
{
	uint32_t found = 0, ranges = schedule_ranges(b->schedule, part, m, b->ranges);
	for (uint32_t i = 0; i < ranges; i++) {
		struct grain_range r = find_grains(b, part, b->ranges[i]);
		if (r.count)
			b->byte_ranges[found++] = (struct byte_range){r.at * b->grain_bytes,
								      r.count * b->grain_bytes};
	}
	return found;
}

/* ------------------------------------------------------------------ plans */

/* Plan the messages that a device receives in a step of a part. Returns the bytes of staging
 * memory. */
static uint64_t plan_step(struct builder *b, uint32_t device, unsigned part, uint32_t step,
			  struct schedule_graph_plan *plan)
{
	uint64_t staging_bytes = 0;
	uint32_t count = schedule_messages(b->schedule, part, device, step, b->messages);
	for (uint32_t i = 0; i < count; i++) {
		const struct schedule_message *m = &b->messages[i];
		uint32_t ranges = m->send ? 0 : find_byte_ranges(b, part, m);
		plan->copies += ranges;
		for (uint32_t k = 0; k < ranges; k++) {
			plan->bytes += b->byte_ranges[k].bytes;
			staging_bytes += m->reduce ? b->byte_ranges[k].bytes : 0;
		}
	}
	return staging_bytes;
}

static void plan_device(struct builder *b, uint32_t device, struct schedule_graph_plan *plan)
{
	uint64_t staging_bytes = 0;
	for (unsigned part = 0; part < schedule_parts(b->schedule); part++)
		for (uint32_t step = 0; step < schedule_steps(b->schedule); step++)
			staging_bytes += plan_step(b, device, part, step, plan);
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
static bool add_send(struct builder *b, uint32_t device, unsigned part,
		     const struct schedule_message *m, struct transfer *t)
{
	const struct schedule_graph_places *p = b->places;
	uint32_t ranges = find_byte_ranges(b, part, m), lane = p->lane[m->port][device];
	*t = (struct transfer){
		.message = *m, .from = device, .part = part, .staging = b->staging[m->peer]};
	for (uint32_t i = 0; i < ranges; i++) {
		struct byte_range r = b->byte_ranges[i];
		char *to = m->reduce ? b->staging[m->peer] : (char *)p->vector[m->peer] + r.at;
		t->copied = work_graph_copy(b->g, lane, to, (char *)p->vector[device] + r.at,
					    r.bytes, 0);
		work_graph_edge(b->g, b->latest[part][device], t->copied);
		b->staging[m->peer] += m->reduce ? r.bytes : 0;
	}
	return ranges > 0;
}

/* The first port of a part. */
static uint32_t first_port(const struct builder *b, unsigned part)
{
	return part * (schedule_ports(b->schedule) / schedule_parts(b->schedule));
}

static void add_wait(struct builder *b, uint32_t device, unsigned part, uint32_t node)
{
	uint32_t *latest = &b->latest[part][device];
	*latest = work_graph_mark(b->g, b->places->lane[first_port(b, part)][device]);
	work_graph_edge(b->g, node, *latest);
}

static void add_receive(struct builder *b, struct transfer t)
{
	uint32_t device = t.message.peer,
		 ranges = t.message.reduce ? find_byte_ranges(b, t.part, &t.message) : 0;
	add_wait(b, device, t.part, t.copied);
	for (uint32_t i = 0; i < ranges; i++) {
		struct byte_range r = b->byte_ranges[i];
		b->latest[t.part][device] = work_graph_pass(
			b->g, b->places->lane[first_port(b, t.part)][device], "reduce_add",
			(char *)b->places->vector[device] + r.at, t.staging, r.bytes, 0);
		t.staging += r.bytes;
	}
}

/* Nothing may be added to memory that another lane still reads, so the part's first lane waits for
 * it before it receives. */
static void add_step(struct builder *b, unsigned part, uint32_t step)
{
	size_t sent = 0;
	for (uint32_t device = 0; device < b->devices; device++) {
		uint32_t count = schedule_messages(b->schedule, part, device, step, b->messages);
		for (uint32_t i = 0; i < count; i++)
			if (b->messages[i].send)
				sent += add_send(b, device, part, &b->messages[i],
						 &b->transfers[sent]);
	}
	for (size_t i = 0; i < sent; i++)
		if (b->transfers[i].message.port != first_port(b, part))
			add_wait(b, b->transfers[i].from, part, b->transfers[i].copied);
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
		b.latest[0][i] = work_graph_mark(g, places->lane[0][i]);
		for (unsigned part = 1; part < schedule_parts(b.schedule); part++)
			b.latest[part][i] = b.latest[0][i];
	}
	for (uint32_t step = 0; step < schedule_steps(b.schedule); step++)
		for (unsigned part = 0; part < schedule_parts(b.schedule); part++)
			add_step(&b, part, step);
	close_builder(&b);
	return 0;
}
