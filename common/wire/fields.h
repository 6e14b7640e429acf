/*
 * Structs as MessagePack maps.  One table of fields per struct serves both
 * directions, so that writer and reader cannot drift apart.  Small members go
 * into the map, by their names; large arrays become payload parts of their own
 * and the map holds the number of the part (nil when there is none).
 *
 * Maps are canonical: keys ascend.  A reader passes over keys it doesn't know
 * and refuses maps that lack one it needs.
 */
#ifndef BRAGG_WIRE_FIELDS_H
#define BRAGG_WIRE_FIELDS_H

#include <stddef.h>

#include "base/error.h"
#include "wire/message.h"

enum field_type {
    FIELD_BOOL,  // bool
    FIELD_ENUM,  // an enum from 0 to `limit`
    FIELD_INT,   // int, or an array of `count`
    FIELD_I64,   // int64_t
    FIELD_U32,   // uint32_t
    FIELD_U64,   // uint64_t
    FIELD_SIZE,  // size_t
    FIELD_REAL,  // double, finite, or an array of `count`
    FIELD_TEXT,  // char[count] with a NUL
    FIELD_MAP,   // a struct described by `table`
    FIELD_LIST,  // pointer to structs described by `table`, their number at `count_offset`
    FIELD_DATA,  // pointer to bytes that travel as a payload part
};

enum {
    FIELD_OPTIONAL = 1,  // DATA: the pointer may be NULL
    FIELD_BORROW = 2,    // DATA: the part and the pointer share memory, both ways
    FIELD_REALS = 4,     // DATA: an array of doubles, checked to be finite
    FIELD_ABSENT = 8,    // the key may be absent, then it stays zero
    FIELD_PAIRS = 16,    // LIST: of structs of two uint64_t
    FIELD_SPARSE = 32,   // ABSENT BOOL, TEXT, U64: the key is left out while it is zero
};

struct table;

struct field {
    char name[32];  // WRITER_KEY_SIZE
    size_t length;  // of the name
    enum field_type type;
    size_t offset;  // of the member
    size_t count;
    int limit;
    const struct table *table;
    size_t count_offset;
    size_t present_offset;                // ABSENT: of a bool, whether the key is there; 0: none
    size_t (*bytes)(const void *object);  // DATA: size of the array; SIZE_MAX when it overflows
    unsigned flags;
    uint32_t which;  // bits of the tables that have it, where they share an array
};

struct table {
    const char *name;  // for messages: "panel"
    size_t size;       // of the struct
    size_t nfields;
    const struct field *fields;  // names ascend
    uint64_t has;                // which of them, by bits
};
enum { FIELDS_MAX = 64 };  // of a table

/* Goes through the fields of a table; `left` begins as t->has. */
static inline const struct field *table_next(const struct table *t, uint64_t *left)
{
    if (!*left)
        return NULL;
    const struct field *f = &t->fields[__builtin_ctzll(*left)];
    *left &= *left - 1;
    return f;
}

/* A field by its key; a member of struct OBJECT, by its name.  More members of struct field may
 * follow. */
#define FIELD(key, kind, ...)                           \
    {                                                   \
        key, sizeof(key) - 1, FIELD_##kind, __VA_ARGS__ \
    }
#define MEMBER(name, kind, ...) \
    FIELD(#name, kind, .offset = offsetof(struct OBJECT, name), __VA_ARGS__)
#define MEMBER_TEXT(name) MEMBER(name, TEXT, .count = sizeof(((struct OBJECT *)0)->name))
/* The table of struct OBJECT, whose fields are in name_fields; the last members of one that has
 * all fields of an array. */
#define TABLE(name) \
    static const struct table name##_table = {#name, sizeof(struct OBJECT), FIELDS(name##_fields)}
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define FIELDS(array) COUNT(array), array, UINT64_MAX >> (FIELDS_MAX - COUNT(array))

/* Appends part 1, the map of *object, and one part for each of its arrays to
 * *m, which holds part 0 only.  The parts borrow the arrays; with `give` the
 * message owns them from here on (each from mem_array) and the pointers become
 * NULL.  STATUS_INPUT for a number that is not finite, STATUS_FAILED when memory
 * is out or the map too long. */
enum status fields_encode(const struct table *t, void *object, bool give, struct message *m,
                          struct error *e);

/* Reads part 1 and the payload of *m into *object, which is zeroed first.
 * Allocates no more than what arrived can fill.  After an error *object may be
 * partly filled and must be freed as usual.  STATUS_INPUT names the field. */
enum status fields_decode(const struct table *t, void *object, const struct message *m,
                          struct error *e);

#endif
