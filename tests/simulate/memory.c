/* Memory for what is small, by lists of pieces of each size: a schedule takes and gives back some
 * thousands.  A build with sanitizers has their own, which see misuse. */
#include <stddef.h>
#include <stdlib.h>

void *__wrap_malloc(size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);
void *__real_malloc(size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);

#ifdef __SANITIZE_ADDRESS__

void *__wrap_malloc(size_t size)
{
    return __real_malloc(size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return __real_aligned_alloc(alignment, size);
}

void __wrap_free(void *memory)
{
    __real_free(memory);
}

#else

enum { STEP = 64, LISTS = 16, BLOCK = 1 << 18 };

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
    char *block = __real_malloc(BLOCK);
    for (size_t at = 0; block && at + size <= BLOCK; at += size) {
        struct head *head = (struct head *)(void *)(block + at);
        *head = (struct head){list, lists[list]};
        lists[list] = head;
    }
}

void *__wrap_malloc(size_t size)
{
    const size_t list = size ? (size - 1) / STEP : 0;
    if (list >= LISTS)
        return __wrap_aligned_alloc(STEP, size);
    if (!lists[list])
        cut(list);
    struct head *head = lists[list];
    if (!head)
        return NULL;
    lists[list] = head->next;
    return head + 1;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    char *memory = __real_aligned_alloc(alignment, alignment + size);
    if (!memory)
        return NULL;
    struct head *head = (struct head *)(void *)(memory + alignment) - 1;
    *head = (struct head){LISTS, memory};
    return head + 1;
}

void __wrap_free(void *memory)
{
    struct head *head = memory;
    if (!head)
        return;
    head--;
    if (head->list == LISTS) {
        __real_free(head->next);
        return;
    }
    head->next = lists[head->list];
    lists[head->list] = head;
}

#endif
