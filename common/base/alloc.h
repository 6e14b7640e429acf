/* Overflow-checked, aligned, zeroed memory. */
#ifndef BRAGG_BASE_ALLOC_H
#define BRAGG_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

enum {
    MEM_ALIGNMENT = 64,    // bytes: one cache line, one AVX-512 register
    MEM_ALIGNED = 1 << 10  // bytes: less is aligned as any type needs, and quicker to come by
};

/* *product = a * b; false, and *product = 0, when it does not fit. */
bool size_multiply(size_t a, size_t b, size_t *product);

/* Zeroed array of `count` items of `size` bytes, aligned to MEM_ALIGNMENT from MEM_ALIGNED
 * bytes on.  NULL when the product overflows or memory is out, or nearly so for a large one; count
 * 0 gives a valid pointer.  The caller owns it and frees it with mem_free. */
void *mem_array(size_t count, size_t size);

/* A copy of `count` items of `size` bytes (NULL for count 0 or out of memory). */
void *mem_copy(const void *items, size_t count, size_t size);

/* The array with room for `more` items behind the `count` that it holds: the same, or, when it
 * is full, a larger one, and the former is freed.  *capacity counts the items that fit; begins
 * as 0, with items NULL.  NULL, and the array as it was, when memory is out. */
void *mem_grow(void *items, size_t count, size_t more, size_t size, size_t *capacity);

/* Frees what the functions above returned; NULL is fine. */
void mem_free(void *memory);

#endif
