/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/first_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool first_line_read(const char *path, char *line, size_t capacity)
{
	FILE *file = fopen(path, "re");
	const bool read = file && fgets(line, (int)capacity, file);
	if (file)
		fclose(file);
	if (read)
		line[strcspn(line, "\n")] = '\0';
	return read;
}

char *first_field_read(const char *path, const char *name, char separator)
{
	char *line = NULL, *value = NULL;
	size_t capacity = 0;
	FILE *file = fopen(path, "re");
	while (file && !value && getline(&line, &capacity, file) > 0)
		if (strncmp(line, name, strlen(name)) == 0)
			value = strchr(line, separator);
	if (file)
		fclose(file);
	if (value) {
		value++;
		value += strspn(value, " \t\"");
		value[strcspn(value, "\"\n")] = '\0';
		value = strdup(value);
	}
	free(line);
	return value;
}
