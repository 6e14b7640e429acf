#include "io/dials/refl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/filetype.h"

/* Names of the types in the file, and the bytes of an item. */
static const struct {
    const char *name;
    size_t width;
} types[] = {
    [REFL_INT] = {"int", 4},     [REFL_SIZE] = {"std::size_t", 8},
    [REFL_REAL] = {"double", 8}, [REFL_VECTOR] = {"vec3<double>", 24},
    [REFL_BOX] = {"int6", 24},   [REFL_HKL] = {"cctbx::miller::index<>", 12},
};
enum { NTYPES = sizeof types / sizeof *types, DEPTH_MAX = 16 };

/* --- MessagePack ---------------------------------------------------------------- */

enum kind { KIND_NONE, KIND_WHOLE, KIND_TEXT, KIND_ARRAY, KIND_MAP, KIND_OTHER };

/* A value of MessagePack, or the head of an array or a map, whose items follow as further
 * values. */
struct value {
    enum kind kind;
    uint64_t number;             // the whole number, the number of bytes, or the number of items
    const unsigned char *bytes;  // content of a text, borrowed from the file
};

struct reader {
    const unsigned char *at, *end;
};

static bool take_bytes(struct reader *r, size_t n, const unsigned char **bytes)
{
    *bytes = r->at;
    if ((size_t)(r->end - r->at) < n)
        return false;
    r->at += n;
    return true;
}

/* Reads a big-endian number of n bytes.  Returns false at the end of the file. */
static bool take_number(struct reader *r, size_t n, uint64_t *value)
{
    const unsigned char *b;
    *value = 0;
    if (!take_bytes(r, n, &b))
        return false;
    for (size_t i = 0; i < n; i++)
        *value = *value << 8 | b[i];
    return true;
}

/* Layout of the values whose type byte is 0xc0 + index.  `length` is the number of bytes of the
 * number after the type byte.  For KIND_OTHER, `fixed` more bytes follow.  KIND_NONE: not
 * supported. */
static const struct {
    enum kind kind;
    uint8_t length, fixed;
} builds[32] = {
    [0x00] = {KIND_OTHER, 0, 0}, [0x02] = {KIND_OTHER, 0, 0}, [0x03] = {KIND_OTHER, 0, 0},
    [0x04] = {KIND_TEXT, 1, 0},  [0x05] = {KIND_TEXT, 2, 0},  [0x06] = {KIND_TEXT, 4, 0},
    [0x0a] = {KIND_OTHER, 0, 4}, [0x0b] = {KIND_OTHER, 0, 8}, [0x0c] = {KIND_WHOLE, 1, 0},
    [0x0d] = {KIND_WHOLE, 2, 0}, [0x0e] = {KIND_WHOLE, 4, 0}, [0x0f] = {KIND_WHOLE, 8, 0},
    [0x10] = {KIND_OTHER, 0, 1}, [0x11] = {KIND_OTHER, 0, 2}, [0x12] = {KIND_OTHER, 0, 4},
    [0x13] = {KIND_OTHER, 0, 8}, [0x19] = {KIND_TEXT, 1, 0},  [0x1a] = {KIND_TEXT, 2, 0},
    [0x1b] = {KIND_TEXT, 4, 0},  [0x1c] = {KIND_ARRAY, 2, 0}, [0x1d] = {KIND_ARRAY, 4, 0},
    [0x1e] = {KIND_MAP, 2, 0},   [0x1f] = {KIND_MAP, 4, 0},
};

static struct value small(unsigned char type)
{
    if (type < 0x80)
        return (struct value){.kind = KIND_WHOLE, .number = type};
    if (type < 0x90)
        return (struct value){.kind = KIND_MAP, .number = type & 15};
    if (type < 0xa0)
        return (struct value){.kind = KIND_ARRAY, .number = type & 15};
    return (struct value){.kind = KIND_TEXT, .number = type & 31};
}

/* Reads the next value.  Bytes are treated as text.  Returns false at the end of the file, or if
 * the type is not supported. */
static bool next(struct reader *r, struct value *v)
{
    const unsigned char *type;
    if (!take_bytes(r, 1, &type))
        return false;
    if (*type >= 0xe0) {  // a small negative number
        *v = (struct value){.kind = KIND_OTHER};
        return true;
    }
    size_t fixed = 0;
    if (*type < 0xc0) {
        *v = small(*type);
    } else {
        *v = (struct value){.kind = builds[*type - 0xc0].kind};
        fixed = builds[*type - 0xc0].fixed;
        if (v->kind == KIND_NONE || !take_number(r, builds[*type - 0xc0].length, &v->number))
            return false;
    }
    if (v->kind == KIND_TEXT)
        fixed = (size_t)v->number;
    return take_bytes(r, fixed, &v->bytes);
}

