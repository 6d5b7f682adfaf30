/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/board.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "1.key=7" or "key=7", up to a comma or the end. */
static bool parse_setting(const char *item, unsigned board, const char *key, uint64_t *value_p)
{
	char *end;
	const unsigned long of = strtoul(item, &end, 10);
	const size_t length = strlen(key);
	if (end != item && *end == '.') {
		if (of != board)
			return false;
		item = end + 1;
	}
	if (strncmp(item, key, length) != 0 || item[length] != '=')
		return false;
	*value_p = strtoull(item + length + 1, &end, 0);
	if (end == item + length + 1 || (*end && *end != ',')) {
		fprintf(stderr, "fake: FAKE_BOARD: '%s' has no number\n", item);
		abort();
	}
	return true;
}

uint64_t fake_board(unsigned board, uint64_t fallback, const char *key, ...)
{
	const char *item = getenv("FAKE_BOARD");
	char name[64];
	va_list arguments;
	va_start(arguments, key);
	vsnprintf(name, sizeof(name), key, arguments);
	va_end(arguments);
	while (item && *item) {
		const char *comma = strchr(item, ',');
		parse_setting(item, board, name, &fallback);
		item = comma ? comma + 1 : NULL;
	}
	return fallback;
}

unsigned fake_pci_bus(unsigned board) { return board + (unsigned)fake_board(0, 1, "pci_bus"); }
