/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_expect.h"
#include "bench/run/notes.h"
#include "bench/sampling/checks.h"
#include "lib/vec.h"

#include <string.h>

int bench_expect(struct bench_case *c, uint64_t variants, struct dev *dev, void *at, uint64_t bytes,
		 const void *pattern, float tolerance)
{
	struct checks *now = c->run->checks;
	struct bench_expected *grown = vec_grow(now->expected, now->expected_count,
						&now->expected_capacity, sizeof(*grown));
	if (!grown) {
		bench_fail_without_memory(c, "expect", "results");
		return c->status;
	}
	now->expected = grown;
	grown[now->expected_count++] =
		(struct bench_expected){variants, dev, at, bytes, pattern, tolerance};
	return c->status;
}

/* Device fills do not accept pageable memory, but the host can write it. The first byte at least is
 * not that of the pattern. */
static int poison_one(struct bench_case *c, const struct bench_expected *x)
{
	const unsigned char *pattern = x->pattern;
	const uint8_t byte = pattern && pattern[0] == 0xa5 ? 0x5a : 0xa5;
	struct bench_memory memory;
	if (!bench_memory_find(c, x->at, &memory) || memory.kind != DEV_MEM_PAGEABLE)
		return dev_fill(c->dev, c->stream, x->at, byte, x->bytes);
	memset(x->at, byte, x->bytes);
	return 0;
}

int bench_expected_poison(struct bench_run *r, unsigned variant)
{
	int status = 0;
	for (size_t i = 0; i < r->checks->expected_count; i++)
		if (r->checks->expected[i].variants >> variant & 1)
			TRY(status, poison_one(&r->c, &r->checks->expected[i]));
	return status;
}

int bench_expected_check(struct bench_run *r, unsigned variant)
{
	int status = 0;
	for (size_t i = 0; i < r->checks->expected_count; i++) {
		const struct bench_expected *x = &r->checks->expected[i];
		if (x->variants >> variant & 1 && x->pattern)
			TRY(status, pattern_check(&r->c, x->dev, x->at, x->bytes, x->pattern,
						  x->tolerance));
	}
	return status;
}

bool bench_expects(const struct bench_run *r, unsigned variant)
{
	for (size_t i = 0; i < r->checks->expected_count; i++)
		if (r->checks->expected[i].variants >> variant & 1 &&
		    r->checks->expected[i].pattern)
			return true;
	return false;
}
