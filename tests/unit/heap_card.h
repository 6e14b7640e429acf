/* A GPU for unit tests, whose memory is the heap of the process. */
#ifndef BRAGG_TESTS_HEAP_CARD_H
#define BRAGG_TESTS_HEAP_CARD_H

#include <stdlib.h>
#include <string.h>

#include "model/frame.h"
#include "unit.h"

static struct {
    int left;  // so much can be reserved
    int reserved, open, fetched;
} heap;

static enum status heap_reserve(const struct card *card, size_t bytes, void **memory,
                                struct card_handle *handle, struct error *e)
{
    (void)card;
    *memory = NULL;
    if (!heap.left)
        return error_set(e, STATUS_FAILED, "full");
    heap.left--;
    heap.reserved++;
    *memory = calloc(bytes, 1);
    assert_non_null(*memory);
    memset(handle, 0xff, sizeof *handle);  // also words of 64 bits
    memcpy(handle->bytes, memory, sizeof *memory);
    return STATUS_OK;
}

static void heap_release(const struct card *card, void *memory)
{
    (void)card;
    heap.reserved--;
    free(memory);
}

static enum status heap_open(const struct card *card, const struct card_handle *handle,
                             size_t bytes, void **memory, struct error *e)
{
    (void)card, (void)bytes;
    *memory = NULL;
    if (handle->bytes[CARD_HANDLE - 1] != 0xff)
        return error_set(e, STATUS_FAILED, "nothing of that name");
    memcpy(memory, handle->bytes, sizeof *memory);
    heap.open++;
    return STATUS_OK;
}

static void heap_close(const struct card *card, void *memory)
{
    (void)card;
    assert_non_null(memory);
    heap.open--;
}

static enum status heap_fetch(const struct card *card, void *to, const void *from, size_t bytes,
                              struct error *e)
{
    (void)card, (void)e;
    heap.fetched++;
    memcpy(to, from, bytes);
    return STATUS_OK;
}

static const struct card CARD = {.uuid = "a card",
                                 .reserve = heap_reserve,
                                 .release = heap_release,
                                 .open = heap_open,
                                 .close = heap_close,
                                 .fetch = heap_fetch};

#endif
