/* The files that clients of bragg-serve read before they connect. */
#ifndef BRAGG_STAGES_SERVE_FILES_H
#define BRAGG_STAGES_SERVE_FILES_H

#include "base/error.h"
#include "model/experiment.h"
#include "serve_options.h"

/* Writes the files of --geom and --cell, if the options are given, for the frames of *x, in the
 * laboratory frame o->content.lab.  A file appears when it is complete.  STATUS_INPUT if a file
 * cannot describe the experiment, or if another file has its name and --overwrite is not given;
 * STATUS_FAILED if a file cannot be written. */
enum status serve_write_files(const struct serve_options *o, const struct experiment *x,
                              struct error *e);

/* Checks, at the start, the place of a file that is written at the end.  STATUS_FAILED if another
 * file has the name and `overwrite` is false, or if the folder cannot be written. */
enum status serve_check_place(const char *path, bool overwrite, struct error *e);

#endif
