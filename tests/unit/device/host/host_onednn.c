/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMMs of integers by oneDNN are exact, and are made by the thread that asks for them.
 */
#include "device/host/host_onednn.h"
#include "lib/rng.h"
#include "tests/unit/test.h"

#include <dirent.h>
#include <pthread.h>

enum { M = 300, N = 200, K = 500, LARGEST = 512 };

static const struct host_onednn *library;
static int8_t a[LARGEST * LARGEST], b[LARGEST * LARGEST];
static int32_t c[LARGEST * LARGEST];

static void need_library(void)
{
	library = host_onednn_open();
	printf("# %s\n", library->text);
	expect(library->text[0] != '\0');
	if (!library->multiply)
		skip("no oneDNN that can be used");
}

static void fill_operands(void)
{
	struct rng r;
	rng_seed(&r, 9, 1);
	for (size_t i = 0; i < sizeof(a); i++) {
		a[i] = (int8_t)(rng_u64(&r) & 0xff);
		b[i] = (int8_t)(rng_u64(&r) & 0xff);
	}
}

static int32_t add_up(int i, int j, int transposed)
{
	int32_t sum = 0;
	for (int k = 0; k < K; k++)
		sum += a[i * LARGEST + k] * b[transposed ? j * LARGEST + k : k * LARGEST + j];
	return sum;
}

static void gemms_are_exact(void)
{
	need_library();
	fill_operands();
	for (int how = 0; how < 4; how++) {
		const int transposed = how & 1, beta = how >> 1;
		unsigned wrong = 0;
		for (int i = 0; i < LARGEST * LARGEST; i++)
			c[i] = i % 1000;
		expect(host_onednn_multiply(library, M, N, K, a, LARGEST, b, LARGEST, transposed,
					    beta, c, LARGEST) == 0);
		for (int i = 0; i < LARGEST * LARGEST; i++) {
			const int row = i / LARGEST, column = i % LARGEST, old = i % 1000;
			const int32_t right = row < M && column < N
						      ? add_up(row, column, transposed) + beta * old
						      : old;
			wrong += c[i] != right;
		}
		expect(wrong == 0);
	}
}

static int count_threads(void)
{
	int count = 0;
	DIR *tasks = opendir("/proc/self/task");
	while (tasks && readdir(tasks))
		count++;
	if (tasks)
		closedir(tasks);
	return count;
}

/* Returns how many threads there are more after the call than before it. */
static void *multiply_large(void *more_p)
{
	const int before = count_threads();
	expect(host_onednn_multiply(library, LARGEST, LARGEST, LARGEST, a, LARGEST, b, LARGEST, 1,
				    0, c, LARGEST) == 0);
	*(int *)more_p = count_threads() - before;
	return NULL;
}

/* OpenMP would start a thread for every core, and keep it. */
static void a_call_starts_no_threads(void)
{
	pthread_t worker;
	int more = -1;
	need_library();
	if (count_threads() == 0)
		skip("no /proc");
	require(pthread_create(&worker, NULL, multiply_large, &more) == 0);
	pthread_join(worker, NULL);
	expect(more == 0);
}

int main(void)
{
	test(gemms_are_exact);
	test(a_call_starts_no_threads);
	return test_done();
}
