/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev_telemetry_list.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void append_sample(struct dev_telemetry_list *r, const char *name, const char *unit,
			  double number, const char *text, const char *why)
{
	if (r->count >= r->capacity)
		return;
	struct dev_telemetry *at = &r->samples[r->count++];
	at->number = number;
	snprintf(at->name, sizeof(at->name), "%s", name);
	snprintf(at->unit, sizeof(at->unit), "%s", unit);
	text_fit(at->text, sizeof(at->text), "%s", text);
	text_fit(at->why, sizeof(at->why), "%s", why);
}

void dev_telemetry_number(struct dev_telemetry_list *r, const char *name, const char *unit,
			  double number)
{
	append_sample(r, name, unit, number, "", "");
}

void dev_telemetry_text(struct dev_telemetry_list *r, const char *name, const char *text)
{
	append_sample(r, name, "", NAN, text, "");
}

void dev_telemetry_unknown(struct dev_telemetry_list *r, const char *name, const char *unit,
			   const char *why)
{
	append_sample(r, name, unit, NAN, "", why);
}

void dev_telemetry_fill(struct dev_telemetry_list *r, const char *name, const char *text)
{
	for (size_t i = 0; i < r->count; i++) {
		struct dev_telemetry *s = &r->samples[i];
		if (!text[0] || strcmp(s->name, name) != 0 || s->text[0])
			continue;
		text_fit(s->text, sizeof(s->text), "%s", text);
		s->why[0] = '\0';
	}
}

void dev_telemetry_forget(struct dev_telemetry_list *r, const char *name, const char *why)
{
	for (size_t i = 0; i < r->count; i++) {
		struct dev_telemetry *s = &r->samples[i];
		if (strcmp(s->name, name) != 0)
			continue;
		s->number = NAN;
		s->text[0] = '\0';
		text_fit(s->why, sizeof(s->why), "%s", why);
	}
}
