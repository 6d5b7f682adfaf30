/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The GPU backend on fake drivers (tests/fakes) with one failing function, with failing kernels, or
 * without a device: the caller gets an error with its cause, closing works, and nothing hangs.
 *
 *     gpu_faults              the tests; each starts this program again with a fault in the
 *                             environment
 *     gpu_faults on SPEC      runs use_everything(SPEC)
 *     gpu_faults again SPEC   runs it twice, the second time without faults
 */
#include "device/gpu/cuda/cuda_abi.h"
#include "device/gpu/hip/hip_abi.h"
#include "tests/unit/device/gpu/use_everything.h"
#include "tests/unit/test.h"

#include <libgen.h>
#include <sys/wait.h>

static char folder[4096], program[4096];

/* Runs this program as a child and reads its first line into `line`. With `again` the child uses
 * everything twice, and its second line goes there. A child that ends by a signal, a sanitizer or
 * the alarm fails the test. */
static void run_child_with_repeat(const char *spec, char *line, char *again, size_t capacity)
{
	char command[2 * sizeof(folder) + 128];
	snprintf(command, sizeof(command), "LD_LIBRARY_PATH='%s/fakes' '%s' %s %s", folder, program,
		 again ? "again" : "on", spec);
	FILE *child = popen(command, "r");
	require(child);
	line[0] = '\0';
	if (!fgets(line, (int)capacity, child))
		line[0] = '\0';
	if (again && !fgets(again, (int)capacity, child))
		again[0] = '\0';
	const int exit_status = pclose(child);
	if (!WIFEXITED(exit_status) || WEXITSTATUS(exit_status) != 0)
		printf("# %s: exit_status %#x after '%s'\n", spec, (unsigned)exit_status, line);
	expect(WIFEXITED(exit_status) && WEXITSTATUS(exit_status) == 0);
}

static void run_child(const char *spec, char *line, size_t capacity)
{
	run_child_with_repeat(spec, line, NULL, capacity);
}

static void expect_begins_with(const char *line, const char *wanted)
{
	if (strncmp(line, wanted, strlen(wanted)) != 0)
		printf("# wanted '%s', got %s\n", wanted, line[0] ? line : "nothing\n");
	expect(strncmp(line, wanted, strlen(wanted)) == 0);
}

static void expect_contains(const char *line, const char *wanted)
{
	if (!strstr(line, wanted))
		printf("# '%s' is not in %s\n", wanted, line[0] ? line : "nothing\n");
	expect(strstr(line, wanted));
}

static const char *const specs[] = {"cuda:0,1", "hip:0,1"};

static void without_a_fault_all_works(void)
{
	char line[1024];
	for (int i = 0; i < 2; i++) {
		run_child(specs[i], line, sizeof(line));
		expect_begins_with(line, "0");
	}
}

/* Functions that use_everything() cannot do without, in addition to those that
 * any_function_may_fail_once() checks: they belong to other libraries than the driver, or a single
 * failure of them may hit an object of the backend itself. */
#define COLLECTIVES                                                                                \
	"ncclCommInitAll", "ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclSend",      \
		"ncclRecv", "ncclGroupEnd", "ncclGetUniqueId", "ncclCommInitRankConfig",           \
		"ncclMemAlloc", "ncclCommWindowRegister", "ncclAlltoAll",                          \
		"ncclCommWindowDeregister", "ncclMemFree"
static const char *const needed[2][24] = {
	{"cublasLtMatmul", "cublasSetStream_v2", "cublasSetWorkspace_v2",
	 "cublasGemmGroupedBatchedEx", COLLECTIVES, "cuMemFree_v2", "cuMemFreeHost", NULL},
	{"rocblas_gemm_ex", "hipblasLtMatmul", COLLECTIVES, "hipFree", "hipHostFree", NULL}};

static void fail_at(int vendor, const char *function, const char *when, const char *result,
		    char *line, size_t capacity)
{
	char fault[128];
	snprintf(fault, sizeof(fault), "%s%s=%s", function, when, result);
	setenv("FAKE_FAIL", fault, 1);
	run_child(specs[vendor], line, capacity);
	unsetenv("FAKE_FAIL");
}

static void a_failing_function_is_named(void)
{
	char line[1024];
	for (int vendor = 0; vendor < 2; vendor++) {
		for (const char *const *f = needed[vendor]; *f; f++) {
			fail_at(vendor, *f, "", "1", line, sizeof(line));
			expect_begins_with(line, "-");
			expect_contains(line, *f);
		}
	}
}

#define NAME(name, arguments) #name,
static const char *const driver_functions[2][80] = {
	{CUDA_FUNCTIONS(NAME) CUDA_OPTIONAL_FUNCTIONS(NAME) NULL},
	{HIP_FUNCTIONS(NAME) HIP_OPTIONAL_FUNCTIONS(NAME) NULL}};

/* One failure of these does not fail the run: they close objects, describe errors, or are called
 * again. The scheduling flag and the UUID are optional, and copies and kernel images have a
 * fallback. hipGetDeviceProperties serves runtimes that lack the R0600 variant. */
