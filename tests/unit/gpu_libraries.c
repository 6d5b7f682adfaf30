/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a library is not installed, or there is no device for it: clean errors with a reason. What the libraries do on a device
 * is the conformance suite's business.
 */
#include "device/gpu_libraries.h"

#include <dlfcn.h>
#include <errno.h>

#include "lib/err.h"
#include "tests/unit/test.h"

/* What the vendors' libraries leave behind when they find no device. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libcublasLt\nleak:libnccl\nleak:librocm_smi64\n"; }

static bool installed(const char *const *files)
{
	for (; *files; files++)
		if (dlopen(*files, RTLD_LAZY | RTLD_LOCAL))
			return true;
	return false;
}

static void judge(int rc, bool there, const char *title)
{
	char text[64];
	snprintf(text, sizeof(text), "%s is not here: no ", title);
	if (there)
		expect(rc == 0 || err_text()[0]);
	else
		expect(rc == -ENODEV && strncmp(err_text(), text, strlen(text)) == 0);
}

static void open_blas(const struct gpu_blas *blas, const char *arch, bool there, const char *title)
{
	struct gpu_traits traits = {.warp_threads = 32};
	void *opened = NULL;
	uint32_t types = 0;
	char text[96] = "";
	snprintf(traits.arch, sizeof(traits.arch), "%s", arch);
	err_clear();
	const int rc = blas->open(&traits, &opened, &types, text, sizeof(text));
	judge(rc, there, title);
	if (rc)
		expect(!opened && !types && !text[0]);
	else
		blas->close(opened);
}

static void cublaslt(void)
{
	static const char *const files[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so",
	                                    "/usr/local/cuda/lib64/libcublasLt.so", NULL};
	open_blas(&cuda_blas, "sm_90", installed(files), "cuBLASLt");
}

/* rocBLAS ends the process where there is no device. */
static void rocblas(void)
{
	static const char *const files[] = {"librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0",
	                                    "librocblas.so",   "/opt/rocm/lib/librocblas.so", NULL};
	if (installed(files))
		skip("rocBLAS is installed");
	open_blas(&hip_blas, "gfx90a", false, "rocBLAS");
}

static void open_crew(const struct gpu_collectives *c, bool there, const char *title)
{
	void *comms[2] = {NULL, NULL};
	char text[64] = "";
	err_clear();
	const int rc = c->open((const unsigned[]){0, 1}, 2, comms, text, sizeof(text));
	judge(rc, there, title);
	if (rc)
		expect(!comms[0] && !comms[1] && !text[0]);
	else
		c->close(comms, 2);
}

static void nccl(void)
{
	static const char *const files[] = {"libnccl.so.2", "libnccl.so", "/usr/local/cuda/lib64/libnccl.so", NULL};
	open_crew(&cuda_collectives, installed(files), "NCCL");
}

static void rccl(void)
{
	static const char *const files[] = {"librccl.so.1", "librccl.so", "/opt/rocm/lib/librccl.so", NULL};
	open_crew(&hip_collectives, installed(files), "RCCL");
}

/* No device lies at this address: every reading is there, unknown, and says why; and what stood before them still stands. */
static void read_nothing(const struct gpu_manager *manager)
{
	struct dev_reading readings[DEV_READINGS] = {{.name = "first", .number = 7}};
	size_t count = 1;
	bool sm_clock = false, throttle = false;
	require(manager->read("ffff:ff:1f.7", readings, DEV_READINGS, &count) == 0);
	require(count > 10 && count <= DEV_READINGS);
	expect_str(readings[0].name, "first");
	for (size_t i = 1; i < count; i++) {
		expect(readings[i].name[0] && isnan(readings[i].number) && !readings[i].text[0] && readings[i].why[0]);
		for (size_t j = 0; j < i; j++)
			expect(strcmp(readings[i].name, readings[j].name) != 0);
		sm_clock = sm_clock || (strcmp(readings[i].name, "sm_clock") == 0 && strcmp(readings[i].unit, "Hz") == 0);
		throttle = throttle || strcmp(readings[i].name, "throttle") == 0;
	}
	expect(sm_clock && throttle);
	count = 0;
	expect(manager->read("ffff:ff:1f.7", readings, 3, &count) == 0 && count == 3);
}

static void nvml(void) { read_nothing(&cuda_manager); }

/* The library throws where there is no device, and the address sanitizer can't see that in a program of C. */
static void rocm_smi(void)
{
	static const char *const files[] = {"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5", "librocm_smi64.so.1",
	                                    "librocm_smi64.so", NULL};
	if (dlsym(RTLD_DEFAULT, "__asan_init") && installed(files))
		skip("the address sanitizer and ROCm SMI");
	read_nothing(&hip_manager);
}

int main(void)
{
	test(cublaslt);
	test(rocblas);
	test(nccl);
	test(rccl);
	test(nvml);
	test(rocm_smi);
	return test_done();
}
