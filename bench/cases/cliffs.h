/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases added to a sweep to locate a cliff: a place where a curve of struct bench_cliff changes
 * abruptly, such as the end of a cache.
 *
 * Where the curve's rate falls, or its seconds grow, by a quarter or more and beyond their
 * intervals between two neighbouring values, a case in the middle is added. The half in which it
 * still does so is divided again, the widest first, until it is narrower than 5 %. On a slope this
 * ends by itself: the change of a half is smaller, too. A rate that rises, as that of copies does
 * with their size, is not a cliff, however steep. Next to a single value that differs from its
 * neighbours on both sides one case is added, to show whether it is one of several. Where a case
 * costs next to nothing, intervals wider than `octave` of the axis are divided first, so that a
 * cliff between two equal values of the list, or a second one near the first, is found. Only the
 * points are kept, so an interrupted search continues where it ended: --done may state the value of
 * a case.
 *
 * Cases are added to default lists alone (a user's list is measured as given), and not with
 * --headline, --cases, --check every, or a format of the program's own, which prints its cases.
 */
#ifndef GPUSIG_CLIFFS_H
#define GPUSIG_CLIFFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_run;
struct chosen_case;

struct cliff_point {
	size_t curve; /* the index of its case with the first value of the axis */
	uint64_t at;
	double low, high; /* the interval of the cost, seconds or 1 / the rate; NaN: unknown */
};

struct cliffs {
	bool wanted;
	struct cliff_point *points; /* sorted by curve and place */
	size_t count, capacity;
	size_t added_before; /* cases of --done that none of the lists has */
	char word[24];       /* of the current case, on an axis of words such as "n64" */
};

/* Starts with the points of --done. -ENOMEM with a text. */
int cliffs_open(struct bench_run *r);
void cliffs_free(struct cliffs *cliffs);

/* Makes this case the current one: its point, also where it was added, and its key. */
void bench_set_case(struct bench_run *r, const struct chosen_case *one);

/* Records the point of the current case. -ENOMEM with a text. */
int cliffs_note_case(struct bench_run *r, const struct chosen_case *one);

/* The next case to add, and how many are wanted in all, as far as is known; 0: none. */
size_t cliffs_next_case(const struct bench_run *r, struct chosen_case *next_p);

/* True if the key is that of a case on such a curve, of the lists or between two of them. Leaves
 * it, or another one, in r->current. */
bool cliffs_find_case(struct bench_run *r, const char *key, struct chosen_case *one_p);

#endif
