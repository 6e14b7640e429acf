/* What CrystFEL wants beside frames and geometry (io/crystfel/geom.h): the unit cell. */
#ifndef BRAGG_IO_CRYSTFEL_H
#define BRAGG_IO_CRYSTFEL_H

#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"

/* A unit cell file, primitive, with the lattice type that lengths and angles show.
 * STATUS_INPUT when the cell is not known; write errors stay in the stream. */
enum status crystfel_write_cell(FILE *out, const struct crystal *c, struct error *e);

#endif
