/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Notes of a case, what its record says in words: flags and grades, mechanisms, facts.
 */
#ifndef GPUSIG_NOTES_H
#define GPUSIG_NOTES_H

#include "bench/run/run.h"
#include "lib/err.h"

#include <stdarg.h>

struct bench_flag {
	const char *flag;
	char quantity[48]; /* "": all of the variant's, or of the case's */
	int variant;
	char reason[ERR_TEXT];
};

struct bench_mechanism {
	char name[48], detail[ERR_TEXT];
	bool observed;
};

struct bench_fact {
	char name[64];
	char *text; /* NULL: use the number */
	double number;
};

struct bench_course_row {
	char name[48], unit[16];
	double *values;
	size_t count;
};

/* The current case's. The lists grow, so a pointer to an entry holds until the next one is added.
 * Starts as {0}. */
struct notes {
	struct bench_flag *flags;
	size_t flag_count, flag_capacity;
	struct bench_mechanism *mechanisms;
	size_t mechanism_count, mechanism_capacity;
	struct bench_fact *facts;
	size_t fact_count, fact_capacity;
	struct bench_course_row *course;
	size_t course_count, course_capacity;
};

/* Fail the case, for what it has to say can't be kept. */
void bench_fail_without_memory(struct bench_case *c, const char *what, const char *name);

/* Without memory for another flag the case fails. `quantity`: that of the variant alone; "": all.
 */
void bench_flag_variant(struct bench_run *r, const char *flag, int variant, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void bench_add_flag(struct bench_run *r, const char *flag, int variant, const char *quantity,
		    const char *format, va_list args);

/* NULL without memory; then the case fails. */
const struct bench_mechanism *bench_add_mechanism(struct bench_case *c, const char *name,
						  bool observed, const char *format, va_list args);

/* As bench_fact_text(), behind what the fact says already. */
void bench_fact_append(struct bench_run *r, const char *name, const char *value);

/* True if a flag makes the case, or this variant, invalid. Grades do not: they say how far a value
 * can be trusted. _concerns: the flag is about this variant, or about all of the case's. _graded:
 * the variant has this grade. _case_valid: no part of the case is invalid. */
enum { BENCH_GRADES = 2 };
extern const char *const bench_grades[BENCH_GRADES];
bool bench_is_grade(const struct bench_flag *f);
bool bench_flag_concerns(const struct bench_flag *f, int variant);
bool bench_flagged(const struct bench_run *r, int variant);
bool bench_graded(const struct bench_run *r, int variant, const char *grade);
bool bench_case_valid(const struct bench_run *r);

/* Drop what was added since the notes were as in `kept`; {0}: all. Free the lists, too. */
void bench_notes_restore(struct notes *notes, const struct notes *kept);
void bench_notes_free(struct notes *notes);

#endif
