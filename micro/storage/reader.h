/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reader, which reads a file into memory of its own while other work is measured, or is
 * measured itself: threads with direct reads into pinned memory, or with reads by the device into
 * its own memory (GPUDirect Storage); in virtual time, which threads do not have, the device in
 * streams.
 *
 * Returns are c->status. The case owns what is opened, but for threads and file: reader_close().
 */
#ifndef GPUSIG_READER_H
#define GPUSIG_READER_H

#include "micro/storage/reader_threads.h"

struct reader_spec {
	bool into_device; /* else pinned memory */
	unsigned readers;
	uint64_t chunk_bytes, file_bytes;
	const char *folder;
};

/* Reads while something else was measured. */
struct reader_meanwhile {
	uint64_t samples, reads;
	double seconds; /* of the samples; of each by the device until its last read ended */
};

struct reader {
	struct storage_file file;
	unsigned count;
	char *to[READERS_MOST];
	struct reader_threads *threads; /* NULL: the device reads in streams */
	struct reader_device by;        /* the device; without threads, or into its memory */
	uint64_t chunks;                /* of reader_size() */
	double chunks_s;
	struct reader_reads mark, now; /* at reader_begin(), and before the other work ended */
	/* In streams: */
	struct dev_event *begin, *step[READERS_MOST][2]; /* the ends of the reads queued */
	uint64_t chunk[READERS_MOST];                    /* as reader_threads_chunk() */
	uint64_t next, begun, followed;
};

/* In admit: 0, or -ENOTSUP: the device reads no files. */
int reader_admit(const struct bench_case *c, const struct reader_spec *spec);
/* In setup. */
int reader_open(struct reader *r, struct bench_case *c, const struct reader_spec *spec);
/* In teardown. */
void reader_close(struct reader *r, struct bench_case *c);

/* To measure other work: all readers read when reader_begin() returns, until reader_end(), and what
 * ends between the two is added to `meanwhile`. The work is enqueued, then reader_keep() is called
 * with the event that ends it. */
int reader_begin(struct reader *r, struct bench_case *c);
int reader_keep(struct reader *r, struct bench_case *c, struct dev_event *end);
int reader_end(struct reader *r, struct bench_case *c, struct reader_meanwhile *meanwhile);

/* To measure reads: so many chunks, at least one a reader, at once. The time is from the begin of
 * the first to the end of the last. reader_size(), in setup, sets `chunks` to as many as take so
 * long, at least two a reader, and `chunks_s` to what they take. */
int reader_size(struct reader *r, struct bench_case *c, double seconds);
int reader_start(struct reader *r, struct bench_case *c, uint64_t chunks);
bool reader_is_busy(struct reader *r, const struct bench_case *c);
int reader_finish(struct reader *r, struct bench_case *c, double *seconds_p);

/* Destroy what was read, by work on c->stream; compare it with the file. */
int reader_poison(const struct reader *r, struct bench_case *c);
int reader_check(const struct reader *r, struct bench_case *c);

#endif
