/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/units.h"
#include "lib/err.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* strtoull accepts signs, blanks and hexadecimal digits, which no size has. */
static int parse_digits(const char *text, uint64_t *value_p, const char **end_p)
{
	uint64_t value = 0;
	const char *s = text;
	for (; isdigit((unsigned char)*s); s++) {
		unsigned digit = (unsigned)(*s - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return err_note(-ERANGE, "'%s' does not fit in 64 bits", text);
		value = value * 10 + digit;
	}
	if (s == text)
		return err_note(-EINVAL, "'%s' is not a number", text);
	*value_p = value;
	*end_p = s;
	return 0;
}

int units_parse_size(const char *text, uint64_t *value_p)
{
	static const char suffixes[] = "kMGT";
	const char *end;
	uint64_t value;
	int status = parse_digits(text, &value, &end);
	if (status)
		return err_note(status, "%s; a size is digits and one of k M G T (powers of two)",
				err_text());
	if (*end) {
		const char *found = strchr(suffixes, *end == 'K' ? 'k' : *end);
		if (!found || end[1])
			return err_note(
				-EINVAL,
				"'%s' is not a size: digits and one of k M G T (powers of two)",
				text);
		unsigned shift = 10u * (unsigned)(found - suffixes + 1);
		if (value > UINT64_MAX >> shift)
			return err_note(-ERANGE, "'%s' does not fit in 64 bits", text);
		value <<= shift;
	}
	*value_p = value;
	return 0;
}

int units_parse_integer(const char *text, uint64_t min, uint64_t max, uint64_t *value_p)
{
	const char *end;
	uint64_t value;
	int status = parse_digits(text, &value, &end);
	if (status)
		return status;
	if (*end)
		return err_note(-EINVAL, "'%s' is not a whole number", text);
	if (value < min || value > max)
		return err_note(-ERANGE, "%s is not within %" PRIu64 "..%" PRIu64, text, min, max);
	*value_p = value;
	return 0;
}

/* Plain decimal notation only: no sign, no exponent, no hex, no "inf". */
static int parse_decimal(const char *text, double *value_p, const char **end_p)
{
	size_t length = strspn(text, "0123456789.");
	char number[64];
	char *end;
	if (length == 0 || length >= sizeof(number) || text[0] == '.')
		return err_note(-EINVAL, "'%s' is not a number", text);
	memcpy(number, text, length);
	number[length] = '\0';
	double value = strtod(number, &end);
	if (*end)
		return err_note(-EINVAL, "'%s' is not a number", text);
	*value_p = value;
	*end_p = text + length;
	return 0;
}

int units_parse_seconds(const char *text, double *seconds_p)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"h", 3600}};
	const char *end;
	double value;
	int status = parse_decimal(text, &value, &end);
	if (status)
		return err_note(status, "%s; a duration is a number and one of us ms s m h",
				err_text());
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (value * units[i].seconds <= 0.0 || value * units[i].seconds > 1e7)
			return err_note(-ERANGE,
					"'%s' is not a duration above 0 and below 10000000 s",
					text);
		*seconds_p = value * units[i].seconds;
		return 0;
	}
	return err_note(-EINVAL, "'%s' is not a duration: a number and one of us ms s m h", text);
}

int units_parse_real(const char *text, double min, double max, double *value_p)
{
	const char *end;
	double value;
	int status = parse_decimal(text, &value, &end);
	if (status)
		return status;
	if (*end)
		return err_note(-EINVAL, "'%s' is not a number", text);
	if (value < min || value > max)
		return err_note(-ERANGE, "%s is not within %g..%g", text, min, max);
	*value_p = value;
	return 0;
}

char *units_show_bytes(char *out, size_t capacity, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	size_t u = 0;
	while (value >= 1024.0 && u < 4) {
		value /= 1024.0;
		u++;
	}
	snprintf(out, capacity, "%.4g %s", value, units[u]);
	return out;
}

/* That of the first digit, once the value is rounded to four: 999.96 is 1.000e3. */
static int decimal_exponent(double value)
{
	char digits[40];
	if (!isfinite(value))
		return 0;
	snprintf(digits, sizeof(digits), "%.3e", value);
	return (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
}

/* The power of 1000 that leaves one to three digits in front of the point, within the prefixes
 * that exist. */
static int prefix_step(double value, int min_step)
{
	int exponent = decimal_exponent(value);
	int step = (exponent >= 0 ? exponent : exponent - 2) / 3;
	return step < min_step ? min_step : step > 5 ? 5 : step;
}

/* Writes the unit with its prefix and returns the power of 1000 that this is. */
static int show_prefixed(char *out, size_t capacity, double value, const char *unit)
{
	/* Parts of 1/s have no prefix: "m/s" would be read as metres per second. */
	static const struct {
		const char *base, *plain, *prefixed;
		int min_step;
	} units[] = {{"byte/s", "B/s", "B/s", -3}, {"flop/s", "FLOP/s", "FLOP/s", -3},
		     {"op/s", "OP/s", "OP/s", -3}, {"s", "s", "s", -3},
		     {"Hz", "Hz", "Hz", -3},       {"byte", "B", "B", -3},
		     {"1/s", "1/s", "/s", 0},      {"J/flop", "J/FLOP", "J/FLOP", -4},
		     {"J/op", "J/OP", "J/OP", -4}, {"J/byte", "J/B", "J/B", -4}};
	static const char *const prefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P"};
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].base) != 0)
			continue;
		int step = prefix_step(value, units[i].min_step);
		snprintf(out, capacity, "%s%s", prefixes[step + 4],
			 step ? units[i].prefixed : units[i].plain);
		return step;
	}
	snprintf(out, capacity, "%s", unit);
	return 0;
}

char *units_show(char *out, size_t capacity, double value, const char *unit)
{
	char prefixed[24];
	int step = show_prefixed(prefixed, sizeof(prefixed), value, unit);
	snprintf(out, capacity, "%.4g%s%s", value / pow(1000.0, step), *unit ? " " : "", prefixed);
	return out;
}

struct units_scale units_scale_of(double value, const char *unit)
{
	struct units_scale scale;
	int step = show_prefixed(scale.unit, sizeof(scale.unit), value, unit);
	int exponent = decimal_exponent(value) - 3 * step;
	scale.factor = pow(1000.0, step);
	scale.decimals = exponent < -3 || exponent > 6 ? -1 : exponent > 3 ? 0 : 3 - exponent;
	return scale;
}

char *units_show_scaled(char *out, size_t capacity, double value, const struct units_scale *scale)
{
	const double number = value / scale->factor;
	if (scale->decimals < 0)
		snprintf(out, capacity, "%.3e", number);
	else
		snprintf(out, capacity, "%.*f", scale->decimals, number);
	return out;
}

const char *units_word(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}
