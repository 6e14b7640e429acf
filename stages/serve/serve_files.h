/* The files that clients of bragg-serve read beforehand. */
#ifndef BRAGG_STAGES_SERVE_FILES_H
#define BRAGG_STAGES_SERVE_FILES_H

#include "base/error.h"
#include "model/experiment.h"
#include "serve_options.h"

/* Writes --geom and --cell, as far as they were given, for the frames of *x, in the
 * lab o->content.lab.  Each appears whole
 * or not at all.  STATUS_INPUT for what such files cannot hold, and for other files in their
 * place, STATUS_FAILED when they cannot be written. */
enum status serve_write_files(const struct serve_options *o, const struct experiment *x,
                              struct error *e);

/* For a file that is written at the end: another one in its place is refused now, unless
 * `overwrite`, as is a folder where none can be written.  STATUS_FAILED. */
enum status serve_check_place(const char *path, bool overwrite, struct error *e);

#endif
