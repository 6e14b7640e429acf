/*
 * Memory of a GPU, the card, that processes of one host share, so that images stay there between
 * stages: a table of functions, because what carries frames knows no GPU.
 */
#ifndef BRAGG_MODEL_CARD_H
#define BRAGG_MODEL_CARD_H

#include <stddef.h>

#include "base/error.h"

enum {
    CARD_UUID = 16,    // bytes of a card's name
    CARD_HANDLE = 64,  // bytes of the name of memory on one
};

/* By this name another process opens memory of the card. */
struct card_handle {
    unsigned char bytes[CARD_HANDLE];
};

/* An open card; who made it keeps it while anybody uses its memory. */
struct card {
    unsigned char uuid[CARD_UUID];  // the same in all processes that have this card

    /* Memory for `bytes` and its name for others.  *memory is NULL after an error, STATUS_FAILED
     * when there is none. */
    enum status (*reserve)(const struct card *card, size_t bytes, void **memory,
                           struct card_handle *handle, struct error *e);
    void (*release)(const struct card *card, void *memory);

    /* Memory that another process has reserved, to be read.  *memory is NULL after an error,
     * STATUS_FAILED when there is nothing of that name, or less than `bytes`. */
    enum status (*open)(const struct card *card, const struct card_handle *handle, size_t bytes,
                        void **memory, struct error *e);
    void (*close)(const struct card *card, void *memory);

    /* Copies from the card to memory of this process, and waits until it is there.  Any thread may
     * call this and `close`, beside all others. */
    enum status (*fetch)(const struct card *card, void *to, const void *from, size_t bytes,
                         struct error *e);
};

#endif
