/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Axes: the list options of a program. Each combination of their values is one case.
 *
 * A SIZE or COUNT list is values separated by commas, each one of
 *
 *     65536  64K            a number (suffixes k M G T are powers of two)
 *     4K:64M:x4             from:to by factor; the end is included when it is hit
 *     1:16:+1               from:to by increment
 *     L1/2  4LLC  MEM/8     a multiple or part of a capacity of the device: L1 or L2 (the sum of
 *                           all units), LLC, MEM; rounded down to the axis' `multiple`
 *     SHARED/3              what a block may claim of a unit's shared memory so that three such
 *                           blocks fit: a third, rounded down to the granularity, less what
 *                           the platform adds to every claim
 *
 * A capacity that the device does not report drops the value from a default list; in a list that
 * the user wrote it is an error. A WORD list is checked against `words`, or by `accept`.
 *
 * A GPU-class device runs so many threads at once that work which keeps a CPU busy ends there
 * before it has filled the device. An axis may have default lists of its own for such devices.
 */
#ifndef GPUSIG_AXIS_H
#define GPUSIG_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AXIS_NODES 64

struct axis_capacities;

enum axis_kind { AXIS_SIZE, AXIS_COUNT, AXIS_WORD };

/* Set of types that the words of an axis name, if any: those of dev_gemm() by the library, of these
 * the plain ones (dev_type_is_plain()), or the plain ones with `tiled`. */
enum axis_types {
	AXIS_NO_TYPES,
	AXIS_GEMM_TYPES,
	AXIS_PLAIN_TYPES,
	AXIS_TILED_TYPES,
	AXIS_TYPE_SETS
};

struct axis {
	const char *name, *help;
	enum axis_kind kind;

	/* Default lists, as a user would write them. full NULL: the same as quick. */
	const char *quick, *full;
	/* Instead of quick where time is virtual and results are still computed; may be NULL. */
	const char *simulated;
	/* Instead of quick and full on a GPU-class device; NULL: the same. */
	const char *gpu_class, *gpu_class_full;

	/* SIZE, COUNT: bounds (max 0: none) and the factor of all values (0 is 1). WORD: the factor
	 * of the numbers that are added at cliffs. */
	uint64_t min, max, multiple;
	/* Values per octave of a curve with cliffs (struct bench_cliff) where time is virtual and
	 * nothing is computed, so that a case costs next to nothing; 0: those of the list. */
	unsigned octave;

	/* WORD: the allowed values, NULL-terminated. */
	const char *const *words;
	/* WORD: the words are those of enum dev_type, in order, and "main", the one that the
	 * device is bought for. A default list drops those whose GEMM it does not support. */
	enum axis_types types;
	/* WORD: a default list drops these ("a,b") where there is one device; NULL: none. */
	const char *peers;
	/* WORD: 0, or -EINVAL with a text that lists what exists. */
	int (*accept)(const char *word);
	/* WORD: the words that `word` stands for on these devices, such as all their pairs,
	 * separated by commas, "" for none; the caller frees them. A value stands for itself. 0, or
	 * an error with a text. `known` NULL: only the syntax is checked. */
	int (*expand)(const char *word, const struct axis_capacities *known, char **words_p);
};

/* Values of the names in a list. 0: unknown. */
struct axis_capacities {
	uint64_t l1, l2, llc, mem, shared;
	uint64_t shared_granularity, shared_reserved; /* of a block's claim, as in dev_props */
	uint32_t types[AXIS_TYPE_SETS];               /* 1u << enum dev_type */
	unsigned main_type[AXIS_TYPE_SETS];           /* enum dev_type */
	size_t devices;
	uint32_t nodes[AXIS_NODES]; /* NUMA nodes of the host */
	size_t node_count;
};

/* The default list: full or quick, of a GPU-class device or another one; `simulated`: where time
 * is virtual and results are computed. */
const char *axis_default(const struct axis *axis, bool full, bool gpu_class, bool simulated);

/* Full name of a value of an axis: "main" becomes the device's main type. */
const char *axis_word(const struct axis *axis, const char *word,
		      const struct axis_capacities *known);

/* True if the word is one of "a,b,c". */
bool axis_list_has(const char *list, const char *word);

/* One value. `word` is NULL for numbers; words belong to the axis or to the list. */
struct axis_value {
	uint64_t number;
	const char *word;
};

struct axis_list {
	struct axis_value *values;
	size_t count, capacity;
	char *text; /* storage of words */
};

/* Parse `text` for `axis`. `strict` is for lists that the user wrote (see above). Values keep
 * the order in which they are written; repeated ones count once. -EINVAL or -ERANGE with a text;
 * a list that ends up empty is -EINVAL, or of defaults -ENOTSUP. With `known` NULL only the syntax
 * is checked, and every capacity counts as 1 GiB. */
int axis_parse(const struct axis *axis, const char *text, bool strict,
	       const struct axis_capacities *known, struct axis_list *list_p);
/* Parse what the user gave for an axis with these defaults. A list that begins with the word
 * "default" is added to them: "default,8192x512x512". */
int axis_parse_given(const struct axis *axis, const char *text, const char *defaults,
		     const struct axis_capacities *known, struct axis_list *list_p);
void axis_free(struct axis_list *list);

#endif
