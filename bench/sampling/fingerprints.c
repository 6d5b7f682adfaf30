/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_alloc.h"
#include "bench/bench_check.h"
#include "bench/sampling/checks.h"
#include "device/kernels.h"
#include "lib/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Adds up words on one device. */
struct bench_adder {
	struct dev *dev;
	struct dev_stream *stream;
	struct dev_kernel *read;
	uint32_t *sum;
};

struct bench_fingerprint {
	unsigned variant;
	struct dev *dev;
	const void *at;
	uint64_t bytes;
	bool known; /* `sum` is that of a right result */
	uint32_t sum;
	unsigned sums;                    /* so many were taken; the first may have loaded code */
	double began_s, compare_s, sum_s; /* compare_s: with sum_s; sum_s: the least */
};

static struct bench_adder *find_adder(struct bench_case *c, struct dev *dev)
{
	struct checks *now = c->run->checks;
	struct bench_adder *grown;
	for (size_t i = 0; i < now->adder_count; i++)
		if (now->adders[i].dev == dev)
			return &now->adders[i];
	struct bench_adder new = {.dev = dev, .stream = c->stream};
	if (dev != c->dev)
		new.stream = bench_stream_on(c, dev, dev_props(dev)->priority_normal);
	new.sum = bench_alloc_on(c, dev, DEV_MEM_DEVICE, DEV_KERNEL_ALIGN);
	grown = vec_grow(now->adders, now->adder_count, &now->adder_capacity, sizeof(*grown));
	if (c->status || !grown || dev_kernel_find(dev, "read", &new.read))
		return NULL;
	now->adders = grown;
	grown[now->adder_count] = new;
	return &grown[now->adder_count++];
}

/* False: the device has no sum to give; whoever asked compares, and hears of a device's error. */
static bool take_sum(struct bench_case *c, const struct bench_fingerprint *f, uint32_t *sum_p)
{
	struct bench_adder *a = find_adder(c, f->dev);
	uint32_t reps = 1;
	if (!a || dev_fill(a->dev, a->stream, a->sum, 0, DEV_KERNEL_ALIGN))
		return false;
	const void *const args[] = {&f->at, &f->bytes, &reps, &a->sum};
	const struct dev_launch launch = {.grid = dev_wave_blocks(a->dev, a->read), .args = args};
	return dev_launch(a->dev, a->stream, a->read, &launch) == 0 &&
	       dev_stream_sync(a->dev, a->stream) == 0 &&
	       dev_download(a->dev, sum_p, a->sum, sizeof(*sum_p)) == 0;
}

static bool can_read(struct bench_case *c, const void *at, uint64_t bytes)
{
	struct bench_memory memory;
	return (uintptr_t)at % DEV_KERNEL_ALIGN == 0 && bytes % DEV_KERNEL_ALIGN == 0 &&
	       bench_memory_find(c, at, &memory) && memory.kind != DEV_MEM_PAGEABLE;
}

/* NULL: there is none, and no memory for it. */
static struct bench_fingerprint *find_fingerprint(struct bench_case *c, struct dev *dev,
						  const void *at, uint64_t bytes)
{
	struct checks *now = c->run->checks;
	struct bench_fingerprint *f;
	for (f = now->fingerprints; f < now->fingerprints + now->fingerprint_count; f++)
		if (f->variant == now->checking && f->dev == dev && f->at == at &&
		    f->bytes == bytes)
			return f;
	f = vec_grow(now->fingerprints, now->fingerprint_count, &now->fingerprint_capacity,
		     sizeof(*f));
	if (!f)
		return NULL;
	now->fingerprints = f;
	f += now->fingerprint_count++;
	*f = (struct bench_fingerprint){
		.variant = now->checking, .dev = dev, .at = at, .bytes = bytes};
	return f;
}

void bench_learn_cost(double *least_s, double took_s)
{
	if (*least_s == 0.0 || took_s < *least_s)
		*least_s = took_s;
}

bool bench_known_right(struct bench_case *c, struct dev *dev, const void *at, uint64_t bytes)
{
	struct checks *now = c->run->checks;
	struct bench_fingerprint *f = NULL;
	uint32_t sum;
	if (now->in_samples && can_read(c, at, bytes))
		f = find_fingerprint(c, dev, at, bytes);
	if (!f)
		return false;
	f->began_s = bench_time(c->run);
	if (!f->known || f->sum_s >= f->compare_s || !take_sum(c, f, &sum))
		return false;
	now->passed_known = now->passed_known || sum == f->sum;
	return sum == f->sum;
}

void bench_note_right(struct bench_case *c, struct dev *dev, const void *at, uint64_t bytes)
{
	struct checks *now = c->run->checks;
	struct bench_fingerprint *f = NULL;
	now->compared = true;
	if (now->in_samples && can_read(c, at, bytes))
		f = find_fingerprint(c, dev, at, bytes);
	if (!f)
		return;
	double compared_s = bench_time(c->run);
	f->compare_s = compared_s - f->began_s;
	if (f->sums > 1 && f->sum_s >= 2.0 * f->compare_s)
		return;
	f->known = take_sum(c, f, &f->sum);
	f->sums++;
	bench_learn_cost(&f->sum_s, bench_time(c->run) - compared_s);
	if (f->known && f->sum_s < f->compare_s)
		now->saved_s += f->compare_s;
}

static bool host_reads(struct bench_case *c, const struct dev *dev, const void *at)
{
	struct bench_memory memory;
	return dev_can(dev, DEV_CAP_HOST_ACCESS) ||
	       (bench_memory_find(c, at, &memory) && memory.kind != DEV_MEM_DEVICE);
}

static int read_by_parts(struct bench_reader *r, const void *at, uint64_t bytes,
			 const void **found_p)
{
	if (!r->large)
		r->large = malloc(bytes);
	*found_p = r->large;
	return r->large ? dev_download(r->dev, r->large, at, bytes)
			: err_note(-ENOMEM, "a result of %" PRIu64 " bytes: out of memory", bytes);
}

int bench_read(struct bench_case *c, struct bench_reader *r, const void *at, uint64_t bytes,
	       const void **found_p)
{
	int status = 0;
	*found_p = at;
	if (host_reads(c, r->dev, at))
		return 0;
	if (bytes > BENCH_READ_PINNED)
		return read_by_parts(r, at, bytes, found_p);
	if (!r->stream)
		status = dev_stream_open(r->dev, dev_props(r->dev)->priority_normal, &r->stream);
	if (status == 0 && !r->pinned)
		status = dev_alloc(r->dev, DEV_MEM_PINNED, bytes, &r->pinned);
	if (status == 0)
		status = dev_copy(r->dev, r->stream, r->pinned, at, bytes);
	*found_p = r->pinned;
	return status ? status : dev_stream_sync(r->dev, r->stream);
}

void bench_read_end(struct bench_reader *r)
{
	if (r->stream)
		dev_stream_close(r->dev, r->stream);
	if (r->pinned)
		dev_free(r->dev, r->pinned);
	free(r->large);
}
