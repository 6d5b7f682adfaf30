/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files that devices read.
 */
#include "tests/unit/conformance/conformance.h"

#include <fcntl.h>

#define N 65536u
#define LARGE (8u << 20)

/* A file without a name, with this in it, open for direct reads; but not in virtual time, where the
 * file may be anywhere. -1: the folder's file system allows none. */
static int open_file(const void *contents, size_t bytes)
{
	const char *folder = getenv("TMPDIR");
	char path[256];
	snprintf(path, sizeof(path), "%s/gpusig-XXXXXX", folder && folder[0] ? folder : "/tmp");
	const int file = mkstemp(path);
	if (file < 0)
		return -1;
	unlink(path);
	require(write(file, contents, bytes) == (ssize_t)bytes && fsync(file) == 0);
	if (dev_can(on.d, DEV_CAP_VIRTUAL_TIME) || fcntl(file, F_SETFL, O_DIRECT) == 0)
		return file;
	close(file);
	return -1;
}

static void missing_reads_of_files_are_refused(void)
{
	struct dev_stream *s = open_stream();
	struct dev_file f = {0};
	char *to = alloc_memory(DEV_MEM_DEVICE, N);
	if (!dev_can(on.d, DEV_CAP_FILE_READ)) {
		expect_error(dev_file_open(on.d, 0, &f), -ENOTSUP);
		expect_error(dev_file_read(on.d, s, &f, 0, to, N), -ENOTSUP);
		dev_file_close(on.d, &f);
	}
	free_memory(to);
	dev_stream_close(on.d, s);
}

/* The end of the file comes within this read: the call or the next sync says so, once. */
static void read_past_the_end(struct dev_stream *s, const struct dev_file *f, char *to)
{
	const int status = dev_file_read(on.d, s, f, N + N / 2, to, N);
	if (status)
		expect(status == -EIO);
	else
		expect_error(dev_stream_sync(on.d, s), -EIO);
	ok(dev_stream_sync(on.d, s));
}

static void check_contents(const char *to, const unsigned char *contents)
{
	static unsigned char seen[N];
	ok(dev_download(on.d, seen, to, N));
	expect(memcmp(seen, contents + N, 4096) == 0);
	expect(memcmp(seen + 4096, contents + 4096, 4096) == 0);
	expect(memcmp(seen + 8192, contents + N + 8192, N - 8192) == 0);
}

static void read_into(enum dev_mem kind, struct dev_stream *s, const struct dev_file *f,
		      const unsigned char *contents)
{
	char *large = alloc_memory(DEV_MEM_DEVICE, LARGE);
	for (int again = 0; again < 2; again++) { /* perhaps at the same address */
		char *to = alloc_memory(kind, N);
		for (int i = 0; i < 32; i++) /* so that the fill of `to` is late */
			ok(dev_fill(on.d, s, large, 0, LARGE));
		ok(dev_fill(on.d, s, to, 0, N));
		ok(dev_file_read(on.d, s, f, N, to, N));
		ok(dev_file_read(on.d, s, f, 4096, to + 4096, 4096));
		ok(dev_stream_sync(on.d, s));
		check_contents(to, contents);
		expect_error(dev_file_read(on.d, s, f, 0, to, 0), -EINVAL);
		expect_misuse(dev_file_read(on.d, s, f, 0, to, 2 * N), -EFAULT);
		read_past_the_end(s, f, to);
		free_memory(to);
	}
	free_memory(large);
}

static void a_file_is_read_in_stream_order(void)
{
	need(DEV_CAP_FILE_READ);
	static unsigned char contents[2 * N];
	struct dev_stream *s = open_stream();
	struct dev_file f;
	for (uint32_t i = 0; i < 2 * N; i++)
		contents[i] = (unsigned char)(i * 13 + i / 251);
	const int file = open_file(contents, sizeof(contents));
	if (file < 0)
		skip("no file of $TMPDIR is read directly");
	ok(dev_file_open(on.d, file, &f));
	read_into(DEV_MEM_DEVICE, s, &f, contents);
	char *pinned = alloc_memory(DEV_MEM_PINNED, N);
	if (dev_can(on.d, DEV_CAP_VIRTUAL_TIME))
		read_into(DEV_MEM_PINNED, s, &f, contents);
	else
		expect_error(dev_file_read(on.d, s, &f, 0, pinned, N), -ENOTSUP);
	free_memory(pinned);
	dev_file_close(on.d, &f);
	dev_file_close(on.d, &f);
	close(file);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(missing_reads_of_files_are_refused),
		RULE(a_file_is_read_in_stream_order),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
