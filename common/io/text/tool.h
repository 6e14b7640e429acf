/* Other programs that do a part of the work. */
#ifndef BRAGG_IO_TOOL_H
#define BRAGG_IO_TOOL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define TOOL_BYTES (UINT64_C(8) << 30)  // of address space, for each of them

/* Runs argv[0], found in PATH, without a shell; argv ends with NULL.  The file `keep`, if not -1,
 * is open in it under the same number.  `said` gets the last line that it writes to stdout or
 * stderr.  It ends with this process, and Ctrl-C reaches it.
 *
 * STATUS_FAILED when it cannot be started or is killed (then *e says so, and is set); STATUS_INPUT
 * for another exit status than 0, and STATUS_INTERRUPTED when it was asked to end. */
enum status tool_run(char *const argv[], int keep, char *said, size_t size, struct error *e);

/* The same, where stdout of the program goes to the file `output`, from where that stands, and
 * `said` gets the last line of stderr alone; -1: as tool_run. */
enum status tool_output(char *const argv[], int keep, int output, char *said, size_t size,
                        struct error *e);

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

#endif
