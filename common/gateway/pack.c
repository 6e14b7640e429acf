#include "gateway/pack.h"

#include <string.h>

#include "base/alloc.h"

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
    *p = (struct pack){.bytes = mem_array(capacity, 1), .capacity = capacity};
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
