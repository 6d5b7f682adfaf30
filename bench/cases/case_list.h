/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Selection and order of the cases of a run.
 *
 * Without --budget the order is that of the axes. With one, the cases that hold a headline number
 * come first, and where the time may not suffice for all, those with a word that was added to a
 * default list ("default,512x512x64") are next, and the others go from coarse to fine: first the
 * ends of every numeric axis with every word of the others, then the values in the middle, then
 * those between. So a run that ends early has whole curves of few points, not parts of curves.
 */
#ifndef GPUSIG_CASE_LIST_H
#define GPUSIG_CASE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_run;

/* Keys of cases, as --done or --cases lists them: sorted, one of each. */
struct case_key {
	char *text;
	double low,
		high; /* interval of the value on the curve that may have cliffs; NaN: not given */
};

struct case_keys {
	struct case_key *key;
	size_t count, capacity;
};

/* Read one key a line; a tab and two numbers may follow. A NULL path is an empty list. -EINVAL with
 * a text that names the option: it cannot be read, or is neither a regular file nor /dev/null.
 * -ENOMEM. The keys read so far are freed by case_keys_free(), also then. */
int case_keys_read(const char *option, const char *path, struct case_keys *keys);
void case_keys_free(struct case_keys *keys);

struct chosen_case {
	size_t index;   /* as bench_set_point() takes it */
	bool headline;  /* it holds a headline number */
	uint64_t added; /* the value between those of the cliffs' axis, in place of the one that
			   `index` means; 0: none */
};

struct case_list {
	struct chosen_case *cases;
	size_t count;        /* to be measured */
	size_t already_done; /* left out, as --done says */
};

/* The position of the key, or keys->count. */
size_t case_keys_find(const struct case_keys *keys, const char *key);

/* List the cases of r->done and r->cases. -EINVAL with a text: --cases names a case that this run
 * does not have. -ENOMEM. -EINTR: a signal came. An empty list by --headline is printed and no
 * error, because a device may lack all headlines. `coarse_first`: the time may not suffice for all
 * cases. Overwrites the point in r->current. */
int case_list_make(struct bench_run *r, bool coarse_first, struct case_list *list_p);
void case_list_free(struct case_list *list);

/* Refinement level of value `i` of `n` on a numeric axis: 0 for both ends, 1 in the middle, 2
 * ... */
unsigned case_list_level(size_t i, size_t n);

#endif
