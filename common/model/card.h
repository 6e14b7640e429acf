/*
 * GPU memory that processes of one host share, so that images stay there between stages.  The
 * interface is a table of functions, because the code that carries frames does not depend on a GPU.
 */
#ifndef BRAGG_MODEL_CARD_H
#define BRAGG_MODEL_CARD_H

#include <stddef.h>

#include "base/error.h"

enum {
    CARD_UUID = 16,    // bytes of the name of a GPU
    CARD_HANDLE = 64,  // bytes of the name of memory on a GPU
};

/* The name of a buffer of GPU memory; another process opens the buffer with it. */
struct card_handle {
    unsigned char bytes[CARD_HANDLE];
};

/* An open GPU.  Its creator keeps it open as long as any thread uses its memory. */
struct card {
    unsigned char uuid[CARD_UUID];  // the same in all processes that use this GPU

    /* Allocates `bytes` bytes, and sets *handle to the name that other processes open.
     * STATUS_FAILED, with *memory NULL: out of memory. */
    enum status (*reserve)(const struct card *card, size_t bytes, void **memory,
                           struct card_handle *handle, struct error *e);
    void (*release)(const struct card *card, void *memory);

    /* Opens, for reading, memory that another process has reserved.  STATUS_FAILED, with *memory
     * NULL: no memory has this name, or it is smaller than `bytes`. */
    enum status (*open)(const struct card *card, const struct card_handle *handle, size_t bytes,
                        void **memory, struct error *e);
    void (*close)(const struct card *card, void *memory);

    /* Copies from GPU memory to memory of this process, and waits for the end of the copy.  Any
     * thread may call this function and `close`, at the same time as the other functions. */
    enum status (*fetch)(const struct card *card, void *to, const void *from, size_t bytes,
                         struct error *e);
};

#endif
