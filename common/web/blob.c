#include "web/blob.h"

#include <string.h>

#include "base/alloc.h"

_Static_assert(sizeof(struct web_head) == 72 && sizeof(struct web_mark) == 28, "no gaps");

static atomic_size_t bytes;

size_t web_blob_bytes(void)
{
    return atomic_load(&bytes);
}

struct web_blob *web_blob_new(size_t size)
{
    struct web_blob *b = mem_array(1, sizeof *b + size);
    if (!b)
        return NULL;
    (void)atomic_fetch_add(&bytes, size);
    b->users = 1;
    b->size = size;
    return b;
}

struct web_blob *web_blob_text(const char *text)
{
    struct web_blob *b = web_blob_new(strlen(text));
    if (!b)
        return NULL;
    b->text = true;
    memcpy(b->data, text, b->size);
    return b;
}

void web_blob_drop(struct web_blob *b)
{
    if (!b || atomic_fetch_sub(&b->users, 1) != 1)
        return;
    (void)atomic_fetch_sub(&bytes, b->size);
    mem_free(b);
}
