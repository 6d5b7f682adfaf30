/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Identity of processors, on /proc/cpuinfo of real machines: lines that matter and some that must
 * not, of one or two processors, with the values that the places named beside them report.
 */
#include "lib/processor.h"
#include "tests/unit/test.h"

#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/gpusig_processor_XXXXXX";

static const struct machine {
	const char *name, *cpuinfo, *identity;
	bool named;
} machines[] = {
	/* github.com/archspec/archspec-json/issues/41 */
	{"Ampere Altra",
	 "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm aes\n"
	 "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n"
	 "CPU revision\t: 1\n",
	 "CPU implementer 0x41, CPU part 0xd0c, CPU variant 0x3, CPU revision 1", false},
	/* parts: github.com/flame/blis/pull/939, revisions as of Cortex-X925 r0p1 */
	{"GB10, two kinds of cores",
	 "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: 0xd87\n"
	 "CPU revision\t: 1\n\n"
	 "processor\t: 1\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: 0xd85\n"
	 "CPU revision\t: 1\n",
	 "CPU implementer 0x41, CPU part 0xd87/0xd85, CPU variant 0x0, CPU revision 1", false},
	/* tests/ts/lscpu of util-linux, armv7: the name there says less than the numbers */
	{"Exynos 5, 32 bits",
	 "Processor\t: ARMv7 Processor rev 4 (v7l)\nprocessor\t: 0\nBogoMIPS\t: 1694.10\n\n"
	 "Features\t: swp half\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\n"
	 "CPU part\t: 0xc0f\nCPU revision\t: 4\n\nHardware\t: SAMSUNG EXYNOS5\n"
	 "Serial\t\t: 0000000000000000\n",
	 "CPU implementer 0x41, CPU part 0xc0f, CPU variant 0x0, CPU revision 4, "
	 "Hardware SAMSUNG EXYNOS5",
	 false},
	/* github.com/fastfetch-cli/fastfetch/pull/496 */
	{"POWER9",
	 "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800.000000MHz\n"
	 "revision\t: 2.2 (pvr 004e 1202)\n",
	 "POWER9, altivec supported, revision 2.2 (pvr 004e 1202)", true},
	/* github.com/Dr-Noob/cpufetch/issues/351 */
	{"PowerBook G4",
	 "processor\t: 0\ncpu\t\t: 7447A, altivec supported\nrevision\t: 1.5 (pvr 8003 0105)\n"
	 "bogomips\t: 33.28\n\nplatform\t: PowerMac\nmodel\t\t: PowerBook5,8\n"
	 "machine\t\t: PowerBook5,8\nMemory\t\t: 1024 MB\n",
	 "7447A, altivec supported, revision 1.5 (pvr 8003 0105), machine PowerBook5,8", true},
	/* github.com/mesonbuild/meson/issues/3897 */
	{"z13",
	 "vendor_id       : IBM/S390\n# processors    : 4\nbogomips per cpu: 3033.00\n"
	 "processor 0: version = FF,  identification = 118F67,  machine = 2964\n"
	 "processor 1: version = FF,  identification = 118F67,  machine = 2964\n",
	 "machine 2964, vendor_id IBM/S390", false},
	/* github.com/google/syzkaller/pull/2122; newer kernels have a block for each processor */
	{"z14",
	 "vendor_id       : IBM/S390\n"
	 "processor 0: version = 00,  identification = 310C57,  machine = 3906\n\n"
	 "cpu number      : 0\nmachine         : 3906\ncpu MHz dynamic : 5208\n",
	 "machine 3906, vendor_id IBM/S390", false},
	/* github.com/fastfetch-cli/fastfetch/issues/1529 */
	{"Milk-V Mars",
	 "processor\t: 0\nhart\t\t: 2\nisa\t\t: rv64imafdc_zicntr_zba_zbb\nmmu\t\t: sv39\n"
	 "uarch\t\t: sifive,u74-mc\nmvendorid\t: 0x489\nmarchid\t\t: 0x8000000000000007\n"
	 "mimpid\t\t: 0x4210427\n",
	 "isa rv64imafdc, uarch sifive,u74-mc, mvendorid 0x489, marchid 0x8000000000000007, "
	 "mimpid 0x4210427",
	 false},
	/* github.com/llvm/llvm-project/pull/159465 */
	{"HiFive Premier",
	 "processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64imafdch_zicsr_zba\nmmu\t\t: sv48\n"
	 "mvendorid\t: 0x489\nmarchid\t\t: 0x8000000000000008\nmimpid\t\t: 0x6220425\n",
	 "isa rv64imafdch, mvendorid 0x489, marchid 0x8000000000000008, mimpid 0x6220425", false},
	/* github.com/fastfetch-cli/fastfetch/issues/1204 */
	{"Loongson 3A6000",
	 "system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\n"
	 "CPU Family\t\t: Loongson-64bit\nModel Name\t\t: Loongson-3A6000-HV\n"
	 "CPU Revision\t\t: 0x00\nCPU MHz\t\t\t: 2500.00\n",
	 "Loongson-3A6000-HV, CPU Revision 0x00, system type generic-loongson-machine", true},
	/* github.com/util-linux/util-linux/pull/996 */
	{"Loongson 3, MIPS",
	 "system type\t\t: Generic Loongson64 System\nmachine\t\t: "
	 "loongson,loongson3-8core-rs780e\n"
	 "processor\t\t: 0\ncpu model\t\t: ICT Loongson-3 V0.7  FPU V0.1\nBogoMIPS\t: 1063.98\n"
	 "isa\t\t\t: mips1 mips64r2\n",
	 "ICT Loongson-3 V0.7  FPU V0.1, system type Generic Loongson64 System, "
	 "machine loongson,loongson3-8core-rs780e",
	 true},
	/* tests/ts/lscpu of util-linux, sparc64 */
	{"Ultra Enterprise",
	 "cpu\t\t: TI UltraSparc II  (BlackBird)\npmu\t\t: ultra12\ntype\t\t: sun4u\n"
	 "ncpus probed\t: 6\nCpu6ClkTck\t: 000000000ec82e00\n",
	 "TI UltraSparc II  (BlackBird), type sun4u", true},
	/* tests/ts/lscpu of util-linux, x86_64-epyc_7451 */
	{"EPYC",
	 "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 1\n"
	 "model name\t: AMD EPYC 7451 24-Core Processor\nstepping\t: 2\ncpu MHz\t\t: 2894.214\n",
	 "AMD EPYC 7451 24-Core Processor", true},
	/* arch/x86/kernel/cpu/proc.c where the hypervisor, or the processor, gives no name */
	{"x86 without a name",
	 "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n"
	 "model name\t: unknown\nstepping\t: 1\ncpu MHz\t\t: 2445.428\n",
	 "cpu family 25, vendor_id AuthenticAMD, model 1, stepping 1", false},
};
#define MACHINES (sizeof(machines) / sizeof(machines[0]))

