/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/run/options.h"
#include "bench/out.h"
#include "bench/shape.h"
#include "lib/err.h"
#include "lib/provenance.h"
#include "lib/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_GOAL 0.01
#define DEFAULT_MIN_SAMPLES 10
/* More samples of a virtual clock cost real time and give no more accuracy. */
#define VIRTUAL_MAX_SAMPLES 200
/* Bounds the memory; more samples hardly improve a median. */
#define MAX_SAMPLES 10000

const char *const bench_check_words[] = {"off", "end", "rounds", "every", NULL};

static int take_text(const char *text, void *slot)
{
	if (!*text)
		return err_note(-EINVAL, "must not be empty");
	*(const char **)slot = text;
	return 0;
}

static int take_budget(const char *text, void *slot) { return units_parse_seconds(text, slot); }
static int take_seed(const char *text, void *slot)
{
	return units_parse_integer(text, 0, UINT64_MAX, slot);
}
static int take_samples(const char *text, void *slot)
{
	return units_parse_integer(text, 1, MAX_SAMPLES, slot);
}
static int take_warm_up(const char *text, void *slot)
{
	struct bench_warm_up *warm_up = slot;
	warm_up->given = true;
	return units_parse_integer(text, 0, MAX_SAMPLES, &warm_up->rounds);
}
static int take_goal(const char *text, void *slot)
{
	return units_parse_real(text, 1e-4, 1.0, slot);
}

static int take_check(const char *text, void *slot)
{
	for (int i = 0; bench_check_words[i]; i++)
		if (strcmp(text, bench_check_words[i]) == 0) {
			*(enum bench_check_when *)slot = (enum bench_check_when)i;
			return 0;
		}
	return err_note(-EINVAL, "unknown value '%s'; values: every rounds end off", text);
}

static int take_switch(const char *text, void *slot)
{
	*(bool *)slot = true;
	return 0;
}

/* One row gives parsing, help and order. Without `value` it is a switch; take NULL: one that sets
 * the mode. */
static const struct option {
	const char *name, *value, *help;
	int (*take)(const char *text, void *slot);
	size_t offset;
	enum bench_mode mode;
} options[] = {
	{"device", "SPEC",
	 "host, host:0,1 (cores divided), sim, sim:MODEL:0-7, ... (default: a GPU, else host)",
	 take_text, offsetof(struct bench_options, device), BENCH_RUN},
	{"budget", "TIME",
	 "wall time for the whole program, such as 10s or 2m (default: half a second per case)",
	 take_budget, offsetof(struct bench_options, budget_s), BENCH_RUN},
	{"goal", "SHARE",
	 "stop when the 95 % interval of the median is within this share (default 0.01)", take_goal,
	 offsetof(struct bench_options, goal), BENCH_RUN},
	{"min-samples", "N", "minimum samples per variant (default 10)", take_samples,
	 offsetof(struct bench_options, min_samples), BENCH_RUN},
	{"max-samples", "N",
	 "maximum samples per variant (default 10000; 200 where time is virtual)", take_samples,
	 offsetof(struct bench_options, max_samples), BENCH_RUN},
	{"warm-up", "N", "rounds of samples discarded first (default: until times are steady)",
	 take_warm_up, offsetof(struct bench_options, warm_up), BENCH_RUN},
	{"seed", "N", "seed of data, order and simulated jitter (default 1)", take_seed,
	 offsetof(struct bench_options, seed), BENCH_RUN},
	{"check", "every|rounds|end|off",
	 "check the result of every execution; after samples, in a tenth of the time, and at the "
	 "end (default); at the end; never",
	 take_check, offsetof(struct bench_options, check), BENCH_RUN},
	{"format", "table|json", "stdout for people or as records (default table)", take_text,
	 offsetof(struct bench_options, format_word), BENCH_RUN},
	{"out", "FILE", "append records to FILE as well", take_text,
	 offsetof(struct bench_options, out), BENCH_RUN},
	{"done", "FILE",
	 "skip the cases whose keys FILE lists, one per line; a tab and the value of the curve "
	 "with cliffs may follow",
	 take_text, offsetof(struct bench_options, done), BENCH_RUN},
	{"cases", "FILE", "only the cases whose keys FILE lists, one per line", take_text,
	 offsetof(struct bench_options, cases), BENCH_RUN},
	{"progress", "FILE",
	 "keep the running case and the latest headline number in FILE, as JSON", take_text,
	 offsetof(struct bench_options, progress), BENCH_RUN},
	{"verbose", NULL, "or -v: also show mechanisms, facts, the reasons of marks, and libraries",
	 take_switch, offsetof(struct bench_options, verbose), BENCH_RUN},
	{"headline", NULL, "only the cases that hold a headline number", take_switch,
	 offsetof(struct bench_options, headline), BENCH_RUN},
	{"headline-variants", NULL, "only the variants that a case's headline numbers need",
	 take_switch, offsetof(struct bench_options, headline_variants), BENCH_RUN},
	{"no-references", NULL, "without the variants that others are compared with", take_switch,
	 offsetof(struct bench_options, no_references), BENCH_RUN},
	{"full", NULL, "more sizes and shapes (takes longer)", take_switch,
	 offsetof(struct bench_options, full), BENCH_RUN},
	{"list", NULL,
	 "print the keys of the cases that would run, without those added at cliffs; with --format "
	 "json also their headline numbers",
	 NULL, 0, BENCH_LIST},
	{"about", NULL, "print the description of this program, as JSON", NULL, 0, BENCH_ABOUT},
	{"devices", NULL, "print the backends and their devices, as JSON lines", NULL, 0,
	 BENCH_DEVICES},
	{"version", NULL, "print the version and how it was built", NULL, 0, BENCH_VERSION},
	{"help", NULL, "or -h: print this help", NULL, 0, BENCH_HELP},
};
enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

