/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases that are added where a curve of struct bench_cliff falls off a cliff.
 *
 * After the cases of the lists, two neighbours between which the curve's rate falls, or its seconds
 * grow, by a quarter or more and beyond their intervals get a case in the middle, and what of its
 * halves still falls so is halved again, the widest first, until it is narrower than 5 %. A slope
 * ends by itself: its change is divided with the interval. A rate that rises, as that of copies
 * does with their size, is no cliff, however steep. Where a single value stands out of its
 * neighbours on both sides, one more beside it shows whether it is one of several. Where a case
 * costs next to nothing, all that is further apart than `octave` of the axis says is divided before
 * anything is known of falls, so that a cliff between two values of the list that are alike, or a
 * second one beside a first, is seen. Nothing is kept
 * but the points, so that a run that is continued goes on where it ended: --done may state the
 * value of a case.
 *
 * Only of default lists (a list of one's own is measured as it is written), and neither with
 * --headline, --cases, --check every nor a format of the program's own, which prints its cases.
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

/* Takes what --done says. -ENOMEM with a text. */
int cliffs_open(struct bench_run *r);
void cliffs_free(struct cliffs *cliffs);

/* Another value of the axis for the current case. */
void cliffs_set_value(struct bench_run *r, uint64_t at);

/* The current case was measured. -ENOMEM with a text. */
int cliffs_note_case(struct bench_run *r, const struct chosen_case *one);

/* The next case to add, and how many are wanted in all, as far as is known; 0: none. */
size_t cliffs_next_case(const struct bench_run *r, struct chosen_case *next_p);

/* True if the key is that of a case on such a curve, of the lists or between two of them. Leaves
 * it, or another one, in r->current. */
bool cliffs_find_case(struct bench_run *r, const char *key, struct chosen_case *one_p);

#endif
