/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/roofline.h"
#include "bench/bench_alloc.h"

#include <math.h>

enum { READ, WRITE, WRITE_NT, KINDS };

#define LAUNCH_BYTES (UINT64_C(64) << 20)
#define ACCESS_BYTES UINT64_C(16)
/* Half a millisecond of a GPU's memory, and some of its caches. */
#define MEMORY_BYTES UINT64_C(8192)
#define CACHE_BYTES UINT64_C(65536)

static uint64_t larger_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

uint32_t roofline_reps(const struct dev *dev, uint64_t footprint, uint64_t least_bytes)
{
	const struct dev_props *p = dev_props(dev);
	const uint64_t threads = (uint64_t)p->units * p->slots_per_unit * p->block_threads,
		       each = footprint <= p->llc_bytes ? CACHE_BYTES : MEMORY_BYTES;
	return (uint32_t)(larger_of(least_bytes, each * threads) /
				  larger_of(footprint, ACCESS_BYTES * threads) +
			  1);
}

int roofline_open(struct roofline *x, struct bench_case *c, unsigned first, const void *from,
		  uint64_t read_bytes, void *to, uint64_t write_bytes)
{
	uint64_t llc = dev_props(c->dev)->llc_bytes;
	*x = (struct roofline){.first = first,
			       .from = from,
			       .to = to,
			       .read_bytes = read_bytes,
			       .write_bytes = write_bytes};
	x->read_reps = roofline_reps(c->dev, read_bytes, LAUNCH_BYTES);
	x->write_reps = roofline_reps(c->dev, write_bytes, LAUNCH_BYTES);
	x->kernel[READ] = bench_kernel(c, "read");
	x->kernel[WRITE] = bench_kernel(c, "write");
	x->kernel[WRITE_NT] = bench_kernel(c, "write_nt");
	x->sink = bench_alloc(c, DEV_MEM_DEVICE, 256);
	if (llc && write_bytes < llc / 2)
		bench_variant_off(c, first + WRITE_NT);
	if (llc && write_bytes > 4 * llc)
		bench_variant_off(c, first + WRITE);
	return bench_status(c);
}

void roofline_off(struct roofline *x, struct bench_case *c, unsigned first)
{
	*x = (struct roofline){.first = first};
	for (unsigned i = 0; i < KINDS; i++)
		bench_variant_off(c, first + i);
}

bool roofline_is(const struct roofline *x, unsigned variant) { return variant - x->first < KINDS; }

int roofline_body(struct roofline *x, struct bench_case *c, unsigned variant, uint64_t iterations)
{
	uint32_t word = 0x5a5a5a5a;
	const void *const read_args[] = {&x->from, &x->read_bytes, &x->read_reps, &x->sink};
	const void *const write_args[] = {&x->to, &x->write_bytes, &x->write_reps, &word};
	unsigned kind = variant - x->first;
	struct dev_launch launch = {.grid = dev_wave_blocks(c->dev, x->kernel[kind]),
				    .args = kind == READ ? read_args : write_args};
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = dev_launch(c->dev, c->stream, x->kernel[kind], &launch);
	return status;
}

void roofline_model(const struct roofline *x, unsigned variant, struct bench_model *m)
{
	m->bytes = variant == x->first + READ ? (double)x->read_bytes * x->read_reps
					      : (double)x->write_bytes * x->write_reps;
}

/* Byte/s of the best sample; NaN when the variant is off. */
static double best_rate(const struct roofline *x, const struct bench_case *c, unsigned kind)
{
	struct bench_model m = {0};
	roofline_model(x, x->first + kind, &m);
	return m.bytes / bench_best(c, x->first + kind);
}

double roofline_bound(const struct roofline *x, struct bench_case *c, unsigned variant,
		      double reads, double writes, bool one_memory)
{
	/* fmax() ignores the NaN of what was not measured. */
	double read = best_rate(x, c, READ),
	       write = fmax(best_rate(x, c, WRITE), best_rate(x, c, WRITE_NT));
	if (isnan(read) || isnan(write))
		return NAN;
	const double bound = 1.0 / fmax(reads / read, writes / write);
	bench_bound(c, "bandwidth", (int)variant, bound,
		    "measured rate of its reads and writes, concurrent");
	if (one_memory)
		bench_bound_share(c, "bandwidth", (int)variant, NULL);
	return bound;
}
