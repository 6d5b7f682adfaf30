/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/executor.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/vec.h"

#include <errno.h>
#include <stdlib.h>

enum { LANES = 2 }; /* streams that send at a time, one per port; the first is the caller's */

/* What one thread block adds. A launch has no more thread blocks than this needs. */
#define THREAD_BLOCK_BYTES 4096u

/* A range of the vector, in bytes. */
struct byte_range {
	uint64_t at, bytes;
};

/* A message. Within a step the transfers of a device's later lanes come first. */
struct transfer {
	uint32_t step, from, to, lane;
	uint32_t first_range, byte_ranges;
	bool reduce;
	bool is_first_to_peer; /* the first of a run from this device to that peer on this lane */
	uint64_t staging;      /* offset in the peer's staging memory, when it is added */
	uint64_t bytes;
};

struct executor_device {
	struct dev *dev;
	struct dev_kernel *add;
	struct dev_stream *lane;                       /* of the second port; NULL without one */
	struct dev_event *lane_start, *end, **arrived; /* `arrived`: one per message of a step */
	uint32_t queue_entries, lane_queue_entries;
	uint64_t staging_bytes;
};

struct executor {
	struct schedule *schedule;
	uint64_t grains; /* of DEV_KERNEL_ALIGN bytes */
	uint32_t device_count, max_sends;
	struct executor_device devices[DEV_MAX];
	struct transfer *transfers;
	struct byte_range *byte_ranges;
	size_t transfer_count, transfer_capacity, byte_range_count, byte_range_capacity;
	struct schedule_message *messages;
	struct schedule_range *ranges;
	uint64_t planned_bytes, sent_messages, sent_bytes;
};

static uint64_t grains_of(uint64_t count)
{
	return (count * sizeof(float) + DEV_KERNEL_ALIGN - 1) / DEV_KERNEL_ALIGN;
}

uint64_t executor_bytes(uint64_t count) { return grains_of(count) * DEV_KERNEL_ALIGN; }

/* ------------------------------------------------------------------ from messages to transfers */

