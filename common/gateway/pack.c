#include "gateway/pack.h"

#include <cbor.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"

/* --- MessagePack ------------------------------------------------------------- */

static int append(void *data, const char *bytes, size_t size)
{
    struct pack *p = data;
    if (size > p->capacity - p->size) {
        p->overflow = true;
        return -1;
    }
    memcpy(p->bytes + p->size, bytes, size);
    p->size += size;
    return 0;
}

enum status pack_open(struct pack *p, size_t capacity, struct error *e)
{
    *p = (struct pack){.bytes = mem_room(capacity), .capacity = capacity};
    if (!p->bytes)
        return error_memory(e, "a message");
    msgpack_packer_init(&p->packer, p, append);
    return STATUS_OK;
}

void pack_map(struct pack *p, size_t pairs)
{
    msgpack_pack_map(&p->packer, pairs);
}

void pack_text(struct pack *p, const char *text)
{
    const size_t length = strlen(text);
    msgpack_pack_str(&p->packer, length);
    msgpack_pack_str_body(&p->packer, text, length);
}

void pack_key_int(struct pack *p, const char *key, int64_t value)
{
    pack_text(p, key);
    msgpack_pack_int64(&p->packer, value);
}

void pack_key_real(struct pack *p, const char *key, double value)
{
    pack_text(p, key);
    msgpack_pack_double(&p->packer, value);
}

void pack_key_text(struct pack *p, const char *key, const char *text)
{
    pack_text(p, key);
    pack_text(p, text);
}

void pack_bytes(struct pack *p, const void *bytes, size_t size)
{
    msgpack_pack_bin(&p->packer, size);
    msgpack_pack_bin_body(&p->packer, bytes, size);
}

void pack_values(struct pack *p, const struct delivery *d)
{
    for (size_t i = 0; i < d->nvalues; i++) {
        const struct value *v = &d->values[i];
        if (v->type == VALUE_INT) {
            pack_key_int(p, v->key, v->integer);
        } else if (v->type == VALUE_REAL) {
            pack_key_real(p, v->key, v->reals[0]);
        } else if (v->type == VALUE_TEXT) {
            pack_key_text(p, v->key, v->text);
        } else {
            pack_text(p, v->key);
            msgpack_pack_array(&p->packer, v->count);
            for (size_t k = 0; k < v->count; k++)
                msgpack_pack_double(&p->packer, v->reals[k]);
        }
    }
}

enum status pack_finish(struct pack *p, struct message *m, struct error *e)
{
    if (p->overflow) {
        mem_free(p->bytes);
        return error_set(e, STATUS_INPUT, "the metadata do not fit into %zu bytes", p->capacity);
    }
    return message_add(m, (struct part){p->bytes, p->size, mem_free, p->bytes}, e);
}

enum status pack_copy(struct message *m, const void *bytes, size_t size, struct error *e)
{
    void *copy = mem_copy(bytes, size, 1);
    if (!copy)
        return error_memory(e, "an image for the clients");
    return message_add(m, (struct part){copy, size, mem_free, copy}, e);
}

/* --- CBOR -------------------------------------------------------------------- */

enum { SELF_DESCRIBED = 55799, DATE = 0 };  // tags

/* Counts `size` bytes that libcbor wrote into the part.  libcbor returns 0 for an item that did
 * not fit. */
static void wrote(struct cborpack *p, size_t size)
{
    p->overflow = p->overflow || size == 0;
    p->size += size;
}

static uint8_t *at(struct cborpack *p)
{
    return p->bytes + p->size;
}

static size_t left(const struct cborpack *p)
{
    return p->overflow ? 0 : p->capacity - p->size;
}

enum status cborpack_open(struct cborpack *p, size_t capacity, struct error *e)
{
    *p = (struct cborpack){.bytes = mem_room(capacity), .capacity = capacity};
    if (!p->bytes)
        return error_memory(e, "a message");
    cborpack_tag(p, SELF_DESCRIBED);
    return STATUS_OK;
}

void cborpack_map(struct cborpack *p, size_t pairs)
{
    wrote(p, cbor_encode_map_start(pairs, at(p), left(p)));
}

void cborpack_array(struct cborpack *p, size_t items)
{
    wrote(p, cbor_encode_array_start(items, at(p), left(p)));
}

void cborpack_tag(struct cborpack *p, uint64_t tag)
{
    wrote(p, cbor_encode_tag(tag, at(p), left(p)));
}

void cborpack_uint(struct cborpack *p, uint64_t value)
{
    wrote(p, cbor_encode_uint(value, at(p), left(p)));
}

static void append_bytes(struct cborpack *p, const void *bytes, size_t size)
{
    if (size > left(p)) {
        p->overflow = true;
        return;
    }
    memcpy(at(p), bytes, size);
    p->size += size;
}

