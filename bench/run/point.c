/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/run/point.h"
#include "lib/err.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WHERE_BYTES 192

size_t bench_axis_position(const struct bench_run *r, const char *axis)
{
	size_t i = 0;
	while (i < r->axis_count && strcmp(r->b->axes[i].name, axis) != 0)
		i++;
	assert(i < r->axis_count);
	return i;
}

uint64_t axis_u64(const struct bench_case *c, const char *axis)
{
	return c->run->point[bench_axis_position(c->run, axis)].number;
}

const char *axis_str(const struct bench_case *c, const char *axis)
{
	return c->run->point[bench_axis_position(c->run, axis)].word;
}

unsigned axis_index(const struct bench_case *c, const char *axis)
{
	const char *const *words = c->run->b->axes[bench_axis_position(c->run, axis)].words,
			  *word = axis_str(c, axis);
	unsigned i = 0;
	while (strcmp(words[i], word) != 0)
		i++;
	return i;
}

bool axis_has_type(const struct bench_case *c, const char *axis)
{
	const enum axis_types set = c->run->b->axes[bench_axis_position(c->run, axis)].types;
	return c->run->known.types[set] >> axis_index(c, axis) & 1;
}

void bench_set_key(struct bench_run *r)
{
	size_t used = 0;
	r->key[0] = '\0';
	for (size_t a = 0; a < r->axis_count && used < sizeof(r->key); a++) {
		const struct axis_value *value = &r->point[a];
		int length;
		if (r->b->axes[a].kind == AXIS_WORD)
			length = snprintf(r->key + used, sizeof(r->key) - used, "%s%s=%s",
					  a ? " " : "", r->b->axes[a].name, value->word);
		else
			length = snprintf(r->key + used, sizeof(r->key) - used, "%s%s=%" PRIu64,
					  a ? " " : "", r->b->axes[a].name, value->number);
		used += (size_t)length;
	}
}

void bench_set_point(struct bench_run *r, size_t index)
{
	for (size_t a = r->axis_count; a-- > 0;) {
		r->point[a] = r->axes[a].values[index % r->axes[a].count];
		index /= r->axes[a].count;
	}
	bench_set_key(r);
}

/* ---------------------------------------------------------------- the case of a headline number */

/* The part of "n2048|n8192|n1024" for this kind of device. */
static char *of_this_kind(const struct bench_run *r, char *values)
{
	char *gpu_class = strchr(values, '|'), *simulated = gpu_class ? strrchr(values, '|') : NULL;
	if (!gpu_class)
		return values;
	assert(gpu_class != simulated);
	*gpu_class++ = *simulated++ = '\0';
	return r->simulated_lists ? simulated : r->gpu_class ? gpu_class : values;
}

/* A term of `where`, "footprint=16LLC", as the device resolves it. A capacity that it does not
 * report stays a word, so that no case matches. */
struct term {
	size_t axis;
	struct axis_value value; /* `word` NULL: a number */
};

/* Takes the next term of the text. False at its end. */
static bool next_term(const struct bench_run *r, char **text_p, struct term *term_p)
{
	char *name = *text_p, *value = strchr(name, '=');
	struct axis_list list;
	if (!value)
		return false;
	*value++ = '\0';
	*text_p = value + strcspn(value, " ");
	if (**text_p)
		*(*text_p)++ = '\0';
	*term_p = (struct term){.axis = bench_axis_position(r, name),
				.value.word = of_this_kind(r, value)};
	const struct axis *axis = &r->b->axes[term_p->axis];
	if (axis->kind == AXIS_WORD) {
		term_p->value.word = axis_word(axis, term_p->value.word, &r->known);
		return true;
	}
	if (axis_parse(axis, term_p->value.word, true, &r->known, &list) == 0) {
		assert(list.count == 1);
		term_p->value = (struct axis_value){.number = list.values[0].number};
		axis_free(&list);
	}
	err_clear();
	return true;
}

static char *copy_where(const char *where, char text[WHERE_BYTES])
{
	assert(strlen(where ? where : "") < WHERE_BYTES);
	snprintf(text, WHERE_BYTES, "%s", where ? where : "");
	return text;
}

bool bench_is_headline(const struct bench_run *r, const struct bench_metric *m)
{
	char text[WHERE_BYTES], *at = copy_where(m->where, text);
	struct term term;
	while (next_term(r, &at, &term)) {
		const struct axis_value *here = &r->point[term.axis];
		bool is_word = r->b->axes[term.axis].kind == AXIS_WORD;
		const char *word = term.value.word;
		if (is_word ? !word || strcmp(here->word, word) != 0
			    : word || here->number != term.value.number)
			return false;
	}
	return true;
}

bool bench_has_headline(const struct bench_run *r)
{
	for (const struct bench_metric *m = r->b->primary; m && m->metric; m++)
		if (bench_is_headline(r, m))
			return true;
	return false;
}

void bench_write_where(struct json *j, const struct bench_run *r, const char *where)
{
	char text[WHERE_BYTES], *at = copy_where(where, text);
	struct term term;
	json_object_begin(j, "where");
	while (next_term(r, &at, &term)) {
		const char *name = r->b->axes[term.axis].name;
		if (term.value.word)
			json_string(j, name, term.value.word);
		else
			json_integer(j, name, term.value.number);
	}
	json_object_end(j);
}
