/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Telemetry in records and flags: on the devices that are there, with made-up samples.
 */
#include "bench/bench.h"
#include "lib/core_latency.h"
#include "lib/err.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { BYTES = 4096 };

/* Answers of the device, by the number of the call; a case calls once before and once after. */
static struct {
	unsigned asked;
	const char *throttle[8]; /* NULL: unknown */
	bool no_throttle;
	double thermal_s[8];
	unsigned clocked;
	double hz[8];                /* 0: the device's own */
	unsigned fills_before_clock; /* fills enqueued before the first reading that is kept */
	unsigned fills;
	int fails;
	bool no_host_access;
	double cpu_s;
} act;

static const struct dev_ops *real;

static int clock_rate(struct dev *d, double *hz_p)
{
	if (act.clocked == 1) /* the one before only tells what is low */
		act.fills_before_clock = act.fills;
	const double hz = act.hz[act.clocked++ % 8];
	*hz_p = hz;
	return hz > 0 ? 0 : real->clock_rate(d, hz_p);
}

static int telemetry_read(struct dev *d, struct dev_telemetry *samples, size_t *count_p)
{
	const double thermal_s = act.thermal_s[act.asked % 8];
	const char *throttle = act.throttle[act.asked++ % 8];
	if (act.fails)
		return err_note(act.fails, "the manager is gone");
	samples[0] = (struct dev_telemetry){.name = "power", .unit = "W", .number = 71.5};
	samples[1] = (struct dev_telemetry){.name = "ecc", .number = NAN, .why = "not supported"};
	samples[2] = (struct dev_telemetry){.name = "numa_node", .number = 1.0};
	samples[3] = (struct dev_telemetry){.name = "throttle", .number = NAN};
	if (act.no_throttle)
		snprintf(samples[3].name, sizeof(samples[3].name), "driver");
	snprintf(samples[3].text, sizeof(samples[3].text), "%s", throttle ? throttle : "");
	samples[4] =
		(struct dev_telemetry){.name = "thermal_time", .unit = "s", .number = thermal_s};
	*count_p = 5;
	return 0;
}

/* Called before the run record is written. */
static int admit(const struct bench_case *c)
{
	static struct dev_ops ops;
	if (c->dev->ops == &ops)
		return 0;
	real = c->dev->ops;
	ops = *real;
	ops.telemetry_read = telemetry_read;
	ops.clock_rate = clock_rate;
	for (size_t i = 0; i < c->devices->count; i++)
		c->devices->dev[i]->ops = &ops;
	if (act.no_host_access)
		c->dev->props.caps &= ~(uint32_t)DEV_CAP_HOST_ACCESS;
	return 0;
}

static int setup(struct bench_case *c)
{
	return dev_alloc(c->dev, DEV_MEM_DEVICE, BYTES, c->state);
}

static int fill_often(struct bench_case *c, long waits, uint64_t iterations)
{
	void *const *memory = c->state;
	act.fills += (unsigned)iterations;
	for (uint64_t i = 0; i < iterations; i++)
		TRY(c->status, dev_fill(c->dev, c->stream, *memory, 0, BYTES));
	return waits ? TRY(c->status, dev_stream_sync(c->dev, c->stream)) : c->status;
}

static void teardown(struct bench_case *c) { dev_free(c->dev, *(void **)c->state); }

/* The job's CPU time goes backwards, so that all busy time is that of others. */
static struct cpu_load read_load(void)
{
	struct cpu_load mark = cpu_load_now();
	mark.own_s = act.cpu_s -= 1000.0;
	return mark;
}

static const struct bench_variant variants[] = {
	{"by_device", BENCH_DEVICE}, {"by_host", BENCH_HOST, .arg = true}, {0}};
static const struct bench_job job = {.library = "none",
				     .processes = 1,
				     .hosts = 1,
				     .load = read_load,
				     .core_latency = core_latency_mean};

static char output[1 << 20];

/* One case; stdout goes to `output`. */
static int run_bench(const char *device, bool with_job)
{
	struct bench bench = {.name = "test/state",
			      .question = "what does it say?",
			      .formula = "none",
			      .timed = "fills",
			      .variants = variants,
			      .job = with_job ? &job : NULL,
			      .state_bytes = sizeof(void *),
			      .admit = admit,
			      .setup = setup,
			      .body = fill_often,
			      .teardown = teardown};
	return run_captured(&bench, output, "--device", device, "--format", "json", "--min-samples",
			    "6", "--goal", "0.0001");
}

static void reset_device(void)
{
	memset(&act, 0, sizeof(act));
	for (size_t i = 0; i < 8; i++)
		act.throttle[i] = "none";
}

static bool output_has(const char *text) { return strstr(output, text) != NULL; }

static void samples_are_in_the_records(void)
{
	reset_device();
	act.throttle[0] = NULL;
	expect(run_bench("sim", false) == 0);
	expect(output_has(
		"\"state\":{\"power\":{\"value\":71.5,\"unit\":\"W\"},\"ecc\":{\"value\":null,"
		"\"unit\":\"\",\"reason\":\"not supported\"},"
		"\"numa_node\":{\"value\":1,\"unit\":\"\"},"
		"\"throttle\":{\"value\":null,\"unit\":\"\",\"reason\":\"no reason given\"},"
		"\"thermal_time\":{\"value\":0,\"unit\":\"s\"}}"));
	/* A case has only the samples that change. */
	expect(output_has(
		"\"state\":{\"power\":{\"value\":71.5,\"unit\":\"W\"},\"throttle\":{\"value\":"
		"\"none\",\"unit\":\"\"},"
		"\"thermal_time\":{\"value\":0,\"unit\":\"s\"}},\"validity\":{\"valid\":true"));
}

