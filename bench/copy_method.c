/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/copy_method.h"
#include "lib/err.h"
#include "lib/units.h"

#include <errno.h>
#include <string.h>

#define MAX_BLOCKS (1u << 20)

static int parse_number(const char *text, uint32_t *number_p)
{
	uint64_t value;
	int status = units_parse_integer(text, 1, MAX_BLOCKS, &value);
	if (status == 0)
		*number_p = (uint32_t)value;
	return status;
}

int copy_method_parse(const char *word, struct copy_method *method_p)
{
	static const char kernel[] = "kernel", blocks[] = "kernel:", part[] = "kernel:units/";
	struct copy_method m = {.engine = strcmp(word, "engine") == 0};
	int status = m.engine || strcmp(word, kernel) == 0 ? 0 : -EINVAL;
	if (strncmp(word, part, strlen(part)) == 0)
		status = parse_number(word + strlen(part), &m.part);
	else if (strncmp(word, blocks, strlen(blocks)) == 0)
		status = parse_number(word + strlen(blocks), &m.blocks);
	if (status)
		return err_note(-EINVAL,
				"unknown copy method '%s'; methods: engine, kernel, kernel:N, "
				"kernel:units/N",
				word);
	*method_p = m;
	return 0;
}

int copy_method_accept(const char *word)
{
	struct copy_method unused;
	return copy_method_parse(word, &unused);
}

int copy_method_blocks(const struct copy_method *method, struct dev *dev, const char *kernel,
		       uint32_t *blocks_p)
{
	uint32_t units = dev_props(dev)->units, blocks = method->blocks;
	struct dev_kernel *found;
	if (method->part) {
		blocks = units >= method->part ? units / method->part : 1;
	} else if (!method->engine && blocks == 0) {
		int status = dev_kernel_find(dev, kernel, &found);
		if (status)
			return status;
		blocks = dev_wave_blocks(dev, found);
		if (blocks == 0)
			return -EIO; /* with the text of dev_wave_blocks() */
	}
	*blocks_p = blocks;
	return 0;
}