size_t bench_axis_count(const struct bench *b)
{
	size_t n = 0;
	while (b->axes && b->axes[n].name)
		n++;
	return n;
}

size_t bench_variant_count(const struct bench *b)
{
	size_t n = 0;
	while (b->variants && b->variants[n].name)
		n++;
	return n;
}

static const char *variant_option(const struct bench *b)
{
	return b->variant_option ? b->variant_option : "variant";
}

static int unknown_option(const struct bench *b, const char *name)
{
	char names[1000] = "";
	size_t used = 0, axes = bench_axis_count(b);
	for (size_t i = 0; i < axes; i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, " --%s",
					 b->axes[i].name);
	if (b->variants)
		used += (size_t)snprintf(names + used, sizeof(names) - used, " --%s",
					 variant_option(b));
	for (size_t i = 0; i < OPTIONS; i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, " --%s",
					 options[i].name);
	return err_note(-EINVAL, "unknown option '%s'; options:%s", name, names);
}

static int check_variants(const struct bench *b, const char *text)
{
	const char *words[BENCH_VARIANTS + 1] = {NULL};
	for (size_t i = 0; i < bench_variant_count(b); i++)
		words[i] = b->variants[i].name;
	struct axis_list list;
	int status = axis_parse(
		&(struct axis){.name = variant_option(b), .kind = AXIS_WORD, .words = words}, text,
		true, NULL, &list);
	if (status == 0)
		axis_free(&list);
	return status;
}

/* Take an option of this program: an axis, or the list of variants. Returns 1 when it is
 * neither. */
static int take_program_option(const struct bench *b, const char *name, const char *value,
			       struct bench_options *o)
{
	struct axis_list list;
	if (b->variants && strcmp(name, variant_option(b)) == 0) {
		o->variants = value;
		return value ? check_variants(b, value)
			     : err_note(-EINVAL, "--%s needs a value: a list", name);
	}
	for (size_t i = 0; i < bench_axis_count(b); i++) {
		if (strcmp(name, b->axes[i].name) != 0)
			continue;
		if (!value)
			return err_note(-EINVAL, "--%s needs a value: a list", name);
		const char *defaults = b->axes[i].quick;
		int status =
			axis_parse_given(&b->axes[i], value, defaults ? defaults : "", NULL, &list);
		if (status)
			return status;
		axis_free(&list);
		o->axis[i] = value;
		return 0;
	}
	return 1;
}

