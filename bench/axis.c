/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/axis.h"
#include "lib/err.h"
#include "lib/units.h"
#include "lib/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 8192

static int append_value(const struct axis *axis, struct axis_list *list, struct axis_value value)
{
	for (size_t i = 0; i < list->count; i++)
		if (value.word ? strcmp(list->values[i].word, value.word) == 0
			       : list->values[i].number == value.number)
			return 0;
	if (list->count == MAX_VALUES)
		return err_note(-ERANGE, "--%s has more than %d values", axis->name, MAX_VALUES);
	struct axis_value *grown =
		vec_grow(list->values, list->count, &list->capacity, sizeof(*grown));
	if (!grown)
		return err_note(-ENOMEM, "--%s: out of memory", axis->name);
	list->values = grown;
	list->values[list->count++] = value;
	return 0;
}

static int append_number(const struct axis *axis, struct axis_list *list, uint64_t number,
			 const char *written)
{
	uint64_t multiple = axis->multiple ? axis->multiple : 1;
	if (number < axis->min || (axis->max && number > axis->max))
		return err_note(-ERANGE, "--%s %s: not within %" PRIu64 "..%" PRIu64, axis->name,
				written, axis->min, axis->max ? axis->max : UINT64_MAX);
	if (number % multiple)
		return err_note(-EINVAL, "--%s %s: not a multiple of %" PRIu64, axis->name, written,
				multiple);
	return append_value(axis, list, (struct axis_value){.number = number});
}

const char *axis_default(const struct axis *axis, bool full, bool gpu_class, bool simulated)
{
	if (full && gpu_class && axis->gpu_class_full)
		return axis->gpu_class_full;
	if (full && axis->full)
		return axis->full;
	if (simulated && axis->simulated)
		return axis->simulated;
	return gpu_class && axis->gpu_class ? axis->gpu_class : axis->quick;
}

/* The largest claim of a block that leaves its claims within `part` of a unit's shared memory. */
static uint64_t claim_within(const struct axis_capacities *known, uint64_t part)
{
	uint64_t granularity = known->shared_granularity ? known->shared_granularity : 1;
	part -= part % granularity;
	return part > known->shared_reserved ? part - known->shared_reserved : 0;
}

/* Parse [digits]NAME[/digits], such as 4LLC or L1/2. Returns 1 when `word` has another form. */
static int parse_capacity(const struct axis *axis, const char *word,
			  const struct axis_capacities *known, uint64_t *value_p)
{
	const struct {
		const char *name;
		uint64_t bytes;
	} names[] = {{"L1", known->l1},
		     {"L2", known->l2},
		     {"LLC", known->llc},
		     {"MEM", known->mem},
		     {"SHARED", known->shared}};
	const size_t shared = sizeof(names) / sizeof(names[0]) - 1;
	size_t lead = strspn(word, "0123456789");
	uint64_t times = 1, parts = 1;
	char number[24];
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i].name);
		const char *rest = word + lead + length;
		if (strncmp(word + lead, names[i].name, length) != 0 || (*rest && *rest != '/'))
			continue;
		snprintf(number, sizeof(number), "%.*s", (int)lead, word);
		if ((lead && units_parse_integer(number, 1, 1u << 20, &times)) ||
		    (*rest && units_parse_integer(rest + 1, 1, 1u << 20, &parts)))
			return err_note(-EINVAL, "--%s %s: %s", axis->name, word, err_text());
		if (names[i].bytes == 0)
			return err_note(-ENODATA,
					"--%s %s: the %s capacity of this device is unknown",
					axis->name, word, names[i].name);
		if (names[i].bytes > UINT64_MAX / times)
			return err_note(-ERANGE, "--%s %s: does not fit in 64 bits", axis->name,
					word);
		uint64_t value = names[i].bytes * times / parts;
		value = i == shared ? claim_within(known, value) : value;
		*value_p = axis->multiple ? value - value % axis->multiple : value;
		return 0;
	}
	return 1;
}

