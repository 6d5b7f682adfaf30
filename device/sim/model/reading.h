/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of models, and reading them: keys (model.c) and lines (model_line.c).
 *
 * MODELS are "default", "quiet" (the same without jitter), those of device/sim/model/machines,
 * which are in the programs, and files: a name with '/' or '.', of which DIR/signature.json stands
 * for the model that ./gpusig run and report made of it, DIR/machine.model. A spec may change a
 * model: "NAME?KEY=VALUE", and several with ',' or '&' between. There a number before an 'x'
 * multiplies the model's value: "mi300x?peer_bandwidth=2x,units=152". That of `peer_bandwidth` or
 * `peer_latency_ns` multiplies those of single links as well, and with `links` the model loses all
 * lines of single links.
 *
 * A file has lines `key = value` and comments after '#'. A missing key is as in "default", or as in
 * the model of a first line `like = NAME`. Sizes may end in K, M, G (powers of 1024). Units are
 * base units: bytes, nanoseconds, bytes/s, flop/s. The keys are the fields of struct sim_model, and
 * `slow_down`, `lacks` and `links`. `peer_bandwidth` and `peer_latency_ns` hold for every link, but
 * for those with a line of their own: `peer_bandwidth 0>3 = 12.5e9` is from device 0 to device 3.
 * injection_bandwidth is all that leaves a device for others, or comes from them; without the key
 * it is peer_bandwidth. A model that contradicts itself is refused. `devices` are 0 to devices - 1;
 * to open another one is -ENODEV.
 */
#ifndef GPUSIG_SIM_READING_H
#define GPUSIG_SIM_READING_H

#include "device/dev.h"
#include "device/sim/model/model.h"

#include <stdbool.h>
#include <stddef.h>

/* Capabilities that a model may lack. */
#define SIM_CAN_LACK                                                                               \
	(DEV_CAP_GEMM | DEV_CAP_GEMM_TILED | DEV_CAP_COPY_ENGINE | DEV_CAP_PRIORITY |              \
	 DEV_CAP_WAIT_VALUE | DEV_CAP_PEER | DEV_CAP_OCCUPANCY | DEV_CAP_CLOCK_RATE |              \
	 DEV_CAP_UNIT_MASK | DEV_CAP_MEMORY_CONTROL | DEV_CAP_MEMORY_ADDS | DEV_CAP_TRACKER |      \
	 DEV_CAP_COPY_BATCH | DEV_CAP_GEMM_GROUPED)

enum sim_key_type { KEY_U32, KEY_U64, KEY_BYTES, KEY_REAL, KEY_WORD };

/* A field of struct sim_model. A word is stored as its index in a uint32_t. */
struct sim_key {
	const char *name;
	enum sim_key_type type;
	size_t offset;
	double min, max;
	const char *const *words; /* of KEY_WORD; ends with NULL */
	bool unlisted_at_0;       /* records and hashes of models without it are as before it */
};

#define SIM_KEYS_MAX 128
extern const struct sim_key sim_keys[];
extern const size_t sim_key_count;

#define SIM_RATE(key)                                                                              \
	{                                                                                          \
		.name = (key), .type = KEY_REAL, .min = 1, .max = 1e18                             \
	}
#define SIM_TIME(key)                                                                              \
	{                                                                                          \
		.name = (key), .type = KEY_REAL, .min = 0, .max = 1e12                             \
	}

#define SIM_LINE 512

#define SIM_SIGNATURE "signature.json"
#define SIM_OF_SIGNATURE "machine.model"

/* Source of a text, and the line of each key, 0 if the text has none. */
struct sim_position {
	const char *where;
	int line, lines_read;
	int seen[SIM_KEYS_MAX];
	int links_line;
	bool in_spec;         /* no text: files are relative to the current folder */
	char links[SIM_LINE]; /* as the text has it */
};

/* One line without comment and blanks around it, which is changed. -EINVAL with a text. */
int sim_model_read_line(struct sim_position *p, char *line, struct sim_model *m);

/* Give every such line of a text to `read`, until one fails. */
int sim_model_each_line(const char *text, struct sim_position *p,
			int (*read)(struct sim_position *p, char *line, struct sim_model *m),
			struct sim_model *m);

/* After the last line: what follows from all, and whether it fits together. */
int sim_model_complete(const struct sim_position *p, struct sim_model *m);

/* All of a file; the caller frees it. Messages begin with `what`. */
int sim_model_read_text(const char *what, const char *path, char **text_p);

/* A number within the limits of the key. */
int sim_model_read_value(const struct sim_position *p, const struct sim_key *k, const char *text,
			 double *value_p);

/* link_files.c: the value of the key `links`; what all of a text says about links. */
int sim_links_read_key(struct sim_position *p, const char *text, struct sim_model *m);
int sim_links_complete(const struct sim_position *p, struct sim_model *m);

/* A field of the model whose key is not a word. */
double sim_model_field(const struct sim_model *m, const struct sim_key *k);

/* model_keys.c: every key, also of single links, slow_down and lacks; a hash of them all. */
void sim_model_put_keys(const struct sim_model *m, dev_model_put *put, void *context);
uint64_t sim_model_hash(const struct sim_model *m);

/* Without the blanks before and after it. */
char *sim_model_trim(char *text);

/* A model that is built in. -EINVAL without a text: there is none of this name. */
int sim_model_builtin(const char *name, struct sim_model *m);

/* Contents of a file of device/sim/model/machines, by its name without ".model"; NULL: there is
 * none. */
const char *sim_model_text(const char *name);

/* All that are built in, for messages: "default, quiet, ...". */
extern const char sim_model_names[];

#define SIM_OVERRIDE 256

/* Change the model `name` by "KEY=VALUE", several with ',' or '&' between. -EINVAL with a text;
 * then the model holds anything. */
int sim_model_override(const char *name, const char *text, struct sim_model *m);

#endif