static int take_harness_option(const struct option *option, const char *value,
			       struct bench_options *o)
{
	if (!option->take) {
		o->mode = option->mode;
		return 0;
	}
	if (option->value && !value)
		return err_note(-EINVAL, "--%s needs a value: %s", option->name, option->value);
	int status = option->take(value, (char *)o + option->offset);
	return status ? err_note(-EINVAL, "--%s: %s", option->name, err_text()) : 0;
}

static const struct option *find_option(const char *name)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (strcmp(options[i].name, name) == 0)
			return &options[i];
	return NULL;
}

static const char *long_option(const char *word)
{
	return strcmp(word, "-h") == 0 ? "--help" : strcmp(word, "-v") == 0 ? "--verbose" : word;
}

static int choose_format(const struct bench *b, struct bench_options *o)
{
	const char *word = o->format_word ? o->format_word : "table";
	o->json = strcmp(word, "json") == 0;
	o->format = b->format && strcmp(word, b->format->name) == 0 ? b->format : NULL;
	if (o->json || o->format || strcmp(word, "table") == 0)
		return 0;
	return err_note(-EINVAL, "--format: unknown value '%s'; values: table json%s%s", word,
			b->format ? " " : "", b->format ? b->format->name : "");
}

int bench_options_parse(const struct bench *b, int argc, char **argv, struct bench_options *o)
{
	*o = (struct bench_options){
		.goal = DEFAULT_GOAL,
		.seed = 1,
		.check = BENCH_CHECK_ROUNDS,
		.min_samples = DEFAULT_MIN_SAMPLES,
	};
	for (int i = 1; i < argc; i++) {
		char name[64];
		const char *word = long_option(argv[i]);
		if (strncmp(word, "--", 2) != 0)
			return unknown_option(b, word);
		const char *equals = strchr(word, '=');
		snprintf(name, sizeof(name), "%.*s", (int)(equals ? equals - word - 2 : 62),
			 word + 2);
		const struct option *option = find_option(name);
		bool is_switch = option && !option->value;
		if (is_switch && equals)
			return err_note(-EINVAL, "--%s takes no value", name);
		const char *value = equals                       ? equals + 1
				    : is_switch || i + 1 == argc ? NULL
								 : argv[i + 1];
		int status = option ? take_harness_option(option, value, o)
				    : take_program_option(b, name, value, o);
		if (status == 1)
			return unknown_option(b, word);
		if (status)
			return status;
		i += !equals && !is_switch;
	}
	if (o->max_samples && o->min_samples > o->max_samples)
		return err_note(-EINVAL, "--min-samples exceeds --max-samples");
	return choose_format(b, o);
}

void bench_options_resolve(struct bench_options *o, bool virtual_time)
{
	uint64_t max_samples = virtual_time ? VIRTUAL_MAX_SAMPLES : MAX_SAMPLES;
	if (o->max_samples == 0)
		o->max_samples = o->min_samples > max_samples ? o->min_samples : max_samples;
}

/* Columns at which the help of an axis, and of an option of the harness, begins. */
static const char axis_hang[] = "                 ", option_hang[] = "                           ";

static void help_axes(const struct bench *b)
{
	for (size_t i = 0; i < bench_axis_count(b); i++) {
		const struct axis *a = &b->axes[i];
		out_wrap(axis_hang, "  --%-12s %s", a->name, a->help);
		out_wrap(axis_hang, "%sdefault %s%s%s%s%s", axis_hang, a->quick,
			 a->full ? "; with --full " : "", a->full ? a->full : "",
			 a->simulated ? "; simulated " : "", a->simulated ? a->simulated : "");
		if (a->gpu_class)
			out_wrap(axis_hang, "%son a GPU %s%s%s", axis_hang, a->gpu_class,
				 a->gpu_class_full ? "; with --full " : "",
				 a->gpu_class_full ? a->gpu_class_full : "");
	}
}

