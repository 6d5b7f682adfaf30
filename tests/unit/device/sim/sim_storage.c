/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads of files by simulated devices: the rates of device/sim/machine/storage.c, to the
 * picosecond, and the contents of the file.
 */
#include "tests/unit/device/sim/sim.h"

#include <sys/mman.h>

#define PICOSECOND 1e-3
#define BYTES (UINT64_C(1) << 20)
static const double bytes = (double)BYTES;

/* A link into the device has 10 bytes/ns. */
#define STORAGE PLAIN "storage_bandwidth = 4e9\nstorage_ns = 500\n"

static struct dev_file file;
static unsigned char contents[BYTES];

static void begin_storage(const char *model)
{
	sim_begin(model);
	const int fd = memfd_create("sim_storage", 0);
	require(fd >= 0);
	file.file = fd;
	if (dev_can(sim.d, DEV_CAP_FILE_READ))
		ok(dev_file_open(sim.d, fd, &file));
	for (uint64_t i = 0; i < BYTES; i++)
		contents[i] = (unsigned char)(i * 2654435761u >> 24);
	require(write(fd, contents, BYTES) == (ssize_t)BYTES);
}

static void end_storage(void)
{
	dev_file_close(sim.d, &file);
	close(file.file);
	sim_end();
}

struct work {
	struct dev_stream *s;
	struct span span;
	char *to;
};

static struct work begin_work(enum dev_mem kind)
{
	struct work w = {.s = open_stream(), .to = alloc_memory(kind, BYTES)};
	w.span = span_begin(w.s);
	return w;
}

static struct work enqueue_read(enum dev_mem kind)
{
	struct work w = begin_work(kind);
	ok(dev_file_read(sim.d, w.s, &file, 0, w.to, BYTES));
	span_end(&w.span, w.s);
	return w;
}

static struct work enqueue_copy(void)
{
	struct work w = begin_work(DEV_MEM_DEVICE);
	ok(dev_copy(sim.d, w.s, w.to, alloc_memory(DEV_MEM_PINNED, BYTES), BYTES));
	span_end(&w.span, w.s);
	return w;
}

static double time_of(const struct work *w)
{
	double ns = 0;
	ok(dev_stream_sync(sim.d, w->s));
	ok(dev_event_elapsed_ns(sim.d, w->span.from, w->span.to, &ns));
	return ns;
}

static void a_read_takes_its_latency_and_the_rate_of_storage(void)
{
	begin_storage(STORAGE);
	for (int kind = DEV_MEM_DEVICE; kind <= DEV_MEM_PINNED; kind++) {
		const struct work w = enqueue_read((enum dev_mem)kind);
		expect_near(time_of(&w), 500 + bytes / 4, PICOSECOND);
		expect(memcmp(w.to, contents, BYTES) == 0);
	}
	end_storage();
}

static void reads_at_once_share_storage(void)
{
	begin_storage(STORAGE);
	const struct work a = enqueue_read(DEV_MEM_PINNED), b = enqueue_read(DEV_MEM_PINNED);
	expect_near(time_of(&a), 500 + bytes / 2, PICOSECOND);
	expect_near(time_of(&b), 500 + bytes / 2, PICOSECOND);
	end_storage();
}

/* Host memory of 8 bytes/ns: a read has 4 of it, so that a copy beside it has 4 in place of 8. Into
 * the device's memory both share the link of 10. */
static void reads_share_host_memory_or_the_link_with_copies(void)
{
	begin_storage(STORAGE "storage_ns = 0\ncopy_ns = 0\nhost_bandwidth = 8e9\n");
	struct work copy = enqueue_copy();
	expect_near(time_of(&copy), bytes / 8, PICOSECOND);
	struct work read = enqueue_read(DEV_MEM_PINNED);
	copy = enqueue_copy();
	expect_near(time_of(&read), bytes / 4, PICOSECOND);
	expect_near(time_of(&copy), bytes / 4, PICOSECOND);
	end_storage();
	begin_storage(STORAGE "storage_ns = 0\ncopy_ns = 0\nlink_down_bandwidth = 6e9\n");
	read = enqueue_read(DEV_MEM_PINNED);
	copy = enqueue_copy();
	expect_near(time_of(&read), bytes / 4, PICOSECOND);
	expect_near(time_of(&copy), bytes / 6, PICOSECOND);
	read = enqueue_read(DEV_MEM_DEVICE);
	copy = enqueue_copy();
	expect_near(time_of(&read), bytes / 3, PICOSECOND);
	expect_near(time_of(&copy), bytes / 3, PICOSECOND);
	end_storage();
}

static void a_file_that_ends_early_fails_the_stream(void)
{
	begin_storage(STORAGE);
	struct dev_stream *s = open_stream();
	char *to = alloc_memory(DEV_MEM_PINNED, 4096);
	ok(dev_file_read(sim.d, s, &file, BYTES - 1024, to, 4096));
	expect(dev_stream_sync(sim.d, s) == -EIO);
	expect(strstr(err_text(), "it has ended"));
	ok(dev_file_read(sim.d, s, &file, BYTES - 4096, to, 4096));
	ok(dev_stream_sync(sim.d, s));
	expect(memcmp(to, contents + BYTES - 4096, 4096) == 0);
	end_storage();
}

static void misuse_is_refused(void)
{
	begin_storage(STORAGE);
	struct dev_stream *s = open_stream();
	char *to = alloc_memory(DEV_MEM_PINNED, 4096);
	expect(dev_file_read(sim.d, s, &file, 0, to, 0) == -EINVAL);
	expect(dev_file_read(sim.d, s, &file, 0, to, 8192) == -EFAULT);
	end_storage();
}

static void without_storage_nothing_is_read(void)
{
	begin_storage(PLAIN);
	expect(!dev_can(sim.d, DEV_CAP_FILE_READ));
	expect(dev_file_read(sim.d, open_stream(), &file, 0, alloc_memory(DEV_MEM_PINNED, 4096),
			     4096) == -ENOTSUP);
	end_storage();
	expect(dev_open("sim:quiet?storage_ns=1:0", 0, &sim.set) == -EINVAL);
	expect(strstr(err_text(), "storage_ns needs storage_bandwidth"));
}

int main(void)
{
	test(a_read_takes_its_latency_and_the_rate_of_storage);
	test(reads_at_once_share_storage);
	test(reads_share_host_memory_or_the_link_with_copies);
	test(a_file_that_ends_early_fails_the_stream);
	test(misuse_is_refused);
	test(without_storage_nothing_is_read);
	return test_done();
}
