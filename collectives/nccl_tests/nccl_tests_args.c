/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/nccl_tests/nccl_tests_args.h"
#include "lib/err.h"
#include "lib/text.h"
#include "lib/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TAKEN "-b -e -i -f -n -w -c -o -d -t -g"
/* As many as the harness takes. */
#define MAX_SAMPLES 10000
/* Words that an argument becomes, at most, and those of sizes and devices. */
enum { WORDS_OF_ONE = 4, WORDS_AT_END = 4 };

const char nccl_tests_notes[] =
	"Flags of nccl-tests with their meaning there: " TAKEN
	" (-c 0 or 1) and their long forms, as in -b 8 -e 128M -f 2 -n 20 -w 5. Others are "
	"accepted where they ask for what is done anyway, such as -m 1 and -z 3. --format "
	"nccl-tests prints its table (version 2.19.6), one algorithm a table, at the end.";

struct translation {
	const struct nccl_tests_program *program;
	struct nccl_tests_args *args;
	bool sized;
	uint64_t from, to, step, factor; /* step UINT64_MAX: not given; factor 0: none */
	uint64_t threads, devices;       /* 0: not given */
};

/* A flag without `why` is taken. The others ask for what is done anyway where their value is
 * `same`. */
struct flag {
	char letter;
	const char *name, *same, *why;
	int (*take)(struct translation *t, const char *value, uint64_t *at);
	size_t at; /* in struct translation, of the number that `take` gets */
};

static void append_word(struct nccl_tests_args *args, const char *word)
{
	args->argv[args->argc++] = (char *)(unsigned long)word;
}

static void append_option(struct nccl_tests_args *args, const char *option, const char *value)
{
	append_word(args, option);
	append_word(args, value);
}

const char *nccl_tests_args_value(const struct nccl_tests_args *args, const char *name)
{
	const char *value = NULL;
	size_t length = strlen(name);
	for (int i = 1; i < args->argc; i++) {
		if (strncmp(args->argv[i], "--", 2) != 0 ||
		    strncmp(args->argv[i] + 2, name, length) != 0)
			continue;
		if (args->argv[i][2 + length] == '=')
			value = args->argv[i] + 3 + length;
		else if (!args->argv[i][2 + length] && i + 1 < args->argc)
			value = args->argv[i + 1];
	}
	return value;
}

static const struct axis *find_axis(const struct bench *b, const char *name)
{
	for (const struct axis *a = b->axes; a && a->name; a++)
		if (strcmp(a->name, name) == 0)
			return a;
	return NULL;
}

/* ------------------------------------------------------------------ values */

/* A number as nccl-tests reads it: K, M and G are powers of 1024, and what follows them is
 * nothing, B or iB. */
static int parse_size(const char *text, uint64_t *bytes_p)
{
	char number[40];
	size_t digits = strspn(text, "0123456789.");
	const char *unit = text + digits, *after = unit + (*unit != '\0');
	double value, scale = 1.0;
	if (digits == 0 || digits >= sizeof(number))
		return err_note(-EINVAL, "'%s' is not a size; examples: 8, 32K, 1.5G", text);
	memcpy(number, text, digits);
	number[digits] = '\0';
	for (const char *u = "KMG"; *u && *unit; u++) {
		scale *= 1024.0;
		if ((*unit & ~0x20) == *u)
			break;
	}
	bool known = !*unit || (strchr("KkMmGg", *unit) &&
				(!*after || strcmp(after, "B") == 0 || strcmp(after, "iB") == 0));
	if (!known || units_parse_real(number, 0.0, 1e15, &value))
		return err_note(-EINVAL, "'%s' is not a size; examples: 8, 32K, 1.5G", text);
	*bytes_p = (uint64_t)(value * scale);
	return 0;
}

static int take_size(struct translation *t, const char *value, uint64_t *at)
{
	t->sized = true;
	return parse_size(value, at);
}

static int take_factor(struct translation *t, const char *value, uint64_t *at)
{
	t->sized = true;
	return units_parse_integer(value, 0, 1u << 20, &t->factor);
}

/* Counts are handed on as they were written. */
static int take_samples(struct translation *t, const char *value, uint64_t *at)
{
	uint64_t count;
	int status = units_parse_integer(value, 1, MAX_SAMPLES, &count);
	append_option(t->args, "--min-samples", value);
	append_option(t->args, "--max-samples", value);
	return status;
}

static int take_warm_up(struct translation *t, const char *value, uint64_t *at)
{
	uint64_t count;
	append_option(t->args, "--warm-up", value);
	return units_parse_integer(value, 0, MAX_SAMPLES, &count);
}

static int take_check(struct translation *t, const char *value, uint64_t *at)
{
	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
		return err_note(-EINVAL,
				"unknown value '%s'; values: 0, 1; --check every checks the result "
				"of every execution",
				value);
	append_option(t->args, "--check", *value == '1' ? "rounds" : "off");
	return 0;
}

