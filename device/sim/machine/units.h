/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Units, and the blocks of launches on them.
 *
 * Units that hold the same blocks are a class; the blocks that began on them at one moment are a
 * group, which is one task.
 */
#ifndef GPUSIG_SIM_UNITS_H
#define GPUSIG_SIM_UNITS_H

#include "device/sim/model/model.h"
#include "device/sim/time/task.h"

struct dev_stream;
struct op;
struct sim_dev;

#define UNIT_WORDS (SIM_UNITS / 64)
struct unit_set {
	uint64_t word[UNIT_WORDS];
};

struct unit_load {
	uint32_t residents;
	uint64_t shared_bytes, register_bytes;
};

/* Units that hold the same blocks. */
struct unit_class {
	struct unit_class *next;
	struct sim_dev *dev;
	struct unit_set set;
	uint32_t units;
	struct unit_load load;                   /* of each unit */
	struct resource compute, load_store, l1; /* of each unit */
	struct block_group *groups;
};

/* Blocks of a launch: `per_unit` on each of `units` units of a class, and so in every round. */
struct block_group {
	struct unit_class *class;
	struct block_group *next_of_class, *next_held;
	uint32_t block, units, per_unit; /* the first one */
	double part;                     /* of the launch's traffic that is one block's */
	bool has_later_rounds;
	bool held; /* of `blocking_kernel` or `await`, and has not ended */
	struct sim_task task;
};

struct sim_units {
	struct unit_class *class; /* as many as units */
	struct unit_class *classes, *classes_idle;
	/* One for each slot, so that running never allocates. Pages that were never used cost
	 * nothing. */
	struct block_group *groups, **groups_idle;
	size_t groups_idle_count;
	uint32_t groups_with_rounds, groups_since_launch;
	bool launch_arrived;
};

/* One class of idle units, and groups for their slots. -ENOMEM with a text. */
int sim_units_open(struct sim_dev *d);
void sim_units_close(struct sim_dev *d);
/* Give free slots to the blocks of ready launches. */
void sim_units_start_blocks(struct sim_dev *d);
/* The blocks of a group leave their units. */
void sim_units_leave(struct block_group *group);

/* Those from `first` on. */
struct unit_set sim_units_row(uint32_t first, uint32_t count);
/* Those that blocks of the stream may use. */
uint32_t sim_units_of(const struct dev_stream *s);
/* Blocks with these claims that one unit holds. */
uint32_t sim_units_residents(const struct sim_dev *d, uint64_t claim_bytes,
			     uint64_t register_bytes);
/* Set the claim of a block. -EINVAL: more than a block may have. */
int sim_units_claim(struct sim_dev *d, uint32_t block, uint64_t shared_bytes, uint64_t *claim_p);

/* ------------------------------------------------------------------ blocks (blocks.c) */

struct block_group *sim_group_of(struct sim_task *task);
struct block_group *sim_group_begin(struct op *op);
/* It leaves its units, and is idle. */
void sim_group_leave(struct block_group *group);

/* The blocks of a group begin, after their delay. */
void sim_group_start(struct sim_task *task);
double sim_block_delay_ns(const struct op *op, uint32_t block);
/* Set the demands of a group's flow. */
void sim_group_flow(struct block_group *group);

/* It holds its slots until memory is written. */
void sim_group_hold(struct block_group *group);
/* Memory was written: end the groups that it releases. */
void sim_groups_release(void);

#endif
