#include "gateway/pack.h"

#include <cbor.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* --- MessagePack ------------------------------------------------------------- */

static int append_packed(void *data, const char *bytes, size_t size)
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

void pack_open(struct pack *p, size_t capacity)
{
    *p = (struct pack){.bytes = mem_room(capacity), .capacity = capacity};
    msgpack_packer_init(&p->packer, p, append_packed);
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
        } else if (v->type == VALUE_BOOL) {
            pack_text(p, v->key);
            (void)(v->integer ? msgpack_pack_true : msgpack_pack_false)(&p->packer);
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

static uint8_t *pack_end(struct cborpack *p)
{
    return p->bytes + p->size;
}

static size_t pack_room(const struct cborpack *p)
{
    return p->overflow ? 0 : p->capacity - p->size;
}

void cborpack_open(struct cborpack *p, size_t capacity)
{
    *p = (struct cborpack){.bytes = mem_room(capacity), .capacity = capacity};
    cborpack_tag(p, SELF_DESCRIBED);
}

void cborpack_open_after(struct cborpack *p, char first, size_t capacity)
{
    *p = (struct cborpack){.bytes = mem_room(capacity + 1), .capacity = capacity + 1};
    p->bytes[p->size++] = (uint8_t)first;
}

void cborpack_map(struct cborpack *p, size_t pairs)
{
    wrote(p, cbor_encode_map_start(pairs, pack_end(p), pack_room(p)));
}

void cborpack_array(struct cborpack *p, size_t items)
{
    wrote(p, cbor_encode_array_start(items, pack_end(p), pack_room(p)));
}

void cborpack_tag(struct cborpack *p, uint64_t tag)
{
    wrote(p, cbor_encode_tag(tag, pack_end(p), pack_room(p)));
}

void cborpack_uint(struct cborpack *p, uint64_t value)
{
    wrote(p, cbor_encode_uint(value, pack_end(p), pack_room(p)));
}

static void append_bytes(struct cborpack *p, const void *bytes, size_t size)
{
    if (size > pack_room(p)) {
        p->overflow = true;
        return;
    }
    memcpy(pack_end(p), bytes, size);
    p->size += size;
}

void cborpack_text(struct cborpack *p, const char *text)
{
    const size_t length = strlen(text);
    wrote(p, cbor_encode_string_start(length, pack_end(p), pack_room(p)));
    append_bytes(p, text, length);
}

void cborpack_bytes(struct cborpack *p, const void *bytes, size_t size)
{
    wrote(p, cbor_encode_bytestring_start(size, pack_end(p), pack_room(p)));
    append_bytes(p, bytes, size);
}

void cborpack_items(struct cborpack *p, const void *items, size_t size)
{
    append_bytes(p, items, size);
}

static void put_real(struct cborpack *p, const char *key, double value)
{
    if (!isfinite(value))
        p->infinite = key;
    wrote(p, cbor_encode_double(value, pack_end(p), pack_room(p)));
}

void cborpack_key_uint(struct cborpack *p, const char *key, uint64_t value)
{
    cborpack_text(p, key);
    cborpack_uint(p, value);
}

void cborpack_key_bool(struct cborpack *p, const char *key, bool value)
{
    cborpack_text(p, key);
    wrote(p, cbor_encode_bool(value, pack_end(p), pack_room(p)));
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

void cborpack_key_date(struct cborpack *p, const char *key, const char *date)
{
    cborpack_text(p, key);
    cborpack_tag(p, DATE);
    cborpack_text(p, date);
}

static void put_int(struct cborpack *p, int64_t value)
{
    if (value >= 0)
        cborpack_uint(p, (uint64_t)value);
    else
        wrote(p, cbor_encode_negint((uint64_t)(-1 - value), pack_end(p), pack_room(p)));
}

void cborpack_key_int(struct cborpack *p, const char *key, int64_t value)
{
    cborpack_text(p, key);
    put_int(p, value);
}

void cborpack_value(struct cborpack *p, const struct value *v)
{
    if (v->type == VALUE_REAL)
        cborpack_key_real(p, v->key, v->reals[0]);
    else if (v->type == VALUE_TEXT)
        cborpack_key_text(p, v->key, v->text);
    else if (v->type == VALUE_REALS)
        cborpack_key_reals(p, v->key, v->reals, v->count);
    else if (v->type == VALUE_BOOL)
        cborpack_key_bool(p, v->key, v->integer);
    else
        cborpack_key_int(p, v->key, v->integer);
}

void cborpack_values(struct cborpack *p, const struct delivery *d)
{
    cborpack_map(p, d->nvalues);
    cborpack_pairs(p, d);
}

void cborpack_pairs(struct cborpack *p, const struct delivery *d)
{
    for (size_t i = 0; i < d->nvalues; i++)
        cborpack_value(p, &d->values[i]);
}

/* Writes a value in JSON, with all that it contains.  jansson reads at most 2048 levels. */
static void put_json(struct cborpack *p, json_t *value)
{
    size_t i;
    json_t *item;
    const char *key;
    if (json_is_object(value)) {
        cborpack_map(p, json_object_size(value));
        json_object_foreach(value, key, item)
        {
            cborpack_text(p, key);
            put_json(p, item);
        }
    } else if (json_is_array(value)) {
        cborpack_array(p, json_array_size(value));
        json_array_foreach(value, i, item) put_json(p, item);
    } else if (json_is_string(value)) {
        cborpack_text(p, json_string_value(value));
    } else if (json_is_integer(value)) {
        put_int(p, json_integer_value(value));
    } else if (json_is_real(value)) {
        put_real(p, "user_data", json_real_value(value));
    } else if (json_is_boolean(value)) {
        wrote(p, cbor_encode_bool(json_is_true(value), pack_end(p), pack_room(p)));
    } else {
        wrote(p, cbor_encode_null(pack_end(p), pack_room(p)));
    }
}

void cborpack_json(struct cborpack *p, const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    if (value)
        put_json(p, value);
    else
        cborpack_text(p, text);
    json_decref(value);
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
    p->overflow =
        p->overflow || pack_room(p) < CBORPACK_HEAD || pack_room(p) - CBORPACK_HEAD < room;
    p->ahead = head_size(room);
    return p->overflow ? NULL : pack_end(p) + p->ahead;
}

void cborpack_blob_end(struct cborpack *p, size_t length)
{
    const uint8_t *blob = pack_end(p) + p->ahead;
    wrote(p, cbor_encode_bytestring_start(length, pack_end(p), p->ahead));
    if (pack_end(p) != blob)
        memmove(pack_end(p), blob, length);
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

/* --- JSON -------------------------------------------------------------------- */

enum status jsonpack_open(struct jsonpack *j, struct error *e)
{
    *j = (struct jsonpack){0};
    j->out = open_memstream(&j->text, &j->length);
    if (!j->out)
        return error_memory(e, "a header");
    fputc('{', j->out);
    return STATUS_OK;
}

/* Writes a text in quotes and with escapes. */
static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, out);
    fputc('"', out);
}

static void put_key(struct jsonpack *j, const char *key)
{
    if (j->more)
        fputc(',', j->out);
    j->more = true;
    put_text(j->out, key);
    fputc(':', j->out);
}

static void put_json_real(struct jsonpack *j, const char *key, double value)
{
    if (!isfinite(value))
        j->infinite = key;
    fprintf(j->out, "%.17g", value);
}

void jsonpack_text(struct jsonpack *j, const char *key, const char *text)
{
    put_key(j, key);
    put_text(j->out, text);
}

void jsonpack_uint(struct jsonpack *j, const char *key, uint64_t value)
{
    put_key(j, key);
    fprintf(j->out, "%" PRIu64, value);
}

void jsonpack_bool(struct jsonpack *j, const char *key, bool value)
{
    put_key(j, key);
    fputs(value ? "true" : "false", j->out);
}

void jsonpack_real(struct jsonpack *j, const char *key, double value)
{
    put_key(j, key);
    put_json_real(j, key, value);
}

void jsonpack_reals(struct jsonpack *j, const char *key, const double *values, size_t count)
{
    put_key(j, key);
    fputc('[', j->out);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? "," : "", j->out);
        put_json_real(j, key, values[i]);
    }
    fputc(']', j->out);
}

