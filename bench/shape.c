/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/shape.h"
#include "lib/err.h"
#include "lib/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIDE (1u << 24)
#define MAX_SCALE 512u

static const struct {
	const char *name;
	uint32_t m, n, k;
} named[] = {
	{"square", 8192, 8192, 8192},   {"g1", 16384, 16384, 131072},
	{"g2", 131072, 16384, 16384},   {"g3", 53248, 16384, 131072},
	{"g4", 16384, 53248, 16384},    {"g5", 8192, 8192, 262144},
	{"g6", 262144, 8192, 8192},     {"g7", 28672, 8192, 262144},
	{"g8", 262144, 28672, 8192},    {"g9", 196608, 18432, 16384},
	{"g10", 196608, 106496, 16384}, {"g11", 1048576, 10240, 8192},
	{"g12", 1048576, 57344, 8192},  {"g13", 1607680, 57344, 8192},
	{"g14", 147456, 28672, 4096},   {"g15", 327680, 28672, 4096},
	{"g16", 229376, 28672, 4096},
};

static int parse_side(const char *text, size_t length, uint32_t *side_p)
{
	char number[16];
	uint64_t value;
	if (length >= sizeof(number))
		return -ERANGE;
	snprintf(number, sizeof(number), "%.*s", (int)length, text);
	int status = units_parse_integer(number, 1, MAX_SIDE, &value);
	if (status == 0)
		*side_p = (uint32_t)value;
	return status;
}

static int unknown_shape(const char *text)
{
	return err_note(-EINVAL, "unknown shape '%s'; values: nSIDE, MxNxK, square, g1..g16", text);
}

int shape_parse(const char *text, double max_flops, struct shape *shape_p)
{
	struct shape s = {.scale = 1};
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		if (strcmp(named[i].name, text) != 0)
			continue;
		do {
			s = (struct shape){named[i].m / s.scale, named[i].n / s.scale,
					   named[i].k / s.scale, s.scale};
			if (max_flops <= 0.0 || shape_flops(&s) <= max_flops ||
			    s.scale == MAX_SCALE)
				break;
			s.scale *= 2;
		} while (1);
		*shape_p = s;
		return 0;
	}
	const char *first = strchr(text, 'x'), *second = first ? strchr(first + 1, 'x') : NULL;
	int status;
	if (text[0] == 'n') {
		status = parse_side(text + 1, strlen(text + 1), &s.m);
		s.n = s.k = s.m;
	} else if (second) {
		status = parse_side(text, (size_t)(first - text), &s.m);
		if (status == 0)
			status = parse_side(first + 1, (size_t)(second - first - 1), &s.n);
		if (status == 0)
			status = parse_side(second + 1, strlen(second + 1), &s.k);
	} else {
		return unknown_shape(text);
	}
	if (status == -ERANGE)
		return err_note(-ERANGE, "shape '%s': a side must be within 1..%u", text, MAX_SIDE);
	if (status)
		return unknown_shape(text);
	*shape_p = s;
	return 0;
}

int shape_accept(const char *text)
{
	struct shape unused;
	return shape_parse(text, 0.0, &unused) ? -EINVAL : 0;
}

double shape_flops(const struct shape *s) { return 2.0 * s->m * s->n * s->k; }

double shape_traffic(const struct shape *s, enum shape_cut cut, uint32_t pieces)
{
	double a = (double)s->m * s->k, b = (double)s->k * s->n, c = (double)s->m * s->n,
	       k = pieces;
	switch (cut) {
	case SHAPE_CUT_M:
		return a + k * b + c;
	case SHAPE_CUT_N:
		return k * a + b + c;
	case SHAPE_CUT_K:
		break;
	}
	return a + b + (2.0 * k - 1.0) * c;
}
