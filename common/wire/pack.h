/* msgpack-c's packer, for parts of messages, which are mostly small. */
#ifndef BRAGG_WIRE_PACK_H
#define BRAGG_WIRE_PACK_H

#include <stdlib.h>

#define MSGPACK_SBUFFER_INIT_SIZE 512  // bytes that a buffer begins with, in place of 8192
#include <msgpack.h>

#include "wire/message.h"

/* A part that owns what was packed, at least a byte; the buffer is empty then. */
static inline struct part pack_take(msgpack_sbuffer *buffer)
{
    const size_t size = buffer->size;
    char *bytes = msgpack_sbuffer_release(buffer);
    return (struct part){.data = bytes, .size = size, .release = free, .owner = bytes};
}

#endif
