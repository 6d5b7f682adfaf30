/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/nccl_tests/nccl_tests_args.h"
#include "collectives/nccl_tests/nccl_tests_rates.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const types[] = {"i32", "i64", "f32", "f64", NULL};
static const char *const ops[] = {"sum", "max", NULL};
static const struct axis axes[] = {{.name = "type", .kind = AXIS_WORD, .words = types},
				   {.name = "op", .kind = AXIS_WORD, .words = ops},
				   {.name = "size", .kind = AXIS_SIZE},
				   {0}};
static const struct axis one_axis[] = {{.name = "size", .kind = AXIS_SIZE}, {0}};
static const struct bench of_ranks = {.name = "x/ranks", .axes = axes},
			  of_devices = {.name = "x/devices", .axes = one_axis};
static const struct nccl_tests_program ranks = {.bench = &of_ranks, .reduces = true, .ranks = true},
				       devices = {.bench = &of_devices, .reduces = true},
				       gather = {.bench = &of_devices};

/* Words between blanks. */
static int translate_line(const struct nccl_tests_program *program, const char *line,
			  struct nccl_tests_args *args)
{
	static char text[8000];
	static char *argv[600];
	char *rest = NULL;
	int argc = 0;
	snprintf(text, sizeof(text), "program %s", line);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	return nccl_tests_args_translate(program, argc, argv, args);
}

static void expect_words(const struct nccl_tests_program *program, const char *line,
			 const char *wanted)
{
	struct nccl_tests_args args;
	char got[1000] = "";
	int status = translate_line(program, line, &args);
	if (status)
		printf("# %s: %s\n", line, err_text());
	require(status == 0);
	for (int i = 1; i < args.argc; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i > 1 ? " " : "",
			 args.argv[i]);
	if (strcmp(got, wanted) != 0)
		printf("# %s: '%s', not '%s'\n", line, got, wanted);
	expect(strcmp(got, wanted) == 0);
}

static void expect_error(const struct nccl_tests_program *program, const char *line,
			 const char *part)
{
	struct nccl_tests_args args;
	int status = translate_line(program, line, &args);
	if (status != -EINVAL || !strstr(err_text(), part))
		printf("# %s: %d, '%s' without '%s'\n", line, status, err_text(), part);
	expect(status == -EINVAL);
	expect(strstr(err_text(), part) != NULL);
	expect(strchr(err_text(), '\n') == NULL);
}

/* 32M to 32M by 1M unless something else is said, as nccl-tests has it. */
static void sizes_are_theirs(void)
{
	expect_words(&ranks, "-b 8 -e 128M -f 2", "--size 8:134217728:x2");
	expect_words(&ranks, "-b 8 -e 128M", "--size 8:134217728:+1048576");
	expect_words(&ranks, "-b 8 -e 128 -i 8", "--size 8:128:+8");
	expect_words(&ranks, "-b 8 -e 128 -f 1", "--size 8:128:+1048576");
	expect_words(&ranks, "-f 2", "--size 33554432");
	expect_words(&ranks, "-b 1G -e 1g", "--size 1073741824");
	expect_words(&ranks, "-e 64M", "--size 33554432:67108864:+1048576");
	expect_words(&ranks, "-b 16M", "--size 16777216:33554432:+1048576");
	expect_words(&ranks, "-b 1.5k -e 1.5KiB", "--size 1536");
	expect_words(&ranks, "-b 32KB -e 32K", "--size 32768");
	expect_words(&ranks, "-n 5", "--min-samples 5 --max-samples 5");
	expect_words(&ranks, "-b8 -e64 -f2", "--size 8:64:x2");
	expect_words(&ranks, "-b 4 -b 8 -e 8", "--size 8");
	expect_words(&ranks, "--minbytes 8 --maxbytes=64 --stepfactor 2", "--size 8:64:x2");
	expect_words(&ranks, "--minbytes=8 --maxbytes=64 --stepbytes=8", "--size 8:64:+8");
}

/* setupArgs() and each collective's getCollByteCount() there: elements, then parts of whole 16
 * bytes. */
static void sizes_are_rounded_as_there(void)
{
	static const struct {
		uint64_t size, element, parts, bytes;
	} known[] = {{4, 4, 1, 4},
		     {4, 8, 1, 0},
		     {1001, 4, 1, 1000},
		     {1001, 8, 1, 1000},
		     {8, 4, 2, 0},
		     {32, 4, 2, 32},
		     {32, 8, 3, 0},
		     {64, 4, 3, 48},
		     {100, 4, 2, 96},
		     {4096, 8, 3, 4080},
		     {128 << 20, 4, 3, 134217696},
		     {UINT64_C(8) << 30, 4, 8, UINT64_C(8) << 30}};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		expect(nccl_tests_bytes(known[i].size, known[i].element, known[i].parts) ==
		       known[i].bytes);
}

