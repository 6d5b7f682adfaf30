/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every form of a copy method and its blocks on a device whose units are known, and what is no
 * copy method.
 */
#include "bench/copy_method.h"
#include "tests/unit/device/sim/sim.h"

static void blocks_are(const char *word, bool engine, uint32_t expected)
{
	struct copy_method method;
	uint32_t blocks = UINT32_MAX;
	printf("# %s\n", word);
	ok(copy_method_accept(word));
	ok(copy_method_parse(word, &method));
	ok(copy_method_blocks(&method, sim.d, "copy_nt", &blocks));
	expect(method.engine == engine && blocks == expected);
}

static void every_form_has_its_blocks(void)
{
	struct dev_kernel *kernel;
	sim_begin("like = quiet\nunits = 12\nslots_per_unit = 3\n");
	ok(dev_kernel_find(sim.d, "copy_nt", &kernel));
	blocks_are("engine", true, 0);
	blocks_are("kernel", false, dev_wave_blocks(sim.d, kernel));
	blocks_are("kernel:1", false, 1);
	blocks_are("kernel:1048576", false, 1u << 20);
	blocks_are("kernel:units/1", false, 12);
	blocks_are("kernel:units/5", false, 2);
	blocks_are("kernel:units/13", false, 1);
	sim_end();
}

static void a_kernel_that_is_not_there_is_an_error(void)
{
	struct copy_method method;
	uint32_t blocks = 7;
	sim_begin("like = quiet\n");
	ok(copy_method_parse("kernel", &method));
	expect_error(copy_method_blocks(&method, sim.d, "no_kernel", &blocks), -ENOENT);
	expect(blocks == 7);
	sim_end();
}

static void other_words_are_refused(void)
{
	static const char *const words[] = {
		"",          "Engine",   "engine:1",     "kernels",       "kernel:",
		"kernel:0",  "kernel:x", "kernel:-1",    "units/2",       "kernel:units/0",
		"kernel:1x", "kernel:N", "kernel:units", "kernel:units/", "kernel:1048577",
	};
	struct copy_method method = {.blocks = 7};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		expect_error(copy_method_accept(words[i]), -EINVAL);
		expect_error(copy_method_parse(words[i], &method), -EINVAL);
		expect(strstr(err_text(), "methods: engine, kernel, kernel:N, kernel:units/N"));
	}
	expect(method.blocks == 7);
}

int main(void)
{
	test(every_form_has_its_blocks);
	test(a_kernel_that_is_not_there_is_an_error);
	test(other_words_are_refused);
	return test_done();
}
