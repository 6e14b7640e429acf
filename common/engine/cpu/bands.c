#include "engine/cpu/bands.h"

#include "base/alloc.h"

int64_t bands_takes(const struct bands *b)
{
    return (b->rows + b->at_once - 1) / b->at_once;
}

enum status bands_open(struct bands *b, int64_t rows, int threads, struct error *e)
{
    const int64_t share = rows / threads / BAND_TAKES;
    *b = (struct bands){.rows = rows,
                        .at_once = share < 1           ? 1
                                   : share > BAND_ROWS ? BAND_ROWS
                                                       : share,
                        .count = threads};
    b->band = mem_array((size_t)threads, sizeof *b->band);
    if (!b->band)
        return error_memory(e, "the bands of rows");
    const int64_t takes = bands_takes(b);
    for (int i = 0; i < threads; i++) {
        const int64_t end = takes * (i + 1) / threads * b->at_once;
        atomic_init(&b->band[i].next, takes * i / threads * b->at_once);
        b->band[i].end = end < rows ? end : rows;
    }
    return STATUS_OK;
}

void bands_close(struct bands *b)
{
    mem_free(b->band);
    b->band = NULL;
}

bool bands_take(struct bands *b, int thread, int64_t *first, int64_t *end)
{
    for (int i = 0; i < b->count; i++) {
        struct band *band = &b->band[(thread + i) % b->count];
        if (atomic_load_explicit(&band->next, memory_order_relaxed) >= band->end)
            continue;
        *first = atomic_fetch_add_explicit(&band->next, b->at_once, memory_order_relaxed);
        *end = *first + b->at_once < band->end ? *first + b->at_once : band->end;
        if (*first < *end)
            return true;
    }
    return false;
}
