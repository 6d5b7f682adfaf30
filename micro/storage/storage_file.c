/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/storage/storage_file.h"
#include "bench/bench_alloc.h"
#include "bench/bench_check.h"
#include "bench/pattern.h"
#include "lib/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* File systems of which reads come from memory, direct or not, by the numbers that statfs() gives
 * (linux/magic.h; OpenZFS, sys/fs/zfs.h). */
static const struct {
	uint32_t magic;
	const char *why;
} unfit[] = {{0x01021994, "is in memory (tmpfs), where no storage is read"},
	     {0x858458f6, "is in memory (ramfs), where no storage is read"},
	     {0x2fc12fc1, "is ZFS, which may answer direct reads from a cache of its own"}};

#define FREE_SHARE 8

int storage_folder_accept(const char *folder)
{
	struct stat s;
	if (stat(folder, &s))
		return err_note(-EINVAL, "folder '%s': %s", folder, strerror(errno));
	return S_ISDIR(s.st_mode) ? 0 : err_note(-EINVAL, "folder '%s': it is a file", folder);
}

/* ------------------------------------------------------------------ where it is */

/* The line of the file system's mount: "ID PARENT MAJOR:MINOR ROOT MOUNT OPTIONS... - TYPE SOURCE
 * ...". */
static void find_mount(struct storage_file *f, dev_t device)
{
	char line[4096], kind[64], source[256];
	unsigned high, low;
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	while (mounts && fgets(line, sizeof(line), mounts)) {
		const char *end = strstr(line, " - ");
		if (end && sscanf(line, "%*d %*d %u:%u", &high, &low) == 2 &&
		    makedev(high, low) == device && sscanf(end, " - %63s %255s", kind, source) == 2)
			snprintf(f->where, sizeof(f->where), "%s on %s", kind, source);
	}
	if (mounts)
		fclose(mounts);
}

static int check_file_system(struct storage_file *f, const char *folder, uint64_t bytes)
{
	struct statfs fs;
	struct stat s;
	if (statfs(folder, &fs) || stat(folder, &s))
		return err_note(-ENOTSUP, "%s: %s", folder, strerror(errno));
	find_mount(f, s.st_dev);
	for (size_t i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++)
		if ((uint32_t)fs.f_type == unfit[i].magic)
			return err_note(-ENOTSUP, "%s %s; --folder takes one on ext4 or xfs",
					folder, unfit[i].why);
	const uint64_t left = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	if (left / FREE_SHARE < bytes)
		return err_note(-ENOTSUP,
				"%s has %" PRIu64 " MiB left, less than %d times the %" PRIu64
				" MiB of the file; --file takes less, --folder another one",
				folder, left >> 20, FREE_SHARE, bytes >> 20);
	return 0;
}

/* Some file systems have no files without a name; there it loses the name at once. */
static int create_without_name(const char *folder)
{
	const int flags = O_RDWR | O_DIRECT | O_CLOEXEC;
	char path[4096];
	int file = open(folder, flags | O_TMPFILE, 0600);
	if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return file;
	snprintf(path, sizeof(path), "%s/gpusig-storage-XXXXXX", folder);
	file = mkostemp(path, O_DIRECT | O_CLOEXEC);
	if (file >= 0)
		unlink(path);
	return file;
}

static int create_in_folder(struct storage_file *f, const char *folder, uint64_t bytes)
{
	const int status = check_file_system(f, folder, bytes);
	if (status)
		return status;
	f->file = create_without_name(folder);
	if (f->file >= 0)
		return 0;
	const int error = errno;
	f->file = 0;
	if (error == EINVAL)
		return err_note(-ENOTSUP,
				"%s (%s) allows no direct reads (O_DIRECT); --folder takes one on "
				"ext4 or xfs",
				folder, f->where);
	return err_note(-ENOTSUP, "create a file in %s: %s", folder, strerror(error));
}

/* ------------------------------------------------------------------ contents */

static const uint32_t *chunk_contents(const struct storage_file *f, uint64_t chunk)
{
	f->expected[0] = f->pattern[0] + (uint32_t)chunk;
	return f->expected;
}

static int write_chunk(const struct storage_file *f, uint64_t chunk, const char *from)
{
	for (uint64_t done = 0; done < f->chunk_bytes;) {
		const ssize_t some = pwrite(f->file, from + done, f->chunk_bytes - done,
					    (off_t)(chunk * f->chunk_bytes + done));
		if (some <= 0 && errno != EINTR)
			return err_note(-ENOTSUP, "write a file for %s: %s",
					f->where[0] ? f->where : "storage", strerror(errno));
		done += some > 0 ? (uint64_t)some : 0;
	}
	return 0;
}

