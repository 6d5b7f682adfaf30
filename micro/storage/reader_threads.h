/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that read chunks of a file, each into memory of its own, and otherwise sleep. They take
 * the next chunk of the file whenever they are free; after the last one comes the first.
 *
 * Functions return 0 or -errno with a text. One thread calls them.
 */
#ifndef GPUSIG_READER_THREADS_H
#define GPUSIG_READER_THREADS_H

#include "micro/storage/storage_file.h"

#define READERS_MOST 64

struct reader_threads;

/* The state of the reads since reader_threads_start(). */
struct reader_reads {
	uint64_t ended;
	uint64_t begin_ns, end_ns; /* by the host's clock: the first began, the last ended */
	bool failed;               /* a read has, and no other begins */
};

/* A device that reads, and a stream for each that do at once. */
struct reader_device {
	struct dev *dev;
	struct dev_file file;
	struct dev_stream *stream[READERS_MOST];
};

/* `by`: the device that reads for the threads, each into memory of that device; NULL: they read
 * themselves. -ENOMEM or -EAGAIN: the system has no more threads. reader_threads_close() also then.
 */
int reader_threads_open(struct reader_threads **t_p, const struct storage_file *file,
			const struct reader_device *by, char *const *to, unsigned count);
void reader_threads_close(struct reader_threads *t); /* NULL is accepted */

/* They are idle: read so many chunks at once. */
void reader_threads_start(struct reader_threads *t, uint64_t chunks);
/* Wait until so many have ended. The error of the first read that failed, such as -EIO. */
int reader_threads_wait(struct reader_threads *t, uint64_t ended, struct reader_reads *reads_p);
struct reader_reads reader_threads_now(struct reader_threads *t);
/* Begin no other read, and wait until those that have begun have ended. */
int reader_threads_stop(struct reader_threads *t);

/* The chunk that the memory of a thread holds; UINT64_MAX: it has read none since the start. */
uint64_t reader_threads_chunk(struct reader_threads *t, unsigned thread);

#endif
