/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce among the devices of one process: every algorithm of the table gives exact sums on every device, whatever the size
 * and the number of devices, also when runs follow each other without a wait; what goes wrong is reported, and hangs nobody.
 */
#include "collectives/devices/executor.h"
#include "collectives/devices/team.h"
#include "tests/unit/sim.h"

#define MOST_BYTES (64u << 10)

static struct {
	struct dev_set set;
	struct team team;
	struct executor_memory memory;
} here;

static void prepare(void)
{
	ok(team_open(&here.team, &here.set));
	memcpy(here.memory.stream, here.team.stream, sizeof(here.memory.stream));
	for (size_t i = 0; i < here.set.count; i++) {
		here.memory.vector[i] = get_on(here.set.dev[i], DEV_MEM_DEVICE, 2 * MOST_BYTES);
		here.memory.staging[i] = get_on(here.set.dev[i], DEV_MEM_DEVICE, 8 * MOST_BYTES);
	}
}

static bool begin(const char *spec)
{
	if (here.set.count)
		dev_close(&here.set); /* left by a test that ended early */
	if (dev_open(spec, 0, &here.set)) {
		printf("# %s: %s\n", spec, err_text());
		return false;
	}
	prepare();
	return true;
}

static void begin_model(const char *model)
{
	ok(sim_try(model, ":0-3"));
	here.set = sim.set;
	sim.set.count = 0;
	prepare();
}

static void end(void)
{
	team_close(&here.team);
	dev_close(&here.set);
	here.set.count = 0;
}

static float input(size_t device, uint64_t i) { return (float)((i * 7 + device * 131 + device * i % 13) % 509); }

static void fill(uint64_t count)
{
	float *values = malloc(count * sizeof(float));
	require(values != NULL);
	for (size_t d = 0; d < here.set.count; d++) {
		for (uint64_t i = 0; i < count; i++)
			values[i] = input(d, i);
		ok(dev_upload(here.set.dev[d], here.memory.vector[d], values, count * sizeof(float)));
	}
	free(values);
}

/* How many elements of how many devices are not `times` the sum. */
static uint64_t wrong(uint64_t count, float times)
{
	float *values = malloc(count * sizeof(float));
	uint64_t differ = 0;
	require(values != NULL);
	for (size_t d = 0; d < here.set.count; d++) {
		ok(dev_download(here.set.dev[d], values, here.memory.vector[d], count * sizeof(float)));
		for (uint64_t i = 0; i < count; i++) {
			float sum = 0;
			for (size_t k = 0; k < here.set.count; k++)
				sum += input(k, i);
			differ += values[i] != times * sum;
		}
	}
	free(values);
	return differ;
}

/* Guards: nothing is written behind what was asked for. */
static void mark_ends(const struct executor *x, uint64_t count)
{
	for (size_t d = 0; d < here.set.count; d++) {
		uint64_t staging = executor_staging_bytes(x), vector = executor_bytes(count);
		require(staging + 256 <= 8 * MOST_BYTES && vector + 256 <= 2 * MOST_BYTES);
		ok(dev_fill(here.set.dev[d], here.team.stream[d], (char *)here.memory.staging[d] + staging, 0x5a, 256));
		ok(dev_fill(here.set.dev[d], here.team.stream[d], (char *)here.memory.vector[d] + vector, 0x5a, 256));
	}
	ok(team_sync(&here.team, 0));
}

static bool ends_are_marked(const struct executor *x, uint64_t count)
{
	unsigned char found[2][256];
	bool all = true;
	for (size_t d = 0; d < here.set.count; d++) {
		ok(dev_download(here.set.dev[d], found[0], (char *)here.memory.staging[d] + executor_staging_bytes(x), 256));
		ok(dev_download(here.set.dev[d], found[1], (char *)here.memory.vector[d] + executor_bytes(count), 256));
		for (int i = 0; i < 512; i++)
			all = all && found[i / 256][i % 256] == 0x5a;
	}
	return all;
}

/* Held until all is enqueued, released at once; then three runs of the executor without a wait between them, each of which
 * multiplies by the number of devices. */
static void one(const char *algorithm, uint64_t count)
{
	struct executor *x = NULL;
	struct team_round round = {0};
	uint64_t messages, bytes, planned_messages, planned_bytes;
	float p = (float)here.set.count;
	int status = executor_open(algorithm, &here.set, count, &x);
	if (status == -ENOTSUP)
		return;
	ok(status);
	fill(count);
	mark_ends(x, count);
	ok(team_hold(&here.team));
	ok(team_release(&here.team, executor_enqueue(x, &here.memory), &round));
	expect(round.longest_s > 0 && round.seen_s > 0);
	uint64_t differ = wrong(count, 1);
	for (int i = 0; i < 3; i++)
		ok(executor_enqueue(x, &here.memory));
	ok(team_sync(&here.team, 0));
	/* 509 * 8 * 8^3 is less than 2^24. */
	differ += wrong(count, p * p * p);
	executor_planned(x, &planned_messages, &planned_bytes);
	executor_sent(x, &messages, &bytes);
	expect(messages == 4 * planned_messages && bytes == 4 * planned_bytes);
	/* Nobody knows more than what it has and what it got: every device needs a whole vector from others. */
	expect(planned_bytes >= executor_bytes(count));
	if (differ || !ends_are_marked(x, count))
		printf("# %s, %zu devices, %llu floats: %llu wrong\n", algorithm, here.set.count, (unsigned long long)count,
		       (unsigned long long)differ);
	expect(differ == 0 && ends_are_marked(x, count));
	executor_close(x);
}