static int write_chunks(struct storage_file *f, const struct bench_case *c)
{
	char *aligned = aligned_alloc(STORAGE_ALIGN, f->chunk_bytes);
	int status = aligned ? 0 : err_note(-ENOMEM, "a chunk of the file: out of memory");
	for (uint64_t i = 0; aligned && !status && i < f->chunks && !bench_stopped(c); i++) {
		memcpy(aligned, chunk_contents(f, i), f->chunk_bytes);
		status = write_chunk(f, i, aligned);
	}
	free(aligned);
	if (!status && fsync(f->file))
		status = err_note(-ENOTSUP, "write a file: %s", strerror(errno));
	return status;
}

/* The size alone is enough where nothing is read. */
static int create_in_memory(struct storage_file *f, uint64_t bytes)
{
	f->file = memfd_create("gpusig-storage", MFD_CLOEXEC);
	if (f->file > 0 && ftruncate(f->file, (off_t)bytes) == 0)
		return 0;
	return err_note(-ENOMEM, "a file in memory: %s", strerror(errno));
}

int storage_file_open(struct storage_file *f, struct bench_case *c, const char *folder,
		      uint64_t bytes, uint64_t chunk_bytes)
{
	f->chunk_bytes = chunk_bytes;
	f->chunks = bytes / chunk_bytes;
	f->pattern = pattern_words(c);
	f->expected = bench_alloc_host(c, chunk_bytes);
	for (uint64_t i = 0; c->status == 0 && i < chunk_bytes / sizeof(uint32_t); i++)
		f->expected[i] = f->pattern[i % PATTERN_WORDS];
	TRY(c->status, dev_can(c->dev, DEV_CAP_VIRTUAL_TIME) ? create_in_memory(f, bytes)
							     : create_in_folder(f, folder, bytes));
	return TRY(c->status, bench_has_results(c) ? write_chunks(f, c) : 0);
}

void storage_file_close(struct storage_file *f)
{
	if (f->file > 0)
		close(f->file);
}

int storage_file_read(const struct storage_file *f, uint64_t chunk, void *to)
{
	for (uint64_t done = 0; done < f->chunk_bytes;) {
		const ssize_t some = pread(f->file, (char *)to + done, f->chunk_bytes - done,
					   (off_t)(chunk * f->chunk_bytes + done));
		if (some == 0 || (some < 0 && errno != EINTR))
			return err_note(-EIO, "read the file: %s",
					some ? strerror(errno) : "it has ended");
		done += some > 0 ? (uint64_t)some : 0;
	}
	return 0;
}

int storage_file_check(const struct storage_file *f, struct bench_case *c, const void *at,
		       uint64_t chunk)
{
	struct bench_reader reader = {.dev = c->dev};
	const uint32_t *expected = chunk_contents(f, chunk);
	int status = 0;
	for (uint64_t from = 0, part; !status && from < f->chunk_bytes; from += part) {
		const void *found;
		part = f->chunk_bytes - from < BENCH_READ_PINNED ? f->chunk_bytes - from
								 : BENCH_READ_PINNED;
		status = bench_read(c, &reader, (const char *)at + from, part, &found);
		if (!status && memcmp(found, (const char *)expected + from, part) != 0)
			status = bench_wrong("what was read is not chunk %" PRIu64 " of the file",
					     chunk);
	}
	bench_read_end(&reader);
	return status;
}

/* ------------------------------------------------------------------ the page cache */

/* Pages of the file that the page cache holds; of so many. */
static int count_cached(const struct storage_file *f, uint64_t *cached_p, uint64_t *pages_p)
{
	const uint64_t bytes = f->chunks * f->chunk_bytes, page = (uint64_t)sysconf(_SC_PAGESIZE),
		       pages = (bytes + page - 1) / page;
	unsigned char *resident = calloc(pages, 1);
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, f->file, 0);
	int status = 0;
	if (!resident)
		status = err_note(-ENOMEM, "look for the file in the page cache: out of memory");
	else if (map == MAP_FAILED || mincore(map, bytes, resident))
		status = err_note(-errno, "look for the file in the page cache: %s",
				  strerror(errno));
	*pages_p = pages;
	*cached_p = 0;
	for (uint64_t i = 0; resident && !status && i < pages; i++)
		*cached_p += resident[i] & 1;
	if (map != MAP_FAILED)
		munmap(map, bytes);
	free(resident);
	return status;
}

int storage_file_verify(const struct storage_file *f, struct bench_case *c)
{
	uint64_t cached = 0, pages = 0;
	if (dev_can(c->dev, DEV_CAP_VIRTUAL_TIME))
		return c->status;
	TRY(c->status, count_cached(f, &cached, &pages));
	bench_mechanism(c, "reads_pass_the_page_cache",
			(fcntl(f->file, F_GETFL) & O_DIRECT) && cached == 0,
			"it holds %" PRIu64 " of %" PRIu64 " pages of the file", cached, pages);
	return c->status;
}
