/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/executor.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>

enum { LANES = 2 }; /* streams that send at a time, one a port; the first is the caller's */

/* What one thread block adds: more of them than there is work for start for nothing. */
#define BLOCK_BYTES 4096u

/* A range of the vector, in bytes. */
struct piece {
	uint64_t at, bytes;
};

/* A message, with its pieces. Within a step a device's later lanes come first. */
struct transfer {
	uint32_t step, from, to, lane;
	uint32_t first_piece, pieces;
	bool reduce, opening; /* the first of a run from here to there on this lane */
	uint64_t staging;     /* where it arrives when it is added */
	uint64_t bytes;
};

struct member {
	struct dev *dev;
	struct dev_kernel *add;
	struct dev_stream *lane; /* of the second port; NULL when there is none */
	struct dev_event *fork, *over, **arrived; /* one a message of a step */
	uint32_t queued, queued_lane;
	uint64_t staging_bytes;
};

struct executor {
	struct schedule *schedule;
	uint64_t lines; /* of DEV_KERNEL_ALIGN */
	uint32_t members, most_sends;
	struct member member[DEV_MAX];
	struct transfer *transfers;
	struct piece *pieces;
	size_t transfer_count, transfer_room, piece_count, piece_room;
	struct schedule_message *messages;
	struct schedule_range *ranges;
	uint64_t planned_bytes, sent_messages, sent_bytes;
};

static uint64_t lines_of(uint64_t count) { return (count * sizeof(float) + DEV_KERNEL_ALIGN - 1) / DEV_KERNEL_ALIGN; }

uint64_t executor_bytes(uint64_t count) { return lines_of(count) * DEV_KERNEL_ALIGN; }

/* ------------------------------------------------------------------ from messages to transfers */

/* Room for one more; 0 or -ENOMEM. */
static int grow(void **at, size_t count, size_t *room, size_t each)
{
	if (count < *room)
		return 0;
	size_t more = *room ? 2 * *room : 64;
	void *grown = realloc(*at, more * each);
	if (!grown)
		return -ENOMEM;
	*at = grown;
	*room = more;
	return 0;
}

/* The ranges of a message that aren't empty. */
static int add_pieces(struct executor *x, const struct schedule_message *m, struct transfer *t)
{
	uint32_t ranges = schedule_ranges(x->schedule, 0, m, x->ranges), blocks = schedule_blocks(x->schedule);
	t->first_piece = (uint32_t)x->piece_count;
	for (uint32_t i = 0; i < ranges; i++) {
		uint64_t from = x->lines * x->ranges[i].first / blocks;
		uint64_t to = x->lines * ((uint64_t)x->ranges[i].first + x->ranges[i].count) / blocks;
		if (from == to)
			continue;
		if (grow((void **)&x->pieces, x->piece_count, &x->piece_room, sizeof(*x->pieces)))
			return -ENOMEM;
		struct piece piece = {from * DEV_KERNEL_ALIGN, (to - from) * DEV_KERNEL_ALIGN};
		x->pieces[x->piece_count++] = piece;
		t->bytes += piece.bytes;
		t->pieces++;
	}
	return 0;
}

static bool opens(const struct executor *x, const struct transfer *t)
{
	for (size_t i = 0; i < x->transfer_count; i++)
		if (x->transfers[i].from == t->from && x->transfers[i].to == t->to && x->transfers[i].lane == t->lane)
			return false;
	return true;
}

static int add_transfer(struct executor *x, uint32_t step, uint32_t from, const struct schedule_message *m)
{
	struct transfer t = {.step = step, .from = from, .to = m->peer, .lane = m->port % LANES, .reduce = m->reduce};
	struct member *sender = &x->member[from], *receiver = &x->member[m->peer];
	if (grow((void **)&x->transfers, x->transfer_count, &x->transfer_room, sizeof(*x->transfers)) || add_pieces(x, m, &t))
		return -ENOMEM;
	if (t.bytes == 0)
		return 0;
	t.opening = opens(x, &t);
	t.staging = receiver->staging_bytes;
	receiver->staging_bytes += t.reduce ? t.bytes : 0;
	receiver->queued += 1 + (t.reduce ? t.pieces : 0);
	sender->queued += t.lane ? 2 : t.pieces + 2;
	sender->queued_lane += t.lane ? t.pieces + 3 : 0;
	x->planned_bytes += t.bytes;
	x->transfers[x->transfer_count++] = t;
	return 0;
}