void cborpack_text(struct cborpack *p, const char *text)
{
    const size_t length = strlen(text);
    wrote(p, cbor_encode_string_start(length, at(p), left(p)));
    append_bytes(p, text, length);
}

void cborpack_bytes(struct cborpack *p, const void *bytes, size_t size)
{
    wrote(p, cbor_encode_bytestring_start(size, at(p), left(p)));
    append_bytes(p, bytes, size);
}

static void put_real(struct cborpack *p, const char *key, double value)
{
    if (!isfinite(value))
        p->infinite = key;
    wrote(p, cbor_encode_double(value, at(p), left(p)));
}

void cborpack_key_uint(struct cborpack *p, const char *key, uint64_t value)
{
    cborpack_text(p, key);
    cborpack_uint(p, value);
}

void cborpack_key_bool(struct cborpack *p, const char *key, bool value)
{
    cborpack_text(p, key);
    wrote(p, cbor_encode_bool(value, at(p), left(p)));
}

void cborpack_key_real(struct cborpack *p, const char *key, double value)
{
    cborpack_text(p, key);
    put_real(p, key, value);
}

void cborpack_key_reals(struct cborpack *p, const char *key, const double *values, size_t count)
{
    cborpack_text(p, key);
    cborpack_array(p, count);
    for (size_t i = 0; i < count; i++)
        put_real(p, key, values[i]);
}

void cborpack_key_text(struct cborpack *p, const char *key, const char *text)
{
    cborpack_text(p, key);
    cborpack_text(p, text);
}

void cborpack_key_date(struct cborpack *p, const char *key, uint64_t time_ns)
{
    const time_t second = (time_t)(time_ns / 1000000000);
    const unsigned microsecond = (unsigned)(time_ns % 1000000000 / 1000);
    struct tm t;
    char day[32], text[48];
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", gmtime_r(&second, &t));
    (void)snprintf(text, sizeof text, "%s.%06uZ", day, microsecond);
    cborpack_text(p, key);
    cborpack_tag(p, DATE);
    cborpack_text(p, text);
}

static void put_int(struct cborpack *p, int64_t value)
{
    if (value >= 0)
        cborpack_uint(p, (uint64_t)value);
    else
        wrote(p, cbor_encode_negint((uint64_t)(-1 - value), at(p), left(p)));
}

void cborpack_values(struct cborpack *p, const struct delivery *d)
{
    cborpack_map(p, d->nvalues);
    for (size_t i = 0; i < d->nvalues; i++) {
        const struct value *v = &d->values[i];
        if (v->type == VALUE_REAL) {
            cborpack_key_real(p, v->key, v->reals[0]);
        } else if (v->type == VALUE_TEXT) {
            cborpack_key_text(p, v->key, v->text);
        } else if (v->type == VALUE_REALS) {
            cborpack_key_reals(p, v->key, v->reals, v->count);
        } else {
            cborpack_text(p, v->key);
            put_int(p, v->integer);
        }
    }
}

/* Returns the number of bytes in the head of a byte string of `length` bytes [RFC 8949, 3]. */
static size_t head_size(size_t length)
{
    return length < 24            ? 1
           : length <= UINT8_MAX  ? 2
           : length <= UINT16_MAX ? 3
           : length <= UINT32_MAX ? 5
                                  : CBORPACK_HEAD;
}

/* The place for the bytes is where they stay if the head of the final length is as long as that of
 * `room`.  Images are so large that this is nearly always true. */
uint8_t *cborpack_blob(struct cborpack *p, size_t room)
{
    p->overflow = p->overflow || left(p) < CBORPACK_HEAD || left(p) - CBORPACK_HEAD < room;
    p->ahead = head_size(room);
    return p->overflow ? NULL : at(p) + p->ahead;
}

void cborpack_blob_end(struct cborpack *p, size_t length)
{
    const uint8_t *blob = at(p) + p->ahead;
    wrote(p, cbor_encode_bytestring_start(length, at(p), p->ahead));
    if (at(p) != blob)
        memmove(at(p), blob, length);
    p->size += length;
}

enum status cborpack_finish(struct cborpack *p, struct message *m, struct error *e)
{
    enum status s = STATUS_OK;
    if (p->infinite)
        s = error_set(e, STATUS_INPUT, "%s is not a finite number", p->infinite);
    else if (p->overflow)
        s = error_set(e, STATUS_INPUT, "the metadata do not fit into %zu bytes", p->capacity);
    if (s) {
        cborpack_abort(p);
        return s;
    }
    return message_add(m, (struct part){p->bytes, p->size, mem_free, p->bytes}, e);
}

void cborpack_abort(struct cborpack *p)
{
    mem_free(p->bytes);
    p->bytes = NULL;
}