static void no_telemetry_is_an_empty_object(void)
{
	reset_device();
	act.fails = -EIO;
	expect(run_bench("sim", false) == 0);
	expect(output_has(
		"\"state\":{\"state\":{\"value\":null,\"unit\":\"\",\"reason\":\"the manager "
		"is gone\"}}"));
	expect(output_has("\"state\":{},\"validity\":{\"valid\":true"));
}

static void throttled_before_or_after_is_a_flag(void)
{
	static const char *const texts[] = {"thermal slowdown", "idle"};
	for (size_t when = 1; when <= 2; when++) { /* 0 is for the run record */
		for (size_t i = 0; i < 2; i++) {
			reset_device();
			act.throttle[when] = texts[i];
			expect(run_bench("sim", false) == (i == 0 ? 3 : 0));
			expect(output_has("\"flag\":\"throttled\",\"variant\":null,\"quantity\":"
					  "null,\"reason\":"
					  "\"thermal "
					  "slowdown\"") == (i == 0));
		}
	}
	reset_device();
	act.throttle[1] = act.throttle[2] = "power brake";
	expect(run_bench("sim", false) == 3);
	expect(output_has("\"flags\":[{\"flag\":\"throttled\",\"variant\":null,\"quantity\":null,"
			  "\"reason\":\"power "
			  "brake\"}]"));
}

/* Half the best clock. A board at its power limit has it too, and one whose driver gives no reasons
 * may be at its limit. */
static void a_low_clock_counts_where_no_driver_knows(void)
{
	enum { NO_DRIVER, NO_REASONS, NO_THROTTLING, CASES };
	for (int how = 0; how < CASES; how++) {
		reset_device();
		act.hz[0] = act.hz[1] = 2e9;
		act.hz[2] = act.hz[3] = 1e9;
		act.no_throttle = how == NO_DRIVER;
		if (how == NO_REASONS)
			act.throttle[1] = act.throttle[2] = NULL;
		expect(run_bench("sim", false) == (how == NO_DRIVER ? 3 : 0));
		expect(output_has("\"clock_hz\":{\"before\":2000000000,\"after\":1000000000}"));
		expect(output_has(
			       "\"reason\":\"core clock 1.00 GHz, best of this run 2.00 GHz\"") ==
		       (how == NO_DRIVER));
	}
}

/* The first reading of a run, which the others are compared with, the one before the samples and
 * the one after them. */
static void a_low_clock_is_read_again_at_once(void)
{
	for (size_t at = 0; at < 3; at++) {
		for (size_t in_a_row = 1; in_a_row <= 2; in_a_row++) {
			reset_device();
			act.no_throttle = true;
			for (size_t i = 0; i < 8; i++)
				act.hz[i] = 2e9;
			act.hz[at] = 0.25e9;
			if (in_a_row == 2)
				act.hz[at + 1] = 0.5e9;
			const bool counts = in_a_row == 2;
			expect(run_bench("sim", false) == (counts ? 3 : 0));
			expect(output_has("\"flag\":\"throttled\"") == counts);
			expect(output_has(
				counts && at == 2 ? "{\"before\":2000000000,\"after\":500000000}"
				: counts          ? "{\"before\":500000000,\"after\":2000000000}"
					 : "{\"before\":2000000000,\"after\":2000000000}"));
		}
	}
}

static void thermal_throttling_is_a_flag(void)
{
	static const double grown_s[] = {0, 1e-9, 1e3, NAN};
	for (size_t i = 0; i < sizeof(grown_s) / sizeof(grown_s[0]); i++) {
		reset_device();
		act.thermal_s[1] = 5;
		act.thermal_s[2] = 5 + grown_s[i];
		expect(run_bench("sim", false) == (i == 2 ? 3 : 0));
		expect(output_has("\"flag\":\"throttled\",\"variant\":null,\"quantity\":null,"
				  "\"reason\":\"thermal "
				  "throttling in 1e+03 s of") == (i == 2));
	}
}

static void the_first_clock_is_that_of_a_warm_device(void)
{
	reset_device();
	expect(run_bench("sim", false) == 0);
	expect(act.clocked == 3 && act.fills_before_clock > 2);
}

static void the_throttled_device_is_named(void)
{
	reset_device();
	act.throttle[2] = "power brake"; /* the run record reads both devices; before a case the
					    last one is read first */
	expect(run_bench("sim:0,1", false) == 3);
	expect(output_has("\"flags\":[{\"flag\":\"throttled\",\"variant\":null,\"quantity\":null,"
			  "\"reason\":\"device 1: "
			  "power brake\"}]"));
}

static void contention_flags_what_the_host_does(void)
{
	reset_device();
	run_bench("host", true);
	if (!output_has("\"flag\":\"contended\""))
		skip("the kernel does not say who used the cores");
	expect(output_has("\"flag\":\"contended\",\"variant\":null"));
	expect(!output_has("\"flag\":\"contended\",\"variant\":\"by_"));
	reset_device();
	act.no_host_access = true;
	run_bench("host", true);
	expect(output_has("\"flag\":\"contended\",\"variant\":\"by_host\""));
	expect(!output_has("\"flag\":\"contended\",\"variant\":\"by_device\""));
	expect(!output_has("\"flag\":\"contended\",\"variant\":null"));
}

int main(void)
{
	test(samples_are_in_the_records);
	test(no_telemetry_is_an_empty_object);
	test(throttled_before_or_after_is_a_flag);
	test(a_low_clock_counts_where_no_driver_knows);
	test(a_low_clock_is_read_again_at_once);
	test(thermal_throttling_is_a_flag);
	test(the_first_clock_is_that_of_a_warm_device);
	test(the_throttled_device_is_named);
	test(contention_flags_what_the_host_does);
	return test_done();
}