static int add_sends(struct executor *x, uint32_t step, uint32_t rank)
{
	unsigned count = schedule_messages(x->schedule, 0, rank, step, x->messages), sends = 0;
	for (unsigned lane = LANES; lane-- > 0;)
		for (unsigned i = 0; i < count; i++) {
			if (!x->messages[i].send || x->messages[i].port % LANES != lane)
				continue;
			if (add_transfer(x, step, rank, &x->messages[i]))
				return -ENOMEM;
			sends++;
		}
	x->most_sends = sends > x->most_sends ? sends : x->most_sends;
	return 0;
}

static int plan(struct executor *x)
{
	x->messages = calloc(schedule_most_messages(x->schedule), sizeof(*x->messages));
	x->ranges = calloc(schedule_blocks(x->schedule), sizeof(*x->ranges));
	int status = x->messages && x->ranges ? 0 : -ENOMEM;
	for (uint32_t step = 0; status == 0 && step < schedule_steps(x->schedule); step++)
		for (uint32_t rank = 0; status == 0 && rank < x->members; rank++)
			status = add_sends(x, step, rank);
	return status ? err_note(status, "a plan for %u devices: out of memory", x->members) : 0;
}

/* ------------------------------------------------------------------ opening and closing */

static int open_member(struct executor *x, struct member *m)
{
	int status = dev_kernel_find(m->dev, "reduce_add", &m->add);
	m->arrived = calloc(x->most_sends + 1u, sizeof(struct dev_event *));
	if (status == 0 && !m->arrived)
		status = err_note(-ENOMEM, "events of %u messages: out of memory", x->most_sends);
	if (status == 0 && m->queued_lane)
		status = dev_stream_open(m->dev, dev_props(m->dev)->priority_normal, &m->lane);
	if (status == 0)
		status = dev_event_open(m->dev, &m->fork);
	if (status == 0)
		status = dev_event_open(m->dev, &m->over);
	for (uint32_t i = 0; status == 0 && i < x->most_sends; i++)
		status = dev_event_open(m->dev, &m->arrived[i]);
	return status;
}

static int open_schedule(const char *algorithm, uint32_t ranks, struct schedule **s_p)
{
	struct grid line = grid_line(ranks);
	int status = schedule_open(algorithm, &line, SCHEDULE_ONE_PORT, SCHEDULE_ALLREDUCE, SCHEDULE_RENAMED, s_p);
	if (status == -ENOTSUP)
		status = schedule_open(algorithm, &line, SCHEDULE_ONE_PORT, SCHEDULE_ALLREDUCE, SCHEDULE_INDEXED, s_p);
	return status;
}

int executor_open(const char *algorithm, const struct dev_set *set, uint64_t count, struct executor **x_p)
{
	struct executor *x = calloc(1, sizeof(*x));
	if (!x)
		return err_note(-ENOMEM, "a plan for %zu devices: out of memory", set->count);
	x->lines = lines_of(count);
	x->members = (uint32_t)set->count;
	for (uint32_t i = 0; i < x->members; i++)
		x->member[i].dev = set->dev[i];
	int status = open_schedule(algorithm, x->members, &x->schedule);
	if (status == 0)
		status = plan(x);
	for (uint32_t i = 0; status == 0 && i < x->members; i++)
		status = open_member(x, &x->member[i]);
	if (status)
		executor_close(x);
	else
		*x_p = x;
	return status;
}

void executor_close(struct executor *x)
{
	for (uint32_t i = 0; x && i < x->members; i++) {
		struct member *m = &x->member[i];
		for (uint32_t k = 0; m->arrived && k < x->most_sends; k++)
			dev_event_close(m->dev, m->arrived[k]);
		free(m->arrived);
		dev_event_close(m->dev, m->fork);
		dev_event_close(m->dev, m->over);
		dev_stream_close(m->dev, m->lane);
	}
	if (x) {
		schedule_close(x->schedule);
		free(x->transfers);
		free(x->pieces);
		free(x->messages);
		free(x->ranges);
	}
	free(x);
}

uint64_t executor_staging_bytes(const struct executor *x)
{
	uint64_t most = DEV_KERNEL_ALIGN;
	for (uint32_t i = 0; i < x->members; i++)
		most = x->member[i].staging_bytes > most ? x->member[i].staging_bytes : most;
	return most;
}

uint32_t executor_most_queued(const struct executor *x)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < x->members; i++) {
		const struct member *m = &x->member[i];
		uint32_t more = m->queued > m->queued_lane ? m->queued : m->queued_lane;
		most = more + 1 > most ? more + 1 : most;
	}
	return most;
}

