/* The working folder of a pipeline (--workdir). */
#ifndef BRAGG_RUN_WORKDIR_H
#define BRAGG_RUN_WORKDIR_H

#include "base/error.h"

/* Makes a folder and its parent folders.  Adds the number of new folders to *made.
 * STATUS_FAILED: it is not a folder, or not writable. */
enum status workdir_make(const char *path, int *made, struct error *e);

/* Removes the last `made` folders of a path, as far as they are empty. */
void workdir_remove(const char *path, int made);

#endif
