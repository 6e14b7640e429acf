/* Writes MessagePack, CBOR (RFC 8949) and JSON into parts of a message, and reads CBOR. */
#ifndef BRAGG_GATEWAY_PACK_H
#define BRAGG_GATEWAY_PACK_H

#include <msgpack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* Begins a part of at most `capacity` bytes. */
void pack_open(struct pack *p, size_t capacity);

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

/* Appends a copy of `size` bytes to *m. */
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

/* Begins a part of at most `capacity` bytes with the tag that marks data as CBOR. */
void cborpack_open(struct cborpack *p, size_t capacity);

/* Begins a part with the byte `first`, and without that tag. */
void cborpack_open_after(struct cborpack *p, char first, size_t capacity);

/* Write the head of a map, an array or a tag, or one whole item.  Sizes take as few bytes as
 * possible.  If an item does not fit, cborpack_finish reports that. */
void cborpack_map(struct cborpack *p, size_t pairs);
void cborpack_array(struct cborpack *p, size_t items);
void cborpack_tag(struct cborpack *p, uint64_t tag);
void cborpack_uint(struct cborpack *p, uint64_t value);
void cborpack_text(struct cborpack *p, const char *text);
void cborpack_bytes(struct cborpack *p, const void *bytes, size_t size);
/* Writes items that are encoded already. */
void cborpack_items(struct cborpack *p, const void *items, size_t size);

/* Write a key and its value into a map.  Numbers are written as float64 and must be finite;
 * cborpack_finish reports a number that is not. */
void cborpack_key_uint(struct cborpack *p, const char *key, uint64_t value);
void cborpack_key_int(struct cborpack *p, const char *key, int64_t value);
void cborpack_key_bool(struct cborpack *p, const char *key, bool value);
void cborpack_key_real(struct cborpack *p, const char *key, double value);
void cborpack_key_reals(struct cborpack *p, const char *key, const double *values, size_t count);
void cborpack_key_text(struct cborpack *p, const char *key, const char *text);
/* Writes a date and time [RFC 3339] as text with tag 0. */
void cborpack_key_date(struct cborpack *p, const char *key, const char *date);

/* Writes a value of the user: the object or the array that `text` is in JSON, otherwise the text
 * itself. */
void cborpack_json(struct cborpack *p, const char *text);

/* Write one value with its key; all values of *d as a map; all values as d->nvalues pairs of a map
 * whose head the caller has written. */
void cborpack_value(struct cborpack *p, const struct value *v);
void cborpack_values(struct cborpack *p, const struct delivery *d);
void cborpack_pairs(struct cborpack *p, const struct delivery *d);

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

/* --- JSON -------------------------------------------------------------------- */

/* An object that is being written. */
struct jsonpack {
    FILE *out;             // owned
    char *text;            // owned: what was written, valid after fclose
    size_t length;         // bytes of text
    bool more;             // the object has a member already
    const char *infinite;  // borrowed key of a number that is not finite; NULL for none
};

/* Begins an object.  STATUS_FAILED if memory runs out.  The caller ends it with jsonpack_finish. */
enum status jsonpack_open(struct jsonpack *j, struct error *e);

/* Write a key and its value.  Texts get the escapes that they need.  Real numbers have 17 digits,
 * so that a reader gets exactly the same double; jsonpack_finish reports a number that is not
 * finite. */
void jsonpack_text(struct jsonpack *j, const char *key, const char *text);
void jsonpack_uint(struct jsonpack *j, const char *key, uint64_t value);
void jsonpack_bool(struct jsonpack *j, const char *key, bool value);
void jsonpack_real(struct jsonpack *j, const char *key, double value);
void jsonpack_reals(struct jsonpack *j, const char *key, const double *values, size_t count);
void jsonpack_uints(struct jsonpack *j, const char *key, const size_t *values, size_t count);
void jsonpack_value(struct jsonpack *j, const struct value *v);

/* Ends the object and appends it to *m as a part.  STATUS_INPUT: a number is not finite.
 * STATUS_FAILED: memory ran out.  Frees the object in any case. */
enum status jsonpack_finish(struct jsonpack *j, struct message *m, struct error *e);

/* --- reading CBOR ----------------------------------------------------------------------------
 *
 * CBOR is read in place, without allocating memory: sizes in a damaged message cost nothing.
 * Indefinite lengths are refused.
 */

/* Types of items, numbered as in RFC 8949. */
enum cborread_type {
    CBORREAD_UINT,
    CBORREAD_BYTES = 2,
    CBORREAD_TEXT,
    CBORREAD_ARRAY,
    CBORREAD_MAP,
    CBORREAD_TAG
};

/* Bytes that are being read.  Borrowed. */
struct cborread {
    const uint8_t *at, *end;
    bool failed;  // the bytes have ended, or an item has another type than was expected
};

/* Reads the head of an item of this type, and returns its value, size or tag.  0 if it failed. */
uint64_t cborread_item(struct cborread *r, enum cborread_type type);

/* Reads a text or a string of bytes.  Returns its first byte, and sets *size, which is 0 if it
 * failed. */
const uint8_t *cborread_string(struct cborread *r, enum cborread_type type, size_t *size);

/* Skips an item with everything in it. */
void cborread_skip(struct cborread *r);

#endif