/* Skips a value with all values inside it.  Returns false if the file is corrupt, or if values
 * are nested deeper than DEPTH_MAX. */
static bool skip(struct reader *r, int depth)
{
    struct value v;
    if (depth > DEPTH_MAX || !next(r, &v))
        return false;
    const uint64_t items = v.kind == KIND_ARRAY ? v.number : v.kind == KIND_MAP ? 2 * v.number : 0;
    for (uint64_t i = 0; i < items; i++)
        if (!skip(r, depth + 1))
            return false;
    return true;
}

static bool next_is(struct reader *r, enum kind kind, struct value *v)
{
    return next(r, v) && v->kind == kind;
}

static bool says(const struct value *v, const char *text)
{
    return v->kind == KIND_TEXT && v->number == strlen(text) &&
           memcmp(v->bytes, text, strlen(text)) == 0;
}

/* --- the table -------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static enum status fail(const struct refl *t, struct error *e,
                                                              const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(e, STATUS_INPUT, "%s: %s", t->path, text);
}

static enum status damaged(const struct refl *t, const char *where, struct error *e)
{
    return fail(t, e, "corrupt in %s. Is the table truncated, or still being written?", where);
}

static enum status read_identifiers(struct refl *t, struct reader *r, struct error *e)
{
    struct value map, id, text;
    if (!next_is(r, KIND_MAP, &map))
        return damaged(t, "its identifiers", e);
    for (uint64_t i = 0; i < map.number; i++) {
        if (!next_is(r, KIND_WHOLE, &id) || !next_is(r, KIND_TEXT, &text))
            return damaged(t, "its identifiers", e);
        struct refl_identifier *more =
            mem_grow(t->identifiers, t->nidentifiers, 1, sizeof *more, &t->identifiers_room);
        t->identifiers = more;
        more += t->nidentifiers++;
        more->id = (int64_t)id.number;
        (void)snprintf(
            more->text, sizeof more->text, "%.*s",
            (int)(text.number < REFL_IDENTIFIER_SIZE ? text.number : REFL_IDENTIFIER_SIZE - 1),
            (const char *)text.bytes);
    }
    return STATUS_OK;
}

/* Reads a column, which is stored as NAME: [TYPE, [ROWS, BYTES]].  Skips columns of unknown
 * types.  STATUS_INPUT: the column is corrupt, or its number of rows is not that of the previous
 * columns. */
static enum status read_column(struct refl *t, struct reader *r, struct error *e)
{
    struct value name, outer, type, inner, rows, bytes;
    if (!next_is(r, KIND_TEXT, &name) || !next_is(r, KIND_ARRAY, &outer) || outer.number != 2 ||
        !next_is(r, KIND_TEXT, &type))
        return damaged(t, "a column", e);
    size_t kind = 0;
    while (kind < NTYPES && !says(&type, types[kind].name))
        kind++;
    if (kind == NTYPES || name.number >= REFL_NAME_SIZE)
        return skip(r, 0) ? STATUS_OK : damaged(t, "a column", e);
    const int length = (int)name.number;
    const char *text = (const char *)name.bytes;
    if (!next_is(r, KIND_ARRAY, &inner) || inner.number != 2 || !next_is(r, KIND_WHOLE, &rows) ||
        !next_is(r, KIND_TEXT, &bytes))
        return fail(t, e, "corrupt or truncated in column '%.*s'", length, text);
    size_t want;
    if (rows.number > SIZE_MAX || !size_multiply((size_t)rows.number, types[kind].width, &want) ||
        want != bytes.number)
        return fail(t, e, "column '%.*s' has %llu bytes; expected %zu for each of %llu rows",
                    length, text, (unsigned long long)bytes.number, types[kind].width,
                    (unsigned long long)rows.number);
    if (t->ncolumns && rows.number != t->nrows)
        return fail(t, e, "column '%.*s' has %llu rows, but others have %zu", length, text,
                    (unsigned long long)rows.number, t->nrows);
    if (t->ncolumns == REFL_COLUMNS_MAX)
        return fail(t, e, "has too many columns; expected at most %d", REFL_COLUMNS_MAX);
    struct refl_column *c = &t->columns[t->ncolumns++];
    t->nrows = (size_t)rows.number;
    c->type = (enum refl_type)kind;
    c->items = bytes.bytes;
    (void)snprintf(c->name, sizeof c->name, "%.*s", length, text);
    return STATUS_OK;
}

static enum status read_columns(struct refl *t, struct reader *r, struct error *e)
{
    struct value map;
    enum status s = next_is(r, KIND_MAP, &map) ? STATUS_OK : damaged(t, "its columns", e);
    for (uint64_t i = 0; !s && i < map.number; i++)
        s = read_column(t, r, e);
    return s;
}

