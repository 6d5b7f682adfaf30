/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/first_line.h"

#include <stdio.h>
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