static bool has_word(const char *const *words, const char *word)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words != NULL;
}

/* The word of an axis, or the only one that a program without it knows; `words` are pairs of theirs
 * and ours. */
static int take_word(struct translation *t, const char *option, const char *const words[][2],
		     const char *only, const char *value)
{
	const struct axis *axis = find_axis(t->program->bench, option + 2);
	char known[100] = "";
	size_t used = 0;
	if (!axis && strcmp(value, only) == 0)
		return 0;
	for (size_t i = 0; axis && words[i][0]; i++) {
		if (!has_word(axis->words, words[i][1]))
			continue;
		if (strcmp(value, words[i][0]) == 0) {
			append_option(t->args, option, words[i][1]);
			return 0;
		}
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
					 used ? ", " : "", words[i][0]);
	}
	return err_note(-EINVAL, "'%s' is not supported; values: %s", value, axis ? known : only);
}

static int take_type(struct translation *t, const char *value, uint64_t *at)
{
	static const char *const types[][2] = {{"int32", "i32"},
					       {"int64", "i64"},
					       {"float", "f32"},
					       {"double", "f64"},
					       {NULL, NULL}};
	return take_word(t, "--type", types, "float", value);
}

static int take_operation(struct translation *t, const char *value, uint64_t *at)
{
	static const char *const ops[][2] = {{"sum", "sum"}, {"max", "max"}, {NULL, NULL}};
	if (!t->program->reduces)
		return err_note(-EINVAL, "this program reduces nothing");
	return take_word(t, "--op", ops, "sum", value);
}

static int take_devices(struct translation *t, const char *value, uint64_t *at)
{
	int status = units_parse_integer(value, 1, DEV_MAX, at);
	if (status == 0 && t->program->ranks && *at != 1)
		return err_note(-EINVAL, "a rank has one device: start a rank for each");
	return status;
}

/* ------------------------------------------------------------------ flags */

static const struct flag flags[] = {
	{'b', "minbytes", .take = take_size, .at = offsetof(struct translation, from)},
	{'e', "maxbytes", .take = take_size, .at = offsetof(struct translation, to)},
	{'i', "stepbytes", .take = take_size, .at = offsetof(struct translation, step)},
	{'f', "stepfactor", .take = take_factor},
	{'n', "iters", .take = take_samples},
	{'w', "warmup_iters", .take = take_warm_up},
	{'c', "check", .take = take_check},
	{'o', "op", .take = take_operation},
	{'d', "datatype", .take = take_type},
	{'t', "nthreads", .take = take_devices, .at = offsetof(struct translation, threads)},
	{'g', "ngpus", .take = take_devices, .at = offsetof(struct translation, devices)},
	{'m', "agg_iters", "1", "each collective is timed by itself"},
	{'N', "run_cycles", "1", "a run measures each size once"},
	{'a', "average", "3", "the time is that of the slowest rank"},
	{'z', "blocking", "3", "a collective ends before the next begins, outside the time"},
	{'r', "root", NULL, "these collectives have no root"},
	{'p', "parallel_init", "0", "one thread initialises the devices of a process"},
	{'y', "stream_null", "0", "work is in streams of its own"},
	{'T', "timeout", "0", "--budget bounds the time"},
	{'G', "cudagraph", "0", "collectives are not replayed from a graph"},
	{'C', "report_cputime", "0", "the time is that of the collective"},
	{'S', "report_timestamps", "0", "--format json has when the run began"},
	{'J', "output_file", NULL, "--out FILE appends records"},
	{'R', "local_register", "0", "--algorithm selects what is measured"},
	{'x', "cta_policy", NULL, "--algorithm selects what is measured"},
	{'D', "device_implementation", "0", "--algorithm selects what is measured"},
	{'V', "device_cta_count", NULL, "--algorithm selects what is measured"},
	{'M', "memory", "0", "use of memory is not reported"},
	{'u', "unalign", "0", "vectors are aligned"},
	{'I', "per_iter_timing", "0", "--format json has every sample"},
	{'K', "per_iter_skip", "0", "--warm-up discards the first samples"},
};

static int take_flag(struct translation *t, const struct flag *flag, const char *value)
{
	if (flag->take)
		return flag->take(t, value, (void *)((char *)t + flag->at));
	if (flag->same && strcmp(value, flag->same) == 0)
		return 0;
	return err_note(-EINVAL, "'%s' is not supported%s%s: %s; flags of nccl-tests: " TAKEN,
			value, flag->same ? ", only " : "", flag->same ? flag->same : "",
			flag->why);
}

/* Value of -X, -XVALUE, --NAME and --NAME=VALUE; NULL: another flag. */
static const char *match_flag(const struct flag *flag, const char *word)
{
	size_t length = strlen(flag->name);
	if (word[0] != '-')
		return NULL;
	if (word[1] == flag->letter)
		return word + 2;
	if (word[1] != '-' || strncmp(word + 2, flag->name, length) != 0)
		return NULL;
	return word[2 + length] == '=' || !word[2 + length] ? word + 2 + length : NULL;
}

