/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The threads of micro/storage: what they read, how often, and what they say of errors.
 */
#include "micro/storage/reader_threads.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK 8192u
enum { READERS = 3, CHUNKS = 5 };

static struct {
	struct storage_file file;
	char memory[READERS][CHUNK];
	struct reader_threads *threads;
} on;

/* Chunk i of the file has bytes i + 1; so many of them are there. */
static void open_readers(uint64_t written)
{
	char *to[READERS], bytes[CHUNK];
	on.file = (struct storage_file){
		.file = memfd_create("reader_threads", 0), .chunks = CHUNKS, .chunk_bytes = CHUNK};
	require(on.file.file > 0);
	for (uint64_t i = 0; i < written; i++) {
		memset(bytes, (int)i + 1, CHUNK);
		require(write(on.file.file, bytes, CHUNK) == CHUNK);
	}
	for (int i = 0; i < READERS; i++)
		to[i] = on.memory[i];
	memset(on.memory, 0, sizeof(on.memory));
	require(reader_threads_open(&on.threads, &on.file, NULL, to, READERS) == 0);
}

static void close_readers(void)
{
	reader_threads_close(on.threads);
	storage_file_close(&on.file);
}

/* Memory of a reader holds the chunk that it says. */
static void expect_chunks(void)
{
	for (unsigned i = 0; i < READERS; i++) {
		const uint64_t chunk = reader_threads_chunk(on.threads, i);
		if (chunk == UINT64_MAX)
			continue;
		expect(chunk < CHUNKS && on.memory[i][0] == (char)(chunk + 1) &&
		       on.memory[i][CHUNK - 1] == (char)(chunk + 1));
	}
}

static void so_many_chunks_are_read_and_no_more(void)
{
	struct reader_reads reads = {0};
	open_readers(CHUNKS);
	for (uint64_t chunks = 1; chunks < 40; chunks += 13) {
		reader_threads_start(on.threads, chunks);
		expect(reader_threads_wait(on.threads, chunks, &reads) == 0);
		expect(reads.ended == chunks && !reads.failed);
		expect(reads.begin_ns > 0 && reads.end_ns >= reads.begin_ns);
		expect(reader_threads_stop(on.threads) == 0);
		expect(reader_threads_now(on.threads).ended == chunks);
		expect_chunks();
	}
	close_readers();
}

static void they_read_until_they_are_stopped(void)
{
	struct reader_reads reads = {0};
	open_readers(CHUNKS);
	reader_threads_start(on.threads, UINT64_MAX);
	expect(reader_threads_wait(on.threads, 100, &reads) == 0);
	expect(reader_threads_stop(on.threads) == 0);
	const uint64_t ended = reader_threads_now(on.threads).ended;
	expect(ended >= 100 && ended >= reads.ended);
	expect_chunks();
	expect(reader_threads_now(on.threads).ended == ended);
	close_readers();
}

static void a_file_that_ends_is_an_error_and_no_hang(void)
{
	struct reader_reads reads = {0};
	open_readers(CHUNKS - 1);
	reader_threads_start(on.threads, UINT64_MAX);
	expect(reader_threads_wait(on.threads, UINT64_MAX, &reads) == -EIO);
	expect(strstr(err_text(), "read the file: "));
	expect(reads.failed);
	expect(reader_threads_stop(on.threads) == -EIO);
	close_readers();
}

static void idle_readers_are_closed(void)
{
	open_readers(CHUNKS);
	expect(reader_threads_now(on.threads).ended == 0);
	close_readers();
	reader_threads_close(NULL);
}

int main(void)
{
	test(so_many_chunks_are_read_and_no_more);
	test(they_read_until_they_are_stopped);
	test(a_file_that_ends_is_an_error_and_no_hang);
	test(idle_readers_are_closed);
	return test_done();
}
