/*
 * The reflections of a frame as DIALS has them: an experiment list (.expt) with an experiment for
 * each lattice, and a reflection table (.refl) to it.  In DIALS' lab, that of imgCIF: z towards the
 * source, x along the spindle, as dials.import has it of our NXmx files.
 */
#ifndef BRAGG_IO_DIALS_H
#define BRAGG_IO_DIALS_H

#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"

/* Beam, detector, crystals in P 1 and, of a rotation, goniometer and scan, without images.
 * STATUS_INPUT for a frame without reflections and for curved panels, STATUS_FAILED when `out`,
 * whose name is `path`, cannot be written. */
enum status dials_write_expt(FILE *out, const struct experiment *x, const struct frame *f,
                             const char *path, struct error *e);

/* All rows: observed where the photons are, with these for the summed intensity, and with the
 * photons and those of the background for its variance; bounding boxes of the pixels that hold
 * 99 %; partiality 1.  Errors as above, and STATUS_FAILED when memory is out. */
enum status dials_write_refl(FILE *out, const struct experiment *x, const struct frame *f,
                             const char *path, struct error *e);

enum { DIALS_NAME_SIZE = 64 };

/* The identifier of the experiment of a lattice. */
void dials_identifier(const struct experiment *x, const struct frame *f, size_t lattice,
                      char name[DIALS_NAME_SIZE]);

/* A vector of our lab in that of DIALS. */
void dials_turn(const struct experiment *x, const double v[3], double out[3]);

/* Where z of an image is: frames of a rotation are counted on from 0, a still is alone. */
double dials_image(const struct frame *f);

#endif
