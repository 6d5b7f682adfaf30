/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/json.h"
#include "tests/unit/test.h"

static const char *text_of(struct json *j)
{
	expect(json_finish(j) == 0);
	j->text[j->length - 1] = '\0';
	return j->text;
}

static void structure_is_written(void)
{
	struct json j = {0};
	json_object_begin(&j, NULL);
	json_array_begin(&j, "a");
	json_integer(&j, NULL, 1);
	json_object_begin(&j, NULL);
	json_object_end(&j);
	json_array_begin(&j, NULL);
	json_array_end(&j);
	json_array_end(&j);
	json_bool(&j, "b", true);
	json_null(&j, "c");
	json_string(&j, "d", NULL);
	json_object_end(&j);
	expect_str(text_of(&j), "{\"a\":[1,{},[]],\"b\":true,\"c\":null,\"d\":null}");
	json_free(&j);
}

static const char *write_number(struct json *j, double value)
{
	json_clear(j);
	json_number(j, NULL, value);
	return text_of(j);
}

static void numbers_read_back(void)
{
	struct json j = {0};
	expect_str(write_number(&j, 0.1), "0.1");
	expect_str(write_number(&j, 1.0 / 3.0), "0.3333333333333333");
	expect_str(write_number(&j, 5e-324), "4.94065645841247e-324");
	expect_str(write_number(&j, 1e300), "1e+300");
	expect_str(write_number(&j, NAN), "null");
	expect_str(write_number(&j, INFINITY), "null");
	expect_str(write_number(&j, -INFINITY), "null");
	json_clear(&j);
	json_integer(&j, NULL, UINT64_C(9007199254740992));
	expect_str(text_of(&j), "9007199254740992");
	json_clear(&j);
	json_integer(&j, NULL, UINT64_C(9007199254740993));
	expect_str(text_of(&j), "\"9007199254740993\"");
	json_free(&j);
}

static const char *write_quoted(struct json *j, const char *value)
{
	json_clear(j);
	json_string(j, NULL, value);
	return text_of(j);
}

static void hostile_text(void)
{
	struct json j = {0};
	expect_str(write_quoted(&j, "a\"b\\c/</script>"), "\"a\\\"b\\\\c/</script>\"");
	expect_str(write_quoted(&j, "tab\tnl\ndel\x7f"), "\"tab\\u0009nl\\u000adel\\u007f\"");
	expect_str(write_quoted(&j, "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"),
		   "\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\"");
	expect_str(write_quoted(&j, "\xff\xfe"), "\"\\ufffd\\ufffd\"");
	expect_str(write_quoted(&j, "\xc0\x80"), "\"\\ufffd\\ufffd\""); /* overlong NUL */
	expect_str(write_quoted(&j, "\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\""); /* surrogate */
	expect_str(write_quoted(&j, "\xf4\x90\x80\x80"),
		   "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* above U+10FFFF */
	expect_str(write_quoted(&j, "cut \xe2\x82"), "\"cut \\ufffd\\ufffd\"");
	json_free(&j);
}

int main(void)
{
	test(structure_is_written);
	test(numbers_read_back);
	test(hostile_text);
	return test_done();
}
