/*
 * Files that are read, from their beginning to their end.  A relative name counts from the folder
 * in which the user stands, which BRAGG_FROM names where that is not the working folder, as in
 * stages of bragg-run --workdir; where there is no such file it counts from the folder of the
 * pipeline file, which BRAGG_BESIDE names.  What is said of a frame is the name as it was given.
 */
#ifndef BRAGG_BASE_INPUT_H
#define BRAGG_BASE_INPUT_H

#include <stdio.h>

#define INPUT_FROM "BRAGG_FROM"
#define INPUT_BESIDE "BRAGG_BESIDE"

/* The path to open for a name; it lasts until the process ends.  NULL when memory is out. */
const char *input_path(const char *given);

/* The name that was given for a path of input_path, in the same thread. */
const char *input_given(const char *path);

/* Puts the name of a file that this process makes into text[size], as the user would type it. */
void input_seen(const char *path, char *text, size_t size);

/* Opens a file, device or pipe for reading; NULL with errno set when it cannot.  The caller ends
 * it with fclose.  A named pipe into which nobody writes is named after a second, and waited
 * for: what writes may be slow to begin. */
FILE *input_open(const char *path);

#endif
