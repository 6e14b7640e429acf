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

/* --- memory that the program needs -----------------------------------------
 *
 * If memory runs out, or a size overflows, these functions end the process with STATUS_FAILED and
 * one line.  They may be called in any thread.  The end is like a kill: no exit handler runs, and
 * other processes of a stream issue its frames again.  The files that target_unfinished lists are
 * removed (base/files.h).  A size that a file or a message decides needs mem_try_array or
 * mem_try_room, because wrong content must not end a process without the name of the file. */

/* Returns a zeroed array of `count` items of `size` bytes.  From MEM_ALIGNED bytes on it is aligned
 * to MEM_ALIGNMENT.  A count of 0 gives a valid pointer.  The caller frees the array with mem_free.
 *
 * Memory has also run out if an array above 1 MiB leaves less than 4 MiB, because libraries end
 * the process without a message if a small allocation fails. */
void *mem_array(size_t count, size_t size) __attribute__((returns_nonnull));

/* Returns room for `bytes` bytes, as mem_array does, but the bytes are not zeroed.  It is for
 * content that is written before it is read.  Pages that are never written take no memory and no
 * time: the longest compressed image takes four times as much room as a usual one.  The caller
 * frees the room with mem_free. */
void *mem_room(size_t bytes) __attribute__((returns_nonnull));

/* Returns a copy of `count` items of `size` bytes, which the caller frees with mem_free.  NULL only
 * if `count` is 0. */
void *mem_copy(const void *items, size_t count, size_t size);

/* Returns a new text, which printf with these arguments would print.  The caller frees it with
 * mem_free. */
char *mem_text(const char *format, ...) __attribute__((returns_nonnull, format(printf, 1, 2)));

/* Makes room for `more` items after the `count` items of an array, and returns the array.  If the
 * array is too small, this is a larger copy, and the old array is freed.  *capacity is the number
 * of items that fit into the array.  An array begins as NULL with a capacity of 0.  The result is
 * NULL only if there are no items and `more` is 0. */
void *mem_grow(void *items, size_t count, size_t more, size_t size, size_t *capacity);

/* --- memory of a size that a file or a message decides ---------------------- */

/* Returns what mem_array returns.  NULL: count x size is too large for a size_t, or memory runs
 * out. */
void *mem_try_array(size_t count, size_t size);

/* Returns what mem_room returns.  NULL: see mem_try_array. */
void *mem_try_room(size_t bytes);

/* --------------------------------------------------------------------------- */

/* Frees memory that one of the functions above returned.  NULL: does nothing. */
void mem_free(void *memory);

#endif
