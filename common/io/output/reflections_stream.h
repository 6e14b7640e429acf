/* Reflections as a stream of CrystFEL: a chunk for each frame, a crystal for each lattice. */
#ifndef BRAGG_IO_REFLECTIONS_STREAM_H
#define BRAGG_IO_REFLECTIONS_STREAM_H

#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"

/* The beginning of a stream (format 2.3), complete with geometry.  `lab`: rows x, y, z of
 * CrystFEL's lab in ours.  STATUS_INPUT for a detector that CrystFEL has no geometry for, with the
 * name of the file, `path`. */
enum status reflections_write_preamble(FILE *out, const struct experiment *x, const double lab[9],
                                       const char *path, struct error *e);

/* The chunk of a frame.  Its number is header/int/frame_id; peaks are all rows, with their photons;
 * I is photons, with their root for sigma, background that of a pixel. */
void reflections_write_chunk(FILE *out, const struct experiment *x, const struct frame *f,
                             const double lab[9]);

#endif
