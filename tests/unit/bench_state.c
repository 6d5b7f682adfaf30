/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device says of itself, in records and flags: on the devices that are there, with readings put into their mouths.
 */
#include "lib/bench.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <unistd.h>

enum { BYTES = 4096 };

/* What the device answers, by how often it was asked; a case asks once before and once after. */
static struct {
	unsigned asked;
	const char *throttle[8]; /* NULL: the reading is unknown */
	double thermal_s[8];
	unsigned clocked;
	double hz[8]; /* 0: the device's own */
	unsigned fills_before_clock; /* enqueued when the clock was first asked for */
	unsigned fills;
	int fails;
	bool no_host_access;
	double cpu_s;
} act;

static const struct dev_ops *real;

static int clock_rate(struct dev *d, double *hz_p)
{
	if (!act.clocked)
		act.fills_before_clock = act.fills;
	const double hz = act.hz[act.clocked++ % 8];
	*hz_p = hz;
	return hz > 0 ? 0 : real->clock_rate(d, hz_p);
}

static int read_state(struct dev *d, struct dev_reading *readings, size_t *count_p)
{
	const double thermal_s = act.thermal_s[act.asked % 8];
	const char *throttle = act.throttle[act.asked++ % 8];
	(void)d;
	if (act.fails)
		return err_note(act.fails, "the manager is gone");
	readings[0] = (struct dev_reading){.name = "power", .unit = "W", .number = 71.5};
	readings[1] = (struct dev_reading){.name = "ecc", .number = NAN, .why = "not supported"};
	readings[2] = (struct dev_reading){.name = "numa_node", .number = 1.0};
	readings[3] = (struct dev_reading){.name = "throttle", .number = NAN};
	snprintf(readings[3].text, sizeof(readings[3].text), "%s", throttle ? throttle : "");
	readings[4] = (struct dev_reading){.name = "thermal_time", .unit = "s", .number = thermal_s};
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
	ops.read_state = read_state;
	ops.clock_rate = clock_rate;
	for (size_t i = 0; i < c->devices->count; i++)
		c->devices->dev[i]->ops = &ops;
	if (act.no_host_access)
		c->dev->props.caps &= ~(uint32_t)DEV_CAP_HOST_ACCESS;
	return 0;
}

static int setup(struct bench_case *c) { return dev_alloc(c->dev, DEV_MEM_DEVICE, BYTES, c->state); }

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	void *const *memory = c->state;
	int status = 0;
	act.fills += (unsigned)iterations;
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = dev_fill(c->dev, c->stream, *memory, 0, BYTES);
	if (status == 0 && variant == 1)
		status = dev_stream_sync(c->dev, c->stream);
	return status;
}

static void teardown(struct bench_case *c) { dev_free(c->dev, *(void **)c->state); }

/* Our own time goes backwards, so that all that is busy is others'. */
static double cpu_s(void) { return act.cpu_s -= 1000.0; }

static const struct bench_variant variants[] = {
	{.name = "by_device", .timing = BENCH_DEVICE}, {.name = "by_host", .timing = BENCH_HOST}, {0}};
static const struct bench_job job = {.library = "none", .processes = 1, .hosts = 1, .cpu_s = cpu_s};

static char output[1 << 20];

/* One case; stdout goes to `output`. */
static int run(const char *device, bool with_job)
{
	struct bench bench = {
		.name = "test/state", .question = "what does it say?", .formula = "none", .timed = "fills", .variants = variants,
		.job = with_job ? &job : NULL, .state_bytes = sizeof(void *), .admit = admit, .setup = setup, .body = body,
		.teardown = teardown};
	char *argv[] = {"state", "--device", (char *)(uintptr_t)device, "--format", "json", "--min-samples", "6", "--goal", "0.0001",
	                NULL};
	char path[] = "/tmp/gpusig-state-XXXXXX";
	int kept = dup(STDOUT_FILENO), fd = mkstemp(path);
	unlink(path);
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	int code = bench_main(&bench, 9, argv);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	ssize_t length = pread(fd, output, sizeof(output) - 1, 0);
	output[length > 0 ? length : 0] = '\0';
	close(fd);
	close(kept);
	return code;
}

static void reset(void)
{
	memset(&act, 0, sizeof(act));
	for (size_t i = 0; i < 8; i++)
		act.throttle[i] = "none";
}

static bool says(const char *text) { return strstr(output, text) != NULL; }

