/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Watchdog for a job in which a rank no longer answers. A rank that waits for the others for longer
 * than the limit names those of its host that are stopped, and exits; a rank that exits without
 * MPI_Finalize ends the whole job. The limit is 120 s for one command, or GPUSIG_RANK_LIMIT_S (1 to
 * 86400).
 *
 * It is a signal's handler that watches, so it works while MPI waits for ever and costs nothing
 * until then. SIGALRM and alarm() are its own.
 */
#ifndef GPUSIG_RANK_WATCH_H
#define GPUSIG_RANK_WATCH_H

/* Before MPI_Init, which is watched, too. -EINVAL: GPUSIG_RANK_LIMIT_S is not such a number. */
int rank_watch_start(void);

/* From now on, until _pause() or the next of these calls, the others have to answer in time. Before
 * _exchange() no rank can be named. */
void rank_watch_begin(void);
void rank_watch_pause(void);

/* The leader may let the others wait as long as it wants, while it is not stopped. */
void rank_watch_wait(void);

/* All ranks, after MPI_Init: learn the processes of the ranks on this host. */
void rank_watch_exchange(void);

/* Nothing is watched in this process: ranks are simulated. */
void rank_watch_none(void);

#endif