/* Adds the ranges of a message that are not empty. */
static int add_byte_ranges(struct executor *x, const struct schedule_message *m, struct transfer *t)
{
	uint32_t ranges = schedule_ranges(x->schedule, 0, m, x->ranges),
		 chunks = schedule_chunks(x->schedule);
	t->first_range = (uint32_t)x->byte_range_count;
	for (uint32_t i = 0; i < ranges; i++) {
		uint64_t from = x->grains * x->ranges[i].first / chunks;
		uint64_t to =
			x->grains * ((uint64_t)x->ranges[i].first + x->ranges[i].count) / chunks;
		if (from == to)
			continue;
		struct byte_range *grown = vec_grow(x->byte_ranges, x->byte_range_count,
						    &x->byte_range_capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		x->byte_ranges = grown;
		struct byte_range byte_range = {from * DEV_KERNEL_ALIGN,
						(to - from) * DEV_KERNEL_ALIGN};
		x->byte_ranges[x->byte_range_count++] = byte_range;
		t->bytes += byte_range.bytes;
		t->byte_ranges++;
	}
	return 0;
}

static bool is_first_to_peer(const struct executor *x, const struct transfer *t)
{
	for (size_t i = 0; i < x->transfer_count; i++)
		if (x->transfers[i].from == t->from && x->transfers[i].to == t->to &&
		    x->transfers[i].lane == t->lane)
			return false;
	return true;
}

static int add_transfer(struct executor *x, uint32_t step, uint32_t from,
			const struct schedule_message *m)
{
	struct transfer t = {.step = step,
			     .from = from,
			     .to = m->peer,
			     .lane = m->port % LANES,
			     .reduce = m->reduce};
	struct executor_device *sender = &x->devices[from], *receiver = &x->devices[m->peer];
	struct transfer *grown =
		vec_grow(x->transfers, x->transfer_count, &x->transfer_capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	x->transfers = grown;
	if (add_byte_ranges(x, m, &t))
		return -ENOMEM;
	if (t.bytes == 0)
		return 0;
	t.is_first_to_peer = is_first_to_peer(x, &t);
	t.staging = receiver->staging_bytes;
	receiver->staging_bytes += t.reduce ? t.bytes : 0;
	receiver->queue_entries += 1 + (t.reduce ? t.byte_ranges : 0);
	sender->queue_entries += t.lane ? 2 : t.byte_ranges + 2;
	sender->lane_queue_entries += t.lane ? t.byte_ranges + 3 : 0;
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
	x->max_sends = sends > x->max_sends ? sends : x->max_sends;
	return 0;
}

static int plan_transfers(struct executor *x)
{
	x->messages = calloc(schedule_max_messages(x->schedule), sizeof(*x->messages));
	x->ranges = calloc(schedule_chunks(x->schedule), sizeof(*x->ranges));
	int status = x->messages && x->ranges ? 0 : -ENOMEM;
	for (uint32_t step = 0; status == 0 && step < schedule_steps(x->schedule); step++)
		for (uint32_t rank = 0; status == 0 && rank < x->device_count; rank++)
			status = add_sends(x, step, rank);
	return status ? err_note(status, "a plan for %u devices: out of memory", x->device_count)
		      : 0;
}

/* ------------------------------------------------------------------ opening and closing */

static int open_executor_device(struct executor *x, struct executor_device *d)
{
	int status = dev_kernel_find(d->dev, "reduce_add", &d->add);
	d->arrived = calloc(x->max_sends + 1u, sizeof(struct dev_event *));
	if (status == 0 && !d->arrived)
		status = err_note(-ENOMEM, "events of %u messages: out of memory", x->max_sends);
	if (status == 0 && d->lane_queue_entries)
		status = dev_stream_open(d->dev, dev_props(d->dev)->priority_normal, &d->lane);
	if (status == 0)
		status = dev_event_open(d->dev, &d->lane_start);
	if (status == 0)
		status = dev_event_open(d->dev, &d->end);
	for (uint32_t i = 0; status == 0 && i < x->max_sends; i++)
		status = dev_event_open(d->dev, &d->arrived[i]);
	return status;
}

static int open_schedule(const char *algorithm, uint32_t ranks, struct schedule **s_p)
{
	struct grid line = grid_line(ranks);
	int status = schedule_open(algorithm, &line, SCHEDULE_ONE_PORT, SCHEDULE_ALLREDUCE,
				   SCHEDULE_RENAMED, s_p);
	if (status == -ENOTSUP)
		status = schedule_open(algorithm, &line, SCHEDULE_ONE_PORT, SCHEDULE_ALLREDUCE,
				       SCHEDULE_INDEXED, s_p);
	return status;
}

int executor_open(const char *algorithm, const struct dev_set *set, uint64_t count,
		  struct executor **x_p)
{
	struct executor *x = calloc(1, sizeof(*x));
	if (!x)
		return err_note(-ENOMEM, "a plan for %zu devices: out of memory", set->count);
	x->grains = grains_of(count);
	x->device_count = (uint32_t)set->count;
	for (uint32_t i = 0; i < x->device_count; i++)
		x->devices[i].dev = set->dev[i];
	int status = open_schedule(algorithm, x->device_count, &x->schedule);
	if (status == 0)
		status = plan_transfers(x);
	for (uint32_t i = 0; status == 0 && i < x->device_count; i++)
		status = open_executor_device(x, &x->devices[i]);
	if (status)
		executor_close(x);
	else
		*x_p = x;
	return status;
}

void executor_close(struct executor *x)
{
	for (uint32_t i = 0; x && i < x->device_count; i++) {
		struct executor_device *d = &x->devices[i];
		for (uint32_t k = 0; d->arrived && k < x->max_sends; k++)
			dev_event_close(d->dev, d->arrived[k]);
		free(d->arrived);
		dev_event_close(d->dev, d->lane_start);
		dev_event_close(d->dev, d->end);
		dev_stream_close(d->dev, d->lane);
	}
	if (x) {
		schedule_close(x->schedule);
		free(x->transfers);
		free(x->byte_ranges);
		free(x->messages);
		free(x->ranges);
	}
	free(x);
}

uint64_t executor_staging_bytes(const struct executor *x)
{
	uint64_t max_bytes = DEV_KERNEL_ALIGN;
	for (uint32_t i = 0; i < x->device_count; i++)
		max_bytes = x->devices[i].staging_bytes > max_bytes ? x->devices[i].staging_bytes
								    : max_bytes;
	return max_bytes;
}

uint32_t executor_max_queued(const struct executor *x)
{
	uint32_t max_entries = 0;
	for (uint32_t i = 0; i < x->device_count; i++) {
		const struct executor_device *d = &x->devices[i];
		uint32_t entries = d->queue_entries > d->lane_queue_entries ? d->queue_entries
									    : d->lane_queue_entries;
		max_entries = entries + 1 > max_entries ? entries + 1 : max_entries;
	}
	return max_entries;
}

/* ------------------------------------------------------------------ doing it */

/* The second lane waits for what is in the first one now. */
static int start_lane(struct executor_device *d, struct dev_stream *own)
{
	int status = dev_event_record(d->dev, own, d->lane_start);
	return status ? status : dev_stream_wait(d->dev, d->lane, d->lane_start);
}

static int enqueue_send(struct executor *x, const struct executor_memory *memory,
			const struct transfer *t, struct dev_event *arrived)
{
	struct executor_device *d = &x->devices[t->from];
	struct dev_stream *stream = t->lane ? d->lane : memory->stream[t->from];
	char *staging = (char *)memory->staging[t->to] + t->staging;
	int status = t->lane ? start_lane(d, memory->stream[t->from]) : 0;
	if (status == 0 && t->is_first_to_peer)
		status = dev_stream_wait(d->dev, stream, x->devices[t->to].end);
	for (uint32_t i = 0; status == 0 && i < t->byte_ranges; i++) {
		const struct byte_range *p = &x->byte_ranges[t->first_range + i];
		char *there = t->reduce ? staging : (char *)memory->vector[t->to] + p->at;
		status = dev_copy(d->dev, stream, there, (char *)memory->vector[t->from] + p->at,
				  p->bytes);
		staging += p->bytes;
	}
	if (status == 0)
		status = dev_event_record(d->dev, stream, arrived);
	x->sent_messages += status == 0;
	x->sent_bytes += status == 0 ? t->bytes : 0;
	return status;
}

static int enqueue_add(struct executor_device *d, struct dev_stream *stream, char *to,
		       const char *from, uint64_t bytes)
{
	uint32_t reps = 1, max_blocks = dev_wave_blocks(d->dev, d->add);
	const void *const args[] = {&to, &from, &bytes, &reps};
	uint64_t blocks = (bytes + THREAD_BLOCK_BYTES - 1) / THREAD_BLOCK_BYTES;
	struct dev_launch launch = {.grid = blocks < max_blocks ? (uint32_t)blocks : max_blocks,
				    .args = args};
	return dev_launch(d->dev, stream, d->add, &launch);
}

static int enqueue_receive(struct executor *x, const struct executor_memory *memory,
			   const struct transfer *t, struct dev_event *arrived)
{
	struct executor_device *d = &x->devices[t->to];
	struct dev_stream *stream = memory->stream[t->to];
	const char *staging = (const char *)memory->staging[t->to] + t->staging;
	int status = dev_stream_wait(d->dev, stream, arrived);
	for (uint32_t i = 0; status == 0 && t->reduce && i < t->byte_ranges; i++) {
		const struct byte_range *p = &x->byte_ranges[t->first_range + i];
		status = enqueue_add(d, stream, (char *)memory->vector[t->to] + p->at, staging,
				     p->bytes);
		staging += p->bytes;
	}
	return status;
}

/* Transfers [first, end) are a step: all are sent from the state before it, then all are received.
 * Nothing may be added to memory that a lane still reads, so the device's first stream waits for
 * its lanes before it receives. */
static int enqueue_step(struct executor *x, const struct executor_memory *memory, size_t first,
			size_t end)
{
	int status = 0;
	for (int pass = 0; pass < 3; pass++) {
		uint32_t nth = 0;
		for (size_t i = first; status == 0 && i < end; i++) {
			const struct transfer *t = &x->transfers[i];
			nth = i > first && t[-1].from == t->from ? nth + 1 : 0;
			struct executor_device *sender = &x->devices[t->from];
			struct dev_event *arrived = sender->arrived[nth];
			if (pass == 0)
				status = enqueue_send(x, memory, t, arrived);
			else if (pass == 1 && t->lane)
				status = dev_stream_wait(sender->dev, memory->stream[t->from],
							 arrived);
			else if (pass == 2)
				status = enqueue_receive(x, memory, t, arrived);
		}
	}
	return status;
}

int executor_enqueue(struct executor *x, const struct executor_memory *memory)
{
	int status = 0;
	for (size_t first = 0, end; status == 0 && first < x->transfer_count; first = end) {
		for (end = first;
		     end < x->transfer_count && x->transfers[end].step == x->transfers[first].step;)
			end++;
		status = enqueue_step(x, memory, first, end);
	}
	for (uint32_t i = 0; status == 0 && i < x->device_count; i++)
		status = dev_event_record(x->devices[i].dev, memory->stream[i], x->devices[i].end);
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
