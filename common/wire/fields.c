/*
 * Structs as MessagePack maps, from tables of fields (fields.h).  One row has the name, type, place
 * and limits of a member.  The encoder and the decoder use the same rows, so a new member of a
 * message is one more row.  The decoder refuses values outside the limits.  It skips members that
 * it does not know, because a later version may have added them.
 */
#include "wire/fields.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/msgpack.h"

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
            return error_set(n->e, STATUS_INPUT, "%s is not a finite number", f->name);
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

/* Writes a struct of two uint64_t.  Most messages consist mainly of such structs, so this case
 * has a fast function. */
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
            return error_set(e, STATUS_INPUT, "%s: item %zu is not a finite number", f->name, i);
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

/* Moves the written map into part 1. */
static enum status place_map(struct encoder *n)
{
    const size_t size = n->out.size;
    if (size > MESSAGE_METADATA_MAX)
        return error_set(n->e, STATUS_FAILED,
                         "the metadata of a message has %zu bytes; expected at most %d", size,
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
        s = place_map(&n);
    mem_free(n.out.bytes);
    return s;
}

enum { DATA_MAX = 8, ITEMS_MAX = 65536 };

struct decoder {
    struct reader in;
    const struct message *m;
    struct error *e;
};

static enum status decode_map(struct decoder *d, const struct table *t, char *object);

static enum status refuse_field(struct decoder *d, const struct table *t, const char *name,
                                const char *what)
{
    return error_set(d->e, STATUS_INPUT, "a malformed message: %s.%s %s", t->name, name, what);
}

/* Returns the smallest size of a map of this table, in bytes.  The decoder compares a claimed
 * number of maps with the remaining bytes before it allocates an array of structs. */
static size_t least_bytes(const struct table *t)
{
    size_t bytes = 1;
    for (size_t i = 0; i < t->nfields; i++) {
        const struct field *f = &t->fields[i];
        const size_t item = f->type == FIELD_REAL ? 9 : 1;
        if (!(f->flags & FIELD_ABSENT))
            bytes +=
                1 + f->length + (f->count && f->type != FIELD_TEXT ? 1 + f->count * item : item);
    }
    return bytes;
}

/* Returns true if a scalar, or an array of exactly f->count items, comes next. */
static bool open_items(struct decoder *d, const struct field *f)
{
    uint32_t count;
    return !f->count || (reader_array(&d->in, (uint32_t)f->count, &count) && count == f->count);
}

static bool decode_ints(struct decoder *d, const struct field *f, int *x)
{
    const int64_t min = f->type == FIELD_ENUM ? 0 : INT_MIN;
    const int64_t max = f->type == FIELD_ENUM ? f->limit : INT_MAX;
    if (!open_items(d, f))
        return false;
    for (size_t i = 0; i < (f->count ? f->count : 1); i++) {
        int64_t value;
        if (!reader_int(&d->in, min, max, &value))
            return false;
        x[i] = (int)value;
    }
    return true;
}

static bool decode_reals(struct decoder *d, const struct field *f, double *x)
{
    if (!open_items(d, f))
        return false;
    for (size_t i = 0; i < (f->count ? f->count : 1); i++)
        if (!reader_real(&d->in, &x[i]))
            return false;
    return true;
}

static bool decode_unsigned(struct decoder *d, uint64_t max, void *member, size_t size)
{
    uint64_t value;
    if (!reader_uint(&d->in, max, &value))
        return false;
    const uint32_t narrow = (uint32_t)value;
    memcpy(member, size == sizeof narrow ? (const void *)&narrow : (const void *)&value, size);
    return true;
}

/* Reads the number of a payload part.  *part is -1 for nil.  Returns false if there is no such
 * part. */
static bool decode_part(struct decoder *d, int64_t *part)
{
    *part = -1;
    return reader_nil(&d->in) || reader_int(&d->in, 0, (int64_t)d->m->nparts - 3, part);
}

/* Reads a pair that encode_pair wrote.  Returns false, and reads nothing, if it is something
 * else. */
static bool decode_pair(struct decoder *d, const struct table *t, char *object)
{
    struct reader in = d->in, key;
    uint32_t count;
    bool good = reader_map(&in, 2, &count) && count == 2;
    for (const struct field *f = t->fields; good && f < t->fields + 2; f++)
        good = reader_key_is(&in, f->name, f->length, &key) &&
               reader_uint(&in, UINT64_MAX, (uint64_t *)(void *)(object + f->offset));
    if (good)
        d->in = in;
    return good;
}

static enum status decode_list(struct decoder *d, const struct table *t, const struct field *f,
                               char *object)
{
    uint32_t count;
    if (!reader_array(&d->in, ITEMS_MAX, &count))
        return refuse_field(d, t, f->name, "is not a list");
    if (count > (size_t)(d->in.end - d->in.at) / least_bytes(f->table))
        return refuse_field(d, t, f->name, "has more items than the message contains");
    if (!count)
        return STATUS_OK;
    char *items = mem_try_array(count, f->table->size);
    if (!items)
        return error_memory(d->e, f->name);
    *(char **)(void *)(object + f->offset) = items;
    *(size_t *)(void *)(object + f->count_offset) = count;
    for (size_t i = 0; i < count; i++) {
        if (f->flags & FIELD_PAIRS && decode_pair(d, f->table, items + i * f->table->size))
            continue;
        const enum status s = decode_map(d, f->table, items + i * f->table->size);
        if (s)
            return s;
    }
    return STATUS_OK;
}

/* Reads any field except lists, maps and payload. */
static bool decode_scalar(struct decoder *d, const struct field *f, void *member)
{
    switch (f->type) {
    case FIELD_BOOL:
        return reader_bool(&d->in, member);
    case FIELD_ENUM:
    case FIELD_INT:
        return decode_ints(d, f, member);
    case FIELD_I64:
        return reader_int(&d->in, INT64_MIN, INT64_MAX, member);
    case FIELD_U32:
        return decode_unsigned(d, UINT32_MAX, member, sizeof(uint32_t));
    case FIELD_U64:
    case FIELD_SIZE:
        return decode_unsigned(d, UINT64_MAX, member, sizeof(uint64_t));
    case FIELD_REAL:
        return decode_reals(d, f, member);
    case FIELD_TEXT:
        return reader_text(&d->in, member, f->count);
    default:
        return false;
    }
}

static enum status decode_field(struct decoder *d, const struct table *t, const struct field *f,
                                char *object, int64_t *part)
{
    if (f->type == FIELD_MAP)
        return decode_map(d, f->table, object + f->offset);
    if (f->type == FIELD_LIST)
        return decode_list(d, t, f, object);
    const bool good =
        f->type == FIELD_DATA ? decode_part(d, part) : decode_scalar(d, f, object + f->offset);
    return good ? STATUS_OK
                : refuse_field(d, t, f->name, "has a wrong type or an impossible value");
}

/* Lets the member point to its payload part (FIELD_BORROW) or to a copy of it.  Checks the size
 * of the part. */
static enum status place_data(struct decoder *d, const struct table *t, const struct field *f,
                              char *object, int64_t number)
{
    const size_t bytes = f->bytes(object);
    if (number < 0)
        return !bytes || f->flags & FIELD_OPTIONAL ? STATUS_OK
                                                   : refuse_field(d, t, f->name, "is missing");
    const struct part *part = &d->m->parts[number + 2];
    if (bytes == SIZE_MAX || part->size != bytes)
        return refuse_field(d, t, f->name, "has a payload whose size differs from its metadata");
    void *data = f->flags & FIELD_BORROW ? part->data : mem_copy(part->data, bytes, 1);
    *(void **)(void *)(object + f->offset) = data;
    const double *x = f->flags & FIELD_REALS ? data : NULL;
    for (size_t i = 0; x && i < bytes / sizeof *x; i++)
        if (!isfinite(x[i]))
            return refuse_field(d, t, f->name, "has a number that is not finite");
    return STATUS_OK;
}

/* The position in the keys of a map, and the last key that was read. */
struct keys {
    uint32_t left;
    struct reader last;
};

/* Compares a text with `size` bytes of another one.  The result has the sign of that of strcmp. */
static int compare_text(const struct reader *a, const void *text, size_t size)
{
    const size_t length = (size_t)(a->end - a->at);
    const int order = memcmp(a->at, text, length < size ? length : size);
    return order ? order : (length > size) - (length < size);
}

/* Reads keys up to the wanted one.  Returns false if the map does not have it. */
static bool find_key(struct decoder *d, const struct field *wanted, struct keys *keys)
{
    struct reader name;
    if (keys->left && reader_key_is(&d->in, wanted->name, wanted->length, &keys->last)) {
        keys->left--;  // the usual case
        return true;
    }
    while (keys->left && !reader_key_is_after(&d->in, wanted->name)) {
        if (!reader_key(&d->in, &name) ||
            compare_text(&name, keys->last.at, (size_t)(keys->last.end - keys->last.at)) <= 0)
            return false;
        keys->last = name;
        keys->left--;
        const int order = compare_text(&name, wanted->name, wanted->length);
        if (order == 0)
            return true;
        if (order > 0 || !reader_skip(&d->in))
            return false;
    }
    return false;
}

/* Like find_key, but reads nothing if the map does not have the key. */
static bool find_key_or_stay(struct decoder *d, const struct field *wanted, struct keys *keys)
{
    const struct reader in = d->in;
    const struct keys before = *keys;
    if (find_key(d, wanted, keys))
        return true;
    d->in = in;
    *keys = before;
    return false;
}

/* Skips the keys that a newer version added at the end of a map. */
static bool skip_rest(struct decoder *d, uint32_t left)
{
    for (; left; left--)
        if (!reader_skip(&d->in) || !reader_skip(&d->in))
            return false;
    return true;
}

static enum status decode_map(struct decoder *d, const struct table *t, char *object)
{
    struct keys keys = {.last = reader_over("", 0)};
    int64_t parts[DATA_MAX];
    size_t nparts = 0;
    if (!reader_map(&d->in, ITEMS_MAX, &keys.left))
        return error_set(d->e, STATUS_INPUT, "a malformed message: %s is not a map", t->name);
    const struct field *f;
    for (uint64_t left = t->has; (f = table_next(t, &left));) {
        if (f->flags & FIELD_ABSENT && !find_key_or_stay(d, f, &keys)) {
            if (f->type == FIELD_DATA)
                parts[nparts++] = -1;
            continue;
        }
        if (!(f->flags & FIELD_ABSENT) && !find_key(d, f, &keys))
            return refuse_field(d, t, f->name, "is missing or out of order");
        const enum status s = decode_field(d, t, f, object, &parts[nparts]);
        if (s)
            return s;
        nparts += f->type == FIELD_DATA;
        if (f->present_offset)
            *(bool *)(void *)(object + f->present_offset) = true;
    }
    if (!skip_rest(d, keys.left))
        return error_set(d->e, STATUS_INPUT, "a malformed message: %s is truncated", t->name);
    if (!nparts)
        return STATUS_OK;
    nparts = 0;
    for (uint64_t left = t->has; (f = table_next(t, &left));) {
        if (f->type != FIELD_DATA)
            continue;
        const enum status s = place_data(d, t, f, object, parts[nparts++]);
        if (s)
            return s;
    }
    return STATUS_OK;
}

enum status fields_decode(const struct table *t, void *object, const struct message *m,
                          struct error *e)
{
    memset(object, 0, t->size);
    if (m->nparts < 2)
        return error_set(e, STATUS_INPUT, "a malformed message: the metadata are missing");
    struct decoder d = {reader_over(m->parts[1].data, m->parts[1].size), m, e};
    const enum status s = decode_map(&d, t, object);
    if (s == STATUS_OK && !reader_done(&d.in))
        return error_set(e, STATUS_INPUT, "a malformed message: bytes follow the metadata");
    return s;
}
