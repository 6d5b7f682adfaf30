/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/cases/case_list.h"
#include "bench/cases/cases.h"
#include "bench/cases/cliffs.h"
#include "bench/quantities/quantities.h"
#include "bench/run/point.h"
#include "lib/err.h"
#include "lib/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ---------------------------------------------------------------- lists of keys */

void case_keys_free(struct case_keys *keys)
{
	for (size_t i = 0; i < keys->count; i++)
		free(keys->key[i].text);
	free(keys->key);
	*keys = (struct case_keys){0};
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct case_key *)a)->text, ((const struct case_key *)b)->text);
}

/* Sorts them, and keeps one of each. */
static void sort_keys(struct case_keys *keys)
{
	size_t count = 0;
	if (keys->count)
		qsort(keys->key, keys->count, sizeof(*keys->key), compare_keys);
	for (size_t i = 0; i < keys->count; i++)
		if (count && strcmp(keys->key[count - 1].text, keys->key[i].text) == 0)
			free(keys->key[i].text);
		else
			keys->key[count++] = keys->key[i];
	keys->count = count;
}

/* Anything but a regular file and /dev/null may never end, or never begin. */
static int open_keys(const char *option, const char *path, FILE **file_p)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &info) != 0)
		return err_note(-EINVAL, "%s %s: %s", option, path, strerror(errno));
	if (S_ISREG(info.st_mode) || (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3)))
		*file_p = fdopen(fd, "r");
	if (*file_p)
		return 0;
	close(fd);
	return err_note(-EINVAL, "%s %s: %s", option, path,
			S_ISDIR(info.st_mode) ? strerror(EISDIR) : "not a regular file");
}

int case_keys_read(const char *option, const char *path, struct case_keys *keys)
{
	char *line = NULL;
	size_t capacity = 0;
	FILE *file = NULL;
	int status = path ? open_keys(option, path, &file) : 0;
	if (!file)
		return status;
	while (status == 0 && getline(&line, &capacity, file) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		struct case_key one = {.low = NAN, .high = NAN};
		char *numbers = strchr(line, '\t');
		if (numbers) {
			*numbers++ = '\0';
			one.low = strtod(numbers, &numbers);
			one.high = strtod(numbers, NULL);
		}
		struct case_key *grown =
			vec_grow(keys->key, keys->count, &keys->capacity, sizeof(*grown));
		if (grown)
			keys->key = grown;
		one.text = grown ? strdup(line) : NULL;
		if (one.text)
			keys->key[keys->count++] = one;
		else
			status = err_note(-ENOMEM, "%s %s: out of memory", option, path);
	}
	if (status == 0 && ferror(file))
		status = err_note(-EINVAL, "%s %s: %s", option, path, strerror(errno));
	free(line);
	fclose(file);
	sort_keys(keys);
	return status;
}

size_t case_keys_find(const struct case_keys *keys, const char *key)
{
	const struct case_key wanted = {.text = (char *)(uintptr_t)key};
	const struct case_key *found = keys->count ? bsearch(&wanted, keys->key, keys->count,
							     sizeof(*keys->key), compare_keys)
						   : NULL;
	return found ? (size_t)(found - keys->key) : keys->count;
}

/* ---------------------------------------------------------------- order */

unsigned case_list_level(size_t i, size_t n)
{
	if (i == 0 || i + 1 >= n)
		return 0;
	size_t low = 0, high = n - 1;
	for (unsigned level = 1;; level++) {
		size_t middle = low + (high - low) / 2;
		if (i == middle)
			return level;
		if (i < middle)
			high = middle;
		else
			low = middle;
	}
}

struct place {
	size_t index, turn; /* `turn` spreads cases of a level over all words */
	unsigned level;
	bool headline, first;
	bool added; /* a value of it was added to a default list: the user waits for it */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->first != y->first)
		return x->first ? -1 : 1;
	if (x->added != y->added)
		return x->added ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return x->turn < y->turn ? -1 : x->turn > y->turn;
}

static unsigned level_of_case(const struct bench_run *r, size_t index)
{
	unsigned level = 0;
	for (size_t a = r->axis_count; a-- > 0;) {
		size_t n = r->axes[a].count;
		if (r->b->axes[a].kind != AXIS_WORD)
			level += case_list_level(index % n, n);
		index /= n;
	}
	return level;
}

