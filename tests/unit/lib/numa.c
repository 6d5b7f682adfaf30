/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/numa.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static void lists_as_the_kernel_writes_them(void)
{
	uint32_t n[8] = {0};
	expect(numa_parse_list("0-2,5,7-8\n", n, 8) == 6);
	expect(n[0] == 0 && n[2] == 2 && n[3] == 5 && n[5] == 8);
	expect(numa_parse_list("3\n", n, 8) == 1 && n[0] == 3);
	expect(numa_parse_list("\n", n, 8) == 0);
	expect(numa_parse_list("0-9", n, 2) == 10);
	expect(numa_parse_list("2-1", n, 8) == 0);
}

static void *map_pages(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void memory_lies_on_its_node(void)
{
	const size_t bytes = 1 << 20;
	uint32_t nodes[64];
	size_t count = numa_nodes(nodes, 64);
	require(count >= 1 && count <= 64);
	for (size_t i = 0; i < count; i++) {
		void *at = map_pages(bytes);
		require(at);
		int status = numa_bind(at, bytes, nodes[i]);
		expect(status == 0 || status == -ENOTSUP);
		memset(at, 1, bytes);
		if (status == 0)
			expect(numa_verify(at, bytes, nodes[i]) == 0);
		/* Elsewhere it does not lie. */
		if (status == 0 && count > 1)
			expect(numa_verify(at, bytes, nodes[!i]) == -ENOMEM);
		munmap(at, bytes);
	}
}

static void a_node_that_is_not_there(void)
{
	const size_t bytes = 4096;
	void *at = map_pages(bytes);
	require(at);
	expect(numa_bind(at, bytes, 1024) == -ENODEV);
	expect(err_text()[0] != '\0');
	munmap(at, bytes);
}

int main(void)
{
	test(lists_as_the_kernel_writes_them);
	test(memory_lies_on_its_node);
	test(a_node_that_is_not_there);
	return test_done();
}