/* The flag that a word is, with the value in it or in the next one; NULL: it is an option of the
 * suite. */
static const struct flag *find_flag(const struct bench *b, const char *word, const char *next,
				    const char **value_p, bool *uses_next_p)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const char *rest = match_flag(&flags[i], word);
		bool is_long = word[1] == '-';
		if (!rest)
			continue;
		*uses_next_p = !*rest;
		*value_p = !*rest ? next : rest + is_long;
		bool is_number = *value_p && strspn(*value_p, "0123456789") == strlen(*value_p);
		if (is_long &&
		    (find_axis(b, flags[i].name) || (flags[i].letter == 'c' && !is_number)))
			return NULL;
		return &flags[i];
	}
	return NULL;
}

static int take_words(struct translation *t, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const char *value = NULL, *word = argv[i];
		char cause[ERR_TEXT];
		bool uses_next = false;
		const struct flag *flag =
			i ? find_flag(t->program->bench, word, i + 1 < argc ? argv[i + 1] : NULL,
				      &value, &uses_next)
			  : NULL;
		if (!flag) {
			append_word(t->args, word);
			continue;
		}
		if (!value)
			return err_note(-EINVAL, "%s needs a value", word);
		i += uses_next;
		if (take_flag(t, flag, value) == 0)
			continue;
		text_fit(cause, sizeof(cause), "%s", err_text());
		return err_note(-EINVAL, "-%c (--%s): %s", flag->letter, flag->name, cause);
	}
	return 0;
}

/* ------------------------------------------------------------------ what several flags say */

static int append_sizes(struct translation *t)
{
	struct nccl_tests_args *args = t->args;
	const uint64_t step = t->step == UINT64_MAX ? 1 << 20 : t->step;
	bool by_factor = t->factor > 1;
	if (!t->sized)
		return 0;
	if (nccl_tests_args_value(args, "size"))
		return err_note(-EINVAL, "-b, -e, -i and -f exclude --size");
	if (by_factor && t->step != UINT64_MAX)
		return err_note(-EINVAL, "-i and -f exclude each other");
	if (t->from > t->to)
		return err_note(-EINVAL,
				"the first size (-b, default 32M) exceeds the last (-e, default "
				"32M): %" PRIu64 ", %" PRIu64,
				t->from, t->to);
	if (t->from == t->to)
		snprintf(args->size, sizeof(args->size), "%" PRIu64, t->from);
	else
		snprintf(args->size, sizeof(args->size), "%" PRIu64 ":%" PRIu64 ":%c%" PRIu64,
			 t->from, t->to, by_factor ? 'x' : '+', by_factor ? t->factor : step);
	append_option(args, "--size", args->size);
	args->sizes_given = true;
	return 0;
}

/* True if the spec ends with the indices of its devices: ":0", ":0,2", ":0-7". */
static bool has_indices(const char *spec)
{
	const char *last = strrchr(spec, ':');
	return last && last[1] && strspn(last + 1, "0123456789,-") == strlen(last + 1);
}

static int append_devices(struct translation *t)
{
	struct nccl_tests_args *args = t->args;
	const char *spec = nccl_tests_args_value(args, "device");
	uint64_t devices = (t->threads ? t->threads : 1) * (t->devices ? t->devices : 1);
	if (t->program->ranks || (!t->threads && !t->devices))
		return 0;
	if (devices > DEV_MAX)
		return err_note(-EINVAL, "-t times -g is %" PRIu64 "; at most %d", devices,
				DEV_MAX);
	if (!spec) {
		args->devices = (unsigned)devices;
		return 0;
	}
	if (has_indices(spec))
		return err_note(-EINVAL, "-t and -g exclude the devices of --device %s", spec);
	int length =
		snprintf(args->device, sizeof(args->device), "%s:0-%" PRIu64, spec, devices - 1);
	if (length >= (int)sizeof(args->device))
		return err_note(-EINVAL, "--device is too long for -t and -g");
	append_option(args, "--device", args->device);
	return 0;
}

int nccl_tests_args_translate(const struct nccl_tests_program *program, int argc, char **argv,
			      struct nccl_tests_args *args)
{
	struct translation t = {.program = program,
				.args = args,
				.from = 32 << 20,
				.to = 32 << 20,
				.step = UINT64_MAX};
	*args = (struct nccl_tests_args){.argc = 0};
	if (WORDS_OF_ONE * argc + WORDS_AT_END > NCCL_TESTS_ARGS_MAX)
		return err_note(-EINVAL, "more than %d arguments",
				(NCCL_TESTS_ARGS_MAX - WORDS_AT_END) / WORDS_OF_ONE);
	int status = take_words(&t, argc, argv);
	TRY(status, append_sizes(&t));
	return TRY(status, append_devices(&t));
}
