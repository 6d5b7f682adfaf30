/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares prototypes that declare less than the vendor's: one handle type for all handles, int for
 * every enumeration. C can only tell that such prototypes differ, so C++ templates compare their
 * parts. Numbers match when their sizes are equal, both or neither are floating, and, unless one is
 * an enumeration, their signs are equal. Pointers match when their targets match or one is void or
 * one of our handles. Structures match when their sizes are equal.
 */
#pragma once

#include <type_traits>

template <class Ours, class Theirs> constexpr bool alike();

template <class T> constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <class Ours, class Theirs> constexpr bool alike_numbers()
{
	if (sizeof(Ours) != sizeof(Theirs) ||
	    std::is_floating_point_v<Ours> != std::is_floating_point_v<Theirs>)
		return false;
	return std::is_enum_v<Ours> || std::is_enum_v<Theirs> ||
	       std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
}

template <class Ours, class Theirs> constexpr bool alike_targets()
{
	using O = std::remove_cv_t<Ours>;
	using T = std::remove_cv_t<Theirs>;
	if constexpr (std::is_void_v<O> || std::is_void_v<T>)
		return true;
	else if constexpr (std::is_class_v<O> && std::is_class_v<T>)
		return true; /* often incomplete; same_field compares the fields that we use */
	else
		return alike<O, T>();
}

template <class Ours, class Theirs> constexpr bool alike()
{
	if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>)
		return alike_targets<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>();
	else if constexpr (is_number<Ours> && is_number<Theirs>)
		return alike_numbers<Ours, Theirs>();
	else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>)
		return sizeof(Ours) == sizeof(Theirs);
	else
		return false;
}

template <class Ours, class Theirs> struct prototypes {
	static constexpr bool same = false;
};

template <class R, class... A, class S, class... B> struct prototypes<R(A...), S(B...)> {
	static constexpr bool same = [] {
		if constexpr (sizeof...(A) == sizeof...(B))
			return alike<R, S>() && (alike<A, B>() && ...);
		else
			return false;
	}();
};

/* The templates must tell a pointer from an integer, and numbers of different sizes. */
static_assert(!prototypes<int(void *), int(long)>::same && !prototypes<int(int), int(long)>::same &&
	      !prototypes<int(int *), int(long *)>::same &&
	      !prototypes<int(int), int(int, int)>::same &&
	      !prototypes<int(float), int(int)>::same &&
	      prototypes<int(void *), int(struct any *)>::same);

#define same_value(ours, theirs)                                                                   \
	static_assert((long long)(ours) == (long long)(theirs), #ours " is not " #theirs)
#define same_size(ours, theirs)                                                                    \
	static_assert(sizeof(ours) == sizeof(theirs), #ours " has not the size of " #theirs)
#define same_field(ours, field, theirs, their_field)                                               \
	static_assert(offsetof(ours, field) == offsetof(theirs, their_field) &&                    \
			      sizeof(((ours *)0)->field) == sizeof(((theirs *)0)->their_field),    \
		      #ours "." #field " is not where " #theirs "." #their_field " is")
