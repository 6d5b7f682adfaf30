/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics of overlap/t3: gains, and bytes as the devices count them, next to the counting model of
 * overlap/trigger/t3_traffic.h. All are values of a model (bench_model_value()).
 */
#ifndef GPUSIG_T3_METRICS_H
#define GPUSIG_T3_METRICS_H

#include "overlap/t3/t3_run.h"

/* In derive and verify_mechanism of overlap/t3. */
int t3_derive(struct bench_case *c);

/* The devices' memories counted as many bytes
 * as the counting model has for reduce-scatter by kernels and with T3, and every tile was sent once
 * or stayed. */
int t3_verify_mechanism(struct bench_case *c);

#endif
