/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/t3/t3_layer.h"
#include "lib/err.h"

#include <errno.h>
#include <stddef.h>

/* Recalled: hidden elements, and tokens of a batch, sequences of 1024. */
#define MODELS(MODEL)                                                                              \
	MODEL("mega-gpt-2", 3072, 16 * 1024)                                                       \
	MODEL("t-nlg", 4256, 8 * 1024)                                                             \
	MODEL("gpt-3", 12288, 2 * 1024)                                                            \
	MODEL("palm", 18432, 2 * 1024)                                                             \
	MODEL("mt-nlg", 20480, 2 * 1024)

#define LAYERS(LAYER)                                                                              \
	LAYER("op", 1)                                                                             \
	LAYER("fc-2", 4)                                                                           \
	LAYER("fc-1", 4)                                                                           \
	LAYER("ip", 3)

#define NAME(name, ...) name,
#define NUMBERS(name, ...) {__VA_ARGS__},
const char *const t3_models[] = {MODELS(NAME) NULL};
const char *const t3_layers[] = {LAYERS(NAME) NULL};
static const struct {
	uint32_t hidden, tokens;
} models[] = {MODELS(NUMBERS)};
static const struct {
	uint32_t hidden_times;
} layers[] = {LAYERS(NUMBERS)};

int t3_layer_shape(unsigned model, unsigned layer, uint32_t devices, struct shape *shape_p)
{
	const uint32_t hidden = models[model].hidden, tokens = models[model].tokens,
		       k = layers[layer].hidden_times * hidden / devices,
		       rows = tokens > hidden ? tokens : hidden;
	if (rows < devices || k == 0)
		return err_note(-ERANGE,
				"%s: %u devices are too many for %u rows and an inner "
				"side of %u",
				t3_models[model], devices, rows,
				layers[layer].hidden_times * hidden);
	*shape_p = (struct shape){
		.m = rows, .n = tokens > hidden ? hidden : tokens, .k = k, .scale = 1};
	return 0;
}
