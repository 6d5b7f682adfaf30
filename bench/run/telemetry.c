/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/run/telemetry.h"
#include "lib/err.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void bench_telemetry_read(struct dev *dev, struct bench_telemetry *s)
{
	s->count = 0;
	if (dev_telemetry_read(dev, s->samples, &s->count) == 0)
		return;
	struct dev_telemetry *failed = &s->samples[0];
	*failed = (struct dev_telemetry){.name = "state", .number = NAN};
	text_fit(failed->why, sizeof(failed->why), "%s", err_text());
	s->count = 1;
	err_clear();
}

static const struct dev_telemetry *find_sample(const struct bench_telemetry *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->samples[i].name, name) == 0)
			return &s->samples[i];
	return NULL;
}

/* Fields that identify the board. */
static const char *const identities[] = {"uuid", "serial", "vbios"};
enum { IDENTITIES = sizeof(identities) / sizeof(identities[0]) };

static bool is_identity(const char *name)
{
	for (size_t i = 0; i < IDENTITIES; i++)
		if (strcmp(name, identities[i]) == 0)
			return true;
	return false;
}

void bench_telemetry_write_identity(struct json *j, const struct bench_telemetry *s)
{
	for (size_t i = 0; i < IDENTITIES; i++) {
		const struct dev_telemetry *sample = find_sample(s, identities[i]);
		json_string(j, identities[i], sample && sample->text[0] ? sample->text : NULL);
	}
}

bool bench_telemetry_lists_throttle(const struct bench_telemetry *s)
{
	return find_sample(s, "throttle") != NULL;
}

const char *bench_telemetry_throttle(const struct bench_telemetry *s)
{
	const struct dev_telemetry *sample = find_sample(s, "throttle");
	const char *text = sample ? sample->text : "";
	return text[0] && strcmp(text, "none") != 0 && strcmp(text, "idle") != 0 ? text : NULL;
}

double bench_telemetry_thermal_s(const struct bench_telemetry *s)
{
	const struct dev_telemetry *sample = find_sample(s, "thermal_time");
	return sample ? sample->number : NAN;
}

/* Samples that may change from one case to the next. */
static bool changes_between_cases(const char *name)
{
	static const char *const names[] = {"sm_clock",    "memory_clock", "power",
					    "temperature", "throttle",     "clock_reason",
					    "thermal_time"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

void bench_telemetry_write(struct json *j, const struct bench_telemetry *s, bool only_changing)
{
	json_object_begin(j, "state");
	for (size_t i = 0; i < s->count; i++) {
		const struct dev_telemetry *sample = &s->samples[i];
		if (only_changing && !changes_between_cases(sample->name))
			continue;
		bool number = isfinite(sample->number), text = !number && sample->text[0];
		if (text && is_identity(sample->name))
			continue;
		json_object_begin(j, sample->name);
		if (text)
			json_string(j, "value", sample->text);
		else
			json_number(j, "value", sample->number);
		json_string(j, "unit", sample->unit);
		if (!number && !text)
			json_string(j, "reason", sample->why[0] ? sample->why : "no reason given");
		json_object_end(j);
	}
	json_object_end(j);
}
