/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives among the devices of one process. Every algorithm gives exact sums on every device,
 * for all sizes and numbers of devices, also in runs that are queued behind each other; the halves
 * and all-to-all leave every part where it belongs. Errors are reported and leave nothing waiting.
 */
#include "collectives/devices/schedule_graph.h"
#include "collectives/devices/all_to_all_graph.h"
#include "tests/unit/device/sim/sim.h"

#include <math.h>

#define MAX_BYTES (64u << 10)

static struct {
	struct dev_set set;
	struct work_lanes *lanes;
	struct schedule_graph_places places;
} here;

static void open_places(void)
{
	struct schedule_graph_places *p = &here.places;
	ok(work_lanes_open(here.set.dev, here.set.count, &here.lanes));
	p->devices = (uint32_t)here.set.count;
	for (uint32_t i = 0; i < p->devices; i++) {
		struct dev *d = here.set.dev[i];
		for (uint32_t k = 0; k < i; k++)
			ok(dev_peer_enable(d, here.set.dev[k]));
		for (uint32_t k = 0; k < p->devices; k++)
			p->lane[k][i] = work_lane_normal(here.lanes, i);
		p->vector[i] = alloc_memory_on(d, DEV_MEM_DEVICE, 2 * MAX_BYTES);
		p->staging[i] = alloc_memory_on(d, DEV_MEM_DEVICE, 8 * MAX_BYTES);
	}
}

static bool begin_devices(const char *spec)
{
	if (here.set.count)
		dev_close(&here.set); /* still open after a test that ended early */
	if (dev_open(spec, 0, &here.set)) {
		printf("# %s: %s\n", spec, err_text());
		return false;
	}
	open_places();
	return true;
}

static void begin_simulated_model(const char *model, const char *devices)
{
	ok(sim_try(model, devices));
	here.set = sim.set;
	sim.set.count = 0;
	open_places();
}

static void end_devices(void)
{
	work_lanes_close(here.lanes);
	dev_close(&here.set);
	here.set.count = 0;
}