static void help_variants(const struct bench *b)
{
	char names[BENCH_VARIANTS * 48] = "";
	size_t used = 0;
	if (!b->variants)
		return;
	for (size_t i = 0; i < bench_variant_count(b) && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, " %s",
					 b->variants[i].name);
	out_wrap(axis_hang, "  --%-12s variants to compare:%s (default all)", variant_option(b),
		 names);
}

void bench_options_help(const struct bench *b)
{
	out_wrap("  ", "%s: %s", b->name, b->question);
	out_print("\n");
	out_wrap("  ", "Formula: %s", b->formula);
	out_wrap("  ", "Timed: %s", b->timed);
	if (b->limits)
		out_wrap("  ", "Limits: %s", b->limits);
	out_print("\nusage: %s [--OPTION VALUE]...\n\n", b->name);
	help_axes(b);
	help_variants(b);
	out_print("\n");
	for (size_t i = 0; i < OPTIONS; i++)
		out_wrap(option_hang, "  --%-11s %-10s %s", options[i].name,
			 options[i].value ? options[i].value : "", options[i].help);
	out_print("\n");
	if (b->option_notes) {
		out_wrap("", "%s", b->option_notes);
		out_print("\n");
	}
	out_wrap("",
		 "Models of simulated devices: %s, or a file (a name with '/' or '.'); "
		 "sim:MODEL?KEY=VALUE,KEY=2x changes one.",
		 dev_backend_models("sim"));
	out_wrap("", "Sizes take k M G T, powers of two; lists are 1,2,4 or 4K:64M:x4 or parts of "
		     "a capacity: L2/2, 4LLC; default,8M adds to the default list.");
	out_wrap("", "Tables mark what is invalid with INVALID or !, and derived values that are "
		     "noisy or contended with ~.");
	out_wrap("", "Exit: 0 ok, 1 failed or wrong result, 2 usage, 3 nothing valid, 77 cannot "
		     "run here.");
}

static bool has_gemm_shapes(const struct bench *b)
{
	for (size_t a = 0; a < bench_axis_count(b); a++)
		if (b->axes[a].accept == shape_accept)
			return true;
	return false;
}

static bool has_gemm_types(const struct bench *b)
{
	for (size_t a = 0; a < bench_axis_count(b); a++)
		if (b->axes[a].types != AXIS_NO_TYPES)
			return true;
	return false;
}

void bench_options_about(const struct bench *b)
{
	struct json j = {0};
	json_object_begin(&j, NULL);
	json_string(&j, "name", b->name);
	json_string(&j, "question", b->question);
	json_string(&j, "formula", b->formula);
	json_string(&j, "timed", b->timed);
	json_string(&j, "limits", b->limits);
	json_array_begin(&j, "needs");
	for (size_t i = 0; i < DEV_CAP_COUNT; i++)
		if (b->needs >> i & 1)
			json_string(&j, NULL, dev_cap_names[i]);
	if (b->job)
		json_string(&j, NULL, "mpi");
	json_array_end(&j);
	json_integer(&j, "min_devices", b->min_devices ? b->min_devices : 1);
	json_number(&j, "share", b->share > 0.0 ? b->share : 1.0);
	json_bool(&j, "gemm_shapes", has_gemm_shapes(b));
	json_bool(&j, "gemm_types", has_gemm_types(b));
	json_array_begin(&j, "primary");
	for (const struct bench_metric *m = b->primary; m && m->metric; m++)
		json_string(&j, NULL, m->metric);
	json_array_end(&j);
	json_object_end(&j);
	if (json_finish(&j) == 0)
		out_write(j.text, j.length);
	json_free(&j);
}
