/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_telemetry.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void append_sample(struct gpu_telemetry_list *r, const char *name, const char *unit,
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

void gpu_telemetry_number(struct gpu_telemetry_list *r, const char *name, const char *unit,
			  double number)
{
	append_sample(r, name, unit, number, "", "");
}

void gpu_telemetry_text(struct gpu_telemetry_list *r, const char *name, const char *text)
{
	append_sample(r, name, "", NAN, text, "");
}

void gpu_telemetry_unknown(struct gpu_telemetry_list *r, const char *name, const char *unit,
			   const char *why)
{
	append_sample(r, name, unit, NAN, "", why);
}

void gpu_telemetry_fill(struct gpu_telemetry_list *r, const char *name, const char *text)
{
	for (size_t i = 0; i < r->count; i++) {
		struct dev_telemetry *s = &r->samples[i];
		if (!text[0] || strcmp(s->name, name) != 0 || s->text[0])
			continue;
		text_fit(s->text, sizeof(s->text), "%s", text);
		s->why[0] = '\0';
	}
}

void gpu_telemetry_forget(struct gpu_telemetry_list *r, const char *name, const char *why)
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

void gpu_format_uuid(const char *prefix, const unsigned char bytes[16], char *text, size_t capacity)
{
	size_t used = (size_t)snprintf(text, capacity, "%s", prefix);
	for (size_t i = 0; i < 16 && used < capacity; i++)
		used += (size_t)snprintf(text + used, capacity - used, "%s%02x",
					 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					 bytes[i]);
}
