#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    GROW_MIN = 4,             // items
    LARGE_BYTES = 1 << 20,    // bytes: leaves_reserve is checked for larger allocations
    RESERVE_BYTES = 4 << 20,  // bytes: they must be left after such an allocation
};

/* Returns true if RESERVE_BYTES can still be mapped, which are left for small allocations.
 * Libraries such as libzmq abort if a small allocation fails. */
static bool leaves_reserve(void)
{
    void *reserve = mmap(NULL, RESERVE_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return reserve != MAP_FAILED && munmap(reserve, RESERVE_BYTES) == 0;
}

bool size_multiply(size_t a, size_t b, size_t *product)
{
    const bool overflow = __builtin_mul_overflow(a, b, product);
    if (overflow)
        *product = 0;
    return !overflow;
}

/* Rounds a size up to a multiple of MEM_ALIGNMENT, which is not 0. */
static size_t round_up(size_t bytes)
{
    return ((bytes ? bytes : 1) + MEM_ALIGNMENT - 1) / MEM_ALIGNMENT * MEM_ALIGNMENT;
}

void *mem_room(size_t bytes)
{
    if (bytes > PTRDIFF_MAX - MEM_ALIGNMENT)
        return NULL;
    const size_t rounded = round_up(bytes);
    void *memory = bytes < MEM_ALIGNED ? malloc(rounded) : aligned_alloc(MEM_ALIGNMENT, rounded);
    if (memory && rounded > LARGE_BYTES && !leaves_reserve()) {
        free(memory);
        return NULL;
    }
    return memory;
}

void *mem_array(size_t count, size_t size)
{
    size_t bytes;
    void *memory = size_multiply(count, size, &bytes) ? mem_room(bytes) : NULL;
    if (memory)
        memset(memory, 0, round_up(bytes));
    return memory;
}

void *mem_copy(const void *items, size_t count, size_t size)
{
    size_t bytes;
    void *copy = count && size_multiply(count, size, &bytes) ? mem_room(bytes) : NULL;
    if (copy)
        memcpy(copy, items, bytes);
    return copy;
}

void *mem_grow(void *items, size_t count, size_t more, size_t size, size_t *capacity)
{
    size_t doubled;
    if (more <= *capacity - count)
        return items;
    if (!size_multiply(*capacity, 2, &doubled) || more > SIZE_MAX - count)
        return NULL;
    if (doubled < GROW_MIN)
        doubled = GROW_MIN;
    const size_t wanted = doubled < count + more ? count + more : doubled;
    void *grown = mem_array(wanted, size);
    if (!grown)
        return NULL;
    if (count)
        memcpy(grown, items, count * size);
    mem_free(items);
    *capacity = wanted;
    return grown;
}

void mem_free(void *memory)
{
    free(memory);
}
