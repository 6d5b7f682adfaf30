/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/dialect.h"
#include "lib/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void add(struct dialect *d, const char *word) { d->argv[d->argc++] = (char *)(unsigned long)word; }

static void add_two(struct dialect *d, const char *option, const char *value)
{
	add(d, option);
	add(d, value);
}

static int translate(struct dialect *d, char flag, const char *value)
{
	switch (flag) {
	case 'n':
		add_two(d, "--min-samples", value);
		add_two(d, "--max-samples", value);
		return 0;
	case 'w':
		add_two(d, "--warm-up", value);
		return 0;
	default:
		break;
	}
	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
		return err_note(-EINVAL, "-c %s: there are only 0 and 1", value);
	add_two(d, "--check", *value == '1' ? "on" : "off");
	return 0;
}

int dialect_translate(int argc, char **argv, struct dialect *d)
{
	const char *from = NULL, *to = NULL, *factor = "2";
	*d = (struct dialect){.argc = 0};
	if (3 * argc + 4 > DIALECT_WORDS)
		return err_note(-EINVAL, "more than %d arguments", DIALECT_WORDS / 3);
	for (int i = 0; i < argc; i++) {
		const char *word = argv[i];
		bool ours = i > 0 && word[0] == '-' && word[1] && strchr("befnwc", word[1]) && !word[2];
		if (!ours) {
			add(d, word);
			continue;
		}
		if (++i == argc)
			return err_note(-EINVAL, "%s needs a value", word);
		int status = 0;
		if (word[1] == 'b')
			from = argv[i];
		else if (word[1] == 'e')
			to = argv[i];
		else if (word[1] == 'f')
			factor = argv[i];
		else
			status = translate(d, word[1], argv[i]);
		if (status)
			return status;
	}
	if (!from && (to || strcmp(factor, "2") != 0))
		return err_note(-EINVAL, "-e and -f need -b, the first size");
	if (from) {
		int length = snprintf(d->size, sizeof(d->size), to ? "%s:%s:x%s" : "%s", from, to, factor);
		if (length >= (int)sizeof(d->size))
			return err_note(-EINVAL, "-b, -e or -f is too long");
		add_two(d, "--size", d->size);
	}
	return 0;
}
