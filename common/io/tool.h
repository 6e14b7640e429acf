/* Other programs that do a part of the work. */
#ifndef BRAGG_IO_TOOL_H
#define BRAGG_IO_TOOL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TOOL_BYTES (UINT64_C(8) << 30)  // of address space, for each of them

/* Runs argv[0], found in PATH, without a shell; argv ends with NULL.  The file `keep`, if not -1,
 * is open in it under the same number.  `said` gets the last line that it writes to stdout or
 * stderr.  It ends with this process, and Ctrl-C reaches it.
 *
 * STATUS_FAILED when it cannot be started or is killed (then *e says so, and is set); STATUS_INPUT
 * for another exit status than 0, and STATUS_INTERRUPTED when it was asked to end. */
enum status tool_run(char *const argv[], int keep, char *said, size_t size, struct error *e);

/* An unnamed file in memory that a program can be given by `keep`, so that nothing is left whatever
 * happens; name[] gets the path by which both open it.  `what` names it in errors.  The caller
 * closes *file. */
enum { TOOL_NAME_SIZE = 64 };
enum status tool_file(const char *what, int *file, char name[TOOL_NAME_SIZE], struct error *e);

/* The path of a file, so that gemmi takes it neither for an option nor for a code of the PDB. */
enum { TOOL_PATH_SIZE = PATH_MAX + 2 };
void tool_path(const char *path, char argument[TOOL_PATH_SIZE]);

#endif
