/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/storage/reader_threads.h"
#include "lib/clock.h"
#include "lib/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct reader_thread {
	struct reader_threads *all;
	pthread_t id;
	char *to;
	uint64_t chunk;
};

struct reader_threads {
	const struct storage_file *file;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool closes;
	uint64_t next; /* chunk, modulo those of the file */
	uint64_t begun, most;
	struct reader_reads reads;
	struct err_first first; /* read that failed */
	const struct reader_device *by;
	unsigned count;
	struct reader_thread thread[READERS_MOST];
};

/* The end of a device's read is awaited, for a backend may only have enqueued it. */
static int read_chunk(const struct reader_thread *t, uint64_t chunk)
{
	const struct reader_device *by = t->all->by;
	const uint64_t bytes = t->all->file->chunk_bytes;
	if (!by)
		return storage_file_read(t->all->file, chunk, t->to);
	struct dev_stream *s = by->stream[t - t->all->thread];
	const int status = dev_file_read(by->dev, s, &by->file, chunk * bytes, t->to, bytes);
	return status ? status : dev_stream_sync(by->dev, s);
}

static void read_next(struct reader_thread *t)
{
	struct reader_threads *all = t->all;
	const uint64_t chunk = all->next++ % all->file->chunks;
	if (all->begun++ == 0)
		all->reads.begin_ns = clock_ns();
	pthread_mutex_unlock(&all->lock);
	const int status = read_chunk(t, chunk);
	pthread_mutex_lock(&all->lock);
	all->reads.end_ns = clock_ns();
	all->reads.ended++;
	t->chunk = chunk;
	all->reads.failed = err_keep(&all->first, status) != 0;
	pthread_cond_broadcast(&all->changed);
}

static void *run_reader(void *argument)
{
	struct reader_thread *t = argument;
	struct reader_threads *all = t->all;
	pthread_mutex_lock(&all->lock);
	while (!all->closes)
		if (all->begun < all->most && !all->first.status)
			read_next(t);
		else
			pthread_cond_wait(&all->changed, &all->lock);
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

int reader_threads_open(struct reader_threads **t_p, const struct storage_file *file,
			const struct reader_device *by, char *const *to, unsigned count)
{
	struct reader_threads *t = *t_p = calloc(1, sizeof(*t));
	if (!t)
		return err_note(-ENOMEM, "threads that read: out of memory");
	t->file = file;
	t->by = by;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	for (; t->count < count; t->count++) {
		struct reader_thread *thread = &t->thread[t->count];
		*thread = (struct reader_thread){.all = t, .to = to[t->count]};
		const int error = pthread_create(&thread->id, NULL, run_reader, thread);
		if (error)
			return err_note(-error, "a thread that reads: %s", strerror(error));
	}
	return 0;
}

void reader_threads_close(struct reader_threads *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->closes = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	for (unsigned i = 0; i < t->count; i++)
		pthread_join(t->thread[i].id, NULL);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void reader_threads_start(struct reader_threads *t, uint64_t chunks)
{
	pthread_mutex_lock(&t->lock);
	t->begun = 0;
	t->most = chunks;
	t->reads = (struct reader_reads){0};
	for (unsigned i = 0; i < t->count; i++)
		t->thread[i].chunk = UINT64_MAX;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

int reader_threads_wait(struct reader_threads *t, uint64_t ended, struct reader_reads *reads_p)
{
	pthread_mutex_lock(&t->lock);
	while (t->reads.ended < ended && !t->first.status)
		pthread_cond_wait(&t->changed, &t->lock);
	*reads_p = t->reads;
	const int status = err_kept(&t->first);
	pthread_mutex_unlock(&t->lock);
	return status;
}

struct reader_reads reader_threads_now(struct reader_threads *t)
{
	pthread_mutex_lock(&t->lock);
	const struct reader_reads reads = t->reads;
	pthread_mutex_unlock(&t->lock);
	return reads;
}

int reader_threads_stop(struct reader_threads *t)
{
	pthread_mutex_lock(&t->lock);
	t->most = t->begun;
	while (t->reads.ended < t->begun)
		pthread_cond_wait(&t->changed, &t->lock);
	const int status = err_kept(&t->first);
	pthread_mutex_unlock(&t->lock);
	return status;
}

uint64_t reader_threads_chunk(struct reader_threads *t, unsigned thread)
{
	pthread_mutex_lock(&t->lock);
	const uint64_t chunk = t->thread[thread].chunk;
	pthread_mutex_unlock(&t->lock);
	return chunk;
}
