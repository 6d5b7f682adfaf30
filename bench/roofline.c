/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/roofline.h"
#include "bench/bench_alloc.h"

#include <math.h>

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

struct roofline {
	const void *from;
	void *to;
	uint64_t read_bytes, write_bytes;
	uint32_t read_reps, write_reps;
	uint32_t *sink;
	struct dev_kernel *kernel[ROOFLINE_KINDS];
};

static unsigned variant_of(const struct bench_case *c, unsigned kind)
{
	return bench_variant(c, "read_only") + kind;
}

int roofline_open(struct bench_case *c, const void *from, uint64_t read_bytes, void *to,
		  uint64_t write_bytes)
{
	uint64_t llc = dev_props(c->dev)->llc_bytes;
	struct roofline *x = c->roofline = bench_alloc_host(c, sizeof(*x));
	if (!x)
		return c->status;
	*x = (struct roofline){.from = from,
			       .to = to,
			       .read_bytes = read_bytes,
			       .write_bytes = write_bytes,
			       .read_reps = roofline_reps(c->dev, read_bytes, LAUNCH_BYTES),
			       .write_reps = roofline_reps(c->dev, write_bytes, LAUNCH_BYTES)};
	x->kernel[ROOFLINE_READ] = bench_kernel(c, "read");
	x->kernel[ROOFLINE_WRITE] = bench_kernel(c, "write");
	x->kernel[ROOFLINE_WRITE_NT] = bench_kernel(c, "write_nt");
	x->sink = bench_alloc(c, DEV_MEM_DEVICE, 256);
	if (llc && write_bytes < llc / 2)
		bench_variant_off(c, variant_of(c, ROOFLINE_WRITE_NT));
	if (llc && write_bytes > 4 * llc)
		bench_variant_off(c, variant_of(c, ROOFLINE_WRITE));
	return c->status;
}

void roofline_off(struct bench_case *c)
{
	for (unsigned i = 0; i < ROOFLINE_KINDS; i++)
		bench_variant_off(c, variant_of(c, i));
}

static int launch_pass(struct bench_case *c, long kind, const void *const *args)
{
	struct dev_kernel *kernel = c->roofline->kernel[kind];
	const struct dev_launch launch = {.grid = dev_wave_blocks(c->dev, kernel), .args = args};
	return dev_launch(c->dev, c->stream, kernel, &launch);
}

int roofline_read(struct bench_case *c, long kind)
{
	const struct roofline *x = c->roofline;
	const void *const args[] = {&x->from, &x->read_bytes, &x->read_reps, &x->sink};
	return launch_pass(c, kind, args);
}

int roofline_write(struct bench_case *c, long kind)
{
	const struct roofline *x = c->roofline;
	const uint32_t word = 0x5a5a5a5a;
	const void *const args[] = {&x->to, &x->write_bytes, &x->write_reps, &word};
	return launch_pass(c, kind, args);
}

void roofline_model(const struct bench_case *c, long kind, struct bench_model *m)
{
	const struct roofline *x = c->roofline;
	m->bytes = kind == ROOFLINE_READ ? (double)x->read_bytes * x->read_reps
					 : (double)x->write_bytes * x->write_reps;
}

/* Byte/s of the best sample; NaN when the variant is off. */
static double best_rate(const struct bench_case *c, unsigned kind)
{
	const unsigned variant = variant_of(c, kind);
	struct bench_model m = {0};
	if (!bench_variant_on(c, variant))
		return NAN;
	roofline_model(c, kind, &m);
	return m.bytes / bench_best(c, variant);
}

double roofline_bound(struct bench_case *c, unsigned variant, double reads, double writes,
		      bool one_memory)
{
	/* fmax() ignores the NaN of what was not measured. */
	double read = best_rate(c, ROOFLINE_READ),
	       write = fmax(best_rate(c, ROOFLINE_WRITE), best_rate(c, ROOFLINE_WRITE_NT));
	if (isnan(read) || isnan(write))
		return NAN;
	const double bound = 1.0 / fmax(reads / read, writes / write);
	bench_bound(c, "bandwidth", (int)variant, bound,
		    "measured rate of its reads and writes, concurrent");
	if (one_memory)
		bench_bound_share(c, "bandwidth", (int)variant, NULL);
	return bound;
}
