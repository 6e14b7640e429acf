/*
 * The program gemmi, which does a part of the work on models of atoms: how it is run (tool_*), and
 * the values that `gemmi grep` finds in CIF files, as it knows quotes, loops, comments and
 * compressed files (gemmi_table).
 */
#ifndef BRAGG_IO_GEMMI_H
#define BRAGG_IO_GEMMI_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define TOOL_BYTES (UINT64_C(8) << 30)  // of address space, for each of them

/* Runs argv[0], found in PATH or else in ../libexec/braggpipe of this program, without a shell;
 * argv ends with NULL.  The file `keep`, if not -1, is open in it under the same number.  `said`
 * gets the last line that it writes to stdout or stderr.  It ends with this process, and Ctrl-C
 * reaches it.
 *
 * STATUS_FAILED when it cannot be started or is killed (then *e says so, and is set); STATUS_INPUT
 * for another exit status than 0, and STATUS_INTERRUPTED when it was asked to end. */
enum status tool_run(char *const argv[], int keep, char *said, size_t size, struct error *e);

/* An unnamed file in memory that a program can be given by `keep`, so that nothing is left whatever
 * happens; name[] gets the path by which both open it.  `what` names it in errors.  The caller
 * closes *file. */
enum { TOOL_NAME_SIZE = 64 };
enum status tool_file(const char *what, int *file, char name[TOOL_NAME_SIZE], struct error *e);

/* A name that ends in `suffix`, for programs which judge a file by its name: a symbolic link to
 * `target`, such as the name that tool_file gives, in $TMPDIR or /tmp.  A child process removes the
 * link when tool_unlink is called or this process dies.  STATUS_FAILED when no link can be made. */
enum { TOOL_LINK_SIZE = 1024 };
struct tool_link {
    char path[TOOL_LINK_SIZE];
    pid_t guard;
    int hold;  // open while the link is needed; -1: there is none
};
enum status tool_link(const char *what, const char *target, const char *suffix, struct tool_link *l,
                      struct error *e);
void tool_unlink(struct tool_link *l);

/* The path of a file, so that gemmi takes it neither for an option nor for a code of the PDB. */
enum { TOOL_PATH_SIZE = PATH_MAX + 2 };
void tool_path(const char *path, char argument[TOOL_PATH_SIZE]);

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

/* The text in a row and a column; empty where nothing is said. */
const char *gemmi_table_text(const struct gemmi_table *t, size_t row, size_t column);

/* The same as a number, perhaps with its uncertainty in brackets; NaN where there is none, infinite
 * where the text is not a number. */
double gemmi_table_number(const struct gemmi_table *t, size_t row, size_t column);

/* Runs gemmi, whose stdout goes to memory, or to `keep` where argv names that; *bytes, to be freed
 * with mem_free, ends with a zero.  Errors are those of gemmi_table_read. */
enum status gemmi_read(char *const argv[], int keep, const char *what, char **bytes,
                       struct error *e);

#endif
