/* Packed frames, in the order of their ids, to be put together in one file. */
#ifndef BRAGG_IO_RECORDS_H
#define BRAGG_IO_RECORDS_H

#include <stddef.h>

#include "base/error.h"

/* They are read as often as it takes; *bytes, aligned for any type, is borrowed until the next. */
struct records {
    void *state;
    size_t count;
    enum status (*read)(void *state, size_t i, const void **bytes, size_t *size, struct error *e);
};

#endif
