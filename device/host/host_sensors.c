/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_sensors.h"
#include "lib/first_line.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 512

static bool read_word(const char *folder, const char *name, char *word, size_t capacity)
{
	char path[PATH_BYTES];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return first_line_read(path, word, capacity);
}

static bool read_number(const char *folder, const char *name, double *number_p)
{
	char line[64], *end;
	if (!read_word(folder, name, line, sizeof(line)))
		return false;
	*number_p = strtod(line, &end);
	return end != line;
}

/* ------------------------------------------------------------------ energy */

/* Packages have one of their own for the limit; the counter of "psys" has all of these in it. */
static bool is_package(const char *zone)
{
	char name[64];
	return read_word(zone, "name", name, sizeof(name)) && strncmp(name, "package", 7) == 0;
}

static bool is_memory(const char *zone)
{
	char name[64];
	return read_word(zone, "name", name, sizeof(name)) && strcmp(name, "dram") == 0;
}

/* 0, or the error: -EACCES for all but root. */
static int count_energy(struct host_sensors *s, size_t i, const char *zone)
{
	char path[PATH_BYTES], line[64];
	double range = 0;
	snprintf(path, sizeof(path), "%s/energy_uj", zone);
	FILE *file = fopen(path, "r");
	if (!file)
		return -errno;
	const bool has_line = fgets(line, sizeof(line), file) != NULL;
	fclose(file);
	if (!has_line)
		return -EIO;
	const uint64_t now = strtoull(line, NULL, 10);
	double step = s->known[i] ? (double)now - (double)s->last[i] : 0;
	if (step < 0 && !read_number(zone, "max_energy_range_uj", &range))
		return -EIO;
	s->joule += 1e-6 * (step < 0 ? step + range : step);
	s->last[i] = now;
	s->known[i] = true;
	return 0;
}

static void append_energy(struct host_sensors *s, struct dev_telemetry_list *r, const glob_t *zones)
{
	char why[PATH_BYTES + 128];
	size_t packages = 0;
	for (size_t i = 0; i < zones->gl_pathc && i < HOST_ZONES; i++) {
		const char *zone = zones->gl_pathv[i];
		if (!is_package(zone) && !is_memory(zone))
			continue;
		const int status = count_energy(s, i, zone);
		if (status) {
			snprintf(why, sizeof(why), "read %s/energy_uj: %s%s", zone,
				 strerror(-status),
				 status == -EACCES ? "; root may read it, or whom root allows"
						   : "");
			dev_telemetry_unknown(r, "energy", "J", why);
			return;
		}
		packages += is_package(zone);
	}
	if (packages)
		dev_telemetry_number(r, "energy", "J", s->joule);
	else
		dev_telemetry_unknown(r, "energy", "J",
				      "the kernel shows no energy counters (RAPL) of packages");
}

/* The long-term limits of all packages; the kernel shows none for AMD's. */
static void append_limit(struct dev_telemetry_list *r, const glob_t *zones)
{
	double sum = 0, microwatt;
	size_t packages = 0, limits = 0;
	for (size_t i = 0; i < zones->gl_pathc; i++) {
		if (!is_package(zones->gl_pathv[i]))
			continue;
		packages++;
		if (!read_number(zones->gl_pathv[i], "constraint_0_power_limit_uw", &microwatt))
			continue;
		limits++;
		sum += 1e-6 * microwatt;
	}
	if (packages && limits == packages)
		dev_telemetry_number(r, "power_limit", "W", sum);
	else
		dev_telemetry_unknown(r, "power_limit", "W",
				      "the kernel shows no power limit (RAPL) of packages");
}

/* ------------------------------------------------------------------ temperature */

/* coretemp names its package, k10temp its control temperature. */
static bool is_of_package(const char *folder, const char *input)
{
	char name[64], label[80], word[64];
	const char *dot = strrchr(input, '_');
	if (!read_word(folder, "name", name, sizeof(name)))
		return false;
	if (strcmp(name, "coretemp") != 0 && strcmp(name, "k10temp") != 0)
		return false;
	snprintf(label, sizeof(label), "%.*s_label", (int)(dot - input), input);
	return read_word(folder, label, word, sizeof(word)) &&
	       (strncmp(word, "Package", 7) == 0 || strcmp(word, "Tctl") == 0);
}

static bool is_of_processor(const char *folder)
{
	char type[64];
	return read_word(folder, "type", type, sizeof(type)) &&
	       (strcmp(type, "x86_pkg_temp") == 0 || strcmp(type, "cpu-thermal") == 0 ||
		strcmp(type, "cpu_thermal") == 0);
}

/* The hottest, or `hottest`. */
static double hottest_of(const char *root, const char *pattern, double hottest)
{
	char path[PATH_BYTES];
	glob_t found = {0};
	snprintf(path, sizeof(path), "%s%s", root, pattern);
	glob(path, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *folder = found.gl_pathv[i], *slash = strrchr(folder, '/');
		double thousandths;
		*slash = '\0';
		const bool counts = strcmp(slash + 1, "temp") == 0
					    ? is_of_processor(folder)
					    : is_of_package(folder, slash + 1);
		if (counts && read_number(folder, slash + 1, &thousandths) &&
		    1e-3 * thousandths > hottest)
			hottest = 1e-3 * thousandths;
	}
	globfree(&found);
	return hottest;
}

static void append_temperature(const char *root, struct dev_telemetry_list *r)
{
	const double cold = -273.15;
	double celsius = hottest_of(root, "/sys/class/hwmon/hwmon*/temp*_input", cold);
	if (!(celsius > cold))
		celsius = hottest_of(root, "/sys/class/thermal/thermal_zone*/temp", cold);
	if (celsius > cold)
		dev_telemetry_number(r, "temperature", "degC", celsius);
	else
		dev_telemetry_unknown(r, "temperature", "degC",
				      "the kernel shows no temperature of the processor");
}

void host_sensors_read(struct host_sensors *s, const char *root, struct dev_telemetry_list *r)
{
	char pattern[PATH_BYTES];
	glob_t zones = {0};
	snprintf(pattern, sizeof(pattern), "%s/sys/class/powercap/intel-rapl:*", root);
	glob(pattern, 0, NULL, &zones);
	append_energy(s, r, &zones);
	append_limit(r, &zones);
	globfree(&zones);
	append_temperature(root, r);
}
