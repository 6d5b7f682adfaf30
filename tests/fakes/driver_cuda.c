/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/driver.h"

const char *const fake_driver_file = "libcuda.so.1";
