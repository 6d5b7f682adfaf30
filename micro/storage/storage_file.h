/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file that is read: without a name, so that it is gone when the process is, however that ends;
 * opened for direct reads, past the page cache. In chunks, each of which holds the repeating
 * pattern of bench/pattern.h but for its first word, which tells them apart. In virtual time the
 * file is in memory, as a simulated device takes its time from its model.
 *
 * Returns are c->status.
 */
#ifndef GPUSIG_STORAGE_FILE_H
#define GPUSIG_STORAGE_FILE_H

#include "bench/bench.h"

/* Alignment of the address, the size and the place of direct reads, on any storage there is. */
#define STORAGE_ALIGN 4096u

struct storage_file {
	int file; /* 0: not open */
	uint64_t chunks, chunk_bytes;
	uint32_t *pattern, *expected; /* one pattern; a chunk, of the case */
	char where[512];              /* "ext4 on /dev/nvme0n1p2", or "" */
};

/* An axis' accept(): 0, or -EINVAL: it is no folder. */
int storage_folder_accept(const char *folder);

/* In setup: create the file in the folder and write it. `bytes` is a multiple of `chunk_bytes`,
 * which is one of STORAGE_ALIGN. -ENOTSUP, with a text: the folder's file system is in memory,
 * allows no direct reads, has less than eight times as much left, or cannot be written. */
int storage_file_open(struct storage_file *f, struct bench_case *c, const char *folder,
		      uint64_t bytes, uint64_t chunk_bytes);
/* In teardown. */
void storage_file_close(struct storage_file *f);

/* Read a chunk, from any thread. 0 or -EIO. */
int storage_file_read(const struct storage_file *f, uint64_t chunk, void *to);

/* In check: compare memory of the case's device with a chunk. */
int storage_file_check(const struct storage_file *f, struct bench_case *c, const void *at,
		       uint64_t chunk);

/* In verify_mechanism: reads pass the page cache, which holds no page of the file. Nothing in
 * virtual time. */
int storage_file_verify(const struct storage_file *f, struct bench_case *c);

#endif
