/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/processor.h"
#include "lib/first_line.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define KEYS 5

/* Keys that identify a processor, per family, after show_cpuinfo() in arch/ of the kernel. A
 * machine belongs to the first family whose first key it has. Feature lists are left out, because
 * newer kernels list more. */
static const struct {
	bool named; /* the first value is a name, which needs no key */
	const char *keys[KEYS];
} families[] = {
	{false, {"CPU implementer", "CPU part", "CPU variant", "CPU revision", "Hardware"}},
	{true, {"model name"}},                                      /* x86, PA-RISC, Itanium */
	{true, {"Model Name", "CPU Revision", "system type"}},       /* LoongArch */
	{true, {"cpu model", "system type", "machine"}},             /* MIPS, Alpha */
	{false, {"isa", "uarch", "mvendorid", "marchid", "mimpid"}}, /* RISC-V */
	{true, {"cpu", "revision", "machine", "type"}},              /* POWER, SPARC */
	{false, {"machine", "vendor_id", "cpu type"}},               /* S/390, SuperH */
	{false, {"cpu family", "vendor_id", "model", "stepping"}},   /* x86 without a name */
};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

/* Keys to ignore for an unknown family: they count processors, belong to one specimen, or
 * change. */
static const char *const passing[] = {
	"processor", "number", "hart",  "core", "package", "physical", "thread",  "apic",
	"serial",    "mhz",    "clock", "clk",  "temp",    "bogomips", "jiffies",
};

/* The lines of a file, read once. */
struct cpuinfo {
	struct text values[FAMILIES][KEYS]; /* each once */
	struct text rest;                   /* of a family that is not known, each line once */
};

struct line {
	char *key, *value;
};

static char *trim_blanks(char *text)
{
	text += strspn(text, " \t");
	for (char *end = text + strlen(text); end > text && isspace((unsigned char)end[-1]);)
		*--end = '\0';
	return text;
}

/* False: a line without a key. */
static bool split_line(char *text, struct line *line)
{
	char *colon = strchr(text, ':');
	if (!colon)
		return false;
	*colon = '\0';
	*line = (struct line){trim_blanks(text), trim_blanks(colon + 1)};
	/* "processor 0: version = FF,  identification = 29AA14,  machine = 2964" of S/390 */
	char *machine = strstr(line->value, "machine = ");
	if (strncmp(line->key, "processor ", 10) == 0 && machine)
		*line = (struct line){machine, machine + 10}, machine[7] = '\0';
	/* Extensions follow the base; newer kernels know more of them. */
	if (strcmp(line->key, "isa") == 0)
		line->value[strcspn(line->value, "_")] = '\0';
	return true;
}

/* True if `item` is in the list, between separators or at its ends. */
static bool is_listed(const struct text *list, const char *item, char separator)
{
	size_t length = strlen(item);
	for (const char *at = list->bytes; at;) {
		const char *found = strstr(at, item);
		if (found && (found == list->bytes || found[-1] == separator) &&
		    (found[length] == separator || !found[length]))
			return true;
		at = found ? found + 1 : NULL;
	}
	return false;
}

static void list_once(struct text *list, const char *item, char separator)
{
	/* "unknown" is the kernel's word for a missing name, on some x86. */
	if (item[0] && strcmp(item, "unknown") != 0 && !is_listed(list, item, separator))
		text_add(list, "%.*s%s", list->length ? 1 : 0, &separator, item);
}

static bool is_passing(const char *key)
{
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (strcasestr(key, passing[i]))
			return true;
	return false;
}

static void keep_line(struct cpuinfo *c, const struct line *line)
{
	for (size_t f = 0; f < FAMILIES; f++)
		for (size_t k = 0; k < KEYS && families[f].keys[k]; k++)
			if (strcmp(line->key, families[f].keys[k]) == 0)
				list_once(&c->values[f][k], line->value, '/');
	if (is_passing(line->key))
		return;
	struct text both = {0};
	text_add(&both, "%s:%s", line->key, line->value);
	list_once(&c->rest, both.lost ? line->key : text_whole(&both), '\n');
	text_free(&both);
}

/* The family's place, or FAMILIES. */
static size_t write_family(const struct cpuinfo *c, struct text *identity)
{
	size_t f = 0;
	while (f < FAMILIES && !c->values[f][0].length)
		f++;
	for (size_t k = 0; f < FAMILIES && k < KEYS && families[f].keys[k]; k++) {
		const struct text *value = &c->values[f][k];
		identity->lost = identity->lost || value->lost;
		if (!value->length)
			continue;
		if (k > 0)
			text_add(identity, ", ");
		if (k > 0 || !families[f].named)
			text_add(identity, "%s ", families[f].keys[k]);
		text_add(identity, "%s", value->bytes);
	}
	return f;
}

static void write_hash(const struct cpuinfo *c, struct text *identity)
{
	struct utsname names;
	uint32_t hash = 0x811c9dc5u; /* FNV-1a */
	for (const char *at = c->rest.length ? c->rest.bytes : ""; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x01000193u;
	text_add(identity, "%s processor", uname(&names) == 0 ? names.machine : "unknown");
	if (c->rest.length)
		text_add(identity, " %08" PRIx32, hash);
}

bool processor_identify(const char *root, struct text *identity)
{
	struct cpuinfo c = {0};
	char path[512], *text = NULL;
	size_t capacity = 0;
	struct line line;
	snprintf(path, sizeof(path), "%s/proc/cpuinfo", root);
	FILE *file = fopen(path, "re");
	while (file && getline(&text, &capacity, file) > 0)
		if (split_line(text, &line))
			keep_line(&c, &line);
	if (file)
		fclose(file);
	free(text);
	size_t family = write_family(&c, identity);
	if (family == FAMILIES)
		write_hash(&c, identity);
	for (size_t f = 0; f < FAMILIES; f++)
		for (size_t k = 0; k < KEYS; k++)
			text_free(&c.values[f][k]);
	text_free(&c.rest);
	return family < FAMILIES && families[family].named;
}

int processor_is_virtual(void)
{
	char *flags = first_field_read("/proc/cpuinfo", "flags", ':');
	const int found = !flags ? -1 : strstr(flags, " hypervisor") != NULL;
	free(flags);
	return found;
}
