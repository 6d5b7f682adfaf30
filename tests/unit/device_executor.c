/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce among the devices of one process. Every algorithm gives exact sums on every device, for
 * all sizes and numbers of devices, also in consecutive runs without a wait between them. Errors
 * are reported and leave nothing waiting.
 */
#include "collectives/devices/device_group.h"
#include "collectives/devices/executor.h"
#include "tests/unit/sim.h"

#define MAX_BYTES (64u << 10)

static struct {
	struct dev_set set;
	struct device_group group;
	struct executor_memory memory;
} here;

static void open_group(void)
{
	ok(device_group_open(&here.group, &here.set));
	memcpy(here.memory.stream, here.group.stream, sizeof(here.memory.stream));
	for (size_t i = 0; i < here.set.count; i++) {
		here.memory.vector[i] =
			alloc_memory_on(here.set.dev[i], DEV_MEM_DEVICE, 2 * MAX_BYTES);
		here.memory.staging[i] =
			alloc_memory_on(here.set.dev[i], DEV_MEM_DEVICE, 8 * MAX_BYTES);
	}
}

static bool begin_devices(const char *spec)
{
	if (here.set.count)
		dev_close(&here.set); /* still open after a test that ended early */
	if (dev_open(spec, DEV_CHECKED, &here.set)) {
		printf("# %s: %s\n", spec, err_text());
		return false;
	}
	open_group();
	return true;
}

static void begin_simulated_model(const char *model)
{
	ok(sim_try(model, ":0-3"));
	here.set = sim.set;
	sim.set.count = 0;
	open_group();
}

static void end_devices(void)
{
	device_group_close(&here.group);
	dev_close(&here.set);
	here.set.count = 0;
}

static float input_value(size_t device, uint64_t i)
{
	return (float)((i * 7 + device * 131 + device * i % 13) % 509);
}

static void fill_vectors(uint64_t count)
{
	float *values = malloc(count * sizeof(float));
	require(values != NULL);
	for (size_t d = 0; d < here.set.count; d++) {
		for (uint64_t i = 0; i < count; i++)
			values[i] = input_value(d, i);
		ok(dev_upload(here.set.dev[d], here.memory.vector[d], values,
			      count * sizeof(float)));
	}
	free(values);
}

/* Counts the elements on all devices that are not `times` the sum. */
static uint64_t count_wrong(uint64_t count, float times)
{
	float *values = malloc(count * sizeof(float));
	uint64_t differ = 0;
	require(values != NULL);
	for (size_t d = 0; d < here.set.count; d++) {
		ok(dev_download(here.set.dev[d], values, here.memory.vector[d],
				count * sizeof(float)));
		for (uint64_t i = 0; i < count; i++) {
			float sum = 0;
			for (size_t k = 0; k < here.set.count; k++)
				sum += input_value(k, i);
			differ += values[i] != times * sum;
		}
	}
	free(values);
	return differ;
}

/* Guard bytes behind the memory detect writes past its end. */
static void mark_ends(const struct executor *x, uint64_t count)
{
	for (size_t d = 0; d < here.set.count; d++) {
		uint64_t staging = executor_staging_bytes(x), vector = executor_bytes(count);
		require(staging + 256 <= 8 * MAX_BYTES && vector + 256 <= 2 * MAX_BYTES);
		ok(dev_fill(here.set.dev[d], here.group.stream[d],
			    (char *)here.memory.staging[d] + staging, 0x5a, 256));
		ok(dev_fill(here.set.dev[d], here.group.stream[d],
			    (char *)here.memory.vector[d] + vector, 0x5a, 256));
	}
	ok(device_group_sync(&here.group, 0));
}

static bool ends_are_marked(const struct executor *x, uint64_t count)
{
	unsigned char found[2][256];
	bool all = true;
	for (size_t d = 0; d < here.set.count; d++) {
		ok(dev_download(here.set.dev[d], found[0],
				(char *)here.memory.staging[d] + executor_staging_bytes(x), 256));
		ok(dev_download(here.set.dev[d], found[1],
				(char *)here.memory.vector[d] + executor_bytes(count), 256));
		for (int i = 0; i < 512; i++)
			all = all && found[i / 256][i % 256] == 0x5a;
	}
	return all;
}

/* One run that is enqueued behind a gate, then three runs without a wait between them. Each run
 * multiplies the values by the number of devices. */
static void check_algorithm(const char *algorithm, uint64_t count)
{
	struct executor *x = NULL;
	struct device_group_round round = {0};
	uint64_t messages, bytes, planned_messages, planned_bytes;
	float p = (float)here.set.count;
	int status = executor_open(algorithm, &here.set, count, &x);
	if (status == -ENOTSUP)
		return;
	ok(status);
	fill_vectors(count);
	mark_ends(x, count);
	ok(device_group_hold(&here.group));
	ok(device_group_release(&here.group, executor_enqueue(x, &here.memory), &round));
	expect(round.longest_s > 0 && round.host_s > 0);
	uint64_t differ = count_wrong(count, 1);
	for (int i = 0; i < 3; i++)
		ok(executor_enqueue(x, &here.memory));
	ok(device_group_sync(&here.group, 0));
	/* 509 * 8 * 8^3 is less than 2^24. */
	differ += count_wrong(count, p * p * p);
	executor_planned(x, &planned_messages, &planned_bytes);
	executor_sent(x, &messages, &bytes);
	expect(messages == 4 * planned_messages && bytes == 4 * planned_bytes);
	/* Every device must receive at least one vector from others. */
	expect(planned_bytes >= executor_bytes(count));
	if (differ || !ends_are_marked(x, count))
		printf("# %s, %zu devices, %llu floats: %llu wrong\n", algorithm, here.set.count,
		       (unsigned long long)count, (unsigned long long)differ);
	expect(differ == 0 && ends_are_marked(x, count));
	executor_close(x);
}

