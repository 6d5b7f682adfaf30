/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev.h"

#include <assert.h>

#define NAME_OF_CAP(capability, name) name,
const char *const dev_cap_names[DEV_CAP_COUNT] = {DEV_CAPS(NAME_OF_CAP)};

#define TRAITS(type, name, work, bits, exponent, mantissa, infinite, result, multiple, block,      \
	       scale)                                                                              \
	[type] = {#name,    bits,   (bits) / 8, exponent, mantissa,                                \
		  infinite, result, multiple,   block,    scale},
#define NAME_OF_TYPE(type, name, ...) [type] = #name,
const struct dev_type_traits dev_types[DEV_ALL_TYPES] = {
	DEV_TYPE_LIST(TRAITS)[DEV_I32] = {"i32", 32, 4, 0, 31, false, DEV_I32, 1, 0,
					  DEV_SCALE_NONE}};
const char *const dev_type_names[DEV_TYPES + 1] = {DEV_TYPE_LIST(NAME_OF_TYPE)};

bool dev_type_is_integer(enum dev_type type) { return dev_types[type].exponent_bits == 0; }

bool dev_type_is_plain(enum dev_type type)
{
	return !dev_type_is_integer(type) && dev_types[type].scale == DEV_SCALE_NONE;
}

uint32_t dev_type_bytes(enum dev_type type)
{
	assert(dev_types[type].bytes);
	return dev_types[type].bytes;
}

uint64_t dev_type_array_bytes(enum dev_type type, uint64_t elements)
{
	return elements / 8 * dev_types[type].bits + elements % 8 * dev_types[type].bits / 8;
}

uint32_t dev_type_result_bytes(enum dev_type type)
{
	return dev_types[dev_types[type].result].bytes;
}
