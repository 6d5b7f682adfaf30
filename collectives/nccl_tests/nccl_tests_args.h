/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Translates the flags of nccl-tests 2.19.6 to options of this suite, with their meaning there:
 *
 *     -b BYTES -e BYTES -i BYTES   --size BYTES:BYTES:+BYTES  (defaults 32M, 32M, 1M)
 *     -b BYTES -e BYTES -f FACTOR  --size BYTES:BYTES:xFACTOR (K M G are powers of 1024)
 *     -n COUNT                     --min-samples COUNT --max-samples COUNT
 *     -w COUNT                     --warm-up COUNT
 *     -c 0|1                       --check off|rounds
 *     -o OP                        --op OP, where the program has that axis; else what it does
 *     -d TYPE                      --type TYPE, likewise
 *     -t THREADS -g DEVICES        --device SPEC:0-N, N+1 = threads * devices; of ranks both are 1
 *
 * and their long forms. The others are accepted where they ask for what is done anyway, and are an
 * error with the reason elsewhere: no flag is ignored. An option of this suite keeps its meaning:
 * --check rounds, and --op of a program with that axis.
 */
#ifndef GPUSIG_NCCL_TESTS_ARGS_H
#define GPUSIG_NCCL_TESTS_ARGS_H

#include "bench/bench.h"

enum { NCCL_TESTS_ARGS_MAX = 512 };

/* For --help. */
extern const char nccl_tests_notes[];

struct nccl_tests_program {
	const struct bench *bench;
	bool reduces; /* an operation has a meaning */
	bool ranks;   /* a process has one device; else it has them all */
};

struct nccl_tests_args {
	int argc;
	char *argv[NCCL_TESTS_ARGS_MAX + 1];
	char size[100], device[200];
	bool sizes_given; /* by -b, -e, -i or -f, so they are rounded as there */
	unsigned devices; /* of -t and -g where there is no --device; 0: none given */
};

/* Other arguments are copied unchanged. The result points into `args` and argv. -EINVAL with a
 * text. */
int nccl_tests_args_translate(const struct nccl_tests_program *program, int argc, char **argv,
			      struct nccl_tests_args *args);

/* The value of the last --NAME VALUE or --NAME=VALUE; NULL without one. */
const char *nccl_tests_args_value(const struct nccl_tests_args *args, const char *name);

#endif
