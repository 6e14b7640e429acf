/* The folder in which a pipeline runs. */
#ifndef BRAGG_RUN_WORKDIR_H
#define BRAGG_RUN_WORKDIR_H

#include "base/error.h"

/* Makes a folder and those above it; adds to *made how many were not there.  STATUS_FAILED when it
 * is none into which this process may write. */
enum status workdir_make(const char *path, int *made, struct error *e);

/* Removes the last `made` folders of a path, if nothing is in them. */
void workdir_remove(const char *path, int made);

#endif
