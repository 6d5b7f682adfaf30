/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fault injection: FAKE_FAIL="FUNCTION[:N]=RESULT[,...]". The N-th call of the function returns the
 * result and does nothing; without N every call does. A launch is also a call of a function with
 * the kernel's name. Counting starts when the text changes.
 */
#ifndef FAKES_FAULTS_H
#define FAKES_FAULTS_H

/* 0, or the result to return now. `result_by_name` converts a result's name to its code. */
int fake_fault(const char *function, int (*result_by_name)(const char *name));

#endif
