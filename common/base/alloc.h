/* Allocates memory that is aligned, and checks sizes for overflow. */
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
 * to MEM_ALIGNMENT.  A count of 0 gives a valid pointer.  The caller frees the array with mem_free.
 *
 * NULL: count x size is too large for a size_t, or memory runs out.  An array above 1 MiB is also
 * refused if less than 4 MiB would be left, because libraries end the process if a small
 * allocation fails. */
void *mem_array(size_t count, size_t size);

/* Returns room for `bytes` bytes, as mem_array does, but the bytes are not zeroed.  It is for
 * content that is written before it is read.  Pages that are never written take no memory and no
 * time: the longest compressed image takes four times as much room as a usual one.  The caller
 * frees the room with mem_free.  NULL: see mem_array. */
void *mem_room(size_t bytes);

/* Returns a copy of `count` items of `size` bytes, which the caller frees with mem_free.  NULL:
 * `count` is 0, or memory runs out. */
void *mem_copy(const void *items, size_t count, size_t size);

/* Makes room for `more` items after the `count` items of an array, and returns the array.  If the
 * array is too small, this is a larger copy, and the old array is freed.  *capacity is the number
 * of items that fit into the array.  An array begins as NULL with a capacity of 0.
 *
 * NULL: memory runs out; the old array is unchanged and still valid. */
void *mem_grow(void *items, size_t count, size_t more, size_t size, size_t *capacity);

/* Frees memory that one of the functions above returned.  NULL: does nothing. */
void mem_free(void *memory);

#endif
