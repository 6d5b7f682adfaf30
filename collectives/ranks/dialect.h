/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The flags that users of nccl-tests have in their fingers, as our options:
 *
 *     -b BYTES -e BYTES -f FACTOR   --size BYTES:BYTES:xFACTOR (-e as -b, -f 2 when left out)
 *     -n COUNT                      --min-samples COUNT --max-samples COUNT
 *     -w COUNT                      --warm-up COUNT
 *     -c 0|1                        --check off|on
 */
#ifndef GPUSIG_DIALECT_H
#define GPUSIG_DIALECT_H

enum { DIALECT_WORDS = 128 };

struct dialect {
	int argc;
	char *argv[DIALECT_WORDS + 1];
	char size[100];
};

/* Other arguments are passed on as they are; `d` and argv must outlive their use. -EINVAL with a text. */
int dialect_translate(int argc, char **argv, struct dialect *d);

#endif
