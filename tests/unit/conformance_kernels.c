/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of device/kernels.h, residence, priority, copy engines and gemm: do they do what is asked, and does
 * what is asked for really happen?
 */
#include "tests/unit/conformance.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GUARD 256u

static const uint64_t sizes[] = { 256, 4096, 65536 + 256, 1 << 20 };
static const uint32_t grids[] = { 1, 2, 3, 7, 64, 301 };

/* Fresh device memory with `bytes` of `data` in the middle. */
static char *guarded(const void *data, uint64_t bytes)
{
	char *a = get(DEV_MEM_DEVICE, bytes + 2 * GUARD), *aside = malloc(bytes + 2 * GUARD);
	require(aside);
	memset(aside, 0x5a, bytes + 2 * GUARD);
	if (data)
		memcpy(aside + GUARD, data, bytes);
	ok(dev_upload(on.d, a, aside, bytes + 2 * GUARD));
	free(aside);
	return a + GUARD;
}

/* What is there now; the guards must be untouched. The caller frees it. */
static void *unguarded(char *a, uint64_t bytes)
{
	char *aside = malloc(bytes + 2 * GUARD);
	require(aside);
	ok(dev_download(on.d, aside, a - GUARD, bytes + 2 * GUARD));
	for (uint64_t i = 0; i < GUARD; i++)
		require(aside[i] == 0x5a && aside[GUARD + bytes + i] == 0x5a);
	memmove(aside, aside + GUARD, bytes);
	put(a - GUARD);
	return aside;
}

static void *random_words(uint64_t bytes, uint64_t lane)
{
	struct rng r;
	uint32_t *words = malloc(bytes);
	require(words);
	rng_seed(&r, 1, lane);
	rng_fill_u32(&r, words, bytes / 4);
	return words;
}

static void every_case(void (*check)(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps))
{
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t j = 0; j < COUNT(grids); j++)
			check(s, sizes[i], grids[j], 1 + (uint32_t)(i + j) % 3);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ memory kernels */

static void all_kernels_are_there(void)
{
	static const char *const names[] = { "empty",    "read",    "write",   "write_nt", "copy", "copy_nt", "triad",
		                             "triad_nt", "fma_f32", "fma_f64", "hold",     "stamp" };
	struct dev_kernel *k, *again;
	for (size_t i = 0; i < COUNT(names); i++) {
		ok(dev_kernel_find(on.d, names[i], &k));
		ok(dev_kernel_find(on.d, names[i], &again));
	}
	expect_error(dev_kernel_find(on.d, "", &k), -ENOENT);
	expect_error(dev_kernel_find(on.d, "rea", &k), -ENOENT);
	expect_error(dev_kernel_find(on.d, "gemm", &k), -ENOENT);
}

static void one_read(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	uint32_t *words = random_words(bytes, bytes), sum = 100;
	char *src = guarded(words, bytes);
	uint32_t *sink = get(DEV_MEM_PINNED, 4);
	*sink = 100; /* the sum of one pass is added to what is there */
	const void *args[] = { &src, &bytes, &reps, &sink };
	ok(launch(s, "read", grid, args));
	ok(dev_stream_sync(on.d, s));
	for (uint64_t i = 0; i < bytes / 4; i++)
		sum += words[i];
	expect(*sink == sum);
	free(words);
	free(unguarded(src, bytes));
	put(sink);
}

static void read_adds_up(void) { every_case(one_read); }

static void written_by(const char *name, struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	char *dst = guarded(NULL, bytes);
	uint32_t word = 0x12345678;
	const void *args[] = { &dst, &bytes, &reps, &word };
	ok(launch(s, name, grid, args));
	ok(dev_stream_sync(on.d, s));
	uint32_t *got = unguarded(dst, bytes);
	for (uint64_t i = 0; i < bytes / 4; i++)
		require(got[i] == word);
	free(got);
}

static void one_write(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	written_by("write", s, bytes, grid, reps);
	written_by("write_nt", s, bytes, grid, reps);
}

static void write_writes_all_and_no_more(void) { every_case(one_write); }