/* ------------------------------------------------------------------ doing it */

/* The second lane starts from what the first one holds now. */
static int fork_lane(struct member *m, struct dev_stream *own)
{
	int status = dev_event_record(m->dev, own, m->fork);
	return status ? status : dev_stream_wait(m->dev, m->lane, m->fork);
}

static int send(struct executor *x, const struct executor_memory *memory, const struct transfer *t, struct dev_event *arrived)
{
	struct member *m = &x->member[t->from];
	struct dev_stream *stream = t->lane ? m->lane : memory->stream[t->from];
	char *staging = (char *)memory->staging[t->to] + t->staging;
	int status = t->lane ? fork_lane(m, memory->stream[t->from]) : 0;
	if (status == 0 && t->opening)
		status = dev_stream_wait(m->dev, stream, x->member[t->to].over);
	for (uint32_t i = 0; status == 0 && i < t->pieces; i++) {
		const struct piece *p = &x->pieces[t->first_piece + i];
		char *there = t->reduce ? staging : (char *)memory->vector[t->to] + p->at;
		status = dev_copy(m->dev, stream, there, (char *)memory->vector[t->from] + p->at, p->bytes);
		staging += p->bytes;
	}
	if (status == 0)
		status = dev_event_record(m->dev, stream, arrived);
	x->sent_messages += status == 0;
	x->sent_bytes += status == 0 ? t->bytes : 0;
	return status;
}

static int add(struct member *m, struct dev_stream *stream, char *to, const char *from, uint64_t bytes)
{
	uint32_t reps = 1, most = dev_wave_blocks(m->dev, m->add);
	const void *const args[] = {&to, &from, &bytes, &reps};
	uint64_t blocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
	struct dev_launch launch = {.grid = blocks < most ? (uint32_t)blocks : most, .args = args};
	return dev_launch(m->dev, stream, m->add, &launch);
}

static int receive(struct executor *x, const struct executor_memory *memory, const struct transfer *t, struct dev_event *arrived)
{
	struct member *m = &x->member[t->to];
	struct dev_stream *stream = memory->stream[t->to];
	const char *staging = (const char *)memory->staging[t->to] + t->staging;
	int status = dev_stream_wait(m->dev, stream, arrived);
	for (uint32_t i = 0; status == 0 && t->reduce && i < t->pieces; i++) {
		const struct piece *p = &x->pieces[t->first_piece + i];
		status = add(m, stream, (char *)memory->vector[t->to] + p->at, staging, p->bytes);
		staging += p->bytes;
	}
	return status;
}

/* Transfers [first, end) are a step: all are sent from the state before it, then all arrive. What a lane reads is not to be
 * added to meanwhile, so that the device's own stream waits for its lanes before anything arrives. */
static int run_step(struct executor *x, const struct executor_memory *memory, size_t first, size_t end)
{
	int status = 0;
	for (int pass = 0; pass < 3; pass++) {
		uint32_t nth = 0;
		for (size_t i = first; status == 0 && i < end; i++) {
			const struct transfer *t = &x->transfers[i];
			nth = i > first && t[-1].from == t->from ? nth + 1 : 0;
			struct member *sender = &x->member[t->from];
			struct dev_event *arrived = sender->arrived[nth];
			if (pass == 0)
				status = send(x, memory, t, arrived);
			else if (pass == 1 && t->lane)
				status = dev_stream_wait(sender->dev, memory->stream[t->from], arrived);
			else if (pass == 2)
				status = receive(x, memory, t, arrived);
		}
	}
	return status;
}

int executor_enqueue(struct executor *x, const struct executor_memory *memory)
{
	int status = 0;
	for (size_t first = 0, end; status == 0 && first < x->transfer_count; first = end) {
		for (end = first; end < x->transfer_count && x->transfers[end].step == x->transfers[first].step;)
			end++;
		status = run_step(x, memory, first, end);
	}
	for (uint32_t i = 0; status == 0 && i < x->members; i++)
		status = dev_event_record(x->member[i].dev, memory->stream[i], x->member[i].over);
	return status;
}

void executor_planned(const struct executor *x, uint64_t *messages_p, uint64_t *bytes_p)
{
	*messages_p = x->transfer_count;
	*bytes_p = x->planned_bytes;
}

void executor_sent(const struct executor *x, uint64_t *messages_p, uint64_t *bytes_p)
{
	*messages_p = x->sent_messages;
	*bytes_p = x->sent_bytes;
}
