/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known truth: power, clock, temperature and energy are those of the law in
 * device/sim/machine/power.h, solved here by hand.
 */
#include "tests/unit/device/sim/sim.h"

#include <math.h>
#include <string.h>

/* 4 Gflop/s at the full clock. One GEMM of 256^3 x 2 flops takes 8.388608 ms. */
#define POWERED PLAIN "idle_watt = 50\njoule_per_flop = 50e-9\ngemm_tile = 32\n"
#define FLOPS (2.0 * 256 * 256 * 256)
#define FULL_RATE 4e9
#define FULL_WATT (50 + 50e-9 * FULL_RATE) /* 250 */

static struct dev_telemetry readings[DEV_TELEMETRY_MAX];
static size_t readings_count;

static const struct dev_telemetry *find_sample(const char *name)
{
	for (size_t i = 0; i < readings_count; i++)
		if (strcmp(readings[i].name, name) == 0)
			return &readings[i];
	return NULL;
}

static double read_number(const char *name)
{
	ok(dev_telemetry_read(sim.d, readings, &readings_count));
	require(find_sample(name) != NULL);
	return find_sample(name)->number;
}

static const char *read_word(const char *name)
{
	read_number(name);
	return find_sample(name)->text;
}

static struct {
	struct dev_stream *s;
	struct dev_gemm gemm;
} load;

static void begin_load(const char *model)
{
	const uint64_t bytes = sizeof(float) * 256 * 256;
	sim_begin(model);
	load.s = open_stream();
	load.gemm = (struct dev_gemm){.type = DEV_F32,
				      .m = 256,
				      .n = 256,
				      .k = 256,
				      .a = alloc_memory(DEV_MEM_DEVICE, bytes),
				      .b = alloc_memory(DEV_MEM_DEVICE, bytes),
				      .c = alloc_memory(DEV_MEM_DEVICE, bytes),
				      .lda = 256,
				      .ldb = 256,
				      .ldc = 256};
}

/* Seconds of so many GEMMs back to back. */
static double run_gemms(unsigned count)
{
	struct span span = span_begin(load.s);
	for (unsigned i = 0; i < count; i++)
		ok(dev_gemm(sim.d, load.s, &load.gemm));
	span_end(&span, load.s);
	return 1e-9 * span_ns(&span);
}

static void a_model_without_it_has_no_sensors(void)
{
	size_t count = 9;
	sim_begin(PLAIN);
	ok(dev_telemetry_read(sim.d, readings, &count));
	expect(count == 0);
	sim_end();
}

static void energy_is_that_of_time_and_flops(void)
{
	begin_load(POWERED);
	const double before = read_number("energy"), seconds = run_gemms(10);
	expect_near(seconds, 10 * FLOPS / FULL_RATE, 1e-9);
	expect_near(read_number("energy") - before, FULL_WATT * seconds, 1e-6);
	expect_near(read_number("sm_clock"), 1.5e9, 1);
	sim_end();
}

static void energy_of_bytes_is_that_of_memory(void)
{
	const uint64_t bytes = 32 << 20;
	sim_begin(POWERED "joule_per_byte = 1e-9\n");
	load.s = open_stream();
	char *a = alloc_memory(DEV_MEM_DEVICE, 2 * bytes);
	const double before = read_number("energy");
	struct span span = span_begin(load.s);
	ok(dev_copy(sim.d, load.s, a, a + bytes, bytes));
	span_end(&span, load.s);
	const double seconds = 1e-9 * span_ns(&span);
	expect_near(read_number("energy") - before, 50 * seconds + 2e-9 * (double)bytes, 1e-6);
	sim_end();
}

/* 50 + 200 f^3 = 150. */
static void the_clock_keeps_power_at_the_cap(void)
{
	const double f = cbrt(0.5);
	begin_load(POWERED "cap_watt = 150\n");
	run_gemms(20);
	const double before = read_number("energy"), seconds = run_gemms(20);
	expect_near(20 * FLOPS / seconds / (f * FULL_RATE), 1, 1e-6);
	expect_near((read_number("energy") - before) / seconds, 150, 1e-3);
	expect_near(read_number("sm_clock") / (f * 1.5e9), 1, 1e-6);
	expect(strcmp(read_word("clock_reason"), "power cap") == 0);
	expect(strcmp(read_word("throttle"), "none") == 0);
	sim_end();
}

