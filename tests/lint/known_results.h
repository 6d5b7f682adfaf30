/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Included before every source that clang-tidy reads, lib/err.c apart: the analyzer does not see
 * into err_note() and would take its result for anything, success included.
 */
#ifndef GPUSIG_KNOWN_RESULTS_H
#define GPUSIG_KNOWN_RESULTS_H

#include "lib/err.h"

#define err_note(code, ...) ((void)err_note(code, __VA_ARGS__), (code))

#endif
