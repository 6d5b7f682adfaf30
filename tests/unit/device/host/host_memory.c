/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the host device that was freed: kept for the next allocation, and given back.
 */
#include "device/dev.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define BYTES ((size_t)4 << 20)

static struct dev_set host;

static char *alloc_pages(enum dev_mem kind, uint64_t bytes)
{
	void *at = NULL;
	require(dev_alloc(host.dev[0], kind, bytes, &at) == 0);
	return at;
}

static bool is_mapped(void *at)
{
	unsigned char pages[1];
	return mincore(at, 4096, pages) == 0 || errno != ENOMEM;
}

static uint64_t mapped_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	require(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void what_was_freed_is_given_again(void)
{
	require(dev_open("host", 0, &host) == 0);
	char *first = alloc_pages(DEV_MEM_DEVICE, BYTES),
	     *second = alloc_pages(DEV_MEM_DEVICE, BYTES);
	memset(first, 7, BYTES);
	expect(dev_free(host.dev[0], first) == 0);
	expect(dev_free(host.dev[0], first) == -EFAULT);
	/* As many pages, whatever they are for; not fewer, and not what is in use. */
	char *fewer = alloc_pages(DEV_MEM_DEVICE, BYTES / 2);
	expect(fewer != first);
	char *again = alloc_pages(DEV_MEM_PINNED, BYTES - 100);
	expect(again == first && again != second);
	expect(again[0] == 7);
	dev_close(&host);
	expect(!is_mapped(first) && !is_mapped(second) && !is_mapped(fewer));
}

static void another_device_does_not_get_it(void)
{
	require(dev_open("host:0,1", 0, &host) == 0);
	char *first = alloc_pages(DEV_MEM_DEVICE, BYTES);
	void *other = NULL;
	expect(dev_free(host.dev[0], first) == 0);
	require(dev_alloc(host.dev[1], DEV_MEM_DEVICE, BYTES, &other) == 0);
	expect(other != first);
	dev_close(&host);
}

/* Address space for one of two blocks. */
static void what_is_kept_gives_way(void)
{
	const uint64_t small = (uint64_t)64 << 20, large = (uint64_t)80 << 20;
	struct rlimit limit;
	require(dev_open("host", 0, &host) == 0);
	require(getrlimit(RLIMIT_AS, &limit) == 0);
	const struct rlimit narrow = {mapped_bytes() + ((uint64_t)104 << 20), limit.rlim_max};
	require(setrlimit(RLIMIT_AS, &narrow) == 0);
	char *first = alloc_pages(DEV_MEM_DEVICE, small);
	expect(dev_free(host.dev[0], first) == 0);
	char *second = alloc_pages(DEV_MEM_DEVICE, large);
	expect(second[large - 1] == 0);
	require(setrlimit(RLIMIT_AS, &limit) == 0);
	dev_close(&host);
}

static void what_is_kept_goes_with_the_device(void)
{
	require(dev_open("host", 0, &host) == 0);
	char *at = alloc_pages(DEV_MEM_DEVICE, BYTES);
	expect(dev_free(host.dev[0], at) == 0);
	expect(is_mapped(at));
	dev_close(&host);
	expect(!is_mapped(at));
}

int main(void)
{
	test(what_was_freed_is_given_again);
	test(another_device_does_not_get_it);
	test(what_is_kept_gives_way);
	test(what_is_kept_goes_with_the_device);
	return test_done();
}
