/*
 * Structs as MessagePack maps.  One table of fields per struct is used in both directions, so that
 * the encoder and the decoder always agree.  Small members are in the map, with their names.  Large
 * arrays are payload parts, and the map has the number of the part (nil: there is none).
 *
 * Maps are canonical: their keys ascend.  A reader skips keys that it does not know.  It refuses a
 * map without a key that it needs.
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
    FIELD_LIST,  // pointer to structs described by `table`; count_offset: their number
    FIELD_DATA,  // pointer to bytes that travel as a payload part
};

enum {
    FIELD_OPTIONAL = 1,  // DATA: the pointer may be NULL
    FIELD_BORROW = 2,    // DATA: part and pointer share the memory, in both directions
    FIELD_REALS = 4,     // DATA: an array of doubles, which must be finite
    FIELD_ABSENT = 8,    // the key may be missing; the member is zero then
    FIELD_PAIRS = 16,    // LIST: the structs consist of two uint64_t
    FIELD_SPARSE = 32,   // BOOL, TEXT, U64 with ABSENT: not written if zero
};

struct table;

struct field {
    char name[32];  // WRITER_KEY_SIZE
    size_t length;  // length of the name
    enum field_type type;
    size_t offset;  // offset of the member
    size_t count;
    int limit;
    const struct table *table;
    size_t count_offset;
    size_t present_offset;                // ABSENT: offset of a bool that is true if the key
                                          // exists; 0: none
    size_t (*bytes)(const void *object);  // DATA: returns the size of the array; SIZE_MAX: overflow
    unsigned flags;
    uint32_t which;  // bits of the tables that contain the field, if tables share it
};

struct table {
    const char *name;  // name in messages: "panel"
    size_t size;       // size of the struct
    size_t nfields;
    const struct field *fields;  // names ascend
    uint64_t has;                // bits of the fields that this table contains
};
enum { FIELDS_MAX = 64 };  // largest number of fields in a table

/* Returns the next field of a table.  *left begins as t->has.  NULL: there are no more fields. */
static inline const struct field *table_next(const struct table *t, uint64_t *left)
{
    if (!*left)
        return NULL;
    const struct field *f = &t->fields[__builtin_ctzll(*left)];
    *left &= *left - 1;
    return f;
}

/* FIELD: a field with a key of its own.  MEMBER: a field whose key is the name of a member of
 * struct OBJECT.  Further members of struct field may follow. */
#define FIELD(key, kind, ...)                           \
    {                                                   \
        key, sizeof(key) - 1, FIELD_##kind, __VA_ARGS__ \
    }
#define MEMBER(name, kind, ...) \
    FIELD(#name, kind, .offset = offsetof(struct OBJECT, name), __VA_ARGS__)
/* GIVEN: `n` numbers that are missing in the map unless the bool `has` of the struct is set. */
#define GIVEN(name, n, has)                               \
    MEMBER(name, REAL, .count = n, .flags = FIELD_ABSENT, \
           .present_offset = offsetof(struct OBJECT, has))
#define MEMBER_TEXT(name) MEMBER(name, TEXT, .count = sizeof(((struct OBJECT *)0)->name))
/* TABLE(name): the table of struct OBJECT, whose fields are in name_fields.  FIELDS: the last
 * members of a table that contains all fields of an array. */
#define TABLE(name) \
    static const struct table name##_table = {#name, sizeof(struct OBJECT), FIELDS(name##_fields)}
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define FIELDS(array) COUNT(array), array, UINT64_MAX >> (FIELDS_MAX - COUNT(array))

/* Appends part 1, the map of *object, and one part for each of its arrays to *m, which contains
 * only part 0.  The parts borrow the arrays.  With `give` the message owns the arrays (each from
 * mem_array), and the pointers become NULL.  STATUS_INPUT: a number is not finite.  STATUS_FAILED:
 * the map is too long. */
enum status fields_encode(const struct table *t, void *object, bool give, struct message *m,
                          struct error *e);

/* Decodes part 1 and the payload of *m into *object, which is cleared first.  Allocates no more
 * memory than the received bytes can fill.  After an error *object may be partly filled, and the
 * caller frees it as usual.  STATUS_INPUT: the message names the field. */
enum status fields_decode(const struct table *t, void *object, const struct message *m,
                          struct error *e);

#endif