void jsonpack_uints(struct jsonpack *j, const char *key, const size_t *values, size_t count)
{
    put_key(j, key);
    fputc('[', j->out);
    for (size_t i = 0; i < count; i++)
        fprintf(j->out, "%s%zu", i ? "," : "", values[i]);
    fputc(']', j->out);
}

void jsonpack_value(struct jsonpack *j, const struct value *v)
{
    switch (v->type) {
    case VALUE_INT:
        put_key(j, v->key);
        fprintf(j->out, "%" PRId64, v->integer);
        break;
    case VALUE_BOOL:
        jsonpack_bool(j, v->key, v->integer);
        break;
    case VALUE_REAL:
        jsonpack_real(j, v->key, v->reals[0]);
        break;
    case VALUE_TEXT:
        jsonpack_text(j, v->key, v->text);
        break;
    case VALUE_REALS:
        jsonpack_reals(j, v->key, v->reals, v->count);
        break;
    }
}

enum status jsonpack_finish(struct jsonpack *j, struct message *m, struct error *e)
{
    fputc('}', j->out);
    enum status s = fclose(j->out) == 0 ? STATUS_OK : error_memory(e, "a header");
    if (s == STATUS_OK && j->infinite)
        s = error_set(e, STATUS_INPUT, "%s is not a finite number", j->infinite);
    if (s == STATUS_OK)
        s = pack_copy(m, j->text, j->length, e);
    free(j->text);
    return s;
}

