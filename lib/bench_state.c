/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bench_run.h"
#include "lib/err.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void bench_state_read(struct dev *dev, struct bench_state *s)
{
	s->count = 0;
	if (dev_read_state(dev, s->readings, &s->count) == 0)
		return;
	struct dev_reading *failed = &s->readings[0];
	*failed = (struct dev_reading){.name = "state", .number = NAN};
	snprintf(failed->why, sizeof(failed->why), "%.127s", err_text());
	s->count = 1;
	err_clear();
}

static const struct dev_reading *reading_of(const struct bench_state *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->readings[i].name, name) == 0)
			return &s->readings[i];
	return NULL;
}

bool bench_state_tells(const struct bench_state *s)
{
	const struct dev_reading *reading = reading_of(s, "throttle");
	return reading && reading->text[0];
}

const char *bench_state_throttle(const struct bench_state *s)
{
	if (!bench_state_tells(s))
		return NULL;
	const char *text = reading_of(s, "throttle")->text;
	return strcmp(text, "none") != 0 && strcmp(text, "idle") != 0 ? text : NULL;
}

double bench_state_thermal_s(const struct bench_state *s)
{
	const struct dev_reading *reading = reading_of(s, "thermal_time");
	return reading ? reading->number : NAN;
}

/* What may be another from one case to the next. */
static bool changes(const char *name)
{
	static const char *const names[] = {"sm_clock", "memory_clock", "power", "temperature",
	                                    "throttle", "clock_reason", "thermal_time"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

void bench_state_write(struct json *j, const struct bench_state *s, bool only_changing)
{
	json_object_begin(j, "state");
	for (size_t i = 0; i < s->count; i++) {
		const struct dev_reading *reading = &s->readings[i];
		if (only_changing && !changes(reading->name))
			continue;
		bool number = isfinite(reading->number), text = !number && reading->text[0];
		json_object_begin(j, reading->name);
		if (text)
			json_string(j, "value", reading->text);
		else
			json_number(j, "value", reading->number);
		json_string(j, "unit", reading->unit);
		if (!number && !text)
			json_string(j, "reason", reading->why[0] ? reading->why : "no reason given");
		json_object_end(j);
	}
	json_object_end(j);
}
