/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>

static void the_first_error_is_kept_with_its_text(void)
{
	struct err_first first = {0};
	expect(err_keep(&first, err_note(-EIO, "the copy failed")) == -EIO);
	expect(err_keep(&first, err_note(-ENOMEM, "closing failed")) == -EIO);
	expect(err_keep(&first, 0) == -EIO);
	err_note(-EINVAL, "something else");
	expect(err_kept(&first) == -EIO);
	expect_str(err_text(), "the copy failed");
}

static void without_an_error_the_text_stays(void)
{
	struct err_first first = {0};
	err_note(0, "a remark");
	expect(err_keep(&first, 0) == 0 && err_kept(&first) == 0);
	expect_str(err_text(), "a remark");
}

static void long_texts_are_kept_whole(void)
{
	struct err_first first = {0};
	char text[512];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_keep(&first, err_note(-EIO, "%s", text));
	err_clear();
	expect(err_kept(&first) == -EIO);
	expect_str(err_text(), text);
}

static int keep_error(int *status, int error)
{
	*status = error;
	return 0;
}

static void a_list_of_calls_ends_at_the_first_error(void)
{
	int status = 0, other = 0;
	expect(TRY(status, keep_error(&other, -EIO)) == 0 && other == -EIO);
	expect(TRY(status, keep_error(&status, -ENOMEM)) == -ENOMEM && status == -ENOMEM);
	expect(TRY(status, keep_error(&other, 0)) == -ENOMEM && other == -EIO);
	status = 0;
	expect(TRY(status, -EINVAL) == -EINVAL && status == -EINVAL);
}

int main(void)
{
	test(the_first_error_is_kept_with_its_text);
	test(without_an_error_the_text_stays);
	test(long_texts_are_kept_whole);
	test(a_list_of_calls_ends_at_the_first_error);
	return test_done();
}
