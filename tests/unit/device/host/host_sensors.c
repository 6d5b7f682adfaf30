/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Energy, limits and temperatures of recorded machines.
 */
#include "device/host/host_sensors.h"
#include "tests/unit/lib/recorded_machine.h"
#include "tests/unit/test.h"

#include <math.h>

#define RAPL "sys/class/powercap/intel-rapl:"
#define HWMON "sys/class/hwmon/hwmon"
#define ZONE "sys/class/thermal/thermal_zone"

static struct dev_telemetry readings[DEV_TELEMETRY_MAX];
static struct dev_telemetry_list list;
static struct host_sensors sensors;

static void write_of(const char *folder, const char *number, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s%s/%s", folder, number, name);
	write_under_root(text, path);
}

static void read_all(void)
{
	list = (struct dev_telemetry_list){.samples = readings, .capacity = DEV_TELEMETRY_MAX};
	host_sensors_read(&sensors, root, &list);
	require(list.count == 3);
	expect_str(readings[0].name, "energy");
	expect_str(readings[1].name, "power_limit");
	expect_str(readings[2].name, "temperature");
}

static void what_the_kernel_does_not_show_has_a_reason(void)
{
	sensors = (struct host_sensors){0};
	read_all();
	for (size_t i = 0; i < list.count; i++) {
		expect(isnan(readings[i].number));
		expect(strstr(readings[i].why, "the kernel shows no ") == readings[i].why);
	}
}

static void write_zone(const char *zone, const char *name, const char *microjoules)
{
	write_of(RAPL, zone, "name", name);
	write_of(RAPL, zone, "energy_uj", microjoules);
	write_of(RAPL, zone, "max_energy_range_uj", "262143328850");
}

/* Two packages, the memory of one, cores that are in a package, and the board that has all. */
static void packages_and_their_memory_are_added(void)
{
	sensors = (struct host_sensors){0};
	write_zone("0", "package-0", "1000000");
	write_zone("0:0", "core", "500000");
	write_zone("0:1", "dram", "100000");
	write_zone("1", "package-1", "7000000");
	write_zone("2", "psys", "9000000");
	write_of(RAPL, "0", "constraint_0_power_limit_uw", "205000000");
	read_all();
	expect_near(readings[0].number, 0, 1e-9);
	expect(isnan(readings[1].number)); /* of one package alone */
	write_of(RAPL, "1", "constraint_0_power_limit_uw", "205000000");
	write_zone("0", "package-0", "3000000");
	write_zone("0:0", "core", "2500000");
	write_zone("0:1", "dram", "600000");
	write_zone("1", "package-1", "8000000");
	write_zone("2", "psys", "99000000");
	read_all();
	expect_near(readings[0].number, 2 + 0.5 + 1, 1e-9);
	expect_near(readings[1].number, 410, 1e-9);
}

static void a_counter_that_wraps_goes_on(void)
{
	sensors = (struct host_sensors){0};
	write_zone("0", "package-0", "262143000000");
	read_all();
	write_zone("0", "package-0", "671150");
	read_all();
	expect_near(readings[0].number, 1, 1e-9);
}

static void the_hottest_package_counts(void)
{
	write_of(ZONE, "0", "type", "x86_pkg_temp");
	write_of(ZONE, "0", "temp", "44000");
	write_of(ZONE, "1", "type", "acpitz");
	write_of(ZONE, "1", "temp", "99000");
	read_all();
	expect_near(readings[2].number, 44, 1e-9);
	write_of(HWMON, "0", "name", "nvme");
	write_of(HWMON, "0", "temp1_input", "90000");
	write_of(HWMON, "0", "temp1_label", "Composite");
	write_of(HWMON, "1", "name", "coretemp");
	write_of(HWMON, "1", "temp1_input", "61000");
	write_of(HWMON, "1", "temp1_label", "Package id 0");
	write_of(HWMON, "1", "temp2_input", "95000");
	write_of(HWMON, "1", "temp2_label", "Core 0");
	write_of(HWMON, "2", "name", "k10temp");
	write_of(HWMON, "2", "temp1_input", "63500");
	write_of(HWMON, "2", "temp1_label", "Tctl");
	read_all();
	expect_near(readings[2].number, 63.5, 1e-9);
}

/* Root reads everything, so a folder stands for what it may not read. */
static void a_counter_that_cannot_be_read_says_why(void)
{
	write_of(RAPL, "3", "name", "package-0");
	write_of(RAPL, "3/energy_uj", "x", "1");
	read_all();
	expect(isnan(readings[0].number));
	expect(strstr(readings[0].why, "intel-rapl:3/energy_uj: ") != NULL);
}

int main(void)
{
	if (!mkdtemp(root))
		return 1;
	test(what_the_kernel_does_not_show_has_a_reason);
	test(packages_and_their_memory_are_added);
	test(a_counter_that_wraps_goes_on);
	test(the_hottest_package_counts);
	test(a_counter_that_cannot_be_read_says_why);
	forget_machine();
	return test_done();
}
