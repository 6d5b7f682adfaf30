/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev.h"

uint32_t dev_type_bytes(enum dev_type type)
{
	static const uint32_t bytes[DEV_TYPES] = {
		[DEV_F32] = 4, [DEV_F64] = 8, [DEV_TF32] = 4, [DEV_F16] = 2, [DEV_BF16] = 2, [DEV_F8] = 1
	};
	return bytes[type];
}

uint32_t dev_type_result_bytes(enum dev_type type) { return type == DEV_F8 ? 2 : dev_type_bytes(type); }
