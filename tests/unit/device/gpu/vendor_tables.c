/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Errors have a reason where a library is not installed or has no device. The conformance suite
 * tests the libraries on devices.
 */
#include "device/gpu/vendor_tables.h"
#include "device/gpu/nccl.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <dlfcn.h>
#include <errno.h>

/* Leaks of the vendors' libraries when they find no device. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libcublasLt\nleak:libnccl\nleak:librocm_smi64\n";
}

static bool is_installed(const char *const *files)
{
	for (; *files; files++)
		if (dlopen(*files, RTLD_LAZY | RTLD_LOCAL))
			return true;
	return false;
}

static void expect_reason(int status, bool there, const char *title)
{
	char text[64];
	snprintf(text, sizeof(text), "%s is not installed: no ", title);
	if (there)
		expect(status == 0 || err_text()[0]);
	else
		expect(status == -ENODEV && strncmp(err_text(), text, strlen(text)) == 0);
}

static void open_blas(const struct gpu_blas *blas, const char *arch, bool there, const char *title)
{
	struct gpu_traits traits = {.warp_threads = 32};
	void *opened = NULL;
	uint32_t types = 0;
	char text[96] = "";
	snprintf(traits.arch, sizeof(traits.arch), "%s", arch);
	err_clear();
	const int status = blas->open(&traits, &opened, &types, text, sizeof(text));
	expect_reason(status, there, title);
	if (status)
		expect(!opened && !types && !text[0]);
	else
		blas->close(opened, true);
}

static void cublaslt_opens_or_says_why(void)
{
	static const char *const files[] = {"libcublasLt.so.13",
					    "libcublasLt.so.12",
					    "libcublasLt.so.11",
					    "libcublasLt.so",
					    "/usr/local/cuda/lib64/libcublasLt.so",
					    NULL};
	open_blas(&cuda_blas, "sm_90", is_installed(files), "cuBLASLt");
}

/* Both libraries end the process where there is no device. */
static void rocblas_opens_or_says_why(void)
{
	static const char *const files[] = {"librocblas.so.5",
					    "librocblas.so.4",
					    "librocblas.so.3",
					    "librocblas.so.0",
					    "librocblas.so",
					    "/opt/rocm/lib/librocblas.so",
					    "libhipblaslt.so.1",
					    "libhipblaslt.so.0",
					    "libhipblaslt.so",
					    "/opt/rocm/lib/libhipblaslt.so",
					    NULL};
	if (is_installed(files))
		skip("hipBLASLt or rocBLAS is installed");
	open_blas(&hip_blas, "gfx90a", false, "rocBLAS");
}

static void open_collectives(const struct nccl *n, bool there, const char *title)
{
	struct ncclComm *comms[2] = {NULL, NULL};
	struct nccl_policy policy;
	err_clear();
	const int status = nccl_open(n, (const unsigned[]){0, 1}, 2, comms);
	expect_reason(status, there, title);
	if (status)
		expect(!comms[0] && !comms[1]);
	else
		nccl_close(n, comms, 2);
	err_clear();
	expect(there || nccl_policy_open(n, DEV_COMM_ZERO_CTA, &policy) == status);
}

static void nccl_opens_or_says_why(void)
{
	static const char *const files[] = {"libnccl.so.2", "libnccl.so",
					    "/usr/local/cuda/lib64/libnccl.so", NULL};
	open_collectives(&cuda_collectives, is_installed(files), "NCCL");
}

static void rccl_opens_or_says_why(void)
{
	static const char *const files[] = {"librccl.so.1", "librccl.so",
					    "/opt/rocm/lib/librccl.so", NULL};
	open_collectives(&hip_collectives, is_installed(files), "RCCL");
}

/* There is no device at this address: every sample is present, unknown, with a reason; and
 * samples that were in the list stay. */
static void read_nothing(const struct gpu_management *management)
{
	struct dev_telemetry samples[DEV_TELEMETRY_MAX] = {{.name = "first", .number = 7}};
	size_t count = 1;
	bool sm_clock = false, throttle = false;
	require(management->read("ffff:ff:1f.7", samples, DEV_TELEMETRY_MAX, &count) == 0);
	require(count > 10 && count <= DEV_TELEMETRY_MAX);
	expect_str(samples[0].name, "first");
	for (size_t i = 1; i < count; i++) {
		expect(samples[i].name[0] && isnan(samples[i].number) && !samples[i].text[0] &&
		       samples[i].why[0]);
		for (size_t j = 0; j < i; j++)
			expect(strcmp(samples[i].name, samples[j].name) != 0);
		sm_clock = sm_clock || (strcmp(samples[i].name, "sm_clock") == 0 &&
					strcmp(samples[i].unit, "Hz") == 0);
		throttle = throttle || strcmp(samples[i].name, "throttle") == 0;
	}
	expect(sm_clock && throttle);
	count = 0;
	expect(management->read("ffff:ff:1f.7", samples, 3, &count) == 0 && count == 3);
}

static void nvml_unknown_device(void) { read_nothing(&cuda_management); }

/* The library throws an exception where there is no device, which the address sanitizer does not
 * support in a C program. */
static void rocm_smi_unknown_device(void)
{
	static const char *const files[] = {"librocm_smi64.so.7", "librocm_smi64.so.6",
					    "librocm_smi64.so.5", "librocm_smi64.so.1",
					    "librocm_smi64.so",   NULL};
	if (dlsym(RTLD_DEFAULT, "__asan_init") && is_installed(files))
		skip("the address sanitizer and ROCm SMI");
	read_nothing(&hip_management);
}

static void cufile_loads_or_says_why(void)
{
	static const char *const files[] = {"libcufile.so.0", "libcufile.so",
					    "/usr/local/cuda/lib64/libcufile.so", NULL};
	err_clear();
	expect_reason(cuda_storage.load(), is_installed(files), "cuFile");
}

int main(void)
{
	test(cublaslt_opens_or_says_why);
	test(rocblas_opens_or_says_why);
	test(nccl_opens_or_says_why);
	test(rccl_opens_or_says_why);
	test(cufile_loads_or_says_why);
	test(nvml_unknown_device);
	test(rocm_smi_unknown_device);
	return test_done();
}
