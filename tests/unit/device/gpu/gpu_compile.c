/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiles the GPU kernels with the vendors' run-time compilers for the architectures that they
 * know. No device is needed.
 */
#include "device/gpu/gpu_compilers.h"
#include "device/kernel_signature.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct gpu_compiler *compiler;
static const char *arch;

/* Both vendors' machine code is ELF and contains the kernels' names. */
static bool has_text(const char *image, size_t bytes, const char *text)
{
	const size_t length = strlen(text);
	for (size_t i = 0; i + length <= bytes; i++)
		if (memcmp(image + i, text, length) == 0)
			return true;
	return false;
}

static void compile_for(const char *source, void **image_p, size_t *bytes_p, int wanted)
{
	*image_p = NULL;
	*bytes_p = 0;
	const struct gpu_target target = {.arch = arch};
	unsigned release = 0;
	const int status = compiler->compile(source, &target, &release, image_p, bytes_p);
	if (status == -ENODEV)
		skip(err_text());
	if (status != wanted)
		printf("# %s: %d, %s\n", arch, status, status ? err_text() : "compiled");
	require(status == wanted);
}

/* The kernels for `arch`, compiled once for all tests and never freed. */
static const char *kernels_for_arch(size_t *bytes_p)
{
	static struct {
		const char *arch;
		void *image;
		size_t bytes;
	} known[32];
	size_t i = 0;
	while (i < COUNT(known) - 1 && known[i].arch && strcmp(known[i].arch, arch) != 0)
		i++;
	if (!known[i].arch)
		compile_for(gpu_kernels_source, &known[i].image, &known[i].bytes, 0);
	known[i].arch = arch;
	*bytes_p = known[i].bytes;
	return known[i].image;
}

static void expect_kernel(const char *image, size_t bytes, const char *kernel, bool there)
{
	char name[64];
	snprintf(name, sizeof(name), "gpusig_%s", kernel);
	if (has_text(image, bytes, name) != there)
		test_fail(__FILE__, __LINE__, name);
}

/* Those of the list, and what the backend runs for itself. */
static void compiles_all_kernels(void)
{
	static const char *const own[] = {"clock_sync",     "clock_sample", "timer_step",
					  "gemm_f32",       "gemm_f64",     "gemm_adding_f32",
					  "gemm_adding_f64"};
	size_t bytes, count;
	const char *image = kernels_for_arch(&bytes);
	const struct kernel_signature *listed = kernel_signatures(&count);
	expect(has_text(image, bytes, "\177ELF"));
	for (size_t i = 0; i < count; i++)
		if (!listed[i].may_lack)
			expect_kernel(image, bytes, listed[i].name, true);
	for (size_t i = 0; i < COUNT(own); i++)
		expect_kernel(image, bytes, own[i], true);
}

/* The matrix multiply-add kernels that each architecture has, with the newest compilers
 * installed here. */
static const struct mma_rule {
	const char *arch, *has, *lacks;
} mma_rules[] = {
	{"sm_75", "", "mma_f16 mma_bf16 mma_tf32 mma_f8 mma_i8 wgmma_f16"},
	{"sm_80", "mma_f16 mma_bf16 mma_tf32 mma_i8", "mma_f8 wgmma_f16"},
	{"sm_86", "mma_f16 mma_bf16 mma_tf32 mma_i8", "mma_f8 wgmma_f16"},
	{"sm_89", "mma_f16 mma_bf16 mma_tf32 mma_f8 mma_i8", "wgmma_f16"},
	{"sm_90",
	 "mma_f16 mma_bf16 mma_tf32 mma_i8 wgmma_f16 wgmma_bf16 wgmma_tf32 wgmma_f8 wgmma_i8",
	 "mma_f8"},
	{"sm_100", "mma_f16 mma_bf16 mma_tf32 mma_i8", "mma_f8 wgmma_f16"},
	{"sm_120", "mma_f16 mma_bf16 mma_tf32 mma_f8 mma_i8", "wgmma_f16"},
	{"gfx906", "", "mma_f16 mma_bf16 mma_tf32 mma_f8 mma_i8 wgmma_f16"},
	{"gfx908", "mma_f16 mma_bf16 mma_i8", "mma_tf32 mma_f8 wgmma_f16"},
	{"gfx90a", "mma_f16 mma_bf16 mma_i8", "mma_tf32 mma_f8 wgmma_f16"},
	{"gfx1030", "", "mma_f16 mma_bf16 mma_tf32 mma_f8 mma_i8 wgmma_f16"},
};