static void copied_by(const char *name, struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	void *words = random_words(bytes, grid);
	char *dst = guarded(NULL, bytes), *src = guarded(words, bytes);
	const void *args[] = { &dst, &src, &bytes, &reps };
	ok(launch(s, name, grid, args));
	ok(dev_stream_sync(on.d, s));
	void *got = unguarded(dst, bytes), *still = unguarded(src, bytes);
	expect(memcmp(got, words, bytes) == 0);
	expect(memcmp(still, words, bytes) == 0);
	free(words);
	free(got);
	free(still);
}

static void one_copy(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	copied_by("copy", s, bytes, grid, reps);
	copied_by("copy_nt", s, bytes, grid, reps);
}

static void copy_copies_all_and_no_more(void) { every_case(one_copy); }

static void triad_by(const char *name, struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	struct rng r;
	uint64_t count = bytes / 4;
	float *values = malloc(2 * bytes), scale = 1.75f;
	require(values);
	rng_seed(&r, 2, bytes);
	rng_fill_f32(&r, values, 2 * count);
	char *a = guarded(NULL, bytes), *b = guarded(values, bytes), *c = guarded(values + count, bytes);
	const void *args[] = { &a, &b, &c, &bytes, &reps, &scale };
	ok(launch(s, name, grid, args));
	ok(dev_stream_sync(on.d, s));
	float *got = unguarded(a, bytes);
	/* One rounding or two: a fused multiply-add is allowed. */
	for (uint64_t i = 0; i < count; i++)
		require(fabs((double)got[i] - ((double)values[i] + 1.75 * (double)values[count + i])) < 1e-6);
	free(got);
	free(values);
	free(unguarded(b, bytes));
	free(unguarded(c, bytes));
}

static void one_triad(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	triad_by("triad", s, bytes, grid, reps);
	triad_by("triad_nt", s, bytes, grid, reps);
}

static void triad_computes(void) { every_case(one_triad); }

static void kernels_reach_pinned_memory(void)
{
	const uint64_t bytes = 1 << 16;
	const uint32_t reps = 1;
	struct dev_stream *s = stream();
	void *words = random_words(bytes, 9);
	char *up = get(DEV_MEM_PINNED, bytes), *down = get(DEV_MEM_PINNED, bytes), *dev = get(DEV_MEM_DEVICE, bytes);
	memcpy(up, words, bytes);
	const void *in[] = { &dev, &up, &bytes, &reps }, *out[] = { &down, &dev, &bytes, &reps };
	ok(launch(s, "copy", 5, in));
	ok(launch(s, "copy_nt", 3, out));
	ok(dev_stream_sync(on.d, s));
	expect(memcmp(down, words, bytes) == 0);
	free(words);
	put(up);
	put(down);
	put(dev);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ other kernels */

static void fma_f32_is_finite_and_equal(void)
{
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(grids); i++) {
		const uint64_t fmas = DEV_FMA_QUANTUM * (1 + i);
		float *out = get(DEV_MEM_PINNED, grids[i] * sizeof(float));
		for (uint32_t j = 0; j < grids[i]; j++)
			out[j] = NAN;
		const void *args[] = { &out, &fmas };
		ok(launch(s, "fma_f32", grids[i], args));
		ok(dev_stream_sync(on.d, s));
		expect(isfinite(out[0]));
		for (uint32_t j = 1; j < grids[i]; j++)
			expect(memcmp(&out[j], &out[0], sizeof(float)) == 0);
		put(out);
	}
	dev_stream_close(on.d, s);
}

static void fma_f64_is_finite_and_equal(void)
{
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(grids); i++) {
		const uint64_t fmas = DEV_FMA_QUANTUM * (1 + i);
		double *out = get(DEV_MEM_PINNED, grids[i] * sizeof(double));
		for (uint32_t j = 0; j < grids[i]; j++)
			out[j] = NAN;
		const void *args[] = { &out, &fmas };
		ok(launch(s, "fma_f64", grids[i], args));
		ok(dev_stream_sync(on.d, s));
		expect(isfinite(out[0]));
		for (uint32_t j = 1; j < grids[i]; j++)
			expect(memcmp(&out[j], &out[0], sizeof(double)) == 0);
		put(out);
	}
	dev_stream_close(on.d, s);
}