static void what_memory_takes_does_not_follow_the_clock(void)
{
	const uint64_t bytes = 32 << 20;
	sim_begin(POWERED "joule_per_byte = 1e-9\ncap_watt = 60\n");
	load.s = open_stream();
	char *a = alloc_memory(DEV_MEM_DEVICE, 2 * bytes);
	struct span span = span_begin(load.s);
	for (int i = 0; i < 40; i++)
		ok(dev_copy(sim.d, load.s, a, a + bytes, bytes));
	span_end(&span, load.s);
	expect_near(span_ns(&span), 40 * (1000 + 2 * (double)bytes / 100), 1);
	expect(read_number("power") > 140);
	sim_end();
}

#define WARM POWERED "kelvin_per_watt = 0.2\nthermal_s = 2\nambient_celsius = 30\n"

/* 30 + 0.2 * 50 at first, 30 + 0.2 * 250 in the end. */
static void temperature_follows_power_with_its_time_constant(void)
{
	begin_load(WARM);
	expect_near(read_number("temperature"), 40, 1e-9);
	const double seconds = run_gemms(300);
	expect_near(read_number("temperature"), 80 - 40 * exp(-seconds / 2), 0.3);
	run_gemms(900);
	run_gemms(900);
	expect_near(read_number("temperature"), 80, 0.1);
	sim_end();
}

/* It reaches 70 after 2 s * ln(40 / 10). From then on 50 + 200 f^3 is what keeps 70: 200 W. */
static void heat_lowers_the_clock(void)
{
	const double after_s = 2 * log(4), f = cbrt(0.75);
	double seconds = 0;
	begin_load(WARM "limit_celsius = 70\n");
	while (seconds < 20 && strcmp(read_word("throttle"), "none") == 0)
		seconds += run_gemms(2);
	expect_near(seconds, after_s, 0.1);
	run_gemms(4);
	expect_near(run_gemms(200), 200 * FLOPS / (f * FULL_RATE), 1e-3);
	expect_near(read_number("temperature"), 70, 0.1);
	expect_near(read_number("power"), 200, 0.1);
	expect(read_number("thermal_time") > 1);
	sim_end();
}

static void a_device_that_rests_cools_down(void)
{
	begin_load(WARM);
	run_gemms(900);
	const double hot = read_number("temperature");
	const uint64_t from_ns = dev_clock_ns(sim.d);
	double hz;
	for (int i = 0; i < 1000; i++)
		ok(dev_clock_rate(sim.d, &hz)); /* a millisecond each */
	const double seconds = 1e-9 * (double)(dev_clock_ns(sim.d) - from_ns);
	expect_near(read_number("temperature"), 40 + (hot - 40) * exp(-seconds / 2), 0.1);
	expect_near(read_number("power"), 50, 1e-6);
	sim_end();
}

static void keys_that_need_others_are_refused(void)
{
	expect_error(sim_try(PLAIN "joule_per_flop = 1e-9\n", ":0"), -EINVAL);
	expect(strstr(err_text(), "joule_per_flop needs idle_watt") != NULL);
	expect_error(sim_try(POWERED "limit_celsius = 90\n", ":0"), -EINVAL);
	expect(strstr(err_text(), "limit_celsius needs kelvin_per_watt") != NULL);
	expect_error(sim_try(POWERED "kelvin_per_watt = 0.1\n", ":0"), -EINVAL);
	expect(strstr(err_text(), "kelvin_per_watt needs thermal_s") != NULL);
}

int main(void)
{
	test(a_model_without_it_has_no_sensors);
	test(energy_is_that_of_time_and_flops);
	test(energy_of_bytes_is_that_of_memory);
	test(the_clock_keeps_power_at_the_cap);
	test(what_memory_takes_does_not_follow_the_clock);
	test(temperature_follows_power_with_its_time_constant);
	test(heat_lowers_the_clock);
	test(a_device_that_rests_cools_down);
	test(keys_that_need_others_are_refused);
	return test_done();
}
