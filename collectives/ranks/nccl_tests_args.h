/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Translates the options of nccl-tests to options of this suite:
 *
 *     -b BYTES -e BYTES -f FACTOR   --size BYTES:BYTES:xFACTOR (defaults: -e as -b, -f 2)
 *     -n COUNT                      --min-samples COUNT --max-samples COUNT
 *     -w COUNT                      --warm-up COUNT
 *     -c 0|1                        --check off|rounds
 */
#ifndef GPUSIG_NCCL_TESTS_ARGS_H
#define GPUSIG_NCCL_TESTS_ARGS_H

enum { NCCL_TESTS_ARGS_MAX = 128 };

struct nccl_tests_args {
	int argc;
	char *argv[NCCL_TESTS_ARGS_MAX + 1];
	char size[100];
};

/* Other arguments are copied unchanged. The result points into `args` and argv. -EINVAL with a
 * text. */
int nccl_tests_args_translate(int argc, char **argv, struct nccl_tests_args *args);

#endif
