/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that adds, GEMMs that add, and the memory controller: what device/dev_tracking.h and
 * device/dev_gemm.h say of them. The device that has all is a model of sim; where one lacks a
 * capability, its operations say so.
 */
#include "tests/unit/conformance/conformance_gemm_answers.h"

#define N 65536u
#define ELEMENTS 1003u

static const enum dev_type sums[] = {DEV_F32, DEV_F64, DEV_F16, DEV_BF16, DEV_I32};

/* ------------------------------------------------------------------ what is lacking */

static void operations_without_their_capability_say_so(void)
{
	struct dev_stream *s = open_stream();
	struct dev_memory_control control = {DEV_MEMORY_FAIR, 1, 0.5};
	struct dev_memory_bytes bytes = {{-1, -1}, {-1, -1}};
	char *at = alloc_memory(DEV_MEM_DEVICE, N);
	if (!dev_can(on.d, DEV_CAP_MEMORY_ADDS))
		expect_error(dev_copy_add(on.d, s, at, at + 512, 256, DEV_F32), -ENOTSUP);
	if (!dev_can(on.d, DEV_CAP_MEMORY_CONTROL)) {
		expect_error(dev_stream_class(on.d, s, DEV_COMMUNICATION), -ENOTSUP);
		expect_error(dev_memory_control(on.d, &control), -ENOTSUP);
		expect_error(dev_memory_control_read(on.d, &control), -ENOTSUP);
		expect_error(dev_memory_bytes(on.d, &bytes), -ENOTSUP);
		expect(bytes.read[0] < 0 && bytes.written[1] < 0);
	}
	for (int type = 0; type < DEV_TYPES; type++) {
		struct dev_gemm g = shape_for_type(
			(enum dev_type)type,
			&(struct dev_gemm)PACKED_GEMM(16, 16, 16, .tiled = true, .adds = true),
			false);
		g.a = g.b = at;
		g.c = at + N / 2;
		if (!(dev_props(on.d)->gemm_adding_types >> type & 1))
			expect_error(dev_gemm(on.d, s, &g), -ENOTSUP);
	}
	free_memory(at);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ copies that add */

struct arrays {
	enum dev_type type;
	uint64_t bytes;
	char *raw, *target, *source;
};

/* The target begins with i % 50, the source is i % 7; the element after the last is 7. */
static struct arrays arrays_create(enum dev_type type)
{
	struct arrays a = {.type = type, .bytes = (uint64_t)ELEMENTS * dev_type_bytes(type)};
	const uint64_t all = a.bytes + dev_type_bytes(type);
	a.raw = malloc(all);
	require(a.raw);
	a.target = alloc_memory(DEV_MEM_DEVICE, all);
	a.source = alloc_memory(DEV_MEM_DEVICE, all);
	for (uint32_t i = 0; i <= ELEMENTS; i++)
		element_set(a.raw, type, i, i < ELEMENTS ? i % 50 : 7);
	ok(dev_upload(on.d, a.target, a.raw, all));
	for (uint32_t i = 0; i <= ELEMENTS; i++)
		element_set(a.raw, type, i, i % 7);
	ok(dev_upload(on.d, a.source, a.raw, all));
	return a;
}

static void expect_sums(struct arrays *a, int times)
{
	ok(dev_download(on.d, a->raw, a->target, a->bytes + dev_type_bytes(a->type)));
	for (uint32_t i = 0; i < ELEMENTS; i++)
		require(element_get(a->raw, a->type, i) == i % 50 + times * (double)(i % 7));
	expect_near(element_get(a->raw, a->type, ELEMENTS), 7, 0);
}

static void arrays_free(struct arrays *a)
{
	free(a->raw);
	free_memory(a->target);
	free_memory(a->source);
}

static void a_copy_adds_every_type_of_a_c(void)
{
	need(DEV_CAP_MEMORY_ADDS);
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		struct arrays a = arrays_create(sums[i]);
		ok(dev_copy_add(on.d, s, a.target, a.source, a.bytes, a.type));
		ok(dev_stream_sync(on.d, s));
		expect_sums(&a, 1);
		arrays_free(&a);
	}
	dev_stream_close(on.d, s);
}

static void copies_that_add_at_once_lose_nothing(void)
{
	enum { STREAMS = 6 };
	need(DEV_CAP_MEMORY_ADDS);
	struct dev_stream *s[STREAMS];
	struct arrays a = arrays_create(DEV_F32);
	for (int i = 0; i < STREAMS; i++)
		s[i] = open_stream();
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < STREAMS; i++)
			ok(dev_copy_add(on.d, s[i], a.target, a.source, a.bytes, a.type));
	for (int i = 0; i < STREAMS; i++) {
		ok(dev_stream_sync(on.d, s[i]));
		dev_stream_close(on.d, s[i]);
	}
	expect_sums(&a, 3 * STREAMS);
	arrays_free(&a);
}

