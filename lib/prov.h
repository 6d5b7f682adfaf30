/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Provenance: what a result depends on besides the device. Everything is read, nothing guessed; what this
 * machine does not tell is null.
 */
#ifndef GPUSIG_PROV_H
#define GPUSIG_PROV_H

#include "lib/json.h"

/* Add the object "provenance" (docs/RECORDS.md) to `j`. */
void prov_write(struct json *j);

/* Version of the suite (git describe) and the whole text of `make config`, as built into this binary. */
const char *prov_version(void);
const char *prov_config(void);

#endif
