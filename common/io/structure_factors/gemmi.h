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

#define TOOL_BYTES (UINT64_C(8) << 30)  // limit of the address space of each program

/* Runs the program argv[0] without a shell, and waits for its end.  Searches the program in PATH,
 * then in ../libexec/braggpipe of this program.  argv ends with NULL.  If `keep` is not -1, the
 * file `keep` is open in the program under the same number.  `said` gets the last line that the
 * program writes to stdout or stderr.  The program is killed if this process ends, and Ctrl-C
 * reaches it.
 *
 * STATUS_FAILED: the program cannot be started, or a signal killed it.  STATUS_INPUT: its exit
 * status is not 0.  STATUS_INTERRUPTED: SIGINT or SIGTERM ended it. */
enum status tool_run(char *const argv[], int keep, char *said, size_t size, struct error *e);

/* Creates an unnamed file in memory, which a program gets as `keep`.  The file disappears when it
 * is closed, also after a crash.  name[] gets the path with which this process and the program
 * open the file.  `what` names the file in errors.  The caller closes *file. */
enum { TOOL_NAME_SIZE = 64 };
enum status tool_file(const char *what, int *file, char name[TOOL_NAME_SIZE], struct error *e);

/* A symbolic link in $TMPDIR or /tmp whose name ends in a given suffix, for programs that
 * recognise the type of a file from its name.  tool_link creates a link to `target`, such as the
 * name that tool_file returns.  A child process removes the link when tool_unlink is called or
 * when this process dies.  STATUS_FAILED: the link cannot be created. */
enum { TOOL_LINK_SIZE = 1024 };
struct tool_link {
    char path[TOOL_LINK_SIZE];
    pid_t guard;
    int hold;  // pipe that is open while the link is needed; -1: there is no link
};
enum status tool_link(const char *what, const char *target, const char *suffix, struct tool_link *l,
                      struct error *e);
void tool_unlink(struct tool_link *l);

/* Writes the path of a file in a form that gemmi does not mistake for an option or for a PDB
 * code: a relative path gets `./` in front. */
enum { TOOL_PATH_SIZE = PATH_MAX + 2 };
void tool_path(const char *path, char argument[TOOL_PATH_SIZE]);

enum { GEMMI_COLUMNS_MAX = 16 };

/* Values of CIF tags.  Each column holds the values of one tag.  The table has one row for each
 * value of the first tag, in all blocks of the file, except the values `?` and `.`. */
struct gemmi_table {
    size_t rows, columns;
    char *bytes;         // owned
    const char **field;  // owned; rows x columns texts in `bytes`; empty: missing
};

/* Reads the values of the given tags, a list that ends with NULL, from the file `path`.  If
 * `path` is the name of a file from tool_file, `keep` is that file; otherwise `keep` is -1.  The
 * table has no rows if the first tag is missing.  `what` names the file in errors.
 * gemmi_table_free frees *t, also after an error.
 *
 * STATUS_INPUT, with the message of gemmi: gemmi fails.  STATUS_FAILED: gemmi cannot be run.
 * STATUS_INTERRUPTED: the user ended it. */
enum status gemmi_table_read(const char *path, int keep, const char *const *tags, const char *what,
                             struct gemmi_table *t, struct error *e);
void gemmi_table_free(struct gemmi_table *t);

/* Returns the text in a row and a column.  Empty: the value is missing. */
const char *gemmi_table_text(const struct gemmi_table *t, size_t row, size_t column);

/* Returns the number in a row and a column.  An uncertainty in parentheses after the number is
 * ignored.  NaN: the value is missing.  Infinity: the text is not a number. */
double gemmi_table_number(const struct gemmi_table *t, size_t row, size_t column);

/* Runs gemmi and stores its stdout in *bytes, with a zero byte at the end.  mem_free frees
 * *bytes.  `keep` is a file that stays open in gemmi, for example an output file that argv names;
 * -1: none.  Errors are those of gemmi_table_read. */
enum status gemmi_read(char *const argv[], int keep, const char *what, char **bytes,
                       struct error *e);

#endif
