/*
 * Reads reflection tables of DIALS (.refl).  The file is MessagePack: an array of a name, a version
 * and a map of columns.  A column holds its items as an array in memory does, little-endian.
 */
#ifndef BRAGG_IO_REFL_H
#define BRAGG_IO_REFL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { REFL_COLUMNS_MAX = 256, REFL_NAME_SIZE = 64, REFL_IDENTIFIER_SIZE = 128 };

/* Types of items that are read.  Columns of other types are skipped. */
enum refl_type { REFL_INT, REFL_SIZE, REFL_REAL, REFL_VECTOR, REFL_BOX, REFL_HKL };

struct refl_column {
    char name[REFL_NAME_SIZE];
    enum refl_type type;
    const unsigned char *items;  // nrows of them, in the bytes of the file
};

/* The identifier of an experiment.  Rows refer to the experiment by its number `id`. */
struct refl_identifier {
    int64_t id;
    char text[REFL_IDENTIFIER_SIZE];  // may be cut off
};

struct refl {
    const char *path;      // borrowed
    unsigned char *bytes;  // owned: the file
    size_t length, nrows;
    size_t ncolumns;
    struct refl_column columns[REFL_COLUMNS_MAX];
    size_t nidentifiers, identifiers_room;
    struct refl_identifier *identifiers;  // owned
};

/* Reads the file `path` into *t.  `path` is kept, not copied.  STATUS_INPUT: the file is not a
 * reflection table, is cut off, or has values that are not possible.  STATUS_FAILED: the file
 * cannot be read.  refl_close frees *t, also after an error. */
enum status refl_open(struct refl *t, const char *path, struct error *e);
void refl_close(struct refl *t);

/* Returns the column of that name and type; NULL: the table has none. */
const struct refl_column *refl_find(const struct refl *t, const char *name, enum refl_type type);

/* Sets *column to the column of that name and type.  STATUS_INPUT: the table has none. */
enum status refl_need(const struct refl *t, const char *name, enum refl_type type,
                      const struct refl_column **column, struct error *e);

/* Return the item of row i, which must be below nrows.  If the column is NULL, the item is 0. */
int64_t refl_whole(const struct refl_column *c, size_t i);  // REFL_INT, REFL_SIZE
double refl_real(const struct refl_column *c, size_t i);
void refl_vector(const struct refl_column *c, size_t i, double v[3]);
void refl_box(const struct refl_column *c, size_t i, int32_t box[6]);
void refl_hkl(const struct refl_column *c, size_t i, int32_t hkl[3]);

#endif
