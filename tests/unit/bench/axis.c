/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/axis.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>

static const struct axis size_axis = {.name = "size", .kind = AXIS_SIZE, .min = 16};
static const struct axis_capacities machine = {
	.l1 = 64 << 10, .l2 = 1 << 20, .llc = 32 << 20, .mem = 1 << 30};

static void check_list(const char *text, const uint64_t *values, size_t count)
{
	struct axis_list list;
	require(axis_parse(&size_axis, text, true, &machine, &list) == 0);
	expect(list.count == count);
	for (size_t i = 0; i < count && i < list.count; i++)
		expect_near((double)list.values[i].number, (double)values[i], 0);
	axis_free(&list);
}

static void lists_are_parsed(void)
{
	check_list("16", (uint64_t[]){16}, 1);
	check_list("4K,16,4K", (uint64_t[]){4096, 16}, 2);
	check_list("4K:64K:x4", (uint64_t[]){4096, 16384, 65536}, 3);
	check_list("4K:63K:x4", (uint64_t[]){4096, 16384}, 2);
	check_list("16:64:+16", (uint64_t[]){16, 32, 48, 64}, 4);
	check_list("16:16:x2,64", (uint64_t[]){16, 64}, 2);
	check_list("L1/2,4LLC,MEM/8,L2", (uint64_t[]){32 << 10, 128 << 20, 1 << 20}, 3);
	check_list("9223372036854775808:18446744073709551615:x2", (uint64_t[]){UINT64_C(1) << 63},
		   1);
}

static void bad_lists(void)
{
	static const char *const table[] = {"",
					    "4K,",
					    ",4K",
					    "4K,,8K",
					    "4K:1K:x2",
					    "4K:8K",
					    "4K:8K:2",
					    "4K:8K:x1",
					    "4K:8K:x0",
					    "0:8:x2",
					    "4K:8K:+0",
					    "8",
					    "4Q",
					    "-1",
					    "L9",
					    "0LLC",
					    "LLC/0",
					    "LLC/x",
					    "LLCx",
					    "SHARED",
					    "16:99999999:+1",
					    "99999999999999999999",
					    "4K:8K:x2:x2"};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct axis_list list = {0};
		err_clear();
		if (axis_parse(&size_axis, table[i], true, &machine, &list) == 0)
			printf("# accepted: '%s'\n", table[i]);
		expect(list.values == NULL);
		expect(strlen(err_text()) > 0);
	}
}

/* A default list drops what the device does not report or can't hold; a user's list fails. */
static void defaults_adapt(void)
{
	struct axis bounded = size_axis;
	struct axis_list list;
	bounded.min = 48 << 10;
	require(axis_parse(&bounded, "SHARED/2,L1/2,L1", false, &machine, &list) == 0);
	expect(list.count == 1 && list.values[0].number == 64 << 10);
	axis_free(&list);
	expect(axis_parse(&bounded, "L1/2", true, &machine, &list) == -ERANGE);
	expect(axis_parse(&bounded, "SHARED", false, &machine, &list) == -ENOTSUP);
}

static void values_are_multiples(void)
{
	struct axis aligned = size_axis;
	struct axis_list list;
	aligned.multiple = 4096;
	require(axis_parse(&aligned, "L1/3", true, &machine, &list) == 0);
	expect(list.values[0].number == 20480);
	axis_free(&list);
	expect(axis_parse(&aligned, "5000", true, &machine, &list) == -EINVAL);
}

static void words_are_checked(void)
{
	static const char *const allowed[] = {"up", "down", NULL};
	static const struct axis axis = {.name = "direction", .kind = AXIS_WORD, .words = allowed};
	struct axis_list list;
	require(axis_parse(&axis, "down,up,down", true, NULL, &list) == 0);
	expect(list.count == 2 && list.values[0].word == allowed[1] &&
	       list.values[1].word == allowed[0]);
	axis_free(&list);
	expect(axis_parse(&axis, "sideways", true, NULL, &list) == -EINVAL);
	expect_str(err_text(), "--direction: unknown value 'sideways'; values: up down");
	expect(axis_parse(&axis, "Up", true, NULL, &list) == -EINVAL);
}

/* As many blocks as asked for must fit: the claim, what the platform adds to it, rounded up. */
static void shared_fits(void)
{
	static const struct axis axis = {.name = "shared", .kind = AXIS_SIZE};
	static const struct axis_capacities gpu = {
		.shared = 228 << 10, .shared_granularity = 128, .shared_reserved = 1024};
	struct axis_list list;
	require(axis_parse(&axis, "SHARED,SHARED/2,SHARED/7", true, &gpu, &list) == 0);
	expect(list.values[0].number == 227 << 10);
	expect(list.values[1].number == 113 << 10);
	uint64_t claim = (list.values[2].number + 1024 + 127) / 128 * 128;
	expect(gpu.shared / claim == 7);
	axis_free(&list);
	/* If the platform takes the whole share, nothing can be claimed. */
	require(axis_parse(&axis, "SHARED/228", true, &gpu, &list) == 0);
	expect(list.values[0].number == 0);
	axis_free(&list);
}

