#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/fields.h"
#include "wire/writer.h"

struct encoder {
    struct writer out;
    bool give;
    struct message *m;
    struct error *e;
};

static enum status encode_map(struct encoder *n, const struct table *t, char *object);

static enum status encode_reals(struct encoder *n, const struct field *f, const double *x)
{
    if (f->count)
        writer_array(&n->out, f->count);
    for (size_t i = 0; i < (f->count ? f->count : 1); i++) {
        if (!isfinite(x[i]))
            return error_set(n->e, STATUS_INPUT, "%s is no finite number", f->name);
        writer_real(&n->out, x[i]);
    }
    return STATUS_OK;
}

static void encode_ints(struct encoder *n, const struct field *f, const int *x)
{
    if (f->count)
        writer_array(&n->out, f->count);
    for (size_t i = 0; i < (f->count ? f->count : 1); i++)
        writer_int(&n->out, x[i]);
}

/* What most messages hold most of. */
static void encode_pair(struct encoder *n, const struct table *t, const char *object)
{
    writer_map(&n->out, 2);
    for (const struct field *f = t->fields; f < t->fields + 2; f++) {
        writer_key(&n->out, f->name, f->length);
        writer_uint(&n->out, *(const uint64_t *)(const void *)(object + f->offset));
    }
}

static enum status encode_list(struct encoder *n, const struct field *f, char *object)
{
    const size_t count = *(const size_t *)(const void *)(object + f->count_offset);
    char *items = *(char **)(void *)(object + f->offset);
    writer_array(&n->out, count);
    for (size_t i = 0; i < count && f->flags & FIELD_PAIRS; i++)
        encode_pair(n, f->table, items + i * f->table->size);
    if (f->flags & FIELD_PAIRS)
        return STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        const enum status s = encode_map(n, f->table, items + i * f->table->size);
        if (s)
            return s;
    }
    return STATUS_OK;
}

static enum status check_finite(const struct field *f, const double *x, size_t bytes,
                                struct error *e)
{
    for (size_t i = 0; i < bytes / sizeof *x; i++)
        if (!isfinite(x[i]))
            return error_set(e, STATUS_INPUT, "%s: item %zu is no finite number", f->name, i);
    return STATUS_OK;
}

static enum status encode_data(struct encoder *n, const struct field *f, char *object)
{
    void **member = (void **)(void *)(object + f->offset);
    const size_t bytes = f->bytes(object);
    if (!*member || !bytes) {
        writer_nil(&n->out);
        return *member || !bytes || f->flags & FIELD_OPTIONAL
                   ? STATUS_OK
                   : error_set(n->e, STATUS_INPUT, "%s is missing", f->name);
    }
    if (f->flags & FIELD_REALS) {
        const enum status s = check_finite(f, *member, bytes, n->e);
        if (s)
            return s;
    }
    writer_uint(&n->out, n->m->nparts - 2);
    struct part part = {.data = *member, .size = bytes};
    if (n->give && !(f->flags & FIELD_BORROW)) {
        part.release = mem_free;
        part.owner = *member;
        *member = NULL;
    }
    return message_add(n->m, part, n->e);
}

static enum status encode_field(struct encoder *n, const struct field *f, char *object)
{
    void *member = object + f->offset;
    switch (f->type) {
    case FIELD_BOOL:
        writer_bool(&n->out, *(bool *)member);
        return STATUS_OK;
    case FIELD_ENUM:
    case FIELD_INT:
        encode_ints(n, f, member);
        return STATUS_OK;
    case FIELD_I64:
        writer_int(&n->out, *(int64_t *)member);
        return STATUS_OK;
    case FIELD_U32:
        writer_uint(&n->out, *(uint32_t *)member);
        return STATUS_OK;
    case FIELD_U64:
        writer_uint(&n->out, *(uint64_t *)member);
        return STATUS_OK;
    case FIELD_SIZE:
        writer_uint(&n->out, *(size_t *)member);
        return STATUS_OK;
    case FIELD_REAL:
        return encode_reals(n, f, member);
    case FIELD_TEXT:
        writer_text(&n->out, member);
        return STATUS_OK;
    case FIELD_MAP:
        return encode_map(n, f->table, member);
    case FIELD_LIST:
        return encode_list(n, f, object);
    case FIELD_DATA:
        return encode_data(n, f, object);
    }
    return STATUS_OK;
}

static bool is_left_out(const struct field *f, const char *object)
{
    const void *member = object + f->offset;
    if (f->flags & FIELD_SPARSE)
        return f->type == FIELD_U64 ? !*(const uint64_t *)member : !*(const char *)member;
    return f->present_offset && !*(const bool *)(const void *)(object + f->present_offset);
}

static enum status encode_map(struct encoder *n, const struct table *t, char *object)
{
    const struct field *f;
    size_t count = 0;
    for (uint64_t left = t->has; (f = table_next(t, &left));)
        count += !is_left_out(f, object);
    writer_map(&n->out, count);
    for (uint64_t left = t->has; (f = table_next(t, &left));) {
        if (is_left_out(f, object))
            continue;
        writer_key(&n->out, f->name, f->length);
        const enum status s = encode_field(n, f, object);
        if (s)
            return s;
    }
    return STATUS_OK;
}

/* Moves what was packed into part 1. */
static enum status place(struct encoder *n)
{
    const size_t size = n->out.size;
    if (n->out.full)
        return error_memory(n->e, "a message");
    if (size > MESSAGE_METADATA_MAX)
        return error_set(n->e, STATUS_FAILED,
                         "the metadata of a message has %zu bytes, at most %d are allowed", size,
                         MESSAGE_METADATA_MAX);
    n->m->parts[1] = part_written(&n->out);
    n->out = (struct writer){0};
    return STATUS_OK;
}

enum status fields_encode(const struct table *t, void *object, bool give, struct message *m,
                          struct error *e)
{
    const struct part later = {0};
    while (m->nparts < 2) {
        const enum status s = message_add(m, later, e);
        if (s)
            return s;
    }
    struct encoder n = {.give = give, .m = m, .e = e};
    enum status s = encode_map(&n, t, object);
    if (s == STATUS_OK)
        s = place(&n);
    mem_free(n.out.bytes);
    return s;
}
