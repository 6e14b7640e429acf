/* Files that are read from their beginning to their end. */
#ifndef BRAGG_BASE_INPUT_H
#define BRAGG_BASE_INPUT_H

#include <stdio.h>

/* Opens a file, device or pipe for reading; NULL with errno set when it cannot.  The caller ends
 * it with fclose.  A named pipe into which nobody writes is named after a second, and waited
 * for: what writes may be slow to begin. */
FILE *input_open(const char *path);

#endif
