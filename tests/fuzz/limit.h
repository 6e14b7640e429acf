/*
 * The memory that one input may allocate in total: 64 bytes for each byte of the input, and 1 MiB.
 * The limit holds between limit_begin and limit_end, once in a harness.
 */
#ifndef BRAGG_FUZZ_LIMIT_H
#define BRAGG_FUZZ_LIMIT_H

#include <sanitizer/allocator_interface.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    bool on;
    bool refuse;  // refuse what does not fit, instead of ending the program
    size_t used, limit;
} allocated;

static inline void limit_on_malloc(const volatile void *memory, size_t size)
{
    (void)memory;
    if (!allocated.on)
        return;
    allocated.used += size;
    if (allocated.used <= allocated.limit)
        return;
    allocated.on = false;
    fprintf(stderr, "an input may allocate %zu bytes, this one wants %zu\n", allocated.limit,
            allocated.used);
    abort();
}

static inline void limit_on_free(const volatile void *memory)
{
    if (!allocated.on || !memory)
        return;
    const size_t size = __sanitizer_get_allocated_size((const void *)(size_t)memory);
    allocated.used -= size < allocated.used ? size : allocated.used;
}

static inline void limit_begin(size_t input)
{
    static bool installed;
    if (!installed)
        installed = __sanitizer_install_malloc_and_free_hooks(limit_on_malloc, limit_on_free) != 0;
    allocated.used = 0;
    allocated.limit = 64 * input + (1 << 20);
    allocated.on = true;
    allocated.refuse = false;
}

/* From here to limit_end, memory whose size is only a number in the input must first be requested
 * from limit_refuses. All other memory is limited as before. */
static inline void limit_refuse(void)
{
    allocated.refuse = true;
}

static inline bool limit_refuses(size_t count, size_t size)
{
    const size_t room = allocated.limit - allocated.used, rounded = 64;
    size_t bytes;
    return allocated.on && allocated.refuse &&
           (__builtin_mul_overflow(count, size, &bytes) || bytes > room || bytes + rounded > room);
}

static inline void limit_end(void)
{
    allocated.on = false;
}

#endif