static void expect_kernels(const char *image, size_t bytes, const char *list, bool there)
{
	char words[128], *rest = words;
	snprintf(words, sizeof(words), "%s", list);
	for (const char *word = strtok_r(words, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest))
		expect_kernel(image, bytes, word, there);
}

/* Kernels that a device may lack are looked for on one that has them. */
static void every_mma_kernel_has_an_architecture(void)
{
	size_t count;
	const struct kernel_signature *listed = kernel_signatures(&count);
	for (size_t i = 0; i < count; i++) {
		const size_t length = strlen(listed[i].name);
		bool found = !listed[i].may_lack;
		for (size_t rule = 0; rule < COUNT(mma_rules); rule++)
			for (const char *at = mma_rules[rule].has;
			     (at = strstr(at, listed[i].name)); at += length)
				found |= (at == mma_rules[rule].has || at[-1] == ' ') &&
					 (at[length] == ' ' || !at[length]);
		if (!found)
			test_fail(__FILE__, __LINE__, listed[i].name);
	}
}

static void mma_kernels_match_arch(void)
{
	size_t bytes, i = 0;
	while (strcmp(mma_rules[i].arch, arch) != 0)
		i++;
	const char *image = kernels_for_arch(&bytes);
	expect_kernels(image, bytes, mma_rules[i].has, true);
	expect_kernels(image, bytes, mma_rules[i].lacks, false);
}

/* The section .nv.info of NVIDIA's machine code has records of a byte 4, a byte for the kind, a
 * size of 16 bits, a symbol and a number. Returns the number for the kernel, or UINT32_MAX. */
static uint32_t resource_usage(const char *image, const char *kernel, unsigned kind)
{
	const Elf64_Ehdr *head = (const void *)image;
	const Elf64_Shdr *section = (const void *)(image + head->e_shoff),
			 *names = &section[head->e_shstrndx];
	for (unsigned s = 0; s < head->e_shnum; s++) {
		if (strcmp(image + names->sh_offset + section[s].sh_name, ".nv.info") != 0)
			continue;
		const Elf64_Shdr *symbols = &section[section[s].sh_link],
				 *text = &section[symbols->sh_link];
		const unsigned char *at = (const unsigned char *)image + section[s].sh_offset,
				    *end = at + section[s].sh_size;
		while (at + 4 <= end) {
			uint16_t size = (uint16_t)(at[0] == 4 ? at[2] | at[3] << 8 : 0);
			uint32_t words[2] = {0};
			memcpy(words, at + 4, size == sizeof(words) ? sizeof(words) : 0);
			const Elf64_Sym *symbol =
				(const Elf64_Sym *)(const void *)(image + symbols->sh_offset) +
				words[0];
			if (size == sizeof(words) && at[1] == kind &&
			    strcmp(image + text->sh_offset + symbol->st_name, kernel) == 0)
				return words[1];
			at += 4 + size;
		}
	}
	return UINT32_MAX;
}

/* A unit has 65536 registers, 128 for each thread of two blocks of 256. Further values go to
 * local memory; NVRTC 12.9 puts 24 bytes there for sm_120, 13.0 none. */
static void two_gemm_blocks_fit_a_unit(void)
{
	enum { LOCAL_BYTES = 0x11, REGISTERS = 0x2f };
	static const char *const names[] = {"gpusig_gemm_f32", "gpusig_gemm_f64",
					    "gpusig_gemm_adding_f32", "gpusig_gemm_adding_f64"};
	size_t bytes;
	const char *image = kernels_for_arch(&bytes);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		printf("# %s: %u registers\n", names[i],
		       resource_usage(image, names[i], REGISTERS));
		expect(resource_usage(image, names[i], REGISTERS) <= 128);
		expect(resource_usage(image, names[i], LOCAL_BYTES) <= 24);
	}
}

