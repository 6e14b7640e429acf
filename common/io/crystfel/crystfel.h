/*
 * Writes unit cell files of CrystFEL, and reads its lists of merged reflections.  See
 * io/crystfel/geom.h for geometry files.
 */
#ifndef BRAGG_IO_CRYSTFEL_H
#define BRAGG_IO_CRYSTFEL_H

#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"

/* Writes a unit cell file: a primitive cell, with the lattice type that its lengths and angles
 * have.  STATUS_INPUT: the cell is not known.  The caller checks `out` for write errors. */
enum status crystfel_write_cell(FILE *out, const struct crystal *c, struct error *e);

/* Reads the merged intensities of a reflection list, version 2.0, into *t, which is overwritten.
 * hkl_free frees *t.  The list is expanded by the point group that the file names.  If the group
 * has an inversion, an intensity belongs to both Friedel mates.  A reflection without an intensity
 * is NaN.  STATUS_INPUT, with "FILE:LINE: ": anything else. */
enum status crystfel_hkl_read(const char *path, struct hkl_table *t, struct error *e);

#endif
