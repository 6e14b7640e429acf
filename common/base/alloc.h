/* Overflow-checked, aligned, zeroed memory. */
#ifndef BRAGG_BASE_ALLOC_H
#define BRAGG_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

enum {
    MEM_ALIGNMENT = 64,    // bytes: one cache line, one AVX-512 register
    MEM_ALIGNED = 1 << 10  // bytes: smaller arrays have the alignment of malloc, which is faster
};

/* Sets *product = a * b.  Returns false, with *product = 0, if the product overflows. */
bool size_multiply(size_t a, size_t b, size_t *product);

/* Returns a zeroed array of `count` items of `size` bytes.  From MEM_ALIGNED bytes on it is aligned
 * to MEM_ALIGNMENT.  NULL: the product overflows, or there is no memory; a large array also needs
 * a reserve.  A count of 0 gives a valid pointer.  The caller frees the array with mem_free. */
void *mem_array(size_t count, size_t size);

/* Returns a copy of `count` items of `size` bytes.  NULL: `count` is 0, or there is no memory. */
void *mem_copy(const void *items, size_t count, size_t size);

/* Returns the array with room for `more` items after the `count` items that it holds: the same
 * array, or a larger one if it is full; the old one is freed then.  *capacity is the number of
 * items that fit; begin with 0 and items NULL.  NULL, with the array unchanged: there is no memory.
 */
void *mem_grow(void *items, size_t count, size_t more, size_t size, size_t *capacity);

/* Frees memory of the functions above.  NULL does nothing. */
void mem_free(void *memory);

#endif
