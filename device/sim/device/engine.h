/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The event loop. Only calls of the contract run it.
 */
#ifndef GPUSIG_SIM_ENGINE_H
#define GPUSIG_SIM_ENGINE_H

#include <stdbool.h>

/* Process all events up to `until_ns` and set the clock to it. Returns when the next event is. */
double sim_engine_run(double until_ns);

/* Process the next event. False: nothing is scheduled. */
bool sim_engine_step(void);

#endif