static int parse_range(const struct axis *axis, char *word, struct axis_list *list)
{
	char written[64];
	uint64_t from, to, step;
	snprintf(written, sizeof(written), "%s", word);
	char *second = strchr(word, ':'), *third = second ? strchr(second + 1, ':') : NULL;
	if (!third || (third[1] != 'x' && third[1] != '+'))
		return err_note(-EINVAL,
				"--%s %s: invalid range; use FROM:TO:xFACTOR or FROM:TO:+STEP",
				axis->name, written);
	bool geometric = third[1] == 'x';
	*second = *third = '\0';
	int status = units_parse_size(word, &from);
	if (status == 0)
		status = units_parse_size(second + 1, &to);
	if (status == 0)
		status = units_parse_size(third + 2, &step);
	if (status)
		return err_note(status, "--%s %s: %s", axis->name, written, err_text());
	if (from > to || step < (geometric ? 2u : 1u) || (geometric && from == 0))
		return err_note(-EINVAL,
				"--%s %s: the range from %" PRIu64 " to %" PRIu64
				" is empty or endless",
				axis->name, written, from, to);
	for (uint64_t value = from;;) {
		status = append_number(axis, list, value, written);
		if (status)
			return status;
		if (geometric ? value > to / step : to - value < step)
			return 0;
		value = geometric ? value * step : value + step;
	}
}

static int parse_number_word(const struct axis *axis, char *word, bool strict,
			     const struct axis_capacities *known, struct axis_list *list)
{
	static const struct axis_capacities any = {.l1 = 1u << 30,
						   .l2 = 1u << 30,
						   .llc = 1u << 30,
						   .mem = 1u << 30,
						   .shared = 1u << 30};
	uint64_t value;
	if (strchr(word, ':'))
		return parse_range(axis, word, list);
	int status = parse_capacity(axis, word, known ? known : &any, &value);
	if (status == 0 && !strict && (value < axis->min || (axis->max && value > axis->max)))
		return 0;
	if (status == -ENODATA)
		return strict ? -EINVAL : 0;
	if (status == 1) {
		status = units_parse_size(word, &value);
		if (status)
			return err_note(status, "--%s: %s", axis->name, err_text());
	}
	return status ? status : append_number(axis, list, value, word);
}

