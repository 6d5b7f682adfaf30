/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fake NVML and ROCm SMI (tests/fakes) refuse what the vendors' documentation says is refused:
 * handles that are none, links that the device has not, buffers that are too small.
 */
#include "tests/unit/device/gpu/with_fakes.h"
#include "tests/unit/test.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

enum { OK = 0 };
enum { UNINITIALIZED = 1, INVALID_ARGUMENT = 2, UNSUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7 };
enum { RSMI_INVALID = 1, RSMI_UNSUPPORTED = 2, RSMI_UNINITIALIZED = 8, RSMI_TOO_SMALL = 11 };

static void *load_library(const char *file)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		printf("# %s\n", dlerror());
	require(library);
	return library;
}

/* int f(ARGUMENTS) of a library, as a variable of the same name. */
#define FUNCTION(library, name, ...)                                                               \
	int (*name)(__VA_ARGS__) = NULL;                                                           \
	*(void **)&name = dlsym(library, #name);                                                   \
	require(name)

static bool is_result(const char *call, int got, int wanted)
{
	if (got != wanted)
		printf("# %s is %d, not %d\n", call, got, wanted);
	return got == wanted;
}
#define gives(call, wanted) expect(is_result(#call, call, wanted))

static void *nvml_device(void *nvml, const char *bus)
{
	void *device = NULL;
	FUNCTION(nvml, nvmlInit_v2, void);
	FUNCTION(nvml, nvmlDeviceGetHandleByPciBusId_v2, const char *, void **);
	gives(nvmlInit_v2(), OK);
	gives(nvmlDeviceGetHandleByPciBusId_v2(bus, &device), OK);
	gives(nvmlDeviceGetHandleByPciBusId_v2("0000:03:00.0", &device), NOT_FOUND);
	gives(nvmlDeviceGetHandleByPciBusId_v2("nonsense", &device), INVALID_ARGUMENT);
	return device;
}

static void nvml_links_are_checked(void)
{
	void *nvml = load_library("libnvidia-ml.so.1");
	unsigned value = 77;
	unsigned long long wide = 0;
	FUNCTION(nvml, nvmlDeviceGetNvLinkState, void *, unsigned, unsigned *);
	FUNCTION(nvml, nvmlDeviceGetNvLinkCapability, void *, unsigned, unsigned, unsigned *);
	FUNCTION(nvml, nvmlDeviceGetNvLinkRemoteDeviceType, void *, unsigned, unsigned *);
	FUNCTION(nvml, nvmlDeviceGetNvLinkErrorCounter, void *, unsigned, unsigned,
		 unsigned long long *);
	gives(nvmlDeviceGetNvLinkState(&value, 0, &value), UNINITIALIZED);
	void *device = nvml_device(nvml, "0000:01:00.0");
	gives(nvmlDeviceGetNvLinkState(&value, 0, &value), INVALID_ARGUMENT);
	gives(nvmlDeviceGetNvLinkState(device, 4, &value), INVALID_ARGUMENT);
	gives(nvmlDeviceGetNvLinkState(device, 0, NULL), INVALID_ARGUMENT);
	expect(value == 77);
	gives(nvmlDeviceGetNvLinkState(device, 3, &value), OK);
	expect(value == 1);
	gives(nvmlDeviceGetNvLinkCapability(device, 0, 6, &value), INVALID_ARGUMENT);
	gives(nvmlDeviceGetNvLinkErrorCounter(device, 0, 5, &wide), INVALID_ARGUMENT);
	setenv("FAKE_BOARD", "nvlink_2=0", 1);
	gives(nvmlDeviceGetNvLinkRemoteDeviceType(device, 2, &value), UNSUPPORTED);
	setenv("FAKE_BOARD", "nvlinks=0", 1);
	gives(nvmlDeviceGetNvLinkState(device, 0, &value), UNSUPPORTED);
	unsetenv("FAKE_BOARD");
}

static void nvml_memory_is_checked(void)
{
	void *nvml = load_library("libnvidia-ml.so.1");
	void *device = nvml_device(nvml, "0000:02:00.0");
	unsigned count = 0, pending = 0;
	unsigned long long errors = 0, addresses[2] = {0};
	FUNCTION(nvml, nvmlDeviceGetTotalEccErrors, void *, unsigned, unsigned,
		 unsigned long long *);
	FUNCTION(nvml, nvmlDeviceGetRemappedRows, void *, unsigned *, unsigned *, unsigned *,
		 unsigned *);
	FUNCTION(nvml, nvmlDeviceGetRetiredPages, void *, unsigned, unsigned *,
		 unsigned long long *);
	gives(nvmlDeviceGetTotalEccErrors(device, 2, 0, &errors), INVALID_ARGUMENT);
	gives(nvmlDeviceGetTotalEccErrors(device, 0, 2, &errors), INVALID_ARGUMENT);
	gives(nvmlDeviceGetRemappedRows(device, &count, &count, NULL, &count), INVALID_ARGUMENT);
	gives(nvmlDeviceGetRetiredPages(device, 0, &count, NULL), UNSUPPORTED);
	setenv("FAKE_BOARD", "rows=0,1.retired_corrected=2", 1);
	gives(nvmlDeviceGetRemappedRows(device, &count, &count, &pending, &count), UNSUPPORTED);
	gives(nvmlDeviceGetRetiredPages(device, 2, &count, NULL), INVALID_ARGUMENT);
	gives(nvmlDeviceGetRetiredPages(device, 0, &count, NULL), TOO_SMALL);
	expect(count == 2);
	count = 1;
	gives(nvmlDeviceGetRetiredPages(device, 0, &count, addresses), TOO_SMALL);
	gives(nvmlDeviceGetRetiredPages(device, 0, &count, addresses), OK);
	expect(count == 2 && addresses[0] && addresses[1]);
	unsetenv("FAKE_BOARD");
}

struct page {
	uint64_t address, size;
	unsigned status;
};

static void rocm_smi_is_checked(void)
{
	void *smi = load_library("librocm_smi64.so.7");
	uint64_t hops = 0, errors[2];
	unsigned kind = 0;
	uint32_t count = 0;
	struct page pages[2];
	FUNCTION(smi, rsmi_init, uint64_t);
	FUNCTION(smi, rsmi_topo_get_link_type, uint32_t, uint32_t, uint64_t *, unsigned *);
	FUNCTION(smi, rsmi_minmax_bandwidth_get, uint32_t, uint32_t, uint64_t *, uint64_t *);
	FUNCTION(smi, rsmi_dev_ecc_count_get, uint32_t, uint64_t, uint64_t *);
	FUNCTION(smi, rsmi_dev_memory_reserved_pages_get, uint32_t, uint32_t *, struct page *);
	gives(rsmi_topo_get_link_type(0, 1, &hops, &kind), RSMI_UNINITIALIZED);
	gives(rsmi_init(0), OK);
	gives(rsmi_topo_get_link_type(0, 2, &hops, &kind), RSMI_INVALID);
	gives(rsmi_topo_get_link_type(0, 1, NULL, &kind), RSMI_INVALID);
	gives(rsmi_topo_get_link_type(0, 1, &hops, &kind), OK);
	gives(rsmi_dev_ecc_count_get(0, 3, errors), RSMI_INVALID);
	gives(rsmi_dev_ecc_count_get(0, 0x400, errors), RSMI_UNSUPPORTED);
	setenv("FAKE_BOARD", "0.xgmi_1=0,pages_pending=3", 1);
	gives(rsmi_minmax_bandwidth_get(0, 1, &hops, &hops), RSMI_INVALID);
	gives(rsmi_dev_memory_reserved_pages_get(0, NULL, NULL), RSMI_INVALID);
	gives(rsmi_dev_memory_reserved_pages_get(0, &count, NULL), OK);
	expect(count == 3);
	count = 2;
	gives(rsmi_dev_memory_reserved_pages_get(0, &count, pages), RSMI_TOO_SMALL);
	expect(count == 2 && pages[1].status == 1);
	unsetenv("FAKE_BOARD");
}

int main(int argc, char **argv)
{
	if (start_with_fakes(argv)) {
		perror("exec");
		return 1;
	}
	load_library("libcuda.so.1");
	load_library("libamdhip64.so.7");
	test(nvml_links_are_checked);
	test(nvml_memory_is_checked);
	test(rocm_smi_is_checked);
	return test_done();
}
