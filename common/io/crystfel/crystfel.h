/*
 * Files of CrystFEL other than streams and geometries (io/crystfel/geom.h): unit cells, which are
 * written, and lists of merged reflections, which are read.
 */
#ifndef BRAGG_IO_CRYSTFEL_H
#define BRAGG_IO_CRYSTFEL_H

#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"

/* Writes a unit cell file, primitive, with the lattice type that lengths and angles show.
 * STATUS_INPUT when the cell is not known; write errors stay in the stream. */
enum status crystfel_write_cell(FILE *out, const struct crystal *c, struct error *e);

/* Reads the merged intensities of a reflection list, version 2.0, into *t (overwritten; hkl_free
 * frees it), expanded by the point group that the file names; those of groups with an inversion
 * stand for both Friedel mates.  NaN where there is none.  STATUS_INPUT for anything else, with
 * "FILE:LINE: ". */
enum status crystfel_hkl_read(const char *path, struct hkl_table *t, struct error *e);

#endif