static void a_peer_adds_to_memory_here(void)
{
	struct dev_stream *s = NULL;
	void *far = NULL;
	need(DEV_CAP_MEMORY_ADDS);
	need(DEV_CAP_PEER);
	if (!on.other)
		skip("one device");
	ok(dev_peer_enable(on.d, on.other));
	struct arrays a = arrays_create(DEV_F32);
	ok(dev_alloc(on.other, DEV_MEM_DEVICE, a.bytes, &far));
	ok(dev_upload(on.other, far, a.raw, a.bytes));
	ok(dev_stream_open(on.other, dev_props(on.other)->priority_normal, &s));
	ok(dev_copy_add(on.other, s, a.target, far, a.bytes, a.type));
	ok(dev_stream_sync(on.other, s));
	expect_sums(&a, 1);
	ok(dev_copy_add(on.other, s, far, a.source, a.bytes, a.type));
	ok(dev_stream_sync(on.other, s));
	ok(dev_download(on.other, a.raw, far, a.bytes));
	for (uint32_t i = 0; i < ELEMENTS; i++)
		require(element_get(a.raw, a.type, i) == 2 * (double)(i % 7));
	dev_stream_close(on.other, s);
	ok(dev_free(on.other, far));
	arrays_free(&a);
}

static void what_no_memory_adds_is_refused(void)
{
	need(DEV_CAP_MEMORY_ADDS);
	struct dev_stream *s = open_stream();
	char *at = alloc_memory(DEV_MEM_DEVICE, N), *host = alloc_memory(DEV_MEM_PINNED, N);
	expect_error(dev_copy_add(on.d, s, at, at + 512, 256, DEV_F8), -EINVAL);
	expect_error(dev_copy_add(on.d, s, at, at + 512, 256, DEV_TF32), -EINVAL);
	expect_error(dev_copy_add(on.d, s, at, at + 512, 255, DEV_F16), -EINVAL);
	expect_error(dev_copy_add(on.d, s, host, at, 256, DEV_F32), -ENOTSUP);
	expect_misuse(dev_copy_add(on.d, s, at + 1, at + 512, 256, DEV_F16), -EINVAL);
	expect_misuse(dev_copy_add(on.d, s, at, at + 128, 256, DEV_F32), -EINVAL);
	ok(dev_stream_sync(on.d, s));
	free_memory(at);
	free_memory(host);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ GEMMs that add */

static void gemms_of_a_type_add(enum dev_type type)
{
	static const struct dev_gemm shape = {
		.m = 65, .n = 33, .k = 17, .alpha = 2, .lda = 19, .ldb = 33, .ldc = 37};
	struct dev_gemm g = shape_for_type(type, &shape, false);
	struct dev_stream *s = open_stream(), *t = open_stream();
	g.tiled = g.adds = true;
	struct gemm_case p = gemm_case_create(&g, SMALL_INTEGERS);
	ok(dev_gemm(on.d, s, &p.g));
	ok(dev_gemm(on.d, t, &p.g));
	ok(dev_stream_sync(on.d, s));
	ok(dev_stream_sync(on.d, t));
	/* As one GEMM of twice the factor, and beta 1. */
	p.g.alpha *= 2;
	p.g.beta = 1;
	expect_gemm_result(&p);
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
	dev_stream_close(on.d, t);
}

static void gemms_add_in_every_type(void)
{
	const uint32_t types = dev_props(on.d)->gemm_adding_types;
	if (!types)
		skip("no GEMM adds");
	for (int type = 0; type < DEV_TYPES; type++)
		if (types >> type & 1)
			gemms_of_a_type_add((enum dev_type)type);
}

static void a_gemm_that_adds_has_no_beta(void)
{
	const uint32_t types = dev_props(on.d)->gemm_adding_types;
	if (!(types & 1u << DEV_F32))
		skip("no GEMM of f32 adds");
	struct dev_stream *s = open_stream();
	float *at = alloc_memory(DEV_MEM_DEVICE, N);
	struct dev_gemm g = PACKED_GEMM(8, 8, 8, .type = DEV_F32, .a = at, .b = at, .c = at + 64,
					.tiled = true, .adds = true);
	g.beta = 1;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g.beta = 0;
	g.tiled = false;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	free_memory(at);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ the memory controller */

static void the_memory_controller_is_what_was_set(void)
{
	static const struct dev_memory_control wanted[] = {{DEV_MEMORY_COMPUTE_FIRST, 0.5, 0.25},
							   {DEV_MEMORY_FAIR, 1, 0.1}},
					       bad[] = {{DEV_MEMORY_COMPUTE_FIRST, 0, 0.1},
							{DEV_MEMORY_COMPUTE_FIRST, 1.5, 0.1},
							{DEV_MEMORY_COMPUTE_FIRST, 1, 0},
							{DEV_MEMORY_COMPUTE_FIRST, 1, 1},
							{(enum dev_memory_policy)7, 1, 0.1}};
	struct dev_memory_control first, got;
	need(DEV_CAP_MEMORY_CONTROL);
	ok(dev_memory_control_read(on.d, &first));
	for (int i = 0; i < 2; i++) {
		ok(dev_memory_control(on.d, &wanted[i]));
		for (size_t j = 0; j < sizeof(bad) / sizeof(bad[0]); j++)
			expect_error(dev_memory_control(on.d, &bad[j]), -EINVAL);
		ok(dev_memory_control_read(on.d, &got));
		expect(got.policy == wanted[i].policy);
		expect_near(got.threshold, wanted[i].threshold, 0);
		expect_near(got.starvation, wanted[i].starvation, 0);
	}
	ok(dev_memory_control(on.d, &first));
}

static void what_is_not_idle_is_not_changed(void)
{
	struct dev_memory_control control;
	need(DEV_CAP_MEMORY_CONTROL);
	struct dev_stream *s = open_stream(), *idle = open_stream();
	ok(dev_memory_control_read(on.d, &control));
	struct blocking g = blocking_hold(s);
	expect_error(dev_memory_control(on.d, &control), -EBUSY);
	expect_error(dev_stream_class(on.d, s, DEV_COMMUNICATION), -EBUSY);
	ok(dev_stream_class(on.d, idle, DEV_COMMUNICATION));
	blocking_release(&g);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	ok(dev_memory_control(on.d, &control));
	ok(dev_stream_class(on.d, s, DEV_COMMUNICATION));
	ok(dev_stream_class(on.d, s, DEV_COMPUTING));
	expect_error(dev_stream_class(on.d, s, (enum dev_traffic_class)7), -EINVAL);
	dev_stream_close(on.d, s);
	dev_stream_close(on.d, idle);
}

static double all_of(const double *classes)
{
	return classes[DEV_COMPUTING] + classes[DEV_COMMUNICATION];
}

static void bytes_have_the_class_of_what_moves_them(void)
{
	struct dev_memory_bytes before, after;
	need(DEV_CAP_MEMORY_CONTROL);
	struct dev_stream *s = open_stream();
	char *at = alloc_memory(DEV_MEM_DEVICE, 2 * N), *host = alloc_memory(DEV_MEM_PINNED, N);
	ok(dev_stream_class(on.d, s, DEV_COMMUNICATION));
	ok(dev_memory_bytes(on.d, &before));
	ok(dev_copy(on.d, s, at, host, N));
	ok(dev_copy(on.d, s, at + N, at, N));
	ok(dev_fill(on.d, s, at, 1, N));
	ok(dev_stream_sync(on.d, s));
	ok(dev_memory_bytes(on.d, &after));
	/* Caches may keep some of it, and add nothing. */
	expect_near(after.read[DEV_COMPUTING], before.read[DEV_COMPUTING], 0);
	expect_near(after.written[DEV_COMPUTING], before.written[DEV_COMPUTING], 0);
	expect(all_of(after.read) - all_of(before.read) <= N);
	expect(all_of(after.written) - all_of(before.written) <= 3 * N);
	ok(dev_stream_class(on.d, s, DEV_COMPUTING));
	ok(dev_fill(on.d, s, at, 2, N));
	ok(dev_stream_sync(on.d, s));
	ok(dev_memory_bytes(on.d, &before));
	expect_near(before.written[DEV_COMMUNICATION], after.written[DEV_COMMUNICATION], 0);
	expect(before.written[DEV_COMPUTING] >= after.written[DEV_COMPUTING]);
	free_memory(at);
	free_memory(host);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static char *all[] = {"",
			      "host",
			      "sim",
			      "sim:quiet?memory_control=1,memory_adds=1",
			      "sim:default?memory_control=1,memory_adds=1,llc_tracked=1:0,1",
			      "unchecked",
			      "host"};
	static const struct rule rules[] = {
		RULE(operations_without_their_capability_say_so),
		RULE(a_copy_adds_every_type_of_a_c),
		RULE(copies_that_add_at_once_lose_nothing),
		RULE(a_peer_adds_to_memory_here),
		RULE(what_no_memory_adds_is_refused),
		RULE(gemms_add_in_every_type),
		RULE(a_gemm_that_adds_has_no_beta),
		RULE(the_memory_controller_is_what_was_set),
		RULE(what_is_not_idle_is_not_changed),
		RULE(bytes_have_the_class_of_what_moves_them),
	};
	if (argc < 2) {
		argc = sizeof(all) / sizeof(all[0]);
		argv = all;
	}
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
