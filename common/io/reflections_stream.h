/* The reflections of a frame as a stream of CrystFEL: a crystal for each lattice. */
#ifndef BRAGG_IO_REFLECTIONS_STREAM_H
#define BRAGG_IO_REFLECTIONS_STREAM_H

#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"

/* A stream (format 2.3) of one frame, complete with geometry.  Its number is
 * header/int/frame_id; peaks are all rows, with their photons; I is photons, with their root for
 * sigma, background that of a pixel.  `lab`: rows x, y, z of CrystFEL's lab in ours.  STATUS_INPUT
 * for a frame that brings none along and for a detector that CrystFEL has no geometry for,
 * STATUS_FAILED when `out`, whose name is `path`, cannot be written. */
enum status reflections_write_stream(FILE *out, const struct experiment *x, const struct frame *f,
                                     const double lab[9], const char *path, struct error *e);

#endif
