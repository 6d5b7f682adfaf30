/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The devices of a run.
 */
#ifndef GPUSIG_DEVICES_H
#define GPUSIG_DEVICES_H

#include "bench/run/run.h"
#include "lib/json.h"

/* Open the device of --device, or the default, and check that the program can use it: 0, -EINVAL or
 * -ENODEV with a text. */
int bench_device_open(struct bench_run *r);

/* Print the backends. */
void bench_device_list(void);

/* Write a device of the run record, as an object; and the libraries of all. */
void bench_device_write(struct json *j, struct bench_run *r, struct dev *dev);
void bench_device_write_libraries(struct json *j, struct bench_run *r);

#endif
