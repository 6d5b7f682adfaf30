/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links between devices, as a model has them: ordered pairs with rates and latencies of their own.
 */
#ifndef GPUSIG_SIM_MODEL_LINKS_H
#define GPUSIG_SIM_MODEL_LINKS_H

#include "device/sim/model/model.h"

/* Parse "0>3"; nothing is set of it. */
int sim_pair_parse(const char *text, struct sim_pair *pair_p);
/* The model's entry of this pair; NULL if there is none. */
struct sim_pair *sim_pair_find(struct sim_model *m, const struct sim_pair *pair);
/* The model's entry of this pair, added if there is none. */
struct sim_pair *sim_pair_entry(struct sim_model *m, const struct sim_pair *pair);

/* Bandwidth and latency of a link, by the model of the device that it leaves. */
double sim_link_bandwidth(const struct sim_model *m, unsigned from, unsigned to);
double sim_link_latency_ns(const struct sim_model *m, unsigned from, unsigned to);

/* INFINITY: no limit. */
double sim_injection_bandwidth(const struct sim_model *m);

/* The next device on the way over a torus. */
unsigned sim_torus_next(const struct sim_model *m, unsigned at, unsigned to);

#endif
