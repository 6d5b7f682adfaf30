/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cases of a run: which, in which order, those that are added, and how far it is.
 */
#ifndef GPUSIG_CASES_H
#define GPUSIG_CASES_H

#include "bench/cases/case_list.h"
#include "bench/cases/case_progress.h"
#include "bench/cases/cliffs.h"
#include "bench/run/run.h"

/* Starts as {.progress.fd = -1}. */
struct cases {
	struct case_keys done, wanted; /* of --done and --cases */
	struct case_list chosen;
	struct cliffs cliffs;
	struct case_progress progress;
	double deadline_s; /* on the wall clock; infinite without a budget */
	struct {
		size_t total, ok, failed, skipped, already_done, out_of_budget, valid;
	} count;
};

#endif
