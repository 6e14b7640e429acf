/* Writes MessagePack into parts of a message. */
#ifndef BRAGG_GATEWAY_PACK_H
#define BRAGG_GATEWAY_PACK_H

#include <msgpack.h>
#include <stdbool.h>

#include "gateway/delivery.h"
#include "wire/message.h"

/* A part that is being written.  It holds at most `capacity` bytes. */
struct pack {
    msgpack_packer packer;
    char *bytes;  // owned
    size_t size, capacity;
    bool overflow;  // an item did not fit
};

/* Begins a part of at most `capacity` bytes.  STATUS_FAILED when memory is out. */
enum status pack_open(struct pack *p, size_t capacity, struct error *e);

/* Write items.  If an item does not fit, pack_finish reports that.  The functions with `key` write
 * a key and its value into a map. */
void pack_map(struct pack *p, size_t pairs);
void pack_text(struct pack *p, const char *text);  // str
void pack_key_int(struct pack *p, const char *key, int64_t value);
void pack_key_real(struct pack *p, const char *key, double value);  // float 64
void pack_key_text(struct pack *p, const char *key, const char *text);
void pack_bytes(struct pack *p, const void *bytes, size_t size);  // bin

/* Writes all values of *d as d->nvalues pairs of a map, whose head the caller has written. */
void pack_values(struct pack *p, const struct delivery *d);

/* Appends the part to *m, which takes ownership of it.  STATUS_INPUT if an item did not fit; the
 * part is freed then. */
enum status pack_finish(struct pack *p, struct message *m, struct error *e);

/* Appends a copy of `size` bytes to *m.  STATUS_FAILED when memory is out. */
enum status pack_copy(struct message *m, const void *bytes, size_t size, struct error *e);

#endif