static struct work_graph *build_graph(enum schedule_kind kind, const char *algorithm,
				      uint64_t count)
{
	struct work_graph *g = NULL;
	ok(work_graph_open(here.lanes, &g));
	ok(schedule_graph_add(g, kind, algorithm, count, &here.places));
	ok(work_graph_prepare(g));
	return g;
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
		ok(dev_upload(here.set.dev[d], here.places.vector[d], values,
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
		ok(dev_download(here.set.dev[d], values, here.places.vector[d],
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
static void mark_ends(uint64_t staging, uint64_t vector)
{
	unsigned char guard[256];
	memset(guard, 0x5a, sizeof(guard));
	require(staging + sizeof(guard) <= 8 * MAX_BYTES &&
		vector + sizeof(guard) <= 2 * MAX_BYTES);
	for (size_t d = 0; d < here.set.count; d++) {
		ok(dev_upload(here.set.dev[d], (char *)here.places.staging[d] + staging, guard,
			      sizeof(guard)));
		ok(dev_upload(here.set.dev[d], (char *)here.places.vector[d] + vector, guard,
			      sizeof(guard)));
	}
}

static bool ends_are_marked(uint64_t staging, uint64_t vector)
{
	unsigned char found[2][256];
	bool all = true;
	for (size_t d = 0; d < here.set.count; d++) {
		ok(dev_download(here.set.dev[d], found[0], (char *)here.places.staging[d] + staging,
				256));
		ok(dev_download(here.set.dev[d], found[1], (char *)here.places.vector[d] + vector,
				256));
		for (int i = 0; i < 512; i++)
			all = all && found[i / 256][i % 256] == 0x5a;
	}
	return all;
}

static void expect_copied(struct work_graph *g, const struct schedule_graph_plan *plan,
			  uint64_t runs)
{
	uint64_t copies, bytes;
	work_graph_copied(g, &copies, &bytes);
	if (here.places.copy_blocks)
		runs = 0; /* engines copied nothing */
	expect(copies == runs * plan->copies && bytes == runs * plan->bytes);
}

/* One run that is enqueued behind a gate. */
static uint64_t run_gated(const char *algorithm, uint64_t count,
			  const struct schedule_graph_plan *plan)
{
	struct work_graph *g = build_graph(SCHEDULE_ALLREDUCE, algorithm, count);
	double seconds = 0;
	ok(work_graph_time(g, &seconds));
	expect(seconds > 0 && work_graph_host_seconds(g) > 0);
	expect_copied(g, plan, 1);
	work_graph_close(g);
	return count_wrong(count, 1);
}

/* Three more runs, without a wait between them. Each run multiplies the values by the number of
 * devices. */
static uint64_t run_queued(const char *algorithm, uint64_t count,
			   const struct schedule_graph_plan *plan)
{
	struct work_graph *g = NULL;
	float p = (float)here.set.count;
	ok(work_graph_open(here.lanes, &g));
	work_graph_fork(g, here.places.lane[0][0]);
	ok(schedule_graph_add(g, SCHEDULE_ALLREDUCE, algorithm, count, &here.places));
	work_graph_join(g);
	ok(work_graph_prepare(g));
	for (int i = 0; i < 3; i++)
		ok(work_graph_run(g));
	ok(work_graph_sync(g, 0));
	expect_copied(g, plan, 3);
	work_graph_close(g);
	/* 509 * 8 * 8^3 is less than 2^24. */
	return count_wrong(count, p * p * p);
}

static void check_algorithm(const char *algorithm, uint64_t count)
{
	struct schedule_graph_plan plan;
	uint64_t vector = schedule_graph_bytes(count);
	int status = schedule_graph_plan(SCHEDULE_ALLREDUCE, algorithm, here.places.devices, count,
					 &plan);
	if (status == -ENOTSUP)
		return;
	ok(status);
	/* Every device must receive at least one vector from others. */
	expect(plan.bytes >= vector);
	fill_vectors(count);
	mark_ends(plan.staging_bytes, vector);
	uint64_t differ = run_gated(algorithm, count, &plan);
	differ += run_queued(algorithm, count, &plan);
	bool marked = ends_are_marked(plan.staging_bytes, vector);
	if (differ || !marked)
		printf("# %s, %zu devices, %llu floats: %llu wrong\n", algorithm, here.set.count,
		       (unsigned long long)count, (unsigned long long)differ);
	expect(differ == 0 && marked);
}

/* ------------------------------------------------------------------ parts */

/* Expected value of device d; NaN: undefined. */
static double expected_part(enum dev_collective what, size_t d, uint64_t i, uint64_t part)
{
	double sum = 0;
	if (what == DEV_ALLGATHER)
		return (double)input_value(i / part, i);
	if (what == DEV_ALL_TO_ALL)
		return (double)input_value(i / part, d * part + i % part);
	if (i / part != d)
		return NAN;
	for (size_t k = 0; k < here.set.count; k++)
		sum += (double)input_value(k, i);
	return sum;
}

static uint64_t count_wrong_parts(enum dev_collective what, uint64_t part)
{
	const uint64_t count = part * here.set.count;
	float *values = malloc(count * sizeof(float));
	uint64_t differ = 0;
	require(values != NULL);
	for (size_t d = 0; d < here.set.count; d++) {
		const void *result =
			what == DEV_ALL_TO_ALL ? here.places.staging[d] : here.places.vector[d];
		ok(dev_download(here.set.dev[d], values, result, count * sizeof(float)));
		for (uint64_t i = 0; i < count; i++) {
			double wanted = expected_part(what, d, i, part);
			differ += !isnan(wanted) && !((double)values[i] == wanted);
		}
	}
	free(values);
	return differ;
}

/* Plans and adds an algorithm; returns NULL if it does not support this many devices. */
static struct work_graph *build_parts(enum dev_collective what, const char *algorithm,
				      uint64_t part, struct schedule_graph_plan *plan)
{
	const uint32_t devices = here.places.devices;
	const uint64_t count = part * devices;
	struct work_graph *g = NULL;
	enum schedule_kind kind =
		what == DEV_ALLGATHER ? SCHEDULE_ALLGATHER : SCHEDULE_REDUCE_SCATTER;
	int status = what == DEV_ALL_TO_ALL
			     ? all_to_all_plan(algorithm, devices, part, plan)
			     : schedule_graph_plan(kind, algorithm, devices, count, plan);
	if (status == -ENOTSUP)
		return NULL;
	ok(status);
	if (what != DEV_ALL_TO_ALL)
		return build_graph(kind, algorithm, count);
	ok(work_graph_open(here.lanes, &g));
	ok(all_to_all_add(g, algorithm, part, &here.places));
	ok(work_graph_prepare(g));
	return g;
}

/* Returns whether the algorithm supports this many devices. */
static bool check_parts(enum dev_collective what, const char *algorithm, uint64_t part)
{
	struct schedule_graph_plan plan;
	uint64_t bytes = part * here.set.count * sizeof(float);
	double seconds = 0;
	struct work_graph *g = build_parts(what, algorithm, part, &plan);
	if (!g)
		return false;
	fill_vectors(part * here.set.count);
	mark_ends(plan.staging_bytes, bytes);
	ok(work_graph_time(g, &seconds));
	expect_copied(g, &plan, 1);
	work_graph_close(g);
	uint64_t differ = count_wrong_parts(what, part);
	bool marked = ends_are_marked(plan.staging_bytes, bytes);
	if (differ || !marked)
		printf("# %s %s, %zu devices, parts of %llu: %llu wrong\n",
		       dev_collective_name(what), algorithm, here.set.count,
		       (unsigned long long)part, (unsigned long long)differ);
	expect(differ == 0 && marked && seconds > 0);
	return true;
}

/* Multiples of 64 floats, so that all parts are equal. */
static void check_all_parts(void)
{
	static const uint64_t parts[] = {64, 192, 1024};
	static const enum dev_collective halves[] = {DEV_ALLGATHER, DEV_REDUCE_SCATTER};
	unsigned supported = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (unsigned a = 0; schedule_algorithm(a); a++)
			for (int h = 0; h < 2; h++)
				supported += check_parts(halves[h], schedule_algorithm(a)->name,
							 parts[i]);
		expect(check_parts(DEV_ALL_TO_ALL, "pairwise", parts[i]));
		expect(check_parts(DEV_ALL_TO_ALL, "spread-out", parts[i]));
	}
	/* At least ring, bucket, Bruck, Trivance and Bine, for every size and half. */
	expect(supported >= 3 * 2 * 5);
}

/* A part of 16384 bytes takes 1000 + 16384 ns, also that of a device to itself. */
static void an_all_to_all_lasts_as_long_as_its_messages(void)
{
	const double part_s = (1000 + 16384) * 1e-9;
	struct schedule_graph_plan plan;
	double in_steps = 0, at_once = 0;
	begin_simulated_model(PLAIN "peer_bandwidth = 1e9\nmemory_bandwidth = 1e15\n"
				    "llc_bandwidth = 1e15\ncopy_engines = 4\n",
			      ":0-3");
	struct work_graph *g = build_parts(DEV_ALL_TO_ALL, "pairwise", 4096, &plan);
	ok(work_graph_time(g, &in_steps));
	work_graph_close(g);
	g = build_parts(DEV_ALL_TO_ALL, "spread-out", 4096, &plan);
	ok(work_graph_time(g, &at_once));
	work_graph_close(g);
	/* Three messages leave a device by one link; only those in steps wait three times. */
	expect(in_steps > 3 * part_s && in_steps < 3 * part_s + 2e-6);
	expect(at_once > 3 * 16384e-9 && at_once < in_steps - 1.5e-6);
	expect_error(all_to_all_plan("ring", 4, 64, &plan), -EINVAL);
	expect_error(all_to_all_add(NULL, "ring", 64, &here.places), -EINVAL);
	end_devices();
}

/* ------------------------------------------------------------------ allreduce */

static const uint64_t counts[] = {1, 63, 64, 65, 192, 500, 1000, 4096, 16000};

static void check_all_algorithms(void)
{
	for (unsigned a = 0; schedule_algorithm(a); a++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			check_algorithm(schedule_algorithm(a)->name, counts[i]);
	check_all_parts();
	end_devices();
}

static void exact_on_the_host(void)
{
	if (!begin_devices("host:0,1"))
		skip("this machine has too few cores");
	check_all_algorithms();
}

static void exact_on_2_to_8_simulated_devices(void)
{
	for (unsigned last = 1; last < 8; last++) {
		char spec[32];
		snprintf(spec, sizeof(spec), "sim:0-%u", last);
		require(begin_devices(spec));
		check_all_algorithms();
	}
}

static void exact_by_kernels(void)
{
	require(begin_devices("sim:0-3"));
	here.places.copy_blocks = 2;
	here.places.add_blocks = 3;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		check_algorithm("ring", counts[i]);
	expect(check_parts(DEV_ALLGATHER, "direct", 192));
	expect(check_parts(DEV_REDUCE_SCATTER, "direct", 192));
	expect(check_parts(DEV_ALL_TO_ALL, "spread-out", 192));
	here.places.copy_blocks = here.places.add_blocks = 0;
	end_devices();
}

/* Then a second lane still sends while messages arrive: on three devices bruck-l and trivance-l add
 * to what it sends. */
static void exact_with_durations_that_vary_greatly(void)
{
	begin_simulated_model("jitter_sigma = 1.5\n", ":0-2");
	check_all_algorithms();
}

static void copies_are_the_messages_of_the_papers(void)
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
		struct schedule_graph_plan plan;
		ok(schedule_graph_plan(SCHEDULE_ALLREDUCE, known[i].name, 4, 4096, &plan));
		expect(plan.copies == known[i].messages &&
		       plan.bytes == known[i].vectors * 4096 * sizeof(float) / 2);
		struct work_graph *g = build_graph(SCHEDULE_ALLREDUCE, known[i].name, 4096);
		expect(work_graph_max_queued(g) < 64);
		work_graph_close(g);
	}
	end_devices();
}

static void unsupported_cases_are_refused(void)
{
	struct schedule_graph_plan plan = {.copies = 7};
	struct work_graph *g;
	expect_error(schedule_graph_plan(SCHEDULE_ALLREDUCE, "no-such", 3, 64, &plan), -EINVAL);
	expect_error(schedule_graph_plan(SCHEDULE_ALLREDUCE, "rd-b", 3, 64, &plan), -ENOTSUP);
	expect_error(schedule_graph_plan(SCHEDULE_ALLREDUCE, "rd-mirrored", 3, 64, &plan),
		     -ENOTSUP);
	expect(plan.copies == 7);
	require(begin_devices("sim:0-2"));
	ok(work_graph_open(here.lanes, &g));
	expect_error(schedule_graph_add(g, SCHEDULE_ALLREDUCE, "rd-b", 64, &here.places), -ENOTSUP);
	work_graph_close(g);
	end_devices();
}

/* Bruck sends two messages at a step, in two lanes. On each device the first copy uploads the
 * input. */
static void every_failed_copy_is_reported(void)
{
	struct schedule_graph_plan plan;
	ok(schedule_graph_plan(SCHEDULE_ALLREDUCE, "bruck", 4, 4096, &plan));
	for (uint64_t i = 0; i < plan.copies / 4; i++) {
		char model[80];
		double seconds = 0;
		snprintf(model, sizeof(model), "like = quiet\nfail_copy_at = %d\n", (int)i + 2);
		begin_simulated_model(model, ":0-3");
		struct work_graph *g = build_graph(SCHEDULE_ALLREDUCE, "bruck", 4096);
		fill_vectors(4096);
		expect_error(work_graph_time(g, &seconds), -EIO);
		expect(seconds <= 0);
		ok(work_graph_sync(g, 0));
		work_graph_close(g);
		end_devices();
	}
}

static void corrupt_copies_and_additions_are_detected(void)
{
	/* On each device the first copy uploads the input, the next four belong to the run, and the
	 * sixth reads the result. A run has two additions. */
	static const char *const models[] = {"like = quiet\ncorrupt_copy_every = 4\n",
					     "like = quiet\ncorrupt_launch_every = 2\n"};
	for (int i = 0; i < 2; i++) {
		begin_simulated_model(models[i], ":0-3");
		struct work_graph *g = build_graph(SCHEDULE_ALLREDUCE, "swing-b", 4096);
		fill_vectors(4096);
		ok(work_graph_sync(g, work_graph_run(g)));
		expect(count_wrong(4096, 1) > 0);
		work_graph_close(g);
		end_devices();
	}
}

static void a_run_lasts_as_long_as_its_copies(void)
{
	double seconds = 0;
	begin_simulated_model(
		PLAIN "peer_bandwidth = 1e9\nmemory_bandwidth = 1e15\nllc_bandwidth = 1e15\n",
		":0-3");
	struct work_graph *g = build_graph(SCHEDULE_ALLREDUCE, "ring", 16000);
	fill_vectors(16000);
	ok(work_graph_time(g, &seconds));
	/* Additions take no time. There are 2 * 3 steps of 1000 ns plus a quarter of the vector (62
	 * or 63 of 250 grains) at 1 byte/ns. */
	expect_near(seconds, 6 * (1000 + 62.5 * 256) * 1e-9, 6 * 160e-9);
	expect(work_graph_host_seconds(g) >= seconds);
	work_graph_close(g);
	end_devices();
}

int main(void)
{
	test(exact_on_the_host);
	test(exact_on_2_to_8_simulated_devices);
	test(exact_by_kernels);
	test(exact_with_durations_that_vary_greatly);
	test(copies_are_the_messages_of_the_papers);
	test(unsupported_cases_are_refused);
	test(every_failed_copy_is_reported);
	test(corrupt_copies_and_additions_are_detected);
	test(a_run_lasts_as_long_as_its_copies);
	test(an_all_to_all_lasts_as_long_as_its_messages);
	return test_done();
}
