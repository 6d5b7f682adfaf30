/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libamdhip64.so.5: an older HIP runtime, as of a distribution, that finds no device.
 */
#include "tests/fakes/engine/engine.h"
#define fake_gpu_count() 0u
#include "tests/fakes/hip.c"