static void types_drop(void)
{
	static const char *const allowed[] = {"f32", "f64", "bf16", NULL};
	static const struct axis axis = {
		.name = "type", .kind = AXIS_WORD, .words = allowed, .types = AXIS_GEMM_TYPES};
	static const struct axis_capacities some = {.types = {[AXIS_GEMM_TYPES] = 1u << 0 | 1u << 2,
							      [AXIS_PLAIN_TYPES] = 1u << 0,
							      [AXIS_TILED_TYPES] = 1u << 1}};
	struct axis plain = axis;
	struct axis_list list;
	plain.types = AXIS_PLAIN_TYPES;
	require(axis_parse(&plain, "f64,bf16,f32", false, &some, &list) == 0);
	expect(list.count == 1 && list.values[0].word == allowed[0]);
	axis_free(&list);
	require(axis_parse(&axis, "f64,bf16,f32", false, &some, &list) == 0);
	expect(list.count == 2 && list.values[0].word == allowed[2] &&
	       list.values[1].word == allowed[0]);
	axis_free(&list);
	require(axis_parse(&axis, "f64", true, &some, &list) == 0);
	expect(list.count == 1 && list.values[0].word == allowed[1]);
	axis_free(&list);
}

static void main_type_is_that_of_the_device(void)
{
	static const char *const allowed[] = {"f32", "f64", "bf16", NULL};
	static const struct axis library = {.name = "type",
					    .kind = AXIS_WORD,
					    .words = allowed,
					    .types = AXIS_GEMM_TYPES},
				 tiled = {.name = "type",
					  .kind = AXIS_WORD,
					  .words = allowed,
					  .types = AXIS_TILED_TYPES},
				 own = {.name = "op", .kind = AXIS_WORD, .words = allowed};
	static const struct axis_capacities gpu = {
		.types = {[AXIS_GEMM_TYPES] = 7, [AXIS_TILED_TYPES] = 3},
		.main_type = {[AXIS_GEMM_TYPES] = 2}};
	struct axis_list list;
	require(axis_parse(&library, "main,f32,bf16", true, &gpu, &list) == 0);
	expect(list.count == 2 && list.values[0].word == allowed[2] && list.values[0].number == 2 &&
	       list.values[1].word == allowed[0]);
	axis_free(&list);
	require(axis_parse(&tiled, "main,bf16,f64", false, &gpu, &list) == 0);
	expect(list.count == 2 && list.values[0].word == allowed[0] &&
	       list.values[1].word == allowed[1]);
	axis_free(&list);
	expect(axis_parse(&library, "main", true, NULL, &list) == 0);
	axis_free(&list);
	expect(axis_parse(&own, "main", true, &gpu, &list) == -EINVAL);
}

static void peers_of_one_device(void)
{
	static const char *const allowed[] = {"up", "peer", "all", NULL};
	static const struct axis axis = {
		.name = "direction", .kind = AXIS_WORD, .words = allowed, .peers = "all,peer"};
	static const struct axis_capacities one = {.devices = 1}, two = {.devices = 2};
	struct axis_list list;
	require(axis_parse(&axis, "up,all,peer", false, &one, &list) == 0);
	expect(list.count == 1 && list.values[0].word == allowed[0]);
	axis_free(&list);
	require(axis_parse(&axis, "up,peer", false, &two, &list) == 0);
	expect(list.count == 2);
	axis_free(&list);
	require(axis_parse(&axis, "up,peer", true, &one, &list) == 0);
	expect(list.count == 2);
	axis_free(&list);
}

static void words_of_a_list(void)
{
	expect(axis_list_has("a", "a") && axis_list_has("ab,c", "ab") &&
	       axis_list_has("ab,c", "c") && axis_list_has("x,ab,c", "ab"));
	expect(!axis_list_has("ab,c", "a") && !axis_list_has("ab,c", "b") &&
	       !axis_list_has("ab", "abc") && !axis_list_has("", "a"));
}

static void defaults_parse_on_any_device(void)
{
	static const struct axis all = {.quick = "1",
					.full = "2",
					.simulated = "3",
					.gpu_class = "4",
					.gpu_class_full = "5"};
	static const struct axis few = {.quick = "1"};
	expect_str(axis_default(&all, false, false, false), "1");
	expect_str(axis_default(&all, true, false, false), "2");
	expect_str(axis_default(&all, false, true, false), "4");
	expect_str(axis_default(&all, true, true, false), "5");
	expect_str(axis_default(&all, false, true, true), "3");
	expect_str(axis_default(&all, true, false, true), "2");
	expect_str(axis_default(&few, true, true, true), "1");
}

/* The default list comes first, with what does not apply left out; what the user added must. */
static void a_list_in_addition_to_the_default(void)
{
	static const char *const words[] = {"up", "peer", "all", NULL};
	static const struct axis_capacities one = {.devices = 1};
	struct axis axis = {.name = "way", .kind = AXIS_WORD, .words = words, .peers = "peer"};
	struct axis_list list;
	require(axis_parse_given(&axis, "default,all", "up,peer", &one, &list) == 0);
	require(list.count == 2);
	expect_str(list.values[0].word, "up");
	expect_str(list.values[1].word, "all");
	axis_free(&list);
	require(axis_parse_given(&axis, "default", "up,peer", &one, &list) == 0);
	expect(list.count == 1);
	axis_free(&list);
	expect(axis_parse_given(&axis, "default,sideways", "up", &one, &list) == -EINVAL);
	expect(axis_parse_given(&axis, "defaults", "up", &one, &list) == -EINVAL);
	require(axis_parse_given(&axis, "default,peer", "up,all", &one, &list) == 0);
	expect(list.count == 3);
	axis_free(&list);
}

int main(void)
{
	test(a_list_in_addition_to_the_default);
	test(lists_are_parsed);
	test(bad_lists);
	test(defaults_adapt);
	test(values_are_multiples);
	test(words_are_checked);
	test(shared_fits);
	test(types_drop);
	test(main_type_is_that_of_the_device);
	test(peers_of_one_device);
	test(words_of_a_list);
	test(defaults_parse_on_any_device);
	return test_done();
}
