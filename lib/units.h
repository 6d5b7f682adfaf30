/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers and units as people write them. Every parser takes the whole text or returns -EINVAL with
 * a text that says what was expected; a value out of range is -ERANGE.
 */
#ifndef GPUSIG_UNITS_H
#define GPUSIG_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Digits, then nothing or one of k K M G T, powers of two: "4K" is 4096. */
int units_parse_size(const char *text, uint64_t *value_p);

/* Decimal digits within [min, max]. */
int units_parse_integer(const char *text, uint64_t min, uint64_t max, uint64_t *value_p);

/* A positive duration: "90", "1.5s", "200ms", "50us", "2m", "1h"; without a unit it is seconds. */
int units_parse_seconds(const char *text, double *seconds_p);

/* A plain decimal number within [min, max]. */
int units_parse_real(const char *text, double min, double max, double *value_p);

/* For output: "4 KiB", "1.5 MiB", "300 B"; "1.23 ms"; "12.3 GB/s" (powers of ten); "1.5 M/s" and
 * "20 1/s" of unit "1/s". Four digits. Writes at most `capacity` bytes and returns `out`. */
char *units_show_bytes(char *out, size_t capacity, uint64_t bytes);
char *units_show(char *out, size_t capacity, double value, const char *unit);

/* Format of the numbers of a column: one prefix, and as many decimals as give `value` four
 * significant digits. Trailing zeros stay: "850.0", "24.70". Numbers too large or too small for
 * that have an exponent. */
struct units_scale {
	double factor; /* of the unit */
	int decimals;  /* -1: an exponent */
	char unit[24]; /* with its prefix: "us", "GB/s"; "" of a number without one */
};
struct units_scale units_scale_of(double value, const char *unit);

/* The number alone. Writes at most `capacity` bytes and returns `out`. */
char *units_show_scaled(char *out, size_t capacity, double value, const struct units_scale *scale);

/* The word for so many: units_word(1, "host", "hosts") is "host". */
const char *units_word(uint64_t count, const char *one, const char *many);

#endif