/* For an unknown newer device the compiler makes PTX, which the driver compiles further. */
static void newer_device_gets_ptx(void)
{
	void *image;
	size_t bytes;
	compile_for(gpu_kernels_source, &image, &bytes, 0);
	expect(has_text(image, bytes, ".visible .entry gpusig_copy("));
	expect(((const char *)image)[bytes] == '\0');
	free(image);
}

static void garbage_is_refused(void)
{
	void *image;
	size_t bytes;
	compile_for("// no kernel\nthis is_no_code;\n", &image, &bytes, -EINVAL);
	expect(!image && !bytes);
	expect(strstr(err_text(), "error") != NULL);
	expect(strchr(err_text(), '\n') == NULL);
}

static void unknown_architecture_is_refused(void)
{
	void *image;
	size_t bytes;
	compile_for(gpu_kernels_source, &image, &bytes, -EINVAL);
	expect(!image && !bytes);
	expect(err_text()[0] != '\0');
}

static void version_is_told(void)
{
	char text[64] = "";
	if (compiler->version(0, text, sizeof(text)))
		skip(err_text());
	expect(strstr(text, "RTC ") && strchr(text, '.'));
}

/* A few stand for all but in the lab: the oldest, the newest, and what kernels are written for. */
static bool is_arch_tried(const char *architecture)
{
	static const char *const few[] = {"sm_75", "sm_90", "sm_120", "gfx90a"};
	for (size_t i = 0; i < COUNT(few); i++)
		if (strcmp(few[i], architecture) == 0)
			return true;
	return test_all();
}

static void run_for_arch(const char *what, void (*function)(void), const char *architecture)
{
	char name[64];
	arch = architecture;
	snprintf(name, sizeof(name), "%s_%s", what, architecture);
	test_run(name, function);
}

static void run_for_each(const char *what, void (*function)(void), const char *const *architectures,
			 size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_arch_tried(architectures[i]))
			run_for_arch(what, function, architectures[i]);
}

static void run_mma_rules(const char *vendors_prefix)
{
	for (size_t i = 0; i < COUNT(mma_rules); i++)
		if (strncmp(mma_rules[i].arch, vendors_prefix, strlen(vendors_prefix)) == 0 &&
		    is_arch_tried(mma_rules[i].arch))
			run_for_arch("mma_kernels", mma_kernels_match_arch, mma_rules[i].arch);
}

int main(void)
{
	static const char *const cuda[] = {"sm_75", "sm_80",  "sm_86",  "sm_89",
					   "sm_90", "sm_100", "sm_103", "sm_120"};
	static const char *const hip[] = {"gfx906", "gfx908", "gfx90a", "gfx90a:sramecc+:xnack-",
					  "gfx1030"};
	compiler = &cuda_compiler;
	run_for_each("kernels", compiles_all_kernels, cuda, COUNT(cuda));
	run_for_each("two_gemm_blocks_fit_a_unit", two_gemm_blocks_fit_a_unit, cuda, COUNT(cuda));
	test(every_mma_kernel_has_an_architecture);
	run_mma_rules("sm_");
	run_for_arch("newer_device", newer_device_gets_ptx, "sm_999");
	run_for_arch("garbage", garbage_is_refused, "sm_90");
	run_for_arch("unknown_architecture", unknown_architecture_is_refused, "sm_10");
	run_for_arch("unknown_architecture", unknown_architecture_is_refused, "sm_9x");
	run_for_arch("version", version_is_told, "cuda");
	compiler = &hip_compiler;
	run_for_each("kernels", compiles_all_kernels, hip, COUNT(hip));
	run_mma_rules("gfx");
	run_for_arch("garbage", garbage_is_refused, "gfx90a");
	run_for_arch("unknown_architecture", unknown_architecture_is_refused, "gfx999");
	run_for_arch("version", version_is_told, "hip");
	return test_done();
}