/* "default,512x512x64" adds a value to a list. */
static bool has_added_value(const struct bench_run *r)
{
	static const char defaults[] = "default,";
	for (size_t a = 0; a < r->axis_count; a++) {
		const char *given = r->o.axis[a], *word = r->point[a].word;
		if (given && word && strncmp(given, defaults, strlen(defaults)) == 0 &&
		    axis_list_has(given + strlen(defaults), word))
			return true;
	}
	return false;
}

/* A stride coprime to the number of cases: multiples of it, modulo that number, visit every case
 * once and soon come near each. */
static size_t find_stride(size_t total)
{
	for (size_t s = (size_t)(0.618 * (double)total); s > 1; s--) {
		size_t a = total, b = s;
		while (b) {
			size_t rest = a % b;
			a = b;
			b = rest;
		}
		if (a == 1)
			return s;
	}
	return 1;
}

/* All cases of the run, in order. */
static struct place *order_cases(struct bench_run *r, bool coarse_first)
{
	size_t total = r->cases->count.total, index = 0;
	size_t stride = coarse_first ? find_stride(total) : 1;
	struct place *places = calloc(total, sizeof(*places));
	for (size_t turn = 0; places && turn < total && !bench_interrupted;
	     turn++, index = (index + stride) % total) {
		bench_set_point(r, index);
		bool headline = bench_has_headline(r);
		places[index] = (struct place){
			.index = index,
			.turn = turn,
			.level = coarse_first ? level_of_case(r, index) : 0,
			.headline = headline,
			.first = headline && r->o.budget_s > 0.0,
			.added = coarse_first && has_added_value(r),
		};
	}
	if (places)
		qsort(places, total, sizeof(*places), compare_places);
	return places;
}

/* ---------------------------------------------------------------- choice */

static bool is_chosen(const struct bench_run *r, bool wanted, bool headline)
{
	return (!r->o.cases || wanted) && (!r->o.headline || headline);
}

/* `seen` has an entry for each key of --cases and one more. */
static int choose_cases(struct bench_run *r, const struct place *places, bool *seen,
			struct case_list *list)
{
	for (size_t i = 0; i < r->cases->count.total && !bench_interrupted; i++) {
		bench_set_point(r, places[i].index);
		size_t at = case_keys_find(&r->cases->wanted, r->key);
		seen[at] = true;
		if (!is_chosen(r, at < r->cases->wanted.count, places[i].headline))
			continue;
		if (case_keys_find(&r->cases->done, r->key) < r->cases->done.count)
			list->already_done++;
		else
			list->cases[list->count++] = (struct chosen_case){
				.index = places[i].index, .headline = places[i].headline};
	}
	if (bench_interrupted)
		return -EINTR;
	for (size_t i = 0; i < r->cases->wanted.count; i++) {
		struct chosen_case *one = &list->cases[list->count];
		if (!seen[i] && !cliffs_find_case(r, r->cases->wanted.key[i].text, one))
			return err_note(-EINVAL, "--cases %s: '%.200s' is not a case of this run",
					r->o.cases, r->cases->wanted.key[i].text);
		list->count += !seen[i];
	}
	if (list->count + list->already_done == 0 && r->o.headline)
		err_print("%s: no case of these lists holds a headline number", r->b->name);
	return 0;
}

int case_list_make(struct bench_run *r, bool coarse_first, struct case_list *list_p)
{
	struct case_list list = {.cases = malloc((r->cases->count.total + r->cases->wanted.count) *
						 sizeof(*list.cases))};
	struct place *places = order_cases(r, coarse_first);
	bool *seen = calloc(r->cases->wanted.count + 1, sizeof(*seen));
	int status;
	if (list.cases && places && seen)
		status = choose_cases(r, places, seen, &list);
	else
		status = err_note(-ENOMEM, "%zu cases: out of memory", r->cases->count.total);
	free(places);
	free(seen);
	if (status == 0)
		*list_p = list;
	else
		case_list_free(&list);
	return status;
}

void case_list_free(struct case_list *list)
{
	free(list->cases);
	*list = (struct case_list){0};
}
