/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/storage/reader.h"
#include "bench/bench_alloc.h"
#include "lib/clock.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>

static bool is_by_device(const struct bench_case *c, const struct reader_spec *spec)
{
	return spec->into_device || dev_can(c->dev, DEV_CAP_VIRTUAL_TIME);
}

int reader_admit(const struct bench_case *c, const struct reader_spec *spec)
{
	const char *why = dev_lack_reason(c->dev, DEV_CAP_FILE_READ_BIT);
	if (spec->file_bytes % spec->chunk_bytes)
		return err_note(-EINVAL, "the file's size is no multiple of the chunk's");
	if (!is_by_device(c, spec) || dev_can(c->dev, DEV_CAP_FILE_READ))
		return 0;
	if (dev_can(c->dev, DEV_CAP_VIRTUAL_TIME))
		return err_note(-ENOTSUP, "the simulated machine has no storage: its model has no "
					  "storage_bandwidth");
	return err_note(-ENOTSUP, "the device reads no files into its memory%s%s",
			why[0] ? ": " : "", why);
}

/* Memory of a reader, aligned for direct reads. */
static char *open_memory(struct bench_case *c, const struct reader_spec *spec)
{
	const enum dev_mem kind = spec->into_device ? DEV_MEM_DEVICE : DEV_MEM_PINNED;
	char *at = bench_alloc(c, kind, spec->chunk_bytes + STORAGE_ALIGN);
	return at ? at + (STORAGE_ALIGN - (uintptr_t)at % STORAGE_ALIGN) : NULL;
}

/* The first read into memory may take any time. */
static void open_device(struct reader *r, struct bench_case *c)
{
	r->by.dev = c->dev;
	TRY(c->status, dev_file_open(c->dev, r->file.file, &r->by.file));
	for (unsigned i = 0; i < r->count; i++) {
		struct dev_stream *s = r->by.stream[i] =
			bench_stream(c, dev_props(c->dev)->priority_normal);
		TRY(c->status,
		    dev_file_read(c->dev, s, &r->by.file, 0, r->to[i], r->file.chunk_bytes));
		TRY(c->status, dev_stream_sync(c->dev, s));
	}
}

static void open_events(struct reader *r, struct bench_case *c)
{
	r->begin = bench_event(c);
	for (unsigned i = 0; i < r->count; i++) {
		r->step[i][0] = bench_event(c);
		r->step[i][1] = bench_event(c);
	}
}

int reader_open(struct reader *r, struct bench_case *c, const struct reader_spec *spec)
{
	r->count = spec->readers;
	for (unsigned i = 0; i < r->count; i++)
		r->to[i] = open_memory(c, spec);
	TRY(c->status,
	    storage_file_open(&r->file, c, spec->folder, spec->file_bytes, spec->chunk_bytes));
	if (is_by_device(c, spec))
		open_device(r, c);
	if (dev_can(c->dev, DEV_CAP_VIRTUAL_TIME))
		open_events(r, c);
	else
		TRY(c->status,
		    reader_threads_open(&r->threads, &r->file, spec->into_device ? &r->by : NULL,
					r->to, r->count));
	return c->status;
}

void reader_close(struct reader *r, struct bench_case *c)
{
	reader_threads_close(r->threads);
	dev_file_close(c->dev, &r->by.file);
	storage_file_close(&r->file);
}

/* ------------------------------------------------------------------ in streams */

static void enqueue_read(struct reader *r, struct bench_case *c, unsigned i)
{
	r->chunk[i] = r->next++ % r->file.chunks;
	r->begun++;
	TRY(c->status,
	    dev_file_read(c->dev, r->by.stream[i], &r->by.file, r->chunk[i] * r->file.chunk_bytes,
			  r->to[i], r->file.chunk_bytes));
}

/* The event that ends a read: streams take turns, and each has two. */
static struct dev_event *step_of(const struct reader *r, uint64_t read)
{
	return r->step[read % r->count][read / r->count % 2];
}

static void enqueue_step(struct reader *r, struct bench_case *c)
{
	const uint64_t read = r->begun;
	const unsigned i = (unsigned)(read % r->count);
	enqueue_read(r, c, i);
	TRY(c->status, dev_event_record(c->dev, r->by.stream[i], step_of(r, read)));
}

static void follow_read(struct reader *r, struct bench_case *c)
{
	TRY(c->status, dev_event_sync(c->dev, step_of(r, r->followed)));
	r->followed++;
	enqueue_step(r, c);
}

static void forget_chunks(struct reader *r)
{
	r->begun = r->followed = 0;
	for (unsigned i = 0; i < r->count; i++)
		r->chunk[i] = UINT64_MAX;
}

static void sync_streams(const struct reader *r, struct bench_case *c)
{
	for (unsigned i = 0; i < r->count; i++) {
		const int synced = dev_stream_sync(c->dev, r->by.stream[i]);
		TRY(c->status, synced);
	}
}

static struct reader_reads reads_followed(const struct reader *r, const struct bench_case *c)
{
	return (struct reader_reads){.ended = r->followed, .end_ns = dev_clock_ns(c->dev)};
}

