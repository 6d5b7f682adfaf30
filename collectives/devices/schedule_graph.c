/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/schedule_graph.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>

enum { COPY_GRAIN = 16 };

/* A message that was sent in this step. */
struct transfer {
	struct schedule_message message;
	uint32_t from, copied; /* device; node of the last copy */
	unsigned part;
	float *staging; /* of the receiver, if it adds */
};

struct builder {
	struct schedule *schedule;
	enum schedule_kind kind;
	uint64_t grain, floats; /* of the vector with its padding, whole grains */
	uint32_t devices;
	struct schedule_message *messages;
	struct schedule_range *ranges;
	struct schedule_span *spans;
	struct transfer *transfers;
	struct work_graph *g;
	const struct schedule_graph_places *places;
	float *staging[DEV_MAX]; /* by receiver: what no message has so far */
	/* By part and device: the node of its first lane that its other lanes start after. */
	uint32_t latest[DEV_MAX][DEV_MAX];
};

uint64_t schedule_graph_bytes(uint64_t count)
{
	return (count * sizeof(float) + DEV_KERNEL_ALIGN - 1) / DEV_KERNEL_ALIGN * DEV_KERNEL_ALIGN;
}

/* ------------------------------------------------------------------ schedules */

static void close_builder(struct builder *b)
{
	schedule_close(b->schedule);
	free(b->messages);
	free(b->ranges);
	free(b->spans);
	free(b->transfers);
}

/* After an error there is nothing to close. */
static int open_builder(struct builder *b, enum schedule_kind kind, const char *algorithm,
			uint32_t devices, uint64_t count)
{
	const struct grid line = grid_line(devices);
	const uint64_t grain =
		(kind == SCHEDULE_ALLGATHER ? COPY_GRAIN : DEV_KERNEL_ALIGN) / sizeof(float);
	*b = (struct builder){.kind = kind,
			      .grain = grain,
			      .floats = (count + grain - 1) / grain * grain,
			      .devices = devices};
	int status = schedule_open_placed(algorithm, &line, SCHEDULE_ONE_PORT, kind, &b->schedule);
	if (status)
		return status;
	size_t messages = schedule_max_messages(b->schedule), chunks = schedule_chunks(b->schedule);
	b->messages = calloc(messages, sizeof(*b->messages));
	b->ranges = calloc(chunks, sizeof(*b->ranges));
	b->spans = calloc(chunks, sizeof(*b->spans));
	b->transfers = calloc(messages * devices, sizeof(*b->transfers));
	if (b->messages && b->ranges && b->spans && b->transfers)
		return 0;
	close_builder(b);
	return err_note(-ENOMEM, "a schedule of %u devices: out of memory", devices);
}

/* The ranges of a message that are not empty; returns their number. */
static uint32_t find_spans(struct builder *b, unsigned part, const struct schedule_message *m)
{
	uint32_t found = 0, ranges = schedule_ranges(b->schedule, part, m, b->ranges);
	for (uint32_t i = 0; i < ranges; i++) {
		b->spans[found] = schedule_place(b->schedule, b->kind, b->floats, b->grain, part,
						 b->ranges[i].first, b->ranges[i].count);
		found += b->spans[found].count > 0;
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
		uint32_t ranges = m->send ? 0 : find_spans(b, part, m);
		plan->copies += ranges;
		for (uint32_t k = 0; k < ranges; k++) {
			const uint64_t bytes = b->spans[k].count * sizeof(float);
			plan->bytes += bytes;
			staging_bytes += m->reduce ? bytes : 0;
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
	uint32_t ranges = find_spans(b, part, m), lane = p->lane[m->port][device];
	*t = (struct transfer){
		.message = *m, .from = device, .part = part, .staging = b->staging[m->peer]};
	for (uint32_t i = 0; i < ranges; i++) {
		struct schedule_span r = b->spans[i];
		float *to = m->reduce ? b->staging[m->peer] : p->vector[m->peer] + r.first;
		t->copied = work_graph_copy(b->g, lane, to, p->vector[device] + r.first,
					    r.count * sizeof(float), p->copy_blocks);
		work_graph_edge(b->g, b->latest[part][device], t->copied);
		b->staging[m->peer] += m->reduce ? r.count : 0;
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
		 ranges = t.message.reduce ? find_spans(b, t.part, &t.message) : 0;
	add_wait(b, device, t.part, t.copied);
	for (uint32_t i = 0; i < ranges; i++) {
		struct schedule_span r = b->spans[i];
		b->latest[t.part][device] =
			work_graph_pass(b->g, b->places->lane[first_port(b, t.part)][device],
					"reduce_add", b->places->vector[device] + r.first,
					t.staging, r.count * sizeof(float), b->places->add_blocks);
		t.staging += r.count;
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
