/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The virtual clock, and tasks: what takes time. A task lasts for a delay, or until its flow
 * (share.h) has passed; then its function continues or ends it. Tasks that finish together go on in
 * the order in which they began.
 *
 * Tasks belong to who starts them. The simulator's lock protects all of this, as all below
 * device/sim; nothing blocks.
 */
#ifndef GPUSIG_SIM_TASK_H
#define GPUSIG_SIM_TASK_H

#include "device/sim/time/share.h"

struct op;

/* One for all devices. It is 0 when the first one opens. */
struct sim_clock {
	uint64_t epoch_ns;
	double now_ns; /* since then */
};
extern struct sim_clock sim_clock;

/* Begin a new epoch, unless something runs: what rounding does to times depends on how large they
 * are, and so on what was done before. */
void sim_clock_begin_epoch(void);

struct sim_task {
	struct op *op; /* whose part it is */
	void (*then)(struct sim_task *task);
	struct sim_task *next, *previous; /* of that operation's stream */
	size_t at;                        /* in the heap; SIZE_MAX: not there */
	uint64_t number;                  /* in the order in which they began */
	double since_ns, finish_ns;
	bool is_flow;
	double left, rate;         /* of a flow */
	double stretch, slow_down; /* factors of all its durations, and of its flow */
	uint32_t rounds;           /* of a flow */
	double pause_ns;           /* before each round, where there are several */
	struct flow flow;          /* last: beginning a task leaves it as it is */
};

/* Change the number of tasks that can be active. -ENOMEM without a text. */
int sim_tasks_reserve(size_t more);
void sim_tasks_unreserve(size_t fewer);

void sim_task_start_delay(struct sim_task *task, double ns, void (*then)(struct sim_task *task));
void sim_task_start_flow(struct sim_task *task, void (*then)(struct sim_task *task));
/* Stop a task that runs. */
void sim_task_stop(struct sim_task *task);
/* Not one that was stopped, or is about to go on with others of the same moment. */
bool sim_task_is_running(const struct sim_task *task);
/* Change when a task that runs finishes. */
void sim_task_finish_at(struct sim_task *task, double finish_ns);
/* Bring what is left of a flow up to now. */
void sim_task_update_left(struct sim_task *task);

/* Give new rates to the flows that what joined or left concerns. */
void sim_task_set_rates(void);
/* When the next task finishes; INFINITY: none runs. */
double sim_task_next_ns(void);
/* Let the tasks that finish at this time go on. */
void sim_task_complete_at(double now_ns);

#endif
