/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev.h"

#define NAME_OF_CAP(capability, name) name,
const char *const dev_cap_names[DEV_CAP_COUNT] = {DEV_CAPS(NAME_OF_CAP)};

#define TRAITS(type, name, bytes, exponent, mantissa, infinite, result, multiple)                  \
	[type] = {bytes, exponent, mantissa, infinite, result, multiple},
#define NAME_OF_TYPE(type, name, ...) [type] = #name,
const struct dev_type_traits dev_types[DEV_TYPES] = {DEV_TYPE_LIST(TRAITS)};
const char *const dev_type_names[DEV_TYPES + 1] = {DEV_TYPE_LIST(NAME_OF_TYPE)};

uint32_t dev_type_bytes(enum dev_type type) { return dev_types[type].bytes; }

uint32_t dev_type_result_bytes(enum dev_type type)
{
	return dev_types[dev_types[type].result].bytes;
}
