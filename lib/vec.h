/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Growing arrays: a pointer, a count and a capacity, which the owner keeps.
 *
 *     struct item *grown = vec_grow(v->items, v->count, &v->capacity, sizeof(*grown));
 *     if (!grown)
 *             return err_note(-ENOMEM, "list of items: out of memory");
 *     v->items = grown;
 *     v->items[v->count++] = item;
 */
#ifndef GPUSIG_VEC_H
#define GPUSIG_VEC_H

#include <stddef.h>

/* Make space for one more item: the array, moved if need be, with *capacity_p above `count`. NULL
 * when there is no memory; then the old array and *capacity_p are as before. The capacity doubles.
 */
void *vec_grow(void *items, size_t count, size_t *capacity_p, size_t item_bytes);

#endif
