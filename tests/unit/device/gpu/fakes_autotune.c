/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Choice of the GPU backend among a library's algorithms, on fake drivers (tests/fakes) whose
 * algorithms take the time that the environment sets.
 */
#include "device/gpu/gpu_dev.h"
#include "tests/unit/device/calls.h"
#include "tests/unit/device/gpu/with_fakes.h"
#include "tests/unit/device/minifloat_arrays.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#define SIDE 16u

static struct dev_set set;
static struct dev *d;

static void open_device(const char *spec)
{
	ok(dev_open(spec, DEV_CAP_GEMM | DEV_CHECKED, &set));
	d = set.dev[0];
}

static void close_device(void)
{
	dev_close(&set);
	unsetenv("FAKE_ALGORITHMS");
	unsetenv("FAKE_ALGORITHM_US");
	unsetenv("FAKE_FAIL");
}

static struct dev_gemm gemm_of(enum dev_type type)
{
	return (struct dev_gemm)PACKED_GEMM(SIDE, SIDE, SIDE, .type = type,
					    .b_transposed = dev_types[type].multiple > 1);
}

static struct dev_gemm_choice prepare_and_print(const struct dev_gemm *g)
{
	struct dev_gemm_choice choice = {.offered = 77};
	ok(dev_gemm_prepare(d, g));
	ok(dev_gemm_chosen(d, g, &choice));
	printf("# %s; %u offered, %u tried, first / chosen %g\n", choice.algorithm, choice.offered,
	       choice.tried, choice.first_ratio);
	return choice;
}

static bool is_algorithm(const struct dev_gemm_choice *choice, unsigned index)
{
	char wanted[32];
	snprintf(wanted, sizeof(wanted), "algorithm %u, ", index);
	return strncmp(choice->algorithm, wanted, strlen(wanted)) == 0;
}

static void a_single_algorithm_is_not_timed(void)
{
	const struct dev_gemm g = gemm_of(DEV_F32);
	setenv("FAKE_ALGORITHMS", "1", 1);
	open_device("cuda");
	const struct dev_gemm_choice choice = prepare_and_print(&g);
	expect(is_algorithm(&choice, 0) && choice.offered == 1 && choice.tried == 0 &&
	       isnan(choice.first_ratio));
	close_device();
}

static void where_none_runs_none_is_chosen(void)
{
	const struct dev_gemm g = gemm_of(DEV_F32);
	struct dev_gemm_choice choice;
	setenv("FAKE_FAIL", "cublasLtMatmul=15", 1);
	open_device("cuda");
	ok(dev_gemm_prepare(d, &g));
	expect(dev_gemm_chosen(d, &g, &choice) == -ENOENT);
	unsetenv("FAKE_FAIL");
	choice = prepare_and_print(&g);
	expect(choice.tried > 0);
	close_device();
}

static void rocblas_says_that_it_chooses_itself(void)
{
	const struct dev_gemm g = gemm_of(DEV_F32);
	open_device("hip");
	const struct dev_gemm_choice choice = prepare_and_print(&g);
	expect_str(choice.algorithm, "rocBLAS's first choice");
	expect(choice.offered == 1 && choice.tried == 0 && isnan(choice.first_ratio));
	close_device();
}

static void fast_accumulation_is_another_kind(void)
{
	struct dev_gemm g = gemm_of(DEV_F8);
	struct dev_gemm_choice choice;
	open_device("cuda");
	expect(dev_props(d)->gemm_fast_types == 1u << DEV_F8);
	prepare_and_print(&g);
	g.fast_accumulation = true;
	expect(dev_gemm_chosen(d, &g, &choice) == -ENOENT);
	prepare_and_print(&g);
	g.type = DEV_BF16;
	expect(dev_gemm_prepare(d, &g) == -ENOTSUP);
	close_device();
}

/* ------------------------------------------------------------------ what the trials see */

static const struct gpu_vendor *real_vendor;
static const struct gpu_driver *real_driver;
static struct gpu_vendor watched_vendor;
static struct gpu_driver watched_driver;
static struct gpu_blas watched_blas;
static unsigned runs, constant_runs;
static float batch_ms;        /* since the last event was recorded */
static float time_factor = 1; /* of what is said */

static bool is_constant(const void *memory)
{
	const unsigned char *byte = memory;
	for (unsigned i = 1; i < SIDE * SIDE; i++)
		if (byte[i] != byte[0])
			return false;
	return true;
}

/* Milliseconds that an algorithm is said to take, so that the choice does not depend on this
 * machine. The thirtieth takes least. */
static float price_ms(const void *way)
{
	char text[256];
	unsigned index = 0;
	real_vendor->blas->describe(way, text, sizeof(text));
	require(sscanf(text, "algorithm %u,", &index) == 1);
	return time_factor * (index == 29 ? 1.f : 2.f + (float)(index * 7 % 5));
}

/* The host can read the fake's device memory. */
static int watch_run(void *blas, void *stream, const struct gpu_gemm_problem *p, const void *way)
{
	const int status = real_vendor->blas->run(blas, stream, p, way);
	runs++;
	constant_runs += is_constant(p->first) || is_constant(p->second) ||
			 memcmp(p->first, p->second, SIDE * SIDE) == 0;
	batch_ms += price_ms(way);
	return status;
}

static int watch_record(void *stream, void *event)
{
	if (event == gpu_of(d)->tuning_start->handle)
		batch_ms = 0;
	return real_driver->event_record(stream, event);
}

static int say_price(void *from, void *to, float *ms_p)
{
	(void)from, (void)to;
	*ms_p = batch_ms;
	return 0;
}

