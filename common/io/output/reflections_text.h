/* Reflections as a table of text: a line of names, then a line for each. */
#ifndef BRAGG_IO_REFLECTIONS_TEXT_H
#define BRAGG_IO_REFLECTIONS_TEXT_H

#include <stdio.h>

#include "base/error.h"
#include "model/frame.h"

/* STATUS_INPUT for a frame that brings none along to the file of that name. */
enum status reflections_check(const struct frame *f, const char *path, struct error *e);

/* The line of names: columns, parted by tabs, are frame, lattice, h, k, l, panel, fast, slow (px),
 * photons, peak, pixels, phi (deg), s (1/A), F2, background. */
void reflections_write_names(FILE *out);

/* A line for each reflection of a frame. */
void reflections_write_rows(FILE *out, const struct frame *f);

#endif