/* To be freed. */
static char *identify_cpuinfo(const char *cpuinfo, bool *named)
{
	struct text identity = {0};
	char path[256];
	snprintf(path, sizeof(path), "%s/proc/cpuinfo", root);
	FILE *file = fopen(path, "w");
	if (file) {
		fputs(cpuinfo, file);
		fclose(file);
	}
	*named = processor_identify(root, &identity);
	return identity.bytes;
}

static void each_family_is_identified_in_its_own_way(void)
{
	for (size_t i = 0; i < MACHINES; i++) {
		bool named;
		char *identity = identify_cpuinfo(machines[i].cpuinfo, &named);
		require(identity);
		if (strcmp(identity, machines[i].identity) != 0)
			printf("# %s: %s\n", machines[i].name, identity);
		expect(strcmp(identity, machines[i].identity) == 0);
		expect(named == machines[i].named);
		free(identity);
	}
}

static void an_unknown_family_differs_by_all_that_it_says(void)
{
	static const char *const same[] = {
		"processor\t: 0\nmodel\t\t: A1\nunit\t\t: 4\ncpu MHz\t: 900.1\n",
		"processor\t: 0\nmodel\t\t: A1\nunit\t\t: 4\ncpu MHz\t: 1900.0\n\n"
		"processor\t: 1\nmodel\t\t: A1\nunit\t\t: 4\ncpu MHz\t: 901.7\n",
	};
	bool named;
	char *first = identify_cpuinfo(same[0], &named),
	     *second = identify_cpuinfo(same[1], &named);
	char *other = identify_cpuinfo("processor\t: 0\nmodel\t\t: A1\nunit\t\t: 5\n", &named);
	char *none = identify_cpuinfo("", &named);
	require(first && second && other && none);
	expect(!named && strcmp(first, second) == 0 && strcmp(first, other) != 0);
	expect(strstr(first, " processor ") != NULL && strstr(none, " processor ") == NULL);
	free(first);
	free(second);
	free(other);
	free(none);
}

int main(void)
{
	char path[256];
	require(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/proc", root);
	require(mkdir(path, 0700) == 0);
	test(each_family_is_identified_in_its_own_way);
	test(an_unknown_family_differs_by_all_that_it_says);
	snprintf(path, sizeof(path), "/bin/rm -rf %s", root);
	expect(system(path) == 0);
	return test_done();
}
