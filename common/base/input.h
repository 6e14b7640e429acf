/*
 * Names of files that are read.  A relative one counts from the folder in which the user stands,
 * which BRAGG_FROM names where that is not the working folder, as in stages of bragg-run
 * --workdir; what is said of a frame is the name as it was given.
 */
#ifndef BRAGG_BASE_INPUT_H
#define BRAGG_BASE_INPUT_H

#define INPUT_FROM "BRAGG_FROM"

/* The path to open for a name; it lasts until the process ends.  NULL when memory is out. */
const char *input_path(const char *given);

/* The name that was given for a path of input_path, in the same thread. */
const char *input_given(const char *path);

#endif