/* --- reading CBOR ------------------------------------------------------------------------ */

/* Reads the head of an item.  Returns its type, and sets *value to its value, size or tag. */
static unsigned cborread_head(struct cborread *r, uint64_t *value)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    const unsigned first = r->at < r->end ? *r->at++ : 0xff, low = first & 31;
    const size_t size = low < 24 ? 0 : low < 28 ? sizes[low - 24] : 9;
    *value = low < 24 ? low : 0;
    if (low > 27 || size > (size_t)(r->end - r->at)) {
        r->failed = true;
        return first >> 5;
    }
    for (size_t i = 0; i < size; i++)
        *value = *value << 8 | *r->at++;
    return first >> 5;
}

uint64_t cborread_item(struct cborread *r, enum cborread_type type)
{
    uint64_t value;
    r->failed |= cborread_head(r, &value) != type;
    return r->failed ? 0 : value;
}

const uint8_t *cborread_string(struct cborread *r, enum cborread_type type, size_t *size)
{
    const uint64_t length = cborread_item(r, type);
    const uint8_t *begin = r->at;
    r->failed |= length > (uint64_t)(r->end - r->at);
    *size = r->failed ? 0 : (size_t)length;
    r->at += *size;
    return begin;
}

void cborread_skip(struct cborread *r)
{
    for (uint64_t left = 1; left && !r->failed; left--) {
        uint64_t value;
        const unsigned type = cborread_head(r, &value);
        const bool strings = type == CBORREAD_BYTES || type == CBORREAD_TEXT;
        if (value > (uint64_t)(r->end - r->at) &&
            (strings || type == CBORREAD_ARRAY || type == CBORREAD_MAP))
            r->failed = true;
        else if (strings)
            r->at += value;
        else
            left += type == CBORREAD_ARRAY ? value
                    : type == CBORREAD_MAP ? 2 * value
                                           : type == CBORREAD_TAG;
    }
}