static void launches_are_checked(void)
{
	struct dev_stream *s = stream();
	struct dev_launch l = { .grid = 0 };
	expect_error(dev_launch(on.d, s, kernel("empty"), &l), -EINVAL);
	l.grid = 1;
	l.shared_bytes = dev_props(on.d)->shared_per_block_bytes + 1;
	expect_error(dev_launch(on.d, s, kernel("empty"), &l), -EINVAL);
	l.shared_bytes = dev_props(on.d)->shared_per_block_bytes;
	ok(dev_launch(on.d, s, kernel("empty"), &l));
	l.shared_bytes = 0;
	l.grid = 1000;
	l.block = dev_props(on.d)->block_threads;
	ok(dev_launch(on.d, s, kernel("empty"), &l));
	ok(dev_stream_sync(on.d, s));
	dev_stream_close(on.d, s);
}

static void stamps_are_times_of_the_clock(void)
{
	const double slack_ns = 100e3; /* between the host's and a GPU's timer */
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(grids); i++) {
		uint64_t *at = get(DEV_MEM_PINNED, grids[i] * sizeof(*at));
		memset(at, 0, grids[i] * sizeof(*at));
		const void *args[] = { &at };
		double before = (double)dev_clock_ns(on.d);
		ok(launch(s, "stamp", grids[i], args));
		ok(dev_stream_sync(on.d, s));
		double after = (double)dev_clock_ns(on.d);
		for (uint32_t j = 0; j < grids[i]; j++)
			expect((double)at[j] >= before - slack_ns && (double)at[j] <= after + slack_ns);
		put(at);
	}
	dev_stream_close(on.d, s);
}

