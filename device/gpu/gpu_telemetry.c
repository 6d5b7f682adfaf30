/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_telemetry.h"

#include <math.h>
#include <stdio.h>

static void append_sample(struct gpu_telemetry_list *r, const char *name, const char *unit,
			  double number, const char *text, const char *why)
{
	if (r->count >= r->capacity)
		return;
	struct dev_telemetry *at = &r->samples[r->count++];
	at->number = number;
	snprintf(at->name, sizeof(at->name), "%s", name);
	snprintf(at->unit, sizeof(at->unit), "%s", unit);
	snprintf(at->text, sizeof(at->text), "%s", text);
	snprintf(at->why, sizeof(at->why), "%s", why);
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
