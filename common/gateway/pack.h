/* MessagePack into parts of a message, for the protocols that speak it. */
#ifndef BRAGG_GATEWAY_PACK_H
#define BRAGG_GATEWAY_PACK_H

#include <msgpack.h>
#include <stdbool.h>

#include "gateway/delivery.h"
#include "wire/message.h"

/* What is being written, up to `capacity` bytes. */
struct pack {
    msgpack_packer packer;
    char *bytes;
    size_t size, capacity;
    bool overflow;  // there was more than fits
};

/* Begins a part of at most `capacity` bytes. */
enum status pack_open(struct pack *p, size_t capacity, struct error *e);

void pack_map(struct pack *p, size_t pairs);
void pack_text(struct pack *p, const char *text);                   // str
void pack_key_int(struct pack *p, const char *key, int64_t value);  // key and value of a map
void pack_key_real(struct pack *p, const char *key, double value);  // likewise, float 64
void pack_key_text(struct pack *p, const char *key, const char *text);
void pack_bytes(struct pack *p, const void *bytes, size_t size);  // bin

/* All values of *d: nvalues pairs of a map. */
void pack_values(struct pack *p, const struct delivery *d);

/* Appends what was written to *m, which owns it from here on. */
enum status pack_finish(struct pack *p, struct message *m, struct error *e);

/* Appends a copy of `size` bytes to *m. */
enum status pack_copy(struct message *m, const void *bytes, size_t size, struct error *e);

#endif
