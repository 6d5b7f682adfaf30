/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/size.h"
#include "lib/err.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* strtoull takes signs, blanks and hex; none of these is a size. */
static int digits(const char *text, uint64_t *value_p, const char **end_p)
{
	uint64_t value = 0;
	const char *s = text;
	for (; isdigit((unsigned char)*s); s++) {
		unsigned digit = (unsigned)(*s - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return err_note(-ERANGE, "'%s' is beyond 64 bits", text);
		value = value * 10 + digit;
	}
	if (s == text)
		return err_note(-EINVAL, "'%s' is not a number", text);
	*value_p = value;
	*end_p = s;
	return 0;
}

int size_parse(const char *text, uint64_t *value_p)
{
	static const char suffixes[] = "kMGT";
	const char *end;
	uint64_t value;
	int status = digits(text, &value, &end);
	if (status)
		return err_note(status, "%s; a size is digits and one of k M G T (powers of two)", err_text());
	if (*end) {
		const char *found = strchr(suffixes, *end == 'K' ? 'k' : *end);
		if (!found || end[1])
			return err_note(-EINVAL, "'%s' is not a size: digits and one of k M G T (powers of two)", text);
		unsigned shift = 10u * (unsigned)(found - suffixes + 1);
		if (value > UINT64_MAX >> shift)
			return err_note(-ERANGE, "'%s' is beyond 64 bits", text);
		value <<= shift;
	}
	*value_p = value;
	return 0;
}

int size_parse_integer(const char *text, uint64_t min, uint64_t max, uint64_t *value_p)
{
	const char *end;
	uint64_t value;
	int status = digits(text, &value, &end);
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
static int real(const char *text, double *value_p, const char **end_p)
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

int size_parse_seconds(const char *text, double *seconds_p)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"h", 3600}};
	const char *end;
	double value;
	int status = real(text, &value, &end);
	if (status)
		return err_note(status, "%s; a duration is a number and one of us ms s m h", err_text());
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (value * units[i].seconds <= 0.0 || value * units[i].seconds > 1e7)
			return err_note(-ERANGE, "'%s' is not a duration above 0 and below 10000000 s", text);
		*seconds_p = value * units[i].seconds;
		return 0;
	}
	return err_note(-EINVAL, "'%s' is not a duration: a number and one of us ms s m h", text);
}

int size_parse_real(const char *text, double min, double max, double *value_p)
{
	const char *end;
	double value;
	int status = real(text, &value, &end);
	if (status)
		return status;
	if (*end)
		return err_note(-EINVAL, "'%s' is not a number", text);
	if (value < min || value > max)
		return err_note(-ERANGE, "%s is not within %g..%g", text, min, max);
	*value_p = value;
	return 0;
}

char *size_show_bytes(char *out, size_t room, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	size_t u = 0;
	while (value >= 1024.0 && u < 4) {
		value /= 1024.0;
		u++;
	}
	snprintf(out, room, "%.4g %s", value, units[u]);
	return out;
}

char *size_show(char *out, size_t room, double value, const char *unit)
{
	static const struct {
		const char *base, *shown;
	} rates[] = {{"byte/s", "B/s"}, {"flop/s", "FLOP/s"}, {"s", "s"}, {"Hz", "Hz"}, {"byte", "B"}};
	static const char *const prefixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P"};
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		if (strcmp(unit, rates[i].base) != 0)
			continue;
		int step = value == 0.0 ? 0 : (int)floor(log10(fabs(value)) / 3.0);
		step = step < -3 ? -3 : step > 5 ? 5 : step;
		snprintf(out, room, "%.4g %s%s", value / pow(1000.0, step), prefixes[step + 3], rates[i].shown);
		return out;
	}
	snprintf(out, room, "%.4g%s%s", value, *unit ? " " : "", unit);
	return out;
}