static const char *const tolerated[] = {"cuGetErrorName",
					"cuGetErrorString",
					"cuDriverGetVersion",
					"cuDeviceGetUuid_v2",
					"cuDevicePrimaryCtxRelease_v2",
					"cuDevicePrimaryCtxSetFlags_v2",
					"cuMemFree_v2",
					"cuMemFreeHost",
					"cuMemHostUnregister",
					"cuStreamDestroy_v2",
					"cuEventDestroy_v2",
					"cuModuleLoadData",
					"cuModuleUnload",
					"cuGraphExecDestroy",
					"cuGraphDestroy",
					"cuIpcOpenMemHandle_v2",
					"cuIpcCloseMemHandle",
					"cuMemcpyAsync",
					"cuMemcpyBatchAsync",
					"cuMemcpyBatchAsync_v2",
					"cuStreamQuery",
					"cuDeviceCanAccessPeer",
					"hipDeviceGetUuid",
					"hipExtStreamCreateWithCUMask",
					"cuDeviceGetDevResource",
					"cuDevSmResourceSplitByCount",
					"cuDevResourceGenerateDesc",
					"cuGreenCtxCreate",
					"cuGreenCtxDestroy",
					"cuGreenCtxStreamCreate",
					"cuStreamGetGreenCtx",
					"hipSetDeviceFlags",
					"hipFree",
					"hipHostFree",
					"hipHostUnregister",
					"hipStreamDestroy",
					"hipEventDestroy",
					"hipModuleUnload",
					"hipGraphExecDestroy",
					"hipGraphDestroy",
					"hipIpcOpenMemHandle",
					"hipIpcCloseMemHandle",
					"hipStreamQuery",
					"hipDeviceCanAccessPeer",
					"hipMemcpyAsync",
					"hipGetDeviceProperties",
					NULL};

/* An attribute that a driver does not know counts as 0; the error is about the 0 and does not name
 * the function. */
static const char *const not_named_in_error[] = {"cuDeviceGetAttribute", "hipDeviceGetAttribute",
						 NULL};

/* Functions whose first result lasts as long as the process. */
static const char *const called_once[] = {"cuInit", "hipInit", NULL};

static bool is_in_list(const char *const *list, const char *name)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

static void check_single_failure(int vendor, const char *function)
{
	char line[1024], again[1024], fault[128];
	snprintf(fault, sizeof(fault), "%s:1=1", function);
	setenv("FAKE_FAIL", fault, 1);
	run_child_with_repeat(specs[vendor], line, vendor == 0 ? again : NULL, sizeof(line));
	unsetenv("FAKE_FAIL");
	if (!is_in_list(tolerated, function) || line[0] != '0')
		expect_begins_with(line, "-");
	if (line[0] != '0' && !is_in_list(not_named_in_error, function))
		expect_contains(line, function);
	if (vendor == 0 &&
	    !is_in_list(called_once, function)) /* above the driver table the vendors share code */
		expect_begins_with(again, "0\n");
}

static void any_function_may_fail_once(void)
{
	for (int vendor = 0; vendor < 2; vendor++)
		for (const char *const *f = driver_functions[vendor]; *f; f++)
			check_single_failure(vendor, *f);
}

/* One vendor is enough: above the driver table both share the code. */
static void a_late_failure_is_survived(void)
{
	char line[1024];
	if (!test_all())
		skip("only in the lab");
	for (const char *const *f = driver_functions[0]; *f; f++)
		fail_at(0, *f, ":2", "2", line, sizeof(line));
}

/* Drivers refuse batched copies of some memory and on some devices; the backend then uses
 * cuMemcpyAsync. Every other failure goes to the caller. */
static void a_refused_batch_falls_back_to_a_plain_copy(void)
{
	char line[1024], eio[16];
	snprintf(eio, sizeof(eio), "%d", -EIO);
	fail_at(0, "cuMemcpyBatchAsync_v2", "", "CUDA_ERROR_NOT_SUPPORTED", line, sizeof(line));
	expect_begins_with(line, "0");
	fail_at(0, "cuMemcpyBatchAsync_v2", "", "CUDA_ERROR_INVALID_VALUE", line, sizeof(line));
	expect_begins_with(line, "0");
	fail_at(0, "cuMemcpyBatchAsync_v2", "", "CUDA_ERROR_CONTAINED", line, sizeof(line));
	expect_begins_with(line, eio);
	expect_contains(line, "cuMemcpyBatchAsync");
}

/* An error that only a new context clears is -EIO. */
static void errors_that_end_a_context_lose_the_device(void)
{
	static const char *const names[] = {"CUDA_ERROR_CONTAINED", "CUDA_ERROR_ECC_UNCORRECTABLE",
					    "CUDA_ERROR_NVLINK_UNCORRECTABLE",
					    "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_UNKNOWN"};
	char line[1024], eio[16];
	snprintf(eio, sizeof(eio), "%d", -EIO);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fail_at(0, "cuStreamSynchronize", ":1", names[i], line, sizeof(line));
		expect_begins_with(line, eio);
		expect_contains(line, names[i]);
	}
}

