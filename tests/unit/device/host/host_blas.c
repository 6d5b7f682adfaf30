/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenBLAS's kernel set follows from the processor's vendor and widest instruction set.
 */
#include "device/host/host_blas.h"
#include "tests/unit/test.h"

static const struct {
	const char *vendor, *avx2;
} vendors[] = {
	{"GenuineIntel", "Haswell"}, {"AuthenticAMD", "Zen"}, {"HygonGenuine", "Zen"},
	{"CentaurHauls", "Haswell"}, {"", "Haswell"},
};
#define VENDORS (sizeof(vendors) / sizeof(vendors[0]))

static void every_processor_has_its_set(void)
{
	for (size_t i = 0; i < VENDORS; i++) {
		const char *vendor = vendors[i].vendor;
		expect(!host_blas_set(vendor, HOST_ISA_OTHER));
		expect_str(host_blas_set(vendor, HOST_ISA_AVX2), vendors[i].avx2);
		expect_str(host_blas_set(vendor, HOST_ISA_AVX512), "SkylakeX");
	}
}

int main(void)
{
	test(every_processor_has_its_set);
	return test_done();
}
