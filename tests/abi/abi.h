/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares our declarations of a vendor's ABI with its header, at compile time. Ours is the first
 * argument. An enumeration without negative values is compatible with unsigned; pointers are
 * compared with their targets.
 */
#ifndef GPUSIG_ABI_H
#define GPUSIG_ABI_H

#include <stddef.h>

#define same_value(ours, theirs)                                                                   \
	_Static_assert((long long)(ours) == (long long)(theirs), #ours " is not " #theirs)
#define same_size(ours, theirs)                                                                    \
	_Static_assert(sizeof(ours) == sizeof(theirs), #ours " has not the size of " #theirs)
#define same_field(ours, field, theirs, their_field)                                               \
	_Static_assert(offsetof(ours, field) == offsetof(theirs, their_field) &&                   \
			       sizeof(((ours *)0)->field) == sizeof(((theirs *)0)->their_field),   \
		       #ours "." #field " is not where " #theirs "." #their_field " is")
#define same_function(ours, theirs)                                                                \
	_Static_assert(__builtin_types_compatible_p(ours, __typeof__(theirs)),                     \
		       #ours " is not the type of " #theirs)

#endif
