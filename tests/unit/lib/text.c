/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/text.h"
#include "tests/unit/test.h"

static void a_growing_text_is_whole(void)
{
	struct text t = {0};
	expect(strcmp(text_whole(&t), "") == 0);
	for (int i = 0; i < 10000; i++)
		text_add(&t, "%s%04d", i ? "," : "", i);
	require(text_whole(&t));
	expect(t.length == 49999 && strlen(text_whole(&t)) == t.length);
	expect(strncmp(text_whole(&t), "0000,0001,", 10) == 0);
	expect(strcmp(text_whole(&t) + 49994, ",9999") == 0);
	text_free(&t);
	expect(strcmp(text_whole(&t), "") == 0);
}

static void a_text_that_fits_is_as_it_was(void)
{
	char text[8];
	text_fit(text, sizeof(text), "%s", "1234567");
	expect(strcmp(text, "1234567") == 0);
	text_fit(text, sizeof(text), "%d", 12345);
	text_fit_more(text, sizeof(text), "%s", "67");
	expect(strcmp(text, "1234567") == 0);
	text_fit_more(text, sizeof(text), "%s", "");
	expect(strcmp(text, "1234567") == 0);
}

static void a_cut_text_says_so(void)
{
	char text[8];
	text_fit(text, sizeof(text), "%s", "12345678");
	expect(strcmp(text, "1234...") == 0);
	text_fit(text, sizeof(text), "%s", "123456");
	text_fit_more(text, sizeof(text), "%s", "78");
	expect(strcmp(text, "1234...") == 0);
	text_fit(text, sizeof(text), "%s", "123\xc3\xa4\xc3\xa4\xc3\xa4");
	expect(strcmp(text, "123...") == 0); /* not within a character */
}

int main(void)
{
	test(a_growing_text_is_whole);
	test(a_text_that_fits_is_as_it_was);
	test(a_cut_text_says_so);
	return test_done();
}
