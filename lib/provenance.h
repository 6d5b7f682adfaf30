/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Provenance: what a result depends on besides the device. Everything is read, nothing is guessed;
 * what this machine does not report is null.
 */
#ifndef GPUSIG_PROVENANCE_H
#define GPUSIG_PROVENANCE_H

#include "lib/json.h"

#include <stddef.h>

/* Add the object "provenance" (docs/RECORDS.md) to `j`. */
void provenance_write(struct json *j);

/* The name of this host in `name`, "unknown" where it has none; `other` stands for blanks and for
 * what is not printable ASCII. */
void provenance_host(char *name, size_t capacity, char other);

/* The version of the suite (git describe), and the whole text of `make config`, as built into
 * this binary. */
const char *provenance_version(void);
const char *provenance_config(void);

#endif
