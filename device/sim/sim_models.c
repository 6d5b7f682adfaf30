/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The models of device/sim/models, which the Makefile writes as numbers: for each file its name
 * without ".model" and its text, both with a zero at the end. An empty name ends them.
 */
#include "device/sim/sim_model.h"

#include <string.h>

static const char texts[] = {
#include SIM_MODEL_TEXTS
	0,
};

const char sim_model_names[] = "default, quiet, " SIM_MODEL_NAMES;

const char *sim_model_text(const char *name)
{
	const char *at = texts;
	while (*at) {
		const char *text = at + strlen(at) + 1;
		if (strcmp(at, name) == 0)
			return text;
		at = text + strlen(text) + 1;
	}
	return NULL;
}