static void others_are_options(void)
{
	expect_words(&ranks, "-w 5 -c 1 --seed 3", "--warm-up 5 --check rounds --seed 3");
	expect_words(&ranks, "--warmup_iters=0 --check 0", "--warm-up 0 --check off");
	expect_words(&ranks, "--check every --op max", "--check every --op max");
	expect_words(&ranks, "-o max -d double", "--op max --type f64");
	expect_words(&ranks, "-d int32 --datatype int64", "--type i32 --type i64");
	expect_words(&ranks, "-g 1 -t 1", "");
	expect_words(&devices, "-o sum -d float --op sum --datatype=float", "");
	expect_words(&gather, "-d float", "");
	expect_words(&devices, "-z 3 -m 1 -G 0 -C 0 -a 3 --run_cycles 1 -T 0", "");
	expect_words(&devices, "--device sim -v --help -h", "--device sim -v --help -h");
	expect_words(&devices, "", "");
}

static void devices_are_counted(void)
{
	struct nccl_tests_args args;
	expect_words(&devices, "-g 4 --device sim:h100", "--device sim:h100 --device sim:h100:0-3");
	expect_words(&devices, "-t 2 -g 3 --device=sim", "--device=sim --device sim:0-5");
	expect_words(&devices, "-g 2 --device sim:./a:1.model",
		     "--device sim:./a:1.model --device sim:./a:1.model:0-1");
	expect_words(&devices, "--device sim:0-3", "--device sim:0-3");
	require(translate_line(&devices, "-t 2 -g 4", &args) == 0);
	expect(args.devices == 8);
	expect(args.argc == 1);
	require(translate_line(&devices, "", &args) == 0);
	expect(args.devices == 0);
}

/* No flag is ignored: each says what is wrong, and with which flag. */
static void bad_flags(void)
{
	static const struct {
		const struct nccl_tests_program *program;
		const char *line, *part;
	} table[] = {
		{&ranks, "-b", "-b needs a value"},
		{&ranks, "--datatype", "--datatype needs a value"},
		{&ranks, "-b 64M", "exceeds"},
		{&ranks, "-b 8 -e 4", "exceeds"},
		{&ranks, "-b x", "-b (--minbytes): 'x' is not a size"},
		{&ranks, "-b 8Q", "'8Q' is not a size"},
		{&ranks, "-b 8Mx", "'8Mx' is not a size"},
		{&ranks, "-b -8", "'-8' is not a size"},
		{&ranks, "-b 1e3", "'1e3' is not a size"},
		{&ranks, "-b 1..5", "is not a size"},
		{&ranks, "-b 99999999999999999999999999999999999999999999999", "is not a size"},
		{&ranks, "-b= -e 8", "'=' is not a size"},
		{&ranks, "--minbytes= -e 8", "'' is not a size"},
		{&ranks, "-b 8 -e 64 -f 2 -i 8", "exclude each other"},
		{&ranks, "-b 8 --size 64", "exclude --size"},
		{&ranks, "-f x", "-f (--stepfactor)"},
		{&ranks, "-n 0", "-n (--iters): 0 is not within 1..10000"},
		{&ranks, "-n many", "-n (--iters)"},
		{&ranks, "-w -1", "-w (--warmup_iters)"},
		{&ranks, "-c 2", "-c (--check): unknown value '2'; values: 0, 1"},
		{&ranks, "-o prod", "values: sum, max"},
		{&ranks, "-o all", "'all' is not supported; values: sum, max"},
		{&ranks, "-d half", "values: int32, int64, float, double"},
		{&devices, "-d double", "'double' is not supported; values: float"},
		{&devices, "-o max", "values: sum"},
		{&gather, "-o sum", "this program reduces nothing"},
		{&ranks, "-g 8", "a rank has one device"},
		{&ranks, "-t 2", "a rank has one device"},
		{&devices, "-g 0", "-g (--ngpus)"},
		{&devices, "-g 65", "-g (--ngpus)"},
		{&devices, "-g 64 -t 2", "is 128; at most 64"},
		{&devices, "-g 2 --device sim:0-3", "exclude the devices of --device sim:0-3"},
		{&devices, "-m 4", "-m (--agg_iters): '4' is not supported, only 1: each"},
		{&devices, "-z 0", "-z (--blocking): '0' is not supported"},
		{&devices, "-r 0", "no root"},
		{&devices, "-J a.json", "--out FILE"},
		{&devices, "--cudagraph=3", "-G (--cudagraph): '3' is not supported, only 0"},
		{&devices, "-V 4", "-V (--device_cta_count)"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		expect_error(table[i].program, table[i].line, table[i].part);
}

static void too_many_arguments(void)
{
	char line[4000] = "";
	for (int i = 0; i < 130; i++)
		strcat(line, "-v ");
	expect_error(&ranks, line, "more than 127 arguments");
}

static void options_have_values(void)
{
	struct nccl_tests_args args;
	require(translate_line(&ranks, "--a 1 --device sim --device=hip:0 --devices", &args) == 0);
	expect(strcmp(nccl_tests_args_value(&args, "device"), "hip:0") == 0);
	expect(strcmp(nccl_tests_args_value(&args, "a"), "1") == 0);
	expect(nccl_tests_args_value(&args, "devices") == NULL);
	expect(nccl_tests_args_value(&args, "b") == NULL);
}

int main(void)
{
	test(sizes_are_theirs);
	test(sizes_are_rounded_as_there);
	test(others_are_options);
	test(devices_are_counted);
	test(bad_flags);
	test(too_many_arguments);
	test(options_have_values);
	return test_done();
}
