/* CBOR (RFC 8949) into a part of a message, for the protocols that speak it. */
#ifndef BRAGG_GATEWAY_CBORPACK_H
#define BRAGG_GATEWAY_CBORPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/delivery.h"
#include "wire/message.h"

/* What is being written, up to `capacity` bytes. */
struct cborpack {
    uint8_t *bytes;
    size_t size, capacity;
    bool overflow;         // there was more than fits
    const char *infinite;  // key of a number that is none
};

/* Bytes of the longest head of a byte string. */
enum { CBORPACK_HEAD = 9 };

/* Begins a part of at most `capacity` bytes with the tag that says that this is CBOR. */
enum status cborpack_open(struct cborpack *p, size_t capacity, struct error *e);

/* Heads of what follows, and items; lengths take as few bytes as they can. */
void cborpack_map(struct cborpack *p, size_t pairs);
void cborpack_array(struct cborpack *p, size_t items);
void cborpack_tag(struct cborpack *p, uint64_t tag);
void cborpack_uint(struct cborpack *p, uint64_t value);
void cborpack_text(struct cborpack *p, const char *text);
void cborpack_bytes(struct cborpack *p, const void *bytes, size_t size);

/* Key and value of a map; numbers as float 64, which must be finite. */
void cborpack_key_uint(struct cborpack *p, const char *key, uint64_t value);
void cborpack_key_bool(struct cborpack *p, const char *key, bool value);
void cborpack_key_real(struct cborpack *p, const char *key, double value);
void cborpack_key_reals(struct cborpack *p, const char *key, const double *values, size_t count);
void cborpack_key_text(struct cborpack *p, const char *key, const char *text);
/* Unix time as text under tag 0, to the microsecond. */
void cborpack_key_date(struct cborpack *p, const char *key, uint64_t time_ns);

/* A map of all values of *d. */
void cborpack_values(struct cborpack *p, const struct delivery *d);

/* A byte string that is not there yet: where up to `room` bytes of it may be written, or
 * NULL when they do not fit; then its length. */
uint8_t *cborpack_blob(struct cborpack *p, size_t room);
void cborpack_blob_end(struct cborpack *p, size_t length);

/* Appends what was written to *m, which owns it from here on.  STATUS_INPUT when something
 * did not fit or is no finite number. */
enum status cborpack_finish(struct cborpack *p, struct message *m, struct error *e);

/* Frees what was written instead. */
void cborpack_abort(struct cborpack *p);

#endif
