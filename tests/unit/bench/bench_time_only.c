/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The harness on a device without data: nothing is poisoned or checked, and cases stay valid.
 */
#include "bench/bench_alloc.h"
#include "lib/err.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#define UNCHECKED                                                                                  \
	"\"check\":{\"status\":\"unverified\",\"detail\":\"the device simulates time without "     \
	"data\""

#define COPY (UINT64_C(64) << 30)

static unsigned setups, calls;

static int setup(struct bench_case *c)
{
	setups++;
	if (bench_has_results(c) || bench_checked(c))
		return err_note(-EFAULT, "there is data");
	*(void **)c->state = bench_alloc(c, DEV_MEM_DEVICE, 2 * COPY);
	return 0;
}

static int copy_once(struct bench_case *c, long unused)
{
	char *const *memory = c->state, *bytes = *memory;
	return dev_copy(c->dev, c->stream, bytes, bytes + COPY, COPY);
}

static int poison(struct bench_case *c, long unused)
{
	calls++;
	return 0;
}

static int check(struct bench_case *c, long unused)
{
	calls++;
	return bench_wrong("nothing is right");
}

static const struct bench_variant variants[] = {{"copy", BENCH_DEVICE}, {0}};

static const struct bench bench = {
	.name = "test/time_only",
	.question = "does the harness need data?",
	.formula = "seconds",
	.timed = "copies",
	.variants = variants,
	.state_bytes = sizeof(void *),
	.setup = setup,
	.once = copy_once,
	.poison = poison,
	.check = check,
};

static char output[1 << 16];

static int run_with_check(const char *when)
{
	char path[] = "/tmp/gpusig-XXXXXX.model", device[64];
	int file = mkstemps(path, 6);
	require(file >= 0 &&
		dprintf(file, "like = quiet\ndata = none\nmemory_bytes = 1024G\n") > 0);
	close(file);
	snprintf(device, sizeof(device), "sim:%s", path);
	setups = calls = 0;
	int code = run_captured(&bench, output, "--device", device, "--format", "json", "--check",
				when);
	unlink(path);
	require(setups == 1);
	return code;
}

static void nothing_is_checked_and_no_case_is_flagged(void)
{
	static const char *const when[] = {"rounds", "every", "end"};
	for (size_t i = 0; i < 3; i++) {
		expect(run_with_check(when[i]) == 0);
		expect(calls == 0);
		expect(strstr(output, UNCHECKED) != NULL);
		expect(strstr(output, "\"validity\":{\"valid\":true,\"flags\":[]}") != NULL);
	}
}

static void a_long_case_takes_its_minimum_of_samples(void)
{
	expect(run_with_check("rounds") == 0);
	expect(strstr(output, "\"n\":10,") != NULL);
	const char *median = strstr(output, "\"median_s\":");
	require(median != NULL);
	expect(strtod(median + strlen("\"median_s\":"), NULL) > 0.5);
}

static void checks_that_are_switched_off_are_a_flag(void)
{
	expect(run_with_check("off") == 3);
	expect(strstr(output, "\"check\":{\"status\":\"skipped\",\"detail\":\"--check off\"") !=
	       NULL);
	expect(strstr(output, "\"flag\":\"unverified\"") != NULL);
}

int main(void)
{
	test(nothing_is_checked_and_no_case_is_flagged);
	test(a_long_case_takes_its_minimum_of_samples);
	test(checks_that_are_switched_off_are_a_flag);
	return test_done();
}
