/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/run/notes.h"
#include "bench/bench_alloc.h"
#include "lib/text.h"
#include "lib/vec.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_grades[BENCH_GRADES] = {"noisy", "contended"};

/* Fail the case if it cannot keep a statement about itself: without its flag it would look
 * valid. */
void bench_fail_without_memory(struct bench_case *c, const char *what, const char *name)
{
	TRY(c->status, err_note(-ENOMEM, "%s %s: out of memory", what, name));
}

/* NULL without memory; then the case fails. */
const struct bench_mechanism *bench_add_mechanism(struct bench_case *c, const char *name,
						  bool observed, const char *format, va_list args)
{
	struct notes *now = c->run->notes;
	struct bench_mechanism *grown = vec_grow(now->mechanisms, now->mechanism_count,
						 &now->mechanism_capacity, sizeof(*grown));
	if (!grown) {
		bench_fail_without_memory(c, "mechanism", name);
		return NULL;
	}
	now->mechanisms = grown;
	struct bench_mechanism *mechanism = &grown[now->mechanism_count++];
	text_fit(mechanism->name, sizeof(mechanism->name), "%s", name);
	mechanism->observed = observed;
	text_vfit(mechanism->detail, sizeof(mechanism->detail), format, args);
	return mechanism;
}

void bench_mechanism(struct bench_case *c, const char *name, bool observed, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const struct bench_mechanism *mechanism =
		bench_add_mechanism(c, name, observed, format, args);
	va_end(args);
	if (mechanism && !observed)
		bench_flag_variant(c->run, "mechanism", -1, "%s: %s", mechanism->name,
				   mechanism->detail);
}

void bench_add_flag(struct bench_run *r, const char *flag, int variant, const char *quantity,
		    const char *format, va_list args)
{
	struct notes *now = r->notes;
	struct bench_flag *grown =
		vec_grow(now->flags, now->flag_count, &now->flag_capacity, sizeof(*grown));
	if (!grown) {
		bench_fail_without_memory(&r->c, "flag", flag);
		return;
	}
	now->flags = grown;
	struct bench_flag *f = &grown[now->flag_count++];
	f->flag = flag;
	f->variant = variant;
	text_fit(f->quantity, sizeof(f->quantity), "%s", quantity);
	text_vfit(f->reason, sizeof(f->reason), format, args);
}

void bench_flag(struct bench_case *c, const char *flag, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	bench_add_flag(c->run, flag, -1, "", format, args);
	va_end(args);
}

void bench_flag_variant(struct bench_run *r, const char *flag, int variant, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	bench_add_flag(r, flag, variant, "", format, args);
	va_end(args);
}

bool bench_is_grade(const struct bench_flag *f)
{
	for (size_t i = 0; i < BENCH_GRADES; i++)
		if (strcmp(f->flag, bench_grades[i]) == 0)
			return true;
	return false;
}

bool bench_flag_concerns(const struct bench_flag *f, int variant)
{
	return !f->quantity[0] && (f->variant == -1 || f->variant == variant);
}

bool bench_flagged(const struct bench_run *r, int variant)
{
	for (size_t i = 0; i < r->notes->flag_count; i++)
		if (!bench_is_grade(&r->notes->flags[i]) &&
		    bench_flag_concerns(&r->notes->flags[i], variant))
			return true;
	return false;
}

bool bench_graded(const struct bench_run *r, int variant, const char *grade)
{
	for (size_t i = 0; i < r->notes->flag_count; i++)
		if (strcmp(r->notes->flags[i].flag, grade) == 0 &&
		    bench_flag_concerns(&r->notes->flags[i], variant))
			return true;
	return false;
}

bool bench_case_valid(const struct bench_run *r)
{
	for (size_t i = 0; i < r->notes->flag_count; i++)
		if (!bench_is_grade(&r->notes->flags[i]))
			return false;
	return true;
}

/* NULL without memory; then the case fails. */
static struct bench_fact *add_fact(struct bench_case *c, const char *name)
{
	struct notes *now = c->run->notes;
	struct bench_fact *grown =
		vec_grow(now->facts, now->fact_count, &now->fact_capacity, sizeof(*grown));
	if (!grown) {
		bench_fail_without_memory(c, "fact", name);
		return NULL;
	}
	now->facts = grown;
	struct bench_fact *f = &grown[now->fact_count++];
	*f = (struct bench_fact){.number = NAN};
	text_fit(f->name, sizeof(f->name), "%s", name);
	return f;
}

void bench_fact_text(struct bench_case *c, const char *name, const char *value)
{
	struct bench_fact *f = add_fact(c, name);
	if (!f)
		return;
	f->text = value ? strdup(value) : NULL;
	if (!f->text)
		bench_fail_without_memory(c, "fact", name);
}

void bench_fact_append(struct bench_run *r, const char *name, const char *value)
{
	struct notes *now = r->notes;
	struct bench_fact *f = NULL;
	char *both = NULL;
	for (size_t i = 0; !f && i < now->fact_count; i++)
		f = strcmp(now->facts[i].name, name) == 0 ? &now->facts[i] : NULL;
	if (!f || !value) {
		bench_fact_text(&r->c, name, value);
	} else if (asprintf(&both, "%s; %s", f->text, value) < 0) {
		bench_fail_without_memory(&r->c, "fact", name);
	} else {
		free(f->text);
		f->text = both;
	}
}

void bench_fact_format(struct bench_case *c, const char *name, const char *format, ...)
{
	struct bench_fact *f = add_fact(c, name);
	va_list args;
	if (!f)
		return;
	va_start(args, format);
	if (vasprintf(&f->text, format, args) < 0) {
		f->text = NULL;
		bench_fail_without_memory(c, "fact", name);
	}
	va_end(args);
}

void bench_fact_number(struct bench_case *c, const char *name, double value)
{
	struct bench_fact *f = add_fact(c, name);
	if (f)
		f->number = value;
}

void bench_course(struct bench_case *c, const char *name, const char *unit, const double *values,
		  size_t n)
{
	struct notes *now = c->run->notes;
	struct bench_course_row *grown =
		vec_grow(now->course, now->course_count, &now->course_capacity, sizeof(*grown));
	double *copy = malloc((n + 1) * sizeof(*copy));
	if (grown)
		now->course = grown;
	if (!grown || !copy) {
		free(copy);
		bench_fail_without_memory(c, "course", name);
		return;
	}
	struct bench_course_row *row = &grown[now->course_count++];
	text_fit(row->name, sizeof(row->name), "%s", name);
	text_fit(row->unit, sizeof(row->unit), "%s", unit);
	row->values = memcpy(copy, values, n * sizeof(*copy));
	row->count = n;
}

int bench_wrong(const char *format, ...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	text_vfit(text, sizeof(text), format, args);
	va_end(args);
	return err_note(-EBADMSG, "%s", text);
}

void bench_notes_restore(struct notes *notes, const struct notes *kept)
{
	for (size_t i = kept->fact_count; i < notes->fact_count; i++)
		free(notes->facts[i].text);
	for (size_t i = kept->course_count; i < notes->course_count; i++)
		free(notes->course[i].values);
	notes->course_count = kept->course_count;
	notes->flag_count = kept->flag_count;
	notes->mechanism_count = kept->mechanism_count;
	notes->fact_count = kept->fact_count;
}

void bench_notes_free(struct notes *notes)
{
	bench_notes_restore(notes, &(struct notes){0});
	free(notes->flags);
	free(notes->mechanisms);
	free(notes->facts);
	free(notes->course);
}
