/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A neighbour that takes memory bandwidth: neighbour SHARE reads 256 MiB again and again during
 * this share of the time, in turns of 10 ms, until it is ended.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES ((size_t)256 << 20)
#define STEP ((size_t)64 << 10)
#define TURN_S 0.01

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const double share = argc == 2 ? strtod(argv[1], NULL) : 0.0;
	char *memory = malloc(BYTES);
	if (!memory || share <= 0.0 || share > 1.0) {
		fprintf(stderr, "usage: neighbour SHARE, of the time, above 0 and at most 1\n");
		return 2;
	}
	memset(memory, 1, BYTES);
	volatile unsigned long long sum = 0;
	for (size_t at = 0;;) {
		const double begun = now_s();
		while (now_s() - begun < share * TURN_S) {
			unsigned long long part = 0;
			for (size_t i = 0; i < STEP; i += sizeof(part)) {
				unsigned long long word;
				memcpy(&word, memory + at + i, sizeof(word));
				part += word;
			}
			sum += part;
			at = (at + STEP) % BYTES;
		}
		const struct timespec rest = {0, (long)(1e9 * (1.0 - share) * TURN_S)};
		nanosleep(&rest, NULL);
	}
}
