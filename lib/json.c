/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_bytes(struct json *j, const char *bytes, size_t count)
{
	if (j->failed)
		return;
	if (j->length + count + 1 > j->capacity) {
		size_t capacity = (j->length + count + 1) * 2;
		char *text = realloc(j->text, capacity);
		if (!text) {
			j->failed = true;
			return;
		}
		j->text = text;
		j->capacity = capacity;
	}
	memcpy(j->text + j->length, bytes, count);
	j->length += count;
	j->text[j->length] = '\0';
}

static void put_text(struct json *j, const char *text) { put_bytes(j, text, strlen(text)); }

/* Length of the valid UTF-8 sequence at `s`, or 0. Overlong forms and surrogates are invalid. */
static size_t utf8_sequence_bytes(const unsigned char *s)
{
	static const struct {
		unsigned char mask, lead;
		size_t length;
		uint32_t min_code;
	} forms[] = {{0x80, 0x00, 1, 0},
		     {0xe0, 0xc0, 2, 0x80},
		     {0xf0, 0xe0, 3, 0x800},
		     {0xf8, 0xf0, 4, 0x10000}};
	for (size_t f = 0; f < 4; f++) {
		if ((s[0] & forms[f].mask) != forms[f].lead)
			continue;
		uint32_t code = s[0] & (unsigned char)~forms[f].mask;
		for (size_t i = 1; i < forms[f].length; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (s[i] & 0x3f);
		}
		bool surrogate = code >= 0xd800 && code <= 0xdfff;
		return code < forms[f].min_code || code > 0x10ffff || surrogate ? 0
										: forms[f].length;
	}
	return 0;
}

static void put_quoted(struct json *j, const char *value)
{
	put_bytes(j, "\"", 1);
	for (const unsigned char *s = (const unsigned char *)value; *s;) {
		size_t length = utf8_sequence_bytes(s);
		char escaped[8];
		if (length == 0)
			put_text(j, "\\ufffd");
		else if (length == 1 && (*s < 0x20 || *s == 0x7f))
			put_bytes(j, escaped,
				  (size_t)snprintf(escaped, sizeof(escaped), "\\u%04x", *s));
		else if (*s == '"' || *s == '\\')
			put_bytes(j, (char[]){'\\', (char)*s}, 2);
		else
			put_bytes(j, (const char *)s, length);
		s += length ? length : 1;
	}
	put_bytes(j, "\"", 1);
}

static void begin_value(struct json *j, const char *key)
{
	if (j->comma)
		put_bytes(j, ",", 1);
	j->comma = true;
	if (key) {
		put_quoted(j, key);
		put_bytes(j, ":", 1);
	}
}

static void open_bracket(struct json *j, const char *key, const char *bracket)
{
	begin_value(j, key);
	put_bytes(j, bracket, 1);
	j->comma = false;
}

static void close_bracket(struct json *j, const char *bracket)
{
	put_bytes(j, bracket, 1);
	j->comma = true;
}

void json_object_begin(struct json *j, const char *key) { open_bracket(j, key, "{"); }
void json_object_end(struct json *j) { close_bracket(j, "}"); }
void json_array_begin(struct json *j, const char *key) { open_bracket(j, key, "["); }
void json_array_end(struct json *j) { close_bracket(j, "]"); }

void json_string(struct json *j, const char *key, const char *value)
{
	if (!value) {
		json_null(j, key);
		return;
	}
	begin_value(j, key);
	put_quoted(j, value);
}

void json_number(struct json *j, const char *key, double value)
{
	char text[32];
	if (!isfinite(value)) {
		json_null(j, key);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	begin_value(j, key);
	put_text(j, text);
}

void json_integer(struct json *j, const char *key, uint64_t value)
{
	char text[32];
	snprintf(text, sizeof(text), value > (UINT64_C(1) << 53) ? "\"%" PRIu64 "\"" : "%" PRIu64,
		 value);
	begin_value(j, key);
	put_text(j, text);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin_value(j, key);
	put_text(j, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	begin_value(j, key);
	put_text(j, "null");
}

int json_finish(struct json *j)
{
	put_bytes(j, "\n", 1);
	return j->failed ? -ENOMEM : 0;
}

void json_clear(struct json *j)
{
	j->length = 0;
	j->comma = false;
	j->failed = false;
}

void json_free(struct json *j)
{
	free(j->text);
	*j = (struct json){0};
}