bool axis_list_has(const char *list, const char *word)
{
	const size_t length = strlen(word);
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

const char *axis_word(const struct axis *axis, const char *word,
		      const struct axis_capacities *known)
{
	if (axis->types == AXIS_NO_TYPES || strcmp(word, "main") != 0)
		return word;
	return axis->words[known ? known->main_type[axis->types] : 0];
}

static int parse_plain_word(const struct axis *axis, const char *word, bool strict,
			    const struct axis_capacities *known, struct axis_list *list)
{
	if (axis->expand)
		return append_value(axis, list, (struct axis_value){.word = word});
	if (axis->accept) {
		int status = axis->accept(word);
		if (status)
			return err_note(status, "--%s: %s", axis->name, err_text());
		return append_value(axis, list, (struct axis_value){.word = word});
	}
	char names[256] = "";
	word = axis_word(axis, word, known);
	for (size_t i = 0; axis->words[i]; i++) {
		if (strcmp(axis->words[i], word) == 0) {
			bool no_type =
				axis->types && known && !(known->types[axis->types] >> i & 1);
			bool no_peer = axis->peers && known && known->devices < 2 &&
				       axis_list_has(axis->peers, word);
			if (!strict && (no_type || no_peer))
				return 0;
			return append_value(
				axis, list,
				(struct axis_value){.number = i, .word = axis->words[i]});
		}
		size_t used = strlen(names);
		snprintf(names + used, sizeof(names) - used, " %s", axis->words[i]);
	}
	return err_note(-EINVAL, "--%s: unknown value '%s'; values:%s", axis->name, word, names);
}

/* `*text_p`, a word that may stand for several, and a comma become part of `*all_p`. */
static int expand_word(const struct axis *axis, const char *word,
		       const struct axis_capacities *known, char **all_p)
{
	char *words = NULL, *grown = NULL;
	int status = axis->expand(word, known, &words);
	if (status)
		return err_note(status, "--%s: %s", axis->name, err_text());
	size_t before = strlen(*all_p), bytes = before + strlen(words) + 2;
	if (*words) {
		grown = realloc(*all_p, bytes);
		*all_p = grown ? grown : *all_p;
		if (grown)
			snprintf(grown + before, bytes - before, "%s%s", before ? "," : "", words);
		else
			status = err_note(-ENOMEM, "--%s: out of memory", axis->name);
	}
	free(words);
	return status;
}

/* The list with all of its words replaced by what they stand for; the caller frees it. */
static int expand_list(const struct axis *axis, const char *text,
		       const struct axis_capacities *known, char **expanded_p)
{
	char *copy = strdup(text), *all = strdup("");
	int status = 0;
	if (!copy || !all) {
		free(copy);
		free(all);
		err_note(-ENOMEM, "--%s: out of memory", axis->name);
		return -ENOMEM;
	}
	for (char *word = copy, *next; status == 0 && word; word = next) {
		next = strchr(word, ',');
		if (next)
			*next++ = '\0';
		status = expand_word(axis, word, known, &all);
	}
	free(copy);
	if (status == 0 && !*all)
		status = err_note(-EINVAL, "--%s '%s': no value applies to this device", axis->name,
				  text);
	if (status)
		free(all);
	else
		*expanded_p = all;
	return status;
}

/* Words that begin within the first `lenient` bytes are those of a default list. */
static int parse_words(const struct axis *axis, const char *text, size_t lenient,
		       const struct axis_capacities *known, struct axis_list *list_p)
{
	struct axis_list list = {0};
	int status = 0;
	if (axis->expand)
		status = expand_list(axis, text, known, &list.text);
	else if (!(list.text = strdup(text)))
		status = err_note(-ENOMEM, "--%s: out of memory", axis->name);
	for (char *word = list.text, *next; status == 0 && word; word = next) {
		bool strict = (size_t)(word - list.text) >= lenient;
		next = strchr(word, ',');
		if (next)
			*next++ = '\0';
		if (*word == '\0')
			status = err_note(-EINVAL, "--%s '%s': empty value in the list", axis->name,
					  text);
		else
			status = axis->kind == AXIS_WORD
					 ? parse_plain_word(axis, word, strict, known, &list)
					 : parse_number_word(axis, word, strict, known, &list);
	}
	if (status == 0 && list.count == 0)
		status = err_note(lenient ? -ENOTSUP : -EINVAL,
				  "--%s '%s': no value applies to this device%s", axis->name, text,
				  lenient ? ": specify values" : "");
	if (status) {
		axis_free(&list);
		return status;
	}
	*list_p = list;
	return 0;
}

int axis_parse(const struct axis *axis, const char *text, bool strict,
	       const struct axis_capacities *known, struct axis_list *list_p)
{
	return parse_words(axis, text, strict ? 0 : SIZE_MAX, known, list_p);
}

int axis_parse_given(const struct axis *axis, const char *text, const char *defaults,
		     const struct axis_capacities *known, struct axis_list *list_p)
{
	static const char word[] = "default";
	const char *rest = text + strlen(word);
	if (strncmp(text, word, strlen(word)) != 0 || (*rest && *rest != ','))
		return axis_parse(axis, text, true, known, list_p);
	size_t bytes = strlen(defaults) + strlen(rest) + 1;
	char *both = malloc(bytes);
	if (!both)
		return err_note(-ENOMEM, "--%s: out of memory", axis->name);
	snprintf(both, bytes, "%s%s", defaults, rest);
	int status = parse_words(axis, both, strlen(defaults), known, list_p);
	free(both);
	return status;
}

void axis_free(struct axis_list *list)
{
	free(list->values);
	free(list->text);
	*list = (struct axis_list){0};
}