/* ------------------------------------------------------------------ beside other work */

int reader_begin(struct reader *r, struct bench_case *c)
{
	if (r->threads) {
		reader_threads_start(r->threads, UINT64_MAX);
		TRY(c->status, reader_threads_wait(r->threads, r->count, &r->mark));
		r->mark.end_ns = clock_ns();
		return c->status;
	}
	forget_chunks(r);
	for (unsigned i = 0; c->status == 0 && i < 2 * r->count; i++)
		enqueue_step(r, c);
	for (unsigned i = 0; c->status == 0 && i < r->count; i++)
		follow_read(r, c);
	r->mark = r->now = reads_followed(r, c);
	return c->status;
}

int reader_keep(struct reader *r, struct bench_case *c, struct dev_event *end)
{
	int waits = -EAGAIN;
	while (!r->threads && c->status == 0 && (waits = dev_event_query(c->dev, end)) == -EAGAIN) {
		r->now = reads_followed(r, c);
		follow_read(r, c);
	}
	return r->threads ? c->status : TRY(c->status, waits);
}

int reader_end(struct reader *r, struct bench_case *c, struct reader_meanwhile *meanwhile)
{
	if (r->threads)
		r->now = (struct reader_reads){.ended = reader_threads_now(r->threads).ended,
					       .end_ns = clock_ns()};
	meanwhile->samples++;
	meanwhile->reads += r->now.ended - r->mark.ended;
	meanwhile->seconds += 1e-9 * (double)(r->now.end_ns - r->mark.end_ns);
	if (!r->threads) {
		sync_streams(r, c);
		return c->status;
	}
	const int stopped = reader_threads_stop(r->threads);
	return TRY(c->status, stopped);
}

/* ------------------------------------------------------------------ reads alone */

int reader_start(struct reader *r, struct bench_case *c, uint64_t chunks)
{
	if (r->threads) {
		reader_threads_start(r->threads, chunks);
		r->mark.ended = chunks;
		return c->status;
	}
	forget_chunks(r);
	TRY(c->status, dev_event_record(c->dev, r->by.stream[0], r->begin));
	for (unsigned i = 1; i < r->count; i++)
		TRY(c->status, dev_stream_wait(c->dev, r->by.stream[i], r->begin));
	for (uint64_t i = 0; c->status == 0 && i < chunks; i++)
		enqueue_read(r, c, (unsigned)(i % r->count));
	for (unsigned i = 0; i < r->count; i++)
		TRY(c->status, dev_event_record(c->dev, r->by.stream[i], r->step[i][0]));
	return c->status;
}

bool reader_is_busy(struct reader *r, const struct bench_case *c)
{
	if (r->threads) {
		const struct reader_reads now = reader_threads_now(r->threads);
		return !now.failed && now.ended < r->mark.ended;
	}
	for (unsigned i = 0; i < r->count; i++)
		if (dev_event_query(c->dev, r->step[i][0]) == -EAGAIN)
			return true;
	return false;
}

int reader_finish(struct reader *r, struct bench_case *c, double *seconds_p)
{
	double longest = 0.0, ns = 0.0;
	if (r->threads) {
		struct reader_reads reads = {0};
		TRY(c->status, reader_threads_wait(r->threads, r->mark.ended, &reads));
		*seconds_p = 1e-9 * (double)(reads.end_ns - reads.begin_ns);
		return c->status;
	}
	sync_streams(r, c);
	for (unsigned i = 0; i < r->count; i++) {
		TRY(c->status, dev_event_elapsed_ns(c->dev, r->begin, r->step[i][0], &ns));
		longest = fmax(longest, ns);
	}
	*seconds_p = 1e-9 * longest;
	return c->status;
}

int reader_size(struct reader *r, struct bench_case *c, double seconds)
{
	const uint64_t least = 2 * r->count;
	const double most = r->threads ? 1e6 : dev_props(c->dev)->max_queued / 8.0;
	double taken = 0.0, rounds = 1.0;
	for (int i = 0; c->status == 0 && i < 2; i++) { /* the first is a warm-up */
		reader_start(r, c, least);
		reader_finish(r, c, &taken);
	}
	if (taken > 0.0)
		rounds = fmin(fmax(seconds / taken, 1.0), most);
	r->chunks = least * (uint64_t)rounds;
	r->chunks_s = taken * floor(rounds);
	return c->status;
}

/* ------------------------------------------------------------------ checking */

int reader_poison(const struct reader *r, struct bench_case *c)
{
	for (unsigned i = 0; i < r->count; i++)
		TRY(c->status, dev_fill(c->dev, c->stream, r->to[i], 0xa5, r->file.chunk_bytes));
	return c->status;
}

int reader_check(const struct reader *r, struct bench_case *c)
{
	int status = 0;
	for (unsigned i = 0; i < r->count; i++) {
		const uint64_t chunk =
			r->threads ? reader_threads_chunk(r->threads, i) : r->chunk[i];
		if (chunk != UINT64_MAX)
			TRY(status, storage_file_check(&r->file, c, r->to[i], chunk));
	}
	return status;
}
