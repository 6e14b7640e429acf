/* The functions of base/alloc.h, with lists of free pieces of each size, because a run allocates
 * and frees thousands of pieces.  A build with sanitizers uses the real functions, so that the
 * sanitizers detect misuse. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void *__wrap_mem_array(size_t count, size_t size);
void *__wrap_mem_try_array(size_t count, size_t size);
void *__wrap_mem_copy(const void *items, size_t count, size_t size);
void *__wrap_mem_grow(void *items, size_t count, size_t more, size_t size, size_t *capacity);
void __wrap_mem_free(void *memory);
void *__real_mem_array(size_t count, size_t size);
void *__real_mem_try_array(size_t count, size_t size);
void *__real_mem_copy(const void *items, size_t count, size_t size);
void *__real_mem_grow(void *items, size_t count, size_t more, size_t size, size_t *capacity);
void __real_mem_free(void *memory);

#ifdef __SANITIZE_ADDRESS__

void *__wrap_mem_array(size_t count, size_t size)
{
    return __real_mem_array(count, size);
}

void *__wrap_mem_try_array(size_t count, size_t size)
{
    return __real_mem_try_array(count, size);
}

void *__wrap_mem_copy(const void *items, size_t count, size_t size)
{
    return __real_mem_copy(items, count, size);
}

void *__wrap_mem_grow(void *items, size_t count, size_t more, size_t size, size_t *capacity)
{
    return __real_mem_grow(items, count, more, size, capacity);
}

void __wrap_mem_free(void *memory)
{
    __real_mem_free(memory);
}

#else

enum { STEP = 64, LISTS = 16, BLOCK = 1 << 18, GROW_MIN = 4 };

/* Before each piece. */
struct head {
    size_t list;  // LISTS: of none
    void *next;   // the next free one of its list, or what is to be freed
};

static struct head *lists[LISTS];

/* Another block, cut into pieces that are never given back. */
static void cut(size_t list)
{
    const size_t size = sizeof(struct head) + (list + 1) * STEP;
    char *block = __real_mem_array(BLOCK, 1);
    for (size_t at = 0; at + size <= BLOCK; at += size) {
        struct head *head = (struct head *)(void *)(block + at);
        *head = (struct head){list, lists[list]};
        lists[list] = head;
    }
}

static void *large(size_t bytes)
{
    char *memory = __real_mem_array(MEM_ALIGNMENT + bytes, 1);
    struct head *head = (struct head *)(void *)(memory + MEM_ALIGNMENT) - 1;
    *head = (struct head){LISTS, memory};
    return head + 1;
}

void *__wrap_mem_try_array(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
        return NULL;
    const size_t list = bytes ? (bytes - 1) / STEP : 0;
    if (list >= LISTS)
        return large(bytes);
    if (!lists[list])
        cut(list);
    struct head *head = lists[list];
    lists[list] = head->next;
    for (size_t i = 0; i <= list; i++)
        memset((char *)(head + 1) + i * STEP, 0, STEP);
    return head + 1;
}

void *__wrap_mem_array(size_t count, size_t size)
{
    void *memory = __wrap_mem_try_array(count, size);
    if (!memory)
        abort();
    return memory;
}

void *__wrap_mem_copy(const void *items, size_t count, size_t size)
{
    return count ? memcpy(__wrap_mem_array(count, size), items, count * size) : NULL;
}

void *__wrap_mem_grow(void *items, size_t count, size_t more, size_t size, size_t *capacity)
{
    if (more <= *capacity - count)
        return items;
    const size_t doubled = *capacity < GROW_MIN / 2 ? GROW_MIN : 2 * *capacity;
    const size_t wanted = doubled < count + more ? count + more : doubled;
    void *grown = __wrap_mem_array(wanted, size);
    if (count)
        memcpy(grown, items, count * size);
    __wrap_mem_free(items);
    *capacity = wanted;
    return grown;
}

void __wrap_mem_free(void *memory)
{
    struct head *head = memory;
    if (!head)
        return;
    head--;
    if (head->list == LISTS) {
        __real_mem_free(head->next);
        return;
    }
    head->next = lists[head->list];
    lists[head->list] = head;
}

#endif