static void readings_are_in_the_records(void)
{
	reset();
	act.throttle[0] = NULL;
	expect(run("sim", false) == 0);
	expect(says("\"state\":{\"power\":{\"value\":71.5,\"unit\":\"W\"},\"ecc\":{\"value\":null,\"unit\":\"\",\"reason\":\"not supported\"},"
	            "\"numa_node\":{\"value\":1,\"unit\":\"\"},"
	            "\"throttle\":{\"value\":null,\"unit\":\"\",\"reason\":\"no reason given\"},"
	            "\"thermal_time\":{\"value\":0,\"unit\":\"s\"}}"));
	/* Of a case only what changes. */
	expect(says("\"state\":{\"power\":{\"value\":71.5,\"unit\":\"W\"},\"throttle\":{\"value\":\"none\",\"unit\":\"\"},"
	            "\"thermal_time\":{\"value\":0,\"unit\":\"s\"}},\"validity\":{\"valid\":true"));
}

static void a_device_that_says_nothing_is_an_empty_object(void)
{
	reset();
	act.fails = -EIO;
	expect(run("sim", false) == 0);
	expect(says("\"state\":{\"state\":{\"value\":null,\"unit\":\"\",\"reason\":\"the manager is gone\"}}"));
	expect(says("\"state\":{},\"validity\":{\"valid\":true"));
}

static void throttled_before_or_after_is_a_flag(void)
{
	static const char *const texts[] = {"thermal slowdown", "idle"};
	for (size_t when = 1; when <= 2; when++) { /* 0 is for the run record */
		for (size_t i = 0; i < 2; i++) {
			reset();
			act.throttle[when] = texts[i];
			expect(run("sim", false) == (i == 0 ? 3 : 0));
			expect(says("\"flag\":\"throttled\",\"variant\":null,\"reason\":\"thermal slowdown\"") == (i == 0));
		}
	}
	reset();
	act.throttle[1] = act.throttle[2] = "power brake";
	expect(run("sim", false) == 3);
	expect(says("\"flags\":[{\"flag\":\"throttled\",\"variant\":null,\"reason\":\"power brake\"}]"));
}

/* Half the best clock: a board at its power limit has nothing to say under "throttle". */
static void a_low_clock_counts_where_no_reasons_are_given(void)
{
	for (int tells = 0; tells < 2; tells++) {
		reset();
		act.hz[0] = 2e9;
		act.hz[1] = 1e9;
		if (!tells)
			act.throttle[1] = act.throttle[2] = NULL;
		expect(run("sim", false) == (tells ? 0 : 3));
		expect(says("\"clock_hz\":{\"before\":2000000000,\"after\":1000000000}"));
		expect(says("\"reason\":\"core clock 1.00 GHz, best of this run 2.00 GHz\"") == !tells);
	}
}

static void heat_between_two_looks_is_a_flag(void)
{
	static const double grown_s[] = {0, 1e-9, 1e3, NAN};
	for (size_t i = 0; i < sizeof(grown_s) / sizeof(grown_s[0]); i++) {
		reset();
		act.thermal_s[1] = 5;
		act.thermal_s[2] = 5 + grown_s[i];
		expect(run("sim", false) == (i == 2 ? 3 : 0));
		expect(says("\"flag\":\"throttled\",\"variant\":null,\"reason\":\"heat held the clocks back in 1e+03 s of") == (i == 2));
	}
}

static void the_first_clock_is_that_of_a_warm_device(void)
{
	reset();
	expect(run("sim", false) == 0);
	expect(act.clocked == 2 && act.fills_before_clock > 2);
}

static void of_several_devices_the_throttled_one_is_named(void)
{
	reset();
	act.throttle[2] = "power brake"; /* the run record asks both; before a case the last is asked first */
	expect(run("sim:0,1", false) == 3);
	expect(says("\"flags\":[{\"flag\":\"throttled\",\"variant\":null,\"reason\":\"device 1: power brake\"}]"));
}

static void who_takes_the_host_s_cores_disturbs_what_the_host_does(void)
{
	reset();
	run("host", true);
	if (!says("\"flag\":\"contended\""))
		skip("the kernel does not say who used the cores");
	expect(says("\"flag\":\"contended\",\"variant\":null"));
	expect(!says("\"flag\":\"contended\",\"variant\":\"by_"));
	reset();
	act.no_host_access = true;
	run("host", true);
	expect(says("\"flag\":\"contended\",\"variant\":\"by_host\""));
	expect(!says("\"flag\":\"contended\",\"variant\":\"by_device\""));
	expect(!says("\"flag\":\"contended\",\"variant\":null"));
}

int main(void)
{
	test(readings_are_in_the_records);
	test(a_device_that_says_nothing_is_an_empty_object);
	test(throttled_before_or_after_is_a_flag);
	test(a_low_clock_counts_where_no_reasons_are_given);
	test(heat_between_two_looks_is_a_flag);
	test(the_first_clock_is_that_of_a_warm_device);
	test(of_several_devices_the_throttled_one_is_named);
	test(who_takes_the_host_s_cores_disturbs_what_the_host_does);
	return test_done();
}
