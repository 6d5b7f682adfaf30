/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of reading models: keys (sim_model.c) and lines (sim_model_line.c).
 */
#ifndef GPUSIG_SIM_MODEL_H
#define GPUSIG_SIM_MODEL_H

#include "device/sim/sim.h"

#include <stdbool.h>
#include <stddef.h>

enum sim_key_type { KEY_U32, KEY_U64, KEY_BYTES, KEY_REAL, KEY_WORD };

/* A field of struct sim_model. A word is stored as its index in a uint32_t. */
struct sim_key {
	const char *name;
	enum sim_key_type type;
	size_t offset;
	double min, max;
	const char *const *words; /* of KEY_WORD; ends with NULL */
};

#define SIM_KEYS_MAX 128
extern const struct sim_key sim_keys[];
extern const size_t sim_key_count;

/* Where a text is read, and the line of each key, 0 where the text has none. */
struct sim_position {
	const char *where;
	int line;
	int seen[SIM_KEYS_MAX];
};

/* One line without comment and blanks around it, which is changed. -EINVAL with a text. */
int sim_model_read_line(struct sim_position *p, char *line, bool first, struct sim_model *m);

/* Without the blanks before and after it. */
char *sim_model_trim(char *text);

/* A model that is built in; -EINVAL without a text: there is none of this name. */
int sim_model_builtin(const char *name, struct sim_model *m);

#endif
