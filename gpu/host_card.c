/* The memory of the CPU device that stands in for a GPU, shared between processes. */
#include "gpu/host_card.h"

#include <string.h>

#include "base/named.h"
#include "gpu/gpu.h"

_Static_assert(sizeof(struct memory_name) == CARD_HANDLE, "names of memory");

static enum status reserve(const struct card *card, size_t bytes, void **memory,
                           struct card_handle *handle, struct error *e)
{
    struct memory_name name;
    (void)card;
    *memory = bytes > gpu_host_memory ? NULL : named_make(bytes, &name);
    if (*memory)
        memcpy(handle, &name, sizeof name);
    return *memory ? STATUS_OK : error_memory(e, "the card");
}

static void release(const struct card *card, void *memory)
{
    (void)card;
    named_free(memory);
}

static enum status open_named(const struct card *card, const struct card_handle *handle,
                              size_t bytes, void **memory, struct error *e)
{
    struct memory_name name;
    size_t has;
    (void)card;
    memcpy(&name, handle, sizeof name);
    *memory = named_open(&name, bytes, &has);
    return *memory ? STATUS_OK : error_set(e, STATUS_FAILED, "there is no such memory");
}

static void close_named(const struct card *card, void *memory)
{
    (void)card;
    named_close(memory);
}

static enum status fetch(const struct card *card, void *to, const void *from, size_t bytes,
                         struct error *e)
{
    (void)card;
    (void)e;
    memcpy(to, from, bytes);
    return STATUS_OK;
}

const struct card host_card = {.uuid = "this processor",
                               .reserve = reserve,
                               .release = release,
                               .open = open_named,
                               .close = close_named,
                               .fetch = fetch};
