/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A HIP runtime, as of a distribution, that finds no device: libamdhip64.so.5, an older one, and
 * without_device/libamdhip64.so.7, whose name is that of the usable one.
 */
#include "tests/fakes/engine/engine.h"
#define fake_gpu_count() 0u
#include "tests/fakes/hip.c"
