/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines for people end within 80 columns, and cutting them loses nothing.
 */
#include "bench/out.h"
#include "tests/unit/test.h"

#include <unistd.h>

static char wrapped[400];

/* out_wrap() with stdout in `wrapped`. */
static void wrap_captured(const char *hang, const char *text)
{
	FILE *file = tmpfile();
	require(file != NULL);
	int kept = dup(STDOUT_FILENO);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	out_wrap(hang, "%s", text);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	ssize_t length = pread(fileno(file), wrapped, sizeof(wrapped) - 1, 0);
	wrapped[length > 0 ? length : 0] = '\0';
	fclose(file);
}

#define TEN "123456789 "
#define DIGITS "1234567890"

static void lines_are_cut_at_blanks(void)
{
	wrap_captured("", "");
	expect_str(wrapped, "\n");
	wrap_captured("--", "one  two  ");
	expect_str(wrapped, "one  two\n");
	wrap_captured("--", TEN TEN TEN TEN TEN TEN TEN DIGITS);
	expect_str(wrapped, TEN TEN TEN TEN TEN TEN TEN DIGITS "\n");
	wrap_captured("--", TEN TEN TEN TEN TEN TEN TEN DIGITS "1");
	expect_str(wrapped, TEN TEN TEN TEN TEN TEN "123456789\n--" DIGITS "1\n");
	wrap_captured("--", TEN TEN TEN TEN TEN TEN TEN DIGITS " end");
	expect_str(wrapped, TEN TEN TEN TEN TEN TEN TEN DIGITS "\n--end\n");
	wrap_captured("--", "one\ntwo\n");
	expect_str(wrapped, "one\n--two\n");
}

static void long_words_are_cut_and_lose_nothing(void)
{
	wrap_captured("--", "  " DIGITS DIGITS DIGITS DIGITS DIGITS "," DIGITS DIGITS DIGITS);
	expect_str(wrapped,
		   "  " DIGITS DIGITS DIGITS DIGITS DIGITS ",\n--" DIGITS DIGITS DIGITS "\n");
	wrap_captured("--", DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS "1");
	expect_str(wrapped, DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS "\n--1\n");
}

/* An e with an accent has two bytes and one column. */
static void characters_count_and_not_bytes(void)
{
	char text[200] = "", wanted[200];
	for (int i = 0; i < 81; i++)
		strcat(text, "\xc3\xa9");
	wrap_captured("", text);
	snprintf(wanted, sizeof(wanted), "%.160s\n\xc3\xa9\n", text);
	expect_str(wrapped, wanted);
}

int main(void)
{
	test(lines_are_cut_at_blanks);
	test(long_words_are_cut_and_lose_nothing);
	test(characters_count_and_not_bytes);
	return test_done();
}