static enum status read_table(struct refl *t, struct error *e)
{
    struct reader r = {t->bytes, t->bytes + t->length};
    struct value head, name, version, map, key, rows = {0};
    bool has_rows = false, has_columns = false;
    if (!next_is(&r, KIND_ARRAY, &head) || head.number != 3 || !next(&r, &name) ||
        !says(&name, "dials::af::reflection_table"))
        return fail(t, e, "not a reflection table of DIALS");
    if (!next_is(&r, KIND_WHOLE, &version) || version.number < 1 || version.number > 2)
        return fail(t, e, "reflection table of an unknown version; expected 1 or 2");
    enum status s = next_is(&r, KIND_MAP, &map) ? STATUS_OK : damaged(t, "the header", e);
    for (uint64_t i = 0; !s && i < map.number; i++) {
        if (!next_is(&r, KIND_TEXT, &key))
            return damaged(t, "the header", e);
        if (says(&key, "identifiers"))
            s = read_identifiers(t, &r, e);
        else if (says(&key, "nrows") && !(has_rows = next_is(&r, KIND_WHOLE, &rows)))
            s = damaged(t, "its number of rows", e);
        else if (says(&key, "nrows"))
            continue;
        else if (says(&key, "data") && !has_columns && (has_columns = true))
            s = read_columns(t, &r, e);
        else if (!skip(&r, 0))
            s = damaged(t, "the header", e);
    }
    if (!s && (!has_columns || (has_rows && t->ncolumns && rows.number != t->nrows)))
        s = fail(t, e, "the columns do not have the number of rows that the header gives");
    return s;
}

/* --- the file ------------------------------------------------------------------------ */

static enum status read_file(struct refl *t, FILE *in, struct error *e)
{
    struct stat st;
    if (stat(t->path, &st) || !S_ISREG(st.st_mode))
        return fail(t, e, "not an ordinary file; expected a reflection table of DIALS");
    const enum status s = filetype_check(t->path, filetype_of_file(in), FILETYPE_REFL, e);
    if (s)
        return s;
    rewind(in);
    t->bytes = mem_try_array((size_t)st.st_size + 1, 1);
    if (!t->bytes)
        return error_memory(e, t->path);
    t->length = fread(t->bytes, 1, (size_t)st.st_size, in);
    return ferror(in) ? error_errno(e, STATUS_FAILED, "%s: cannot read", t->path) : STATUS_OK;
}

enum status refl_open(struct refl *t, const char *path, struct error *e)
{
    *t = (struct refl){.path = path};
    FILE *in = input_open(path);
    if (!in)
        return error_errno(e, STATUS_INPUT, "%s: cannot open", path);
    enum status s = read_file(t, in, e);
    (void)fclose(in);
    return s ? s : read_table(t, e);
}

void refl_close(struct refl *t)
{
    mem_free(t->bytes);
    mem_free(t->identifiers);
    *t = (struct refl){0};
}

/* --- columns --------------------------------------------------------------------------- */

const struct refl_column *refl_find(const struct refl *t, const char *name, enum refl_type type)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        if (t->columns[i].type == type && strcmp(t->columns[i].name, name) == 0)
            return &t->columns[i];
    return NULL;
}

enum status refl_need(const struct refl *t, const char *name, enum refl_type type,
                      const struct refl_column **column, struct error *e)
{
    *column = refl_find(t, name, type);
    return *column ? STATUS_OK
                   : fail(t, e, "no column '%s' of type %s found", name, types[type].name);
}

static void item(const struct refl_column *c, size_t i, void *to, size_t width)
{
    if (c)
        memcpy(to, c->items + i * width, width);
}

int64_t refl_whole(const struct refl_column *c, size_t i)
{
    int32_t number = 0;
    int64_t large = 0;
    if (c && c->type == REFL_SIZE) {
        item(c, i, &large, sizeof large);
        return large;
    }
    item(c, i, &number, sizeof number);
    return number;
}

double refl_real(const struct refl_column *c, size_t i)
{
    double x = 0.0;
    item(c, i, &x, sizeof x);
    return x;
}

void refl_vector(const struct refl_column *c, size_t i, double v[3])
{
    v[0] = v[1] = v[2] = 0.0;
    item(c, i, v, 3 * sizeof *v);
}

void refl_box(const struct refl_column *c, size_t i, int32_t box[6])
{
    memset(box, 0, 6 * sizeof *box);
    item(c, i, box, 6 * sizeof *box);
}

void refl_hkl(const struct refl_column *c, size_t i, int32_t hkl[3])
{
    memset(hkl, 0, 3 * sizeof *hkl);
    item(c, i, hkl, 3 * sizeof *hkl);
}
