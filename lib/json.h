/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A JSON writer: one value into a growing buffer, without line breaks.
 *
 * `key` is NULL inside an array and for the outermost value. Text is made valid UTF-8 (bad bytes
 * become U+FFFD) and escaped. Numbers are written with the fewest digits that read back the same;
 * NaN and infinities become null; integers above 2^53 become strings. Running out of memory is
 * remembered and reported once, by json_finish().
 */
#ifndef GPUSIG_JSON_H
#define GPUSIG_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
	char *text;
	size_t length, capacity;
	bool comma, failed;
};

void json_object_begin(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array_begin(struct json *j, const char *key);
void json_array_end(struct json *j);
void json_string(struct json *j, const char *key, const char *value); /* NULL becomes null */
void json_number(struct json *j, const char *key, double value);
void json_integer(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);

/* Add the newline of a record. 0, or -ENOMEM when anything since json_clear() did not fit. */
int json_finish(struct json *j);

/* Clear for the next value; keeps the memory. A zeroed struct is empty. */
void json_clear(struct json *j);
void json_free(struct json *j);

#endif
