/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults that the environment asks for: FAKE_FAIL="FUNCTION[:N]=RESULT[,...]". The N-th call of the function, counted from
 * when the text last changed, or every call without N, returns the result and does nothing.
 */
#ifndef FAKES_FAULTS_H
#define FAKES_FAULTS_H

/* 0, or the result to return now. `named` turns a result's name into its code. */
int fake_fault(const char *function, int (*named)(const char *name));

#endif
