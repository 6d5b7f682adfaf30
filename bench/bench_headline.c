/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_run.h"
#include "bench/out.h"
#include "lib/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define WHERE_BYTES 192

/* Of "n2048|n8192|n1024" the one for this kind of device. */
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
	if (axis->kind == AXIS_WORD)
		return true;
	if (axis_parse(axis, term_p->value.word, true, &r->known, &list) == 0) {
		assert(list.count == 1);
		term_p->value = (struct axis_value){.number = list.values[0].number};
		axis_free(&list);
	}
	err_clear();
	return true;
}

static char *copy_where(const struct bench_metric *m, char text[WHERE_BYTES])
{
	assert(strlen(m->where ? m->where : "") < WHERE_BYTES);
	snprintf(text, WHERE_BYTES, "%s", m->where ? m->where : "");
	return text;
}

bool bench_is_headline(const struct bench_run *r, const struct bench_metric *m)
{
	char text[WHERE_BYTES], *at = copy_where(m, text);
	struct term term;
	while (next_term(r, &at, &term)) {
		const struct axis_value *here = &r->current.point[term.axis];
		bool is_word = r->b->axes[term.axis].kind == AXIS_WORD;
		if (is_word ? strcmp(here->word, term.value.word) != 0
			    : term.value.word || here->number != term.value.number)
			return false;
	}
	return true;
}

struct bench_derived *bench_find_metric(struct bench_run *r, const struct bench_metric *m)
{
	int variant = -1;
	for (size_t v = 0; m->variant && v < r->variant_count; v++)
		if (strcmp(r->b->variants[v].name, m->variant) == 0)
			variant = (int)v;
	return bench_find_derived(r, m->derived, variant);
}

bool bench_has_headline(const struct bench_run *r)
{
	for (const struct bench_metric *m = r->b->primary; m && m->metric; m++)
		if (bench_is_headline(r, m))
			return true;
	return false;
}

void bench_headlines_list(struct bench_run *r)
{
	struct json *j = &r->json;
	json_clear(j);
	json_object_begin(j, NULL);
	json_string(j, "key", r->current.key);
	json_array_begin(j, "headlines");
	for (const struct bench_metric *m = r->b->primary; m && m->metric; m++)
		if (bench_is_headline(r, m))
			json_string(j, NULL, m->metric);
	json_array_end(j);
	json_object_end(j);
	if (json_finish(j) == 0)
		out_write(j->text, j->length);
}

static void put_place(struct bench_run *r, const struct bench_metric *m)
{
	char text[WHERE_BYTES], *at = copy_where(m, text);
	struct term term;
	json_object_begin(&r->json, "where");
	while (next_term(r, &at, &term)) {
		const char *name = r->b->axes[term.axis].name;
		if (term.value.word)
			json_string(&r->json, name, term.value.word);
		else
			json_integer(&r->json, name, term.value.number);
	}
	json_object_end(&r->json);
}

void bench_headlines_write(struct bench_run *r)
{
	struct json *j = &r->json;
	json_array_begin(j, "primary");
	for (const struct bench_metric *m = r->b->primary; m && m->metric; m++) {
		json_object_begin(j, NULL);
		json_string(j, "metric", m->metric);
		json_string(j, "derived", m->derived);
		json_string(j, "variant", m->variant);
		put_place(r, m);
		json_string(j, "unit", m->unit);
		json_string(j, "better", m->better);
		json_object_end(j);
	}
	json_array_end(j);
}