static void arguments_are_copied(void)
{
	struct dev_stream *s = stream();
	char *dst = get(DEV_MEM_PINNED, 4096), *other = get(DEV_MEM_PINNED, 4096);
	uint64_t bytes = 4096;
	uint32_t reps = 1, word = 0x01010101;
	memset(dst, 0, 4096);
	memset(other, 0, 4096);
	struct gate g = gate_shut(s);
	{
		char *target = dst;
		const void *args[] = { &target, &bytes, &reps, &word };
		struct dev_launch l = { .grid = 2, .args = args };
		ok(dev_launch(on.d, s, kernel("write"), &l));
		target = other;
		word = 0x02020202;
		bytes = 256;
		memset(args, 0, sizeof(args));
		memset(&l, 0, sizeof(l));
	}
	gate_open(&g);
	ok(dev_stream_sync(on.d, s));
	expect(dst[0] == 1 && dst[4095] == 1 && other[0] == 0);
	gate_done(&g);
	put(dst);
	put(other);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ hold and residence */

static void hold_ends_with_its_flag(void)
{
	struct dev_stream *s = stream();
	struct gate g = gate_shut(s);
	gate_open(&g);
	ok(dev_stream_sync(on.d, s));
	expect(look(g.arrived) == 1 && g.start_ns[0] > 0);
	/* Set before: passes at once. Arrivals are added. */
	uint64_t timeout_ns = GATE_NS;
	const void *args[] = { &g.flag, &g.arrived, &g.start_ns, &timeout_ns };
	ok(launch(s, "hold", 1, args));
	ok(dev_stream_sync(on.d, s));
	expect(look(g.arrived) == 2);
	gate_done(&g);
	if (dev_can(on.d, DEV_CAP_WAIT_VALUE) && capacity(0) > 1) {
		struct dev_stream *writes = stream();
		g = gate_shut(s);
		ok(dev_write_value(on.d, writes, g.flag, 1));
		ok(dev_stream_sync(on.d, s));
		ok(dev_stream_sync(on.d, writes));
		gate_done(&g);
		dev_stream_close(on.d, writes);
	}
	dev_stream_close(on.d, s);
}

static void hold_reports_its_time_out(void)
{
	struct dev_stream *s = stream();
	uint32_t grid = capacity(0) + 1;
	uint64_t before = dev_clock_ns(on.d);
	struct gate g = gate_hold(s, grid, 0, 2 * MS);
	ok(dev_stream_sync(on.d, s));
	expect(dev_clock_ns(on.d) - before >= 2 * MS);
	expect(look(g.arrived) == grid);
	expect(look(g.arrived + 1) == grid);
	put(g.memory);
	dev_stream_close(on.d, s);
}

static void occupancy_follows_its_formula(void)
{
	const struct dev_props *p = dev_props(on.d);
	uint32_t most = 0, last = UINT32_MAX, blocks = 0;
	ok(dev_occupancy(on.d, kernel("hold"), 0, 0, &most));
	expect(most >= 1 && most <= p->slots_per_unit);
	uint64_t step = p->shared_per_block_bytes / 97 + 1;
	for (uint64_t shared = 0; shared <= p->shared_per_block_bytes; shared += step) {
		uint64_t claim = (shared + p->shared_granularity_bytes - 1) / p->shared_granularity_bytes *
		                 p->shared_granularity_bytes;
		ok(dev_occupancy(on.d, kernel("hold"), 0, shared, &blocks));
		expect(blocks <= last);
		if (dev_can(on.d, DEV_CAP_OCCUPANCY)) {
			uint64_t fit = claim ? p->shared_per_unit_bytes / claim : most;
			expect(blocks == (fit < most ? fit : most));
		}
		last = blocks;
	}
	expect_error(dev_occupancy(on.d, kernel("hold"), 0, p->shared_per_block_bytes + 1, &blocks), -EINVAL);
}

static void as_many_are_resident_as_occupancy_says(void)
{
	const struct dev_props *p = dev_props(on.d);
	struct dev_stream *s = stream();
	for (uint64_t parts = 0; parts <= 4; parts++) {
		uint64_t shared = parts ? p->shared_per_block_bytes / 4 * parts : 0;
		uint32_t resident = capacity(shared), grid = resident + 5;
		struct gate g = gate_hold(s, grid, shared, GATE_NS);
		expect(comes_to(g.arrived, resident));
		pass(2 * MS);
		expect(look(g.arrived) == resident);
		gate_open(&g);
		ok(dev_stream_sync(on.d, s));
		expect(look(g.arrived) == grid);
		gate_done(&g);
	}
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ order of blocks */

/* All slots held; one of them can be opened alone, so that what waits runs one block after the other. */
struct full {
	struct dev_stream *most_stream, *last_stream;
	struct gate most, last;
	bool has_most;
};

static struct full fill_all_slots(void)
{
	struct full f = { .most_stream = stream(), .last_stream = stream() };
	uint32_t all = capacity(0);
	f.has_most = all > 1;
	if (f.has_most) {
		f.most = gate_hold(f.most_stream, all - 1, 0, GATE_NS);
		require(comes_to(f.most.arrived, all - 1));
	}
	f.last = gate_shut(f.last_stream);
	return f;
}

static void free_one_slot(struct full *f) { gate_open(&f->last); }

static void free_all_slots(struct full *f)
{
	if (f->has_most)
		gate_open(&f->most);
	ok(dev_stream_sync(on.d, f->most_stream));
	ok(dev_stream_sync(on.d, f->last_stream));
	gate_done(&f->last);
	if (f->has_most)
		gate_done(&f->most);
	dev_stream_close(on.d, f->most_stream);
	dev_stream_close(on.d, f->last_stream);
}

#define QUEUED_BLOCKS 3

static uint64_t *queue_stamps(struct dev_stream *s)
{
	uint64_t *at = get(DEV_MEM_PINNED, QUEUED_BLOCKS * sizeof(*at));
	memset(at, 0, QUEUED_BLOCKS * sizeof(*at));
	const void *args[] = { &at };
	ok(launch(s, "stamp", QUEUED_BLOCKS, args));
	pass(MS); /* until it is ready */
	return at;
}

/* One slot is free: every block of `first` must start before any block of `second`. */
static void expect_before(const uint64_t *first, const uint64_t *second)
{
	for (int i = 0; i < QUEUED_BLOCKS; i++)
		for (int j = 0; j < QUEUED_BLOCKS; j++)
			expect(first[i] > 0 && first[i] <= second[j]);
}

static void urgent_blocks_start_first(void)
{
	need(DEV_CAP_PRIORITY);
	struct dev_stream *low = stream_at(dev_props(on.d)->priority_low);
	struct dev_stream *normal = stream(), *high = stream_at(dev_props(on.d)->priority_high);
	struct full f = fill_all_slots();
	uint64_t *last = queue_stamps(low), *middle = queue_stamps(normal), *first = queue_stamps(high);
	expect(last[0] == 0 && middle[0] == 0 && first[0] == 0);
	free_one_slot(&f);
	ok(dev_stream_sync(on.d, low));
	ok(dev_stream_sync(on.d, normal));
	ok(dev_stream_sync(on.d, high));
	expect_before(first, last);
	if (dev_props(on.d)->priority_high > dev_props(on.d)->priority_normal)
		expect_before(first, middle);
	if (dev_props(on.d)->priority_normal > dev_props(on.d)->priority_low)
		expect_before(middle, last);
	free_all_slots(&f);
	put(last);
	put(middle);
	put(first);
	dev_stream_close(on.d, low);
	dev_stream_close(on.d, normal);
	dev_stream_close(on.d, high);
}

static void equals_start_as_they_became_ready(void)
{
	struct dev_stream *a = stream(), *b = stream(), *c = stream();
	struct full f = fill_all_slots();
	/* Streams in another order than they were opened. */
	uint64_t *first = queue_stamps(c), *second = queue_stamps(a), *third = queue_stamps(b);
	free_one_slot(&f);
	ok(dev_stream_sync(on.d, a));
	ok(dev_stream_sync(on.d, b));
	ok(dev_stream_sync(on.d, c));
	expect_before(first, second);
	expect_before(second, third);
	free_all_slots(&f);
	put(first);
	put(second);
	put(third);
	dev_stream_close(on.d, a);
	dev_stream_close(on.d, b);
	dev_stream_close(on.d, c);
}

static void running_blocks_are_not_interrupted(void)
{
	need(DEV_CAP_PRIORITY);
	struct dev_stream *high = stream_at(dev_props(on.d)->priority_high);
	struct dev_event *e = event();
	struct full f = fill_all_slots();
	uint64_t *at = queue_stamps(high);
	ok(dev_event_record(on.d, high, e));
	pass(2 * MS);
	expect_rc(dev_event_query(on.d, e), -EAGAIN);
	free_all_slots((free_one_slot(&f), &f));
	ok(dev_stream_sync(on.d, high));
	put(at);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, high);
}

static void engines_copy_while_all_slots_are_held(void)
{
	need(DEV_CAP_COPY_ENGINE);
	const uint64_t bytes = 1 << 20;
	struct dev_stream *s = stream();
	char *up = get(DEV_MEM_PINNED, bytes), *dev = get(DEV_MEM_DEVICE, bytes), *twin = get(DEV_MEM_DEVICE, bytes);
	char *down = get(DEV_MEM_PINNED, bytes);
	memset(up, 11, bytes);
	memset(down, 0, bytes);
	struct full f = fill_all_slots();
	ok(dev_copy(on.d, s, dev, up, bytes));
	ok(dev_copy(on.d, s, twin, dev, bytes));
	ok(dev_copy(on.d, s, down, twin, bytes));
	ok(dev_stream_sync(on.d, s));
	expect(look(f.last.arrived + 1) == 0); /* and all are still held */
	expect(down[0] == 11 && down[bytes - 1] == 11);
	free_one_slot(&f);
	free_all_slots(&f);
	put(up);
	put(dev);
	put(twin);
	put(down);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ gemm */

struct matrix {
	uint32_t rows, columns, leading;
	uint64_t bytes;
	double *values; /* as the type holds them */
	char *dev;
};

static double value_at(const void *raw, enum dev_type type, uint64_t i)
{
	return type == DEV_F32 ? (double)((const float *)raw)[i] : ((const double *)raw)[i];
}

static struct matrix matrix(enum dev_type type, uint32_t rows, uint32_t columns, uint32_t leading, uint64_t lane)
{
	struct matrix m = { .rows = rows, .columns = columns, .leading = leading };
	uint64_t count = (uint64_t)rows * leading, size = type == DEV_F32 ? 4 : 8;
	struct rng r;
	m.bytes = count * size;
	m.values = malloc(count * sizeof(double));
	void *raw = malloc(m.bytes);
	require(m.values && raw);
	rng_seed(&r, 3, lane);
	if (type == DEV_F32)
		rng_fill_f32(&r, raw, count);
	else
		rng_fill_f64(&r, raw, count);
	for (uint64_t i = 0; i < count; i++)
		m.values[i] = value_at(raw, type, i);
	m.dev = get(DEV_MEM_DEVICE, m.bytes);
	ok(dev_upload(on.d, m.dev, raw, m.bytes));
	free(raw);
	return m;
}

static void expect_product(const struct dev_gemm *g, const struct matrix *a, const struct matrix *b, const struct matrix *c)
{
	void *got = malloc(c->bytes);
	require(got);
	ok(dev_download(on.d, got, c->dev, c->bytes));
	double tolerance = 4 * (g->k + 2) * (g->type == DEV_F32 ? 1.2e-7 : 2.3e-16) * (1 + fabs(g->alpha) + fabs(g->beta));
	uint64_t wrong = 0;
	for (uint32_t i = 0; i < g->m; i++) {
		for (uint32_t j = 0; j < c->leading; j++) {
			double sum = 0, old = c->values[(uint64_t)i * c->leading + j];
			for (uint32_t k = 0; k < g->k && j < g->n; k++)
				sum += a->values[(uint64_t)i * a->leading + k] * b->values[(uint64_t)k * b->leading + j];
			double want = j < g->n ? g->alpha * sum + g->beta * old : old; /* between rows nothing changes */
			wrong += !(fabs(value_at(got, g->type, (uint64_t)i * c->leading + j) - want) <= tolerance);
		}
	}
	if (wrong)
		printf("# gemm %u x %u x %u, alpha %g, beta %g: %llu wrong\n", g->m, g->n, g->k, g->alpha, g->beta,
		       (unsigned long long)wrong);
	expect(wrong == 0);
	free(got);
}

static void drop_matrix(struct matrix *m)
{
	free(m->values);
	put(m->dev);
}

static void one_gemm(struct dev_stream *s, const struct dev_gemm *shape)
{
	struct dev_gemm g = *shape;
	struct matrix a = matrix(g.type, g.m, g.k, g.lda, 1), b = matrix(g.type, g.k, g.n, g.ldb, 2);
	struct matrix c = matrix(g.type, g.m, g.n, g.ldc, 3);
	g.a = a.dev;
	g.b = b.dev;
	g.c = c.dev;
	int rc = dev_gemm(on.d, s, &g);
	if (rc == -ENOTSUP) {
		printf("# gemm of type %d: %s\n", (int)g.type, err_text());
	} else {
		ok(rc);
		ok(dev_stream_sync(on.d, s));
		expect_product(&g, &a, &b, &c);
	}
	drop_matrix(&a);
	drop_matrix(&b);
	drop_matrix(&c);
}

static void gemm_multiplies(void)
{
	need(DEV_CAP_GEMM);
	static const struct dev_gemm shapes[] = {
		{ .m = 1, .n = 1, .k = 1, .alpha = 1, .lda = 1, .ldb = 1, .ldc = 1 },
		{ .m = 64, .n = 64, .k = 64, .alpha = 1, .lda = 64, .ldb = 64, .ldc = 64 },
		{ .m = 65, .n = 33, .k = 17, .alpha = 2, .beta = 1, .lda = 17, .ldb = 33, .ldc = 33 },
		{ .m = 7, .n = 130, .k = 301, .alpha = -1, .beta = 0.5, .lda = 303, .ldb = 131, .ldc = 137 },
		{ .m = 200, .n = 3, .k = 50, .alpha = 1, .beta = -2, .lda = 50, .ldb = 8, .ldc = 5 },
		{ .m = 128, .n = 96, .k = 80, .alpha = 0.5, .lda = 80, .ldb = 96, .ldc = 100, .blocks = 7 },
		{ .m = 100, .n = 100, .k = 10, .alpha = 1, .beta = 1, .lda = 10, .ldb = 100, .ldc = 100, .blocks = 1 },
		{ .m = 90, .n = 90, .k = 90, .alpha = 1, .lda = 90, .ldb = 90, .ldc = 90, .blocks = 64 },
	};
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct dev_gemm g = shapes[i];
		g.type = DEV_F32;
		one_gemm(s, &g);
		g.type = DEV_F64;
		one_gemm(s, &g);
	}
	dev_stream_close(on.d, s);
}

static void gemm_is_checked(void)
{
	need(DEV_CAP_GEMM);
	static float pageable[64 * 64];
	struct dev_stream *s = stream();
	float *a = get(DEV_MEM_DEVICE, 3 * 64 * 64 * 4);
	const struct dev_gemm good = { .type = DEV_F32, .m = 64, .n = 64, .k = 64, .alpha = 1, .a = a, .b = a + 64 * 64,
		                       .c = a + 2 * 64 * 64, .lda = 64, .ldb = 64, .ldc = 64 };
	struct dev_gemm g = good;
	ok(dev_fill(on.d, s, a, 0, 3 * 64 * 64 * 4));
	ok(dev_gemm(on.d, s, &g));
	g.m = 0;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.n = 0;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.k = 0;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.ldb = 63;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.a = pageable;
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.c = pageable;
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.m = 65;
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.shared_bytes = 1024;
	int rc = dev_gemm(on.d, s, &g);
	expect(rc == 0 || rc == -ENOTSUP);
	ok(dev_stream_sync(on.d, s));
	put(a);
	dev_stream_close(on.d, s);
}

static void gemm_waits_for_its_turn(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = stream();
	float *a = get(DEV_MEM_PINNED, 16 * 4), *c = get(DEV_MEM_PINNED, 16 * 4);
	for (int i = 0; i < 16; i++)
		a[i] = 1, c[i] = 100;
	struct dev_gemm g = { .type = DEV_F32, .m = 4, .n = 4, .k = 4, .alpha = 1, .a = a, .b = a, .c = c,
		              .lda = 4, .ldb = 4, .ldc = 4 };
	struct gate gate = gate_shut(s);
	ok(dev_gemm(on.d, s, &g));
	memset(&g, 0, sizeof(g)); /* the description is copied, too */
	pass(MS);
	expect_near((double)c[5], 100, 0);
	gate_open(&gate);
	ok(dev_stream_sync(on.d, s));
	expect_near((double)c[5], 4, 1e-6);
	gate_done(&gate);
	put(a);
	put(c);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(all_kernels_are_there),
		RULE(read_adds_up),
		RULE(write_writes_all_and_no_more),
		RULE(copy_copies_all_and_no_more),
		RULE(triad_computes),
		RULE(kernels_reach_pinned_memory),
		RULE(fma_f32_is_finite_and_equal),
		RULE(fma_f64_is_finite_and_equal),
		RULE(launches_are_checked),
		RULE(stamps_are_times_of_the_clock),
		RULE(arguments_are_copied),
		RULE(hold_ends_with_its_flag),
		RULE(hold_reports_its_time_out),
		RULE(occupancy_follows_its_formula),
		RULE(as_many_are_resident_as_occupancy_says),
		RULE(urgent_blocks_start_first),
		RULE(equals_start_as_they_became_ready),
		RULE(running_blocks_are_not_interrupted),
		RULE(engines_copy_while_all_slots_are_held),
		RULE(gemm_multiplies),
		RULE(gemm_is_checked),
		RULE(gemm_waits_for_its_turn),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
