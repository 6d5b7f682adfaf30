/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Axes: the list options whose product a program walks, one case per point.
 *
 * A SIZE or COUNT list is words separated by commas, each one of
 *     65536  64K            a number (suffixes k M G T are powers of two)
 *     4K:64M:x4             from:to by factor; the end is included when it is hit
 *     1:16:+1               from:to by increment
 *     L1/2  4LLC  MEM/8     a multiple or part of a capacity of the device: L1, L2 (of all units together),
 *                           LLC, MEM; rounded down to the axis' `multiple`
 *     SHARED/3              what a block may claim of a unit's shared memory so that three such blocks fit: a third of
 *                           it, rounded down to the granularity, less what the platform adds to every claim
 * A capacity the device does not know drops the word from a default list and is an error in a list the
 * user wrote. A WORD list is checked against `words`, or by `accept`.
 *
 * A WIDE device runs so many threads at once that work which keeps a CPU busy is over there before it has begun; it may
 * have default lists of its own.
 */
#ifndef GPUSIG_AXIS_H
#define GPUSIG_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum axis_kind { AXIS_SIZE, AXIS_COUNT, AXIS_WORD };

struct axis {
	const char *name, *help;
	enum axis_kind kind;
	const char *quick, *full;        /* default lists, as a user would write them; full NULL: as quick */
	const char *simulated;           /* instead of quick where time is virtual and results are still computed; may be NULL */
	const char *wide, *wide_full;    /* instead of quick and full on a wide device; NULL: as there */
	const char *const *words;        /* WORD: what is allowed, NULL-terminated */
	bool types;                      /* WORD: the words are those of enum dev_type, in order; a default list loses the types
	                                    that matrix products of this device can't have */
	const char *peers;               /* WORD: a default list loses these where there is one device, "a,b"; NULL: none */
	int (*accept)(const char *word); /* WORD: 0, or -EINVAL with a text that lists what exists */
	uint64_t min, max;               /* SIZE, COUNT: bounds; max 0 is none */
	uint64_t multiple;               /* SIZE, COUNT: values must be multiples of it; 0 is 1 */
};

/* What the names in a list stand for. 0: unknown. */
struct axis_capacities {
	uint64_t l1, l2, llc, mem, shared;
	uint64_t shared_granularity, shared_reserved; /* of a block's claim, as in dev_props */
	uint32_t types;                               /* 1u << enum dev_type */
	size_t devices;
};

/* The default list: full or quick, of a wide device or another one, where time is virtual or real. */
const char *axis_default(const struct axis *axis, bool full, bool wide, bool simulated);

/* Is the word one of "a,b,c"? */
bool axis_list_has(const char *list, const char *word);

/* One value. `word` is NULL for numbers; words belong to the axis or to the list. */
struct axis_value {
	uint64_t number;
	const char *word;
};

struct axis_list {
	struct axis_value *values;
	size_t count;
	char *text; /* storage of words */
};

/* Parse `text` for `axis`. `strict` is for lists the user wrote (see above). Values come in the order written,
 * repeated ones once. -EINVAL or -ERANGE with a text; a list that ends up empty is -EINVAL. With `known` NULL
 * only the syntax is checked and capacities count as 1 GiB. */
int axis_parse(const struct axis *axis, const char *text, bool strict, const struct axis_capacities *known,
               struct axis_list *list_p);
void axis_free(struct axis_list *list);

#endif
