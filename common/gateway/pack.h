/* Writes MessagePack and CBOR (RFC 8949) into parts of a message. */
#ifndef BRAGG_GATEWAY_PACK_H
#define BRAGG_GATEWAY_PACK_H

#include <msgpack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/delivery.h"
#include "wire/message.h"

/* --- MessagePack ------------------------------------------------------------- */

/* A part that is being written.  It holds at most `capacity` bytes. */
struct pack {
    msgpack_packer packer;
    char *bytes;  // owned
    size_t size, capacity;
    bool overflow;  // an item did not fit
};

/* Begins a part of at most `capacity` bytes.  STATUS_FAILED if memory runs out. */
enum status pack_open(struct pack *p, size_t capacity, struct error *e);

/* Write items into the part.  If an item does not fit, pack_finish reports this.  The functions
 * with `key` write a key and its value into a map. */
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

/* Appends a copy of `size` bytes to *m.  STATUS_FAILED if memory runs out. */
enum status pack_copy(struct message *m, const void *bytes, size_t size, struct error *e);

/* --- CBOR -------------------------------------------------------------------- */

/* A part that is being written.  It holds at most `capacity` bytes. */
struct cborpack {
    uint8_t *bytes;  // owned
    size_t size, capacity;
    size_t ahead;          // bytes left for the head of the byte string that cborpack_blob began
    bool overflow;         // an item did not fit
    const char *infinite;  // borrowed key of a number that is not finite; NULL for none
};

/* Size in bytes of the longest head of a byte string. */
enum { CBORPACK_HEAD = 9 };

/* Begins a part of at most `capacity` bytes with the tag that marks data as CBOR.  STATUS_FAILED
 * if memory runs out.  The caller ends the part with cborpack_finish or cborpack_abort. */
enum status cborpack_open(struct cborpack *p, size_t capacity, struct error *e);

/* Write the head of a map, an array or a tag, or one whole item.  Sizes take as few bytes as
 * possible.  If an item does not fit, cborpack_finish reports that. */
void cborpack_map(struct cborpack *p, size_t pairs);
void cborpack_array(struct cborpack *p, size_t items);
void cborpack_tag(struct cborpack *p, uint64_t tag);
void cborpack_uint(struct cborpack *p, uint64_t value);
void cborpack_text(struct cborpack *p, const char *text);
void cborpack_bytes(struct cborpack *p, const void *bytes, size_t size);

/* Write a key and its value into a map.  Numbers are written as float64 and must be finite;
 * cborpack_finish reports a number that is not. */
void cborpack_key_uint(struct cborpack *p, const char *key, uint64_t value);
void cborpack_key_bool(struct cborpack *p, const char *key, bool value);
void cborpack_key_real(struct cborpack *p, const char *key, double value);
void cborpack_key_reals(struct cborpack *p, const char *key, const double *values, size_t count);
void cborpack_key_text(struct cborpack *p, const char *key, const char *text);
/* Writes a Unix time in ns as text with tag 0 and a resolution of 1 us. */
void cborpack_key_date(struct cborpack *p, const char *key, uint64_t time_ns);

/* Writes a map of all values of *d. */
void cborpack_values(struct cborpack *p, const struct delivery *d);

/* Begins a byte string whose length is not known yet.  Returns the place for up to `room` bytes, or
 * NULL if they do not fit.  The caller writes the bytes there, and then calls cborpack_blob_end
 * with their number. */
uint8_t *cborpack_blob(struct cborpack *p, size_t room);
void cborpack_blob_end(struct cborpack *p, size_t length);

/* Appends the part to *m, which takes ownership of it.  STATUS_INPUT if an item did not fit or a
 * number is not finite; the part is freed then. */
enum status cborpack_finish(struct cborpack *p, struct message *m, struct error *e);

/* Frees the part. */
void cborpack_abort(struct cborpack *p);

#endif
