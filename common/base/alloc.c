#include "base/alloc.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"

enum {
    GROW_MIN = 4,             // items
    LARGE_BYTES = 1 << 20,    // bytes: leaves_reserve is checked for larger allocations
    RESERVE_BYTES = 4 << 20,  // bytes: they must be left after such an allocation
    KEPT_BYTES = 32 << 20,    // bytes: the C library unmaps larger memory when it is freed
    KEPT_MAX = 4,             // blocks
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

/* --- large blocks that were freed ------------------------------------------ */

/* Images of 16M pixels are larger than what the C library keeps when it is freed.  It would map
 * such an image again for each frame, and the system would zero all its pages.  Each block here
 * belongs to the thread that exchanges it for NULL. */
static _Atomic(void *) kept[KEPT_MAX];

/* Keeps a block for take_block.  Frees the block if KEPT_MAX blocks are kept already. */
static void keep_block(void *memory)
{
    for (int i = 0; i < KEPT_MAX; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&kept[i], &none, memory))
            return;
    }
    free(memory);
}

/* Returns a kept block of at least `bytes` bytes that wastes at most a quarter, or NULL.  If no
 * block fits, all are freed, so that they do not add to the largest amount of memory. */
static void *take_block(size_t bytes)
{
    for (int i = 0; i < KEPT_MAX; i++) {
        void *memory = atomic_exchange(&kept[i], NULL);
        const size_t size = malloc_usable_size(memory);
        if (size >= bytes && size - bytes <= bytes / 4)
            return memory;
        if (memory)
            keep_block(memory);
    }
    for (int i = 0; i < KEPT_MAX; i++)
        free(atomic_exchange(&kept[i], NULL));
    return NULL;
}

void *mem_try_room(size_t bytes)
{
    if (bytes > PTRDIFF_MAX - MEM_ALIGNMENT)
        return NULL;
    const size_t rounded = round_up(bytes);
    void *again = rounded >= KEPT_BYTES ? take_block(rounded) : NULL;
    if (again)
        return again;
    void *memory = bytes < MEM_ALIGNED ? malloc(rounded) : aligned_alloc(MEM_ALIGNMENT, rounded);
    if (memory && rounded > LARGE_BYTES && !leaves_reserve()) {
        free(memory);
        return NULL;
    }
    return memory;
}

void *mem_try_array(size_t count, size_t size)
{
    size_t bytes;
    void *memory = size_multiply(count, size, &bytes) ? mem_try_room(bytes) : NULL;
    if (memory)
        memset(memory, 0, round_up(bytes));
    return memory;
}

/* Ends the process because there is no memory for `count` items of `size` bytes.  Exit handlers
 * would free what other threads still use, so none of them runs.  The message is written once,
 * although memory often runs out in several threads at a time. */
static _Noreturn void end_process(size_t count, size_t size)
{
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&ending))
        (void)pause();
    log_tell(LOG_MEMORY);
    log_line(LOG_ERROR,
             "out of memory for %.0f bytes. Use smaller images, fewer threads, or a machine with "
             "more memory; 'ulimit -v' shows a limit",
             (double)count * (double)size);
    target_drop_unfinished();
    _exit(STATUS_FAILED);
}

void *mem_room(size_t bytes)
{
    void *memory = mem_try_room(bytes);
    if (!memory)
        end_process(bytes, 1);
    return memory;
}

void *mem_array(size_t count, size_t size)
{
    void *memory = mem_try_array(count, size);
    if (!memory)
        end_process(count, size);
    return memory;
}

void *mem_copy(const void *items, size_t count, size_t size)
{
    size_t bytes;
    if (!count)
        return NULL;
    if (!size_multiply(count, size, &bytes))
        end_process(count, size);
    return memcpy(mem_room(bytes), items, bytes);
}

char *mem_text(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    const int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        end_process(strlen(format), 1);
    return text;
}

void *mem_grow(void *items, size_t count, size_t more, size_t size, size_t *capacity)
{
    if (more <= *capacity - count)
        return items;
    size_t wanted, doubled;
    if (__builtin_add_overflow(count, more, &wanted) || !size_multiply(*capacity, 2, &doubled))
        end_process(SIZE_MAX, size);
    if (wanted < doubled)
        wanted = doubled;
    if (wanted < GROW_MIN)
        wanted = GROW_MIN;
    void *grown = mem_array(wanted, size);
    if (count)
        memcpy(grown, items, count * size);
    mem_free(items);
    *capacity = wanted;
    return grown;
}

void mem_free(void *memory)
{
    const bool aligned = (uintptr_t)memory % MEM_ALIGNMENT == 0;
    if (aligned && malloc_usable_size(memory) >= KEPT_BYTES)
        keep_block(memory);
    else
        free(memory);
}