static const uint64_t counts[] = {1, 63, 64, 65, 192, 500, 1000, 4096, 16000};

static void check_all_algorithms(const char *spec)
{
	if (!begin_devices(spec))
		skip("this machine has too few cores");
	for (unsigned a = 0; schedule_algorithm(a); a++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			check_algorithm(schedule_algorithm(a)->name, counts[i]);
	end_devices();
}

static void exact_on_the_host(void) { check_all_algorithms("host:0,1"); }

static void exact_on_2_to_8_simulated_devices(void)
{
	for (unsigned last = 1; last < 8; last++) {
		char spec[32];
		snprintf(spec, sizeof(spec), "sim:0-%u", last);
		check_all_algorithms(spec);
	}
}

static void message_counts_of_the_papers(void)
{
	static const struct {
		const char *name;
		uint64_t messages, vectors; /* sent by all 4 devices; in half vectors */
	} known[] = {{"ring", 24, 12},
		     {"rd-l", 8, 16},
		     {"rd-b", 16, 12},
		     {"swing-l", 8, 16},
		     {"swing-b", 16, 12}};
	require(begin_devices("sim:0-3"));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct executor *x;
		uint64_t messages, bytes;
		ok(executor_open(known[i].name, &here.set, 4096, &x));
		executor_planned(x, &messages, &bytes);
		expect(messages == known[i].messages &&
		       bytes == known[i].vectors * 4096 * sizeof(float) / 2);
		expect(executor_max_queued(x) < 64);
		executor_close(x);
	}
	end_devices();
}

static void unsupported_cases_are_refused(void)
{
	struct executor *x = NULL;
	require(begin_devices("sim:0-2"));
	expect_error(executor_open("no-such", &here.set, 64, &x), -EINVAL);
	expect_error(executor_open("rd-b", &here.set, 64, &x), -ENOTSUP);
	expect_error(executor_open("rd-mirrored", &here.set, 64, &x), -ENOTSUP);
	expect(x == NULL);
	end_devices();
}

static void a_failed_copy_is_reported(void)
{
	struct executor *x;
	struct device_group_round round = {0};
	begin_simulated_model("like = quiet\nfail_copy_at = 6\n");
	ok(executor_open("ring", &here.set, 4096, &x));
	fill_vectors(4096);
	ok(device_group_hold(&here.group));
	expect_error(device_group_release(&here.group, executor_enqueue(x, &here.memory), &round),
		     -EIO);
	expect(round.longest_s == 0);
	ok(device_group_sync(&here.group, 0));
	executor_close(x);
	end_devices();
}

static void corrupt_copies_and_additions_are_detected(void)
{
	/* On each device the first copy uploads the input, the next four belong to the run, and the
	 * sixth reads the result. A run has two additions. */
	static const char *const models[] = {"like = quiet\ncorrupt_copy_every = 4\n",
					     "like = quiet\ncorrupt_launch_every = 2\n"};
	for (int i = 0; i < 2; i++) {
		struct executor *x;
		begin_simulated_model(models[i]);
		ok(executor_open("swing-b", &here.set, 4096, &x));
		fill_vectors(4096);
		ok(executor_enqueue(x, &here.memory));
		ok(device_group_sync(&here.group, 0));
		expect(count_wrong(4096, 1) > 0);
		executor_close(x);
		end_devices();
	}
}

static void a_round_lasts_as_long_as_its_copies(void)
{
	struct executor *x;
	struct device_group_round round = {0};
	begin_simulated_model(
		PLAIN "peer_bandwidth = 1e9\nmemory_bandwidth = 1e15\nllc_bandwidth = 1e15\n");
	ok(executor_open("ring", &here.set, 16000, &x));
	fill_vectors(16000);
	ok(device_group_hold(&here.group));
	ok(device_group_release(&here.group, executor_enqueue(x, &here.memory), &round));
	/* Additions take no time. There are 2 * 3 steps of 1000 ns plus a quarter of the vector (62
	 * or 63 of 250 grains) at 1 byte/ns. */
	expect_near(round.longest_s, 6 * (1000 + 62.5 * 256) * 1e-9, 6 * 160e-9);
	expect(round.host_s >= round.longest_s);
	executor_close(x);
	end_devices();
}

int main(void)
{
	test(exact_on_the_host);
	test(exact_on_2_to_8_simulated_devices);
	test(message_counts_of_the_papers);
	test(unsupported_cases_are_refused);
	test(a_failed_copy_is_reported);
	test(corrupt_copies_and_additions_are_detected);
	test(a_round_lasts_as_long_as_its_copies);
	return test_done();
}