static const uint64_t counts[] = {1, 63, 64, 65, 192, 500, 1000, 4096, 16000};

static void all_on(const char *spec)
{
	if (!begin(spec))
		skip("not so many cores here");
	for (unsigned a = 0; schedule_row(a); a++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			one(schedule_row(a)->name, counts[i]);
	end();
}

static void exact_on_the_host(void) { all_on("host:0,1"); }

static void exact_on_2_to_8_simulated_devices(void)
{
	for (unsigned last = 1; last < 8; last++) {
		char spec[32];
		snprintf(spec, sizeof(spec), "sim:0-%u", last);
		all_on(spec);
	}
}

static void messages_are_those_of_the_papers(void)
{
	static const struct {
		const char *name;
		uint64_t messages, vectors; /* 4 devices; what all send, in vectors times 2 */
	} known[] = {{"ring", 24, 12}, {"rd-l", 8, 16}, {"rd-b", 16, 12}, {"swing-l", 8, 16}, {"swing-b", 16, 12}};
	require(begin("sim:0-3"));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct executor *x;
		uint64_t messages, bytes;
		ok(executor_open(known[i].name, &here.set, 4096, &x));
		executor_planned(x, &messages, &bytes);
		expect(messages == known[i].messages && bytes == known[i].vectors * 4096 * sizeof(float) / 2);
		expect(executor_most_queued(x) < 64);
		executor_close(x);
	}
	end();
}

static void what_does_not_go_is_refused(void)
{
	struct executor *x = NULL;
	require(begin("sim:0-2"));
	expect_error(executor_open("no-such", &here.set, 64, &x), -EINVAL);
	expect_error(executor_open("rd-b", &here.set, 64, &x), -ENOTSUP);
	expect_error(executor_open("rd-mirrored", &here.set, 64, &x), -ENOTSUP);
	expect(x == NULL);
	end();
}

static void a_copy_that_fails_is_reported_and_hangs_nobody(void)
{
	struct executor *x;
	struct team_round round = {0};
	begin_model("like = quiet\nfail_copy_at = 6\n");
	ok(executor_open("ring", &here.set, 4096, &x));
	fill(4096);
	ok(team_hold(&here.team));
	expect_error(team_release(&here.team, executor_enqueue(x, &here.memory), &round), -EIO);
	expect(round.longest_s == 0);
	ok(team_sync(&here.team, 0));
	executor_close(x);
	end();
}

static void a_copy_or_an_addition_that_goes_wrong_shows(void)
{
	/* Of each device the first copy is the input's, the next four are the run's, the sixth reads the result; two additions. */
	static const char *const models[] = {"like = quiet\ncorrupt_copy_every = 4\n", "like = quiet\ncorrupt_launch_every = 2\n"};
	for (int i = 0; i < 2; i++) {
		struct executor *x;
		begin_model(models[i]);
		ok(executor_open("swing-b", &here.set, 4096, &x));
		fill(4096);
		ok(executor_enqueue(x, &here.memory));
		ok(team_sync(&here.team, 0));
		expect(wrong(4096, 1) > 0);
		executor_close(x);
		end();
	}
}

static void a_round_lasts_as_long_as_its_copies(void)
{
	struct executor *x;
	struct team_round round = {0};
	begin_model(PLAIN "peer_bandwidth = 1e9\nmemory_bandwidth = 1e15\nllc_bandwidth = 1e15\n");
	ok(executor_open("ring", &here.set, 16000, &x));
	fill(16000);
	ok(team_hold(&here.team));
	ok(team_release(&here.team, executor_enqueue(x, &here.memory), &round));
	/* Additions take no time: 2 * 3 steps of 1000 ns and a quarter of the vector, 62 or 63 of 250 pieces, at 1 byte/ns. */
	expect_near(round.longest_s, 6 * (1000 + 62.5 * 256) * 1e-9, 6 * 160e-9);
	expect(round.seen_s >= round.longest_s);
	executor_close(x);
	end();
}

int main(void)
{
	test(exact_on_the_host);
	test(exact_on_2_to_8_simulated_devices);
	test(messages_are_those_of_the_papers);
	test(what_does_not_go_is_refused);
	test(a_copy_that_fails_is_reported_and_hangs_nobody);
	test(a_copy_or_an_addition_that_goes_wrong_shows);
	test(a_round_lasts_as_long_as_its_copies);
	return test_done();
}
