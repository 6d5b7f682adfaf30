/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/cases/case_list.h"
#include "bench/cases/cases.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void the_ends_are_coarse_and_the_gaps_close(void)
{
	static const unsigned nine[] = {0, 3, 2, 3, 1, 3, 2, 3, 0};
	for (size_t i = 0; i < 9; i++)
		expect(case_list_level(i, 9) == nine[i]);
	expect(case_list_level(0, 1) == 0);
	expect(case_list_level(0, 2) == 0 && case_list_level(1, 2) == 0);
	expect(case_list_level(1, 3) == 1);
}

/* Up to every level, the values that are there lie about evenly: no gap is over twice another. */
static void every_level_spreads(void)
{
	for (size_t n = 2; n < 70; n++)
		for (unsigned level = 0; level < 7; level++) {
			size_t last = 0, least = n, most = 0;
			for (size_t i = 1; i < n; i++) {
				if (case_list_level(i, n) > level)
					continue;
				least = i - last < least ? i - last : least;
				most = i - last > most ? i - last : most;
				last = i;
			}
			expect(last == n - 1);
			expect(most <= 2 * least + 1);
		}
}

static void keys_are_found_however_they_are_listed(void)
{
	char path[64];
	struct case_keys keys = {0};
	snprintf(path, sizeof(path), "/tmp/gpusig-keys-%ld", (long)getpid());
	FILE *file = fopen(path, "w");
	require(file != NULL);
	fputs("size=3\nsize=1\nsize=3\n", file);
	fclose(file);
	expect(case_keys_read("--done", path, &keys) == 0);
	expect(keys.count == 2 && strcmp(keys.key[0].text, "size=1") == 0);
	case_keys_free(&keys);
	unlink(path);
	expect(case_keys_read("--done", "/tmp", &keys) == -EINVAL);
	expect(strcmp(err_text(), "--done /tmp: Is a directory") == 0);
	expect(case_keys_read("--done", "/dev/zero", &keys) == -EINVAL);
	expect(strcmp(err_text(), "--done /dev/zero: not a regular file") == 0);
	require(mkfifo(path, 0600) == 0);
	expect(case_keys_read("--done", path, &keys) == -EINVAL);
	unlink(path);
	expect(case_keys_read("--done", "/dev/null", &keys) == 0 && keys.count == 0);
	expect(case_keys_read("--done", NULL, &keys) == 0 && keys.count == 0);
}

static void a_signal_ends_the_choice(void)
{
	static struct axis_value values[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
	const struct bench b = {.name = "a", .axes = (const struct axis[]){{.name = "size"}, {0}}};
	struct bench_run *r = calloc(1, sizeof(*r));
	struct cases cases = {0};
	require(r != NULL);
	r->cases = &cases;
	struct case_list list = {0};
	r->b = &b;
	r->axis_count = 1;
	r->axes[0].values = values;
	r->axes[0].count = cases.count.total = 3;
	expect(case_list_make(r, false, &list) == 0 && list.count == 3);
	case_list_free(&list);
	bench_interrupted = SIGTERM;
	expect(case_list_make(r, false, &list) == -EINTR);
	bench_interrupted = 0;
	free(r);
}

static void added_words_come_first_where_time_is_short(void)
{
	static struct axis_value values[4] = {
		{.word = "n1"}, {.word = "n2"}, {.word = "1x2x3"}, {.word = "n3"}};
	const struct bench b = {
		.name = "a",
		.axes = (const struct axis[]){{.name = "shape", .kind = AXIS_WORD}, {0}}};
	struct bench_run *r = calloc(1, sizeof(*r));
	struct cases cases = {0};
	require(r != NULL);
	r->cases = &cases;
	struct case_list list = {0};
	r->b = &b;
	r->axis_count = 1;
	r->axes[0].values = values;
	r->axes[0].count = cases.count.total = 4;
	r->o.axis[0] = "default,n3,1x2x3";
	expect(case_list_make(r, true, &list) == 0 && list.count == 4);
	expect(list.cases[0].index + list.cases[1].index == 2 + 3);
	case_list_free(&list);
	expect(case_list_make(r, false, &list) == 0 && list.cases[0].index == 0);
	case_list_free(&list);
	/* A list of one's own has no added words. */
	r->o.axis[0] = "n1,n2,1x2x3,n3";
	expect(case_list_make(r, true, &list) == 0 && list.cases[0].index == 0);
	case_list_free(&list);
	free(r);
}

int main(void)
{
	test(keys_are_found_however_they_are_listed);
	test(a_signal_ends_the_choice);
	test(added_words_come_first_where_time_is_short);
	test(the_ends_are_coarse_and_the_gaps_close);
	test(every_level_spreads);
	return test_done();
}
