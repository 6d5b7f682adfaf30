/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libcublasLt of an older toolkit, installed together with the newer one.
 */
#define MAJOR 12
#define MINOR 4
#include "tests/fakes/cublaslt.c"
