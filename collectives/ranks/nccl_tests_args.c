/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/nccl_tests_args.h"
#include "lib/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void append_word(struct nccl_tests_args *args, const char *word)
{
	args->argv[args->argc++] = (char *)(unsigned long)word;
}

static void append_option(struct nccl_tests_args *args, const char *option, const char *value)
{
	append_word(args, option);
	append_word(args, value);
}

static int translate_flag(struct nccl_tests_args *args, char flag, const char *value)
{
	switch (flag) {
	case 'n':
		append_option(args, "--min-samples", value);
		append_option(args, "--max-samples", value);
		return 0;
	case 'w':
		append_option(args, "--warm-up", value);
		return 0;
	default:
		break;
	}
	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
		return err_note(-EINVAL, "unknown value '%s' of -c; values: 0, 1", value);
	append_option(args, "--check", *value == '1' ? "rounds" : "off");
	return 0;
}

int nccl_tests_args_translate(int argc, char **argv, struct nccl_tests_args *args)
{
	const char *from = NULL, *to = NULL, *factor = "2";
	*args = (struct nccl_tests_args){.argc = 0};
	if (3 * argc + 4 > NCCL_TESTS_ARGS_MAX)
		return err_note(-EINVAL, "more than %d arguments", NCCL_TESTS_ARGS_MAX / 3);
	for (int i = 0; i < argc; i++) {
		const char *word = argv[i];
		bool is_flag =
			i > 0 && word[0] == '-' && word[1] && strchr("befnwc", word[1]) && !word[2];
		if (!is_flag) {
			append_word(args, word);
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
			status = translate_flag(args, word[1], argv[i]);
		if (status)
			return status;
	}
	if (!from && (to || strcmp(factor, "2") != 0))
		return err_note(-EINVAL, "-e and -f need -b, the first size");
	if (from) {
		int length = snprintf(args->size, sizeof(args->size), to ? "%s:%s:x%s" : "%s", from,
				      to, factor);
		if (length >= (int)sizeof(args->size))
			return err_note(-EINVAL, "-b, -e or -f is too long");
		append_option(args, "--size", args->size);
	}
	return 0;
}
