/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_reading.h"

#include <math.h>
#include <stdio.h>

static void append(struct gpu_readings *r, const char *name, const char *unit, double number, const char *text, const char *why)
{
	if (r->count >= r->room)
		return;
	struct dev_reading *at = &r->at[r->count++];
	at->number = number;
	snprintf(at->name, sizeof(at->name), "%s", name);
	snprintf(at->unit, sizeof(at->unit), "%s", unit);
	snprintf(at->text, sizeof(at->text), "%s", text);
	snprintf(at->why, sizeof(at->why), "%s", why);
}

void gpu_reading_number(struct gpu_readings *r, const char *name, const char *unit, double number)
{
	append(r, name, unit, number, "", "");
}

void gpu_reading_text(struct gpu_readings *r, const char *name, const char *text) { append(r, name, "", NAN, text, ""); }

void gpu_reading_unknown(struct gpu_readings *r, const char *name, const char *unit, const char *why)
{
	append(r, name, unit, NAN, "", why);
}
