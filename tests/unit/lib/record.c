/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/record.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define ONE RECORD_BEGIN "}\n"

static char path[] = "/tmp/gpusig-record-XXXXXX";

static void read_back(char *out, size_t capacity)
{
	FILE *file = fopen(path, "r");
	size_t length = file ? fread(out, 1, capacity - 1, file) : 0;
	out[length] = '\0';
	if (file)
		fclose(file);
}

static void lines_are_appended(void)
{
	struct record_file f;
	char text[64];
	require(record_open(&f, path) == 0);
	expect(record_append(&f, ONE, strlen(ONE)) == 0);
	expect(record_close(&f) == 0);
	require(record_open(&f, path) == 0);
	expect(record_append(&f, "two\n", 4) == 0);
	expect(record_close(&f) == 0);
	read_back(text, sizeof(text));
	expect_str(text, ONE "two\n");
}

static void refuses_what_is_not_ours(void)
{
	struct record_file f = {.fd = -1};
	static const char *const others[] = {"one\n", "{\"schema\":\"gpusig.signature\"}\n", "{",
					     "{\"schema\":\"gpusig.records\"}\n", " "};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char text[64];
		FILE *file = fopen(path, "w");
		require(file != NULL);
		fputs(others[i], file);
		fclose(file);
		expect(record_open(&f, path) == -EEXIST);
		read_back(text, sizeof(text));
		expect_str(text, others[i]);
	}
	require(truncate(path, 0) == 0);
}

static void a_damaged_line_leaves_it_ours(void)
{
	struct record_file f;
	FILE *file = fopen(path, "w");
	require(file != NULL);
	fputs("{\"sch\n" ONE, file);
	fclose(file);
	expect(record_open(&f, path) == 0);
	expect(record_close(&f) == 0);
	require(truncate(path, 0) == 0);
}

/* The driver, too, writes a record where a program could not. */
static void spaces_make_no_difference(void)
{
	struct record_file f;
	FILE *file = fopen(path, "w");
	require(file != NULL);
	fputs("{ \"schema\": \"gpusig.record\"}\n", file);
	fclose(file);
	expect(record_open(&f, path) == 0);
	expect(record_close(&f) == 0);
	require(truncate(path, 0) == 0);
}

static void follows_no_link(void)
{
	struct record_file f = {.fd = -1};
	char link[64];
	snprintf(link, sizeof(link), "%s.link", path);
	require(symlink(path, link) == 0);
	expect(record_open(&f, link) == -ELOOP);
	expect_str(strstr(err_text(), "it is"), "it is a symbolic link");
	unlink(link);
	int ends[2];
	require(pipe(ends) == 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", ends[1]);
	expect(record_open(&f, link) == 0);
	expect(record_close(&f) == 0);
}

static void refuses_a_cut_line(void)
{
	struct record_file f = {.fd = -1};
	FILE *file = fopen(path, "a");
	require(file != NULL);
	fputs(ONE "{\"half", file);
	fclose(file);
	expect(record_open(&f, path) == -EBADMSG);
	expect(f.fd == -1);
}

/* A file size limit cuts a write short as a full disk does. */
static void removes_a_partial_line(void)
{
	struct record_file f;
	char text[64];
	struct rlimit old, small = {.rlim_cur = 6, .rlim_max = RLIM_INFINITY};
	require(truncate(path, 0) == 0 && record_open(&f, path) == 0);
	require(getrlimit(RLIMIT_FSIZE, &old) == 0);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	expect(record_append(&f, "one\n", 4) == 0);
	require(setrlimit(RLIMIT_FSIZE, &small) == 0);
	int status = record_append(&f, "two\n", 4);
	setrlimit(RLIMIT_FSIZE, &old);
	expect(status < 0);
	read_back(text, sizeof(text));
	expect_str(text, "one\n");
	expect(record_append(&f, "three\n", 6) == 0);
	read_back(text, sizeof(text));
	expect_str(text, "one\nthree\n");
	record_close(&f);
}

static void reports_full_and_missing(void)
{
	struct record_file f;
	expect(record_open(&f, "/dev/null/records") == -ENOTDIR);
	require(record_open(&f, "/dev/full") == 0);
	expect(record_append(&f, "x\n", 2) == -ENOSPC);
	expect(strstr(err_text(), "/dev/full") != NULL);
	record_close(&f);
	f = (struct record_file){.fd = -1};
	expect(record_append(&f, "x\n", 2) == 0);
}

int main(void)
{
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	test(lines_are_appended);
	test(refuses_a_cut_line);
	test(refuses_what_is_not_ours);
	test(a_damaged_line_leaves_it_ours);
	test(spaces_make_no_difference);
	test(follows_no_link);
	test(removes_a_partial_line);
	test(reports_full_and_missing);
	unlink(path);
	return test_done();
}
