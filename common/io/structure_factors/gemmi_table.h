/* Values out of CIF files, which the program `gemmi grep` finds: it knows quotes, loops, comments
 * and compressed files. */
#ifndef BRAGG_IO_GEMMI_TABLE_H
#define BRAGG_IO_GEMMI_TABLE_H

#include <stddef.h>

#include "base/error.h"

enum { GEMMI_COLUMNS_MAX = 16 };

/* A row for each value of the first tag that is neither ? nor `.`, of all blocks of the file. */
struct gemmi_table {
    size_t rows, columns;
    char *bytes;         // owned
    const char **field;  // owned; rows x columns texts in `bytes`, empty where nothing is said
};

/* Reads the tags up to NULL from `path`, which may be the name of a file of tool_file, then open
 * as `keep`, or else -1.  No row where the first tag is missing.  `what` names the file in errors:
 * STATUS_INPUT with gemmi's message, STATUS_FAILED when it cannot be run, STATUS_INTERRUPTED.
 * gemmi_table_free frees, after an error too. */
enum status gemmi_table_read(const char *path, int keep, const char *const *tags, const char *what,
                             struct gemmi_table *t, struct error *e);
void gemmi_table_free(struct gemmi_table *t);

const char *gemmi_table_text(const struct gemmi_table *t, size_t row, size_t column);

/* A number, perhaps with its uncertainty in brackets; NaN where there is none, infinite where the
 * text is not a number. */
double gemmi_table_number(const struct gemmi_table *t, size_t row, size_t column);

/* Runs gemmi, whose stdout goes to memory, or to `keep` where argv names that; *bytes, to be freed
 * with mem_free, ends with a zero.  Errors are those of gemmi_table_read. */
enum status gemmi_read(char *const argv[], int keep, const char *what, char **bytes,
                       struct error *e);

#endif
