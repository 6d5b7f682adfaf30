/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A second process of this program, which keeps a device busy: the neighbour.
 *
 *     neighbour_process_open(c, &spec, &n);     it opens the device and prepares its workload
 *     neighbour_process_begin(n);               it works when this returns
 *     ...                               what is measured
 *     neighbour_process_end(n, &pieces);        it is idle when this returns
 *     neighbour_process_close(n);
 *
 * It is this executable again, which main() hands to neighbour_process_main(), so it opens devices
 * as any program does, and its workload is one of micro/contention/workload.h, on the last device
 * of the list. Both look at one page of memory. The neighbour ends with the process that started
 * it. Its CPU time counts as this process's own (lib/cpu_load.h).
 *
 * 0 or -errno with a text, which has the neighbour's own message if it ended. -ENOTSUP from
 * neighbour_process_open(): it cannot work here, as where a device takes one process only. Waits: a
 * minute at most to open, begin or end, then -EPROTO.
 */
#ifndef GPUSIG_NEIGHBOUR_PROCESS_H
#define GPUSIG_NEIGHBOUR_PROCESS_H

#include "micro/contention/workload.h"

struct neighbour_process;

/* Words of --sees: "same", as this process does, and "only:DEVICES". Returns DEVICES, the value of
 * the variable by which the driver selects; NULL: it is another word. */
#define NEIGHBOUR_SEES_SAME "same"
const char *neighbour_sees_only(const char *word);

/* For `accept` of the axes --sees and --group. */
int neighbour_accept_sees(const char *word);
int neighbour_accept_group(const char *word);

struct neighbour_process_spec {
	const char *work, *type;  /* names of a workload and a type */
	const char *sees, *group; /* as of struct neighbour_spec */
};

int neighbour_process_open(const struct bench_case *c, const struct neighbour_process_spec *spec,
			   struct neighbour_process **n_p);
/* NULL is accepted. */
void neighbour_process_close(struct neighbour_process *n);

/* The first piece of its work has ended when neighbour_process_begin() returns; *pieces_p is the
 * number of those that ended from then until neighbour_process_end() was called. */
int neighbour_process_begin(struct neighbour_process *n);
int neighbour_process_end(struct neighbour_process *n, uint64_t *pieces_p);

/* The workload of this kind with the case's type: copies are from the host. */
struct workload_spec neighbour_work(const struct bench_case *c, enum workload_kind kind);

/* Name and PCI address of the device that it opened. */
const char *neighbour_process_device(const struct neighbour_process *n);

/* True if these are the arguments of a neighbour; and its main(). */
bool neighbour_process_is(int argc, char **argv);
int neighbour_process_main(int argc, char **argv);

#endif