static void open_watched(void)
{
	open_device("cuda");
	struct gpu_dev *gpu = gpu_of(d);
	real_vendor = gpu->vendor;
	real_driver = gpu->driver;
	watched_vendor = *real_vendor;
	watched_driver = *real_driver;
	watched_blas = *real_vendor->blas;
	watched_blas.run = watch_run;
	watched_driver.event_record = watch_record;
	watched_driver.event_elapsed_ms = say_price;
	watched_vendor.blas = &watched_blas;
	gpu->vendor = &watched_vendor;
	gpu->driver = &watched_driver;
	runs = constant_runs = 0;
}

static void close_watched(void)
{
	gpu_of(d)->vendor = real_vendor;
	gpu_of(d)->driver = real_driver;
	close_device();
}

/* The fake's thirtieth is the fastest. Five of its forty are refused when they run. */
static void the_fastest_is_found_wherever_it_stands(void)
{
	const struct dev_gemm g = gemm_of(DEV_F32);
	struct dev_gemm_choice choice = {.offered = 77};
	setenv("FAKE_ALGORITHM_US", "0", 1);
	open_watched();
	expect(dev_gemm_chosen(d, &g, &choice) == -ENOENT && choice.offered == 77);
	choice = prepare_and_print(&g);
	expect(is_algorithm(&choice, 29) && choice.offered == 40 && choice.tried == 35);
	expect_near(choice.first_ratio, 2, 0);
	expect(strstr(choice.algorithm, "split_k 1") &&
	       strstr(choice.algorithm, "workspace 1048576"));
	close_watched();
}

/* The first four that run take 0.06, 0.18, 0.3 and 0.24 s. No time is left for a fifth, however
 * fast the machine is. */
static void slow_algorithms_meet_the_limit(void)
{
	const struct dev_gemm g = gemm_of(DEV_F32);
	setenv("FAKE_ALGORITHM_US", "60000", 1);
	open_watched();
	const struct dev_gemm_choice choice = prepare_and_print(&g);
	expect(is_algorithm(&choice, 0) && choice.offered == 40 && choice.tried == 4);
	expect_near(choice.first_ratio, 1, 0);
	close_watched();
}

/* hipBLASLt takes 0.38 s to name its algorithms. No time is left for a fifth, however fast the
 * machine is. */
static void naming_algorithms_counts_towards_the_limit(void)
{
	const struct dev_gemm g = gemm_of(DEV_BF16);
	setenv("FAKE_ALGORITHM_US", "0", 1);
	open_device("hip");
	setenv("FAKE_HEURISTIC_US", "12000", 1);
	const struct dev_gemm_choice choice = prepare_and_print(&g);
	unsetenv("FAKE_HEURISTIC_US");
	expect(choice.offered == 32 && choice.tried == 4);
	close_device();
}

/* The library's first choice takes 0.22 s, so that trials would take longer than what is measured.
 */
static void a_gemm_that_takes_long_is_not_tuned(void)
{
	const struct dev_gemm g = gemm_of(DEV_F32);
	setenv("FAKE_ALGORITHM_US", "0", 1);
	open_watched();
	time_factor = 110;
	const struct dev_gemm_choice choice = prepare_and_print(&g);
	time_factor = 1;
	expect(is_algorithm(&choice, 0) && choice.offered == 40 && choice.tried == 1 && runs == 1);
	expect(isnan(choice.first_ratio));
	close_watched();
}

static void trials_multiply_random_data(void)
{
	const struct dev_gemm g = gemm_of(DEV_F8);
	setenv("FAKE_ALGORITHM_US", "0", 1);
	open_watched();
	prepare_and_print(&g);
	expect(runs > 40 && constant_runs == 0);
	close_watched();
}

/* More bytes than the repeated block. Mean and mean square are those of [-1, 1), or of the integers
 * that i8 has; every code of f4 is as likely. */
static void operands_are_random_in_every_type(void)
{
	const size_t bytes = (5u << 18) + 8;
	char *raw = malloc(bytes);
	void *memory = NULL;
	require(raw);
	open_device("cuda");
	ok(dev_alloc(d, DEV_MEM_DEVICE, bytes, &memory));
	for (int i = 0; i < DEV_TYPES; i++) {
		const enum dev_type type = (enum dev_type)i;
		const bool is_f4 = dev_types[type].bits == 4;
		const size_t count = bytes * 8 / dev_types[type].bits;
		double sum = 0, squares = 0;
		ok(gpu_fill_random(gpu_of(d), type, 1, memory, bytes));
		ok(dev_download(d, raw, memory, bytes));
		for (size_t j = 0; j < count; j++) {
			const double value = element_get(raw, type, j),
				     x = type == DEV_I8 ? (value + 0.5) / 128
					 : is_f4        ? value / 6
							: value;
			require(x >= -1 && x <= 1);
			sum += x;
			squares += x * x;
		}
		expect_near(sum / (double)count, 0, 0.01);
		expect_near(squares / (double)count, is_f4 ? 68.5 / 8 / 36 : 1 / 3., 0.005);
	}
	ok(dev_free(d, memory));
	free(raw);
	close_device();
}

int main(int argc, char **argv)
{
	if (start_with_fakes(argv))
		return 1;
	alarm(TEST_HANGS_S);
	test(the_fastest_is_found_wherever_it_stands);
	test(slow_algorithms_meet_the_limit);
	test(naming_algorithms_counts_towards_the_limit);
	test(a_gemm_that_takes_long_is_not_tuned);
	test(a_single_algorithm_is_not_timed);
	test(where_none_runs_none_is_chosen);
	test(rocblas_says_that_it_chooses_itself);
	test(fast_accumulation_is_another_kind);
	test(trials_multiply_random_data);
	test(operands_are_random_in_every_type);
	return test_done();
}