static void no_memory_is_enomem(void)
{
	char line[1024], enomem[16];
	snprintf(enomem, sizeof(enomem), "%d", -ENOMEM);
	fail_at(0, "cuMemAlloc_v2", "", "CUDA_ERROR_OUT_OF_MEMORY", line, sizeof(line));
	expect_begins_with(line, enomem);
	expect_contains(line, "out of memory (CUDA_ERROR_OUT_OF_MEMORY");
	fail_at(1, "hipMalloc", "", "hipErrorOutOfMemory", line, sizeof(line));
	expect_begins_with(line, enomem);
	expect_contains(line, "out of memory (hipErrorOutOfMemory");
}

static void a_failed_kernel_loses_the_device(void)
{
	static const char *const names[] = {"CUDA_ERROR_LAUNCH_FAILED", "hipErrorLaunchFailure"};
	char line[1024], eio[16];
	snprintf(eio, sizeof(eio), "%d", -EIO);
	setenv("FAKE_KERNEL_FAIL", "gpusig_copy", 1);
	for (int vendor = 0; vendor < 2; vendor++) {
		run_child(specs[vendor], line, sizeof(line));
		expect_begins_with(line, eio);
		expect_contains(line, names[vendor]);
	}
	unsetenv("FAKE_KERNEL_FAIL");
}

static void a_device_may_be_lost_at_any_launch(void)
{
	char line[1024], launches[8];
	for (int i = 0; i < 8; i++) {
		snprintf(launches, sizeof(launches), "%d", i);
		setenv("FAKE_LOST", launches, 1);
		run_child(specs[i % 2], line, sizeof(line));
		expect_begins_with(line, "-");
	}
	unsetenv("FAKE_LOST");
}

static void no_device_is_enodev(void)
{
	char line[1024], enodev[16];
	snprintf(enodev, sizeof(enodev), "%d", -ENODEV);
	setenv("FAKE_GPUS", "0", 1);
	for (int vendor = 0; vendor < 2; vendor++) {
		run_child(specs[vendor], line, sizeof(line));
		expect_begins_with(line, enodev);
		expect_contains(line, "finds no GPU");
	}
	unsetenv("FAKE_GPUS");
	setenv("FAKE_DRIVER_VERSION", "11060", 1);
	run_child("cuda:0,1", line, sizeof(line));
	expect_begins_with(line, enodev);
	expect_contains(line, "CUDA 11.6");
	expect_contains(line, "11.7");
	unsetenv("FAKE_DRIVER_VERSION");
}

/* ROCm 5.7, 6.0 and 6.2 differ in the flags for imported handles and in the kinds of copies. */
static void old_and_new_hip_runtimes_work(void)
{
	static const char *const versions[] = {"50731921", "60032830", "60241133"};
	char line[1024];
	setenv("FAKE_IPC_SELF", "1", 1);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		setenv("FAKE_DRIVER_VERSION", versions[i], 1);
		run_child("hip:0,1", line, sizeof(line));
		expect_begins_with(line, "0\n");
	}
	unsetenv("FAKE_DRIVER_VERSION");
	unsetenv("FAKE_IPC_SELF");
}

/* The second copy of use_streams() is the first one within the device. */
static void a_refused_kind_of_copy_is_replaced(void)
{
	char line[1024];
	fail_at(1, "hipMemcpyAsync", ":2", "hipErrorInvalidMemcpyDirection", line, sizeof(line));
	expect_begins_with(line, "0\n");
	fail_at(1, "hipMemcpyAsync", ":2", "hipErrorLaunchFailure", line, sizeof(line));
	expect_begins_with(line, "-");
}

/* The Makefile builds the fakes into fakes/ of the build folder, three levels above this program.
 */
static int find_fakes(void)
{
	static char copy[sizeof(program)];
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0)
		return -errno;
	memcpy(copy, program, sizeof(copy));
	snprintf(folder, sizeof(folder), "%s", dirname(dirname(dirname(copy))));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		use_everything(argv[2]);
		unsetenv("FAKE_FAIL");
		return strcmp(argv[1], "again") == 0 ? use_everything(argv[2]) : 0;
	}
	if (find_fakes())
		return 1;
	test(without_a_fault_all_works);
	test(a_failing_function_is_named);
	test(any_function_may_fail_once);
	test(a_late_failure_is_survived);
	test(a_refused_batch_falls_back_to_a_plain_copy);
	test(errors_that_end_a_context_lose_the_device);
	test(no_memory_is_enomem);
	test(a_failed_kernel_loses_the_device);
	test(a_device_may_be_lost_at_any_launch);
	test(no_device_is_enodev);
	test(old_and_new_hip_runtimes_work);
	test(a_refused_kind_of_copy_is_replaced);
	return test_done();
}
