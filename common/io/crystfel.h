/* The files that CrystFEL wants beside the frames: geometry and unit cell. */
#ifndef BRAGG_IO_CRYSTFEL_H
#define BRAGG_IO_CRYSTFEL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "model/experiment.h"

/*
 * A geometry file for frames as MessagePack: panels are slabs of the array `key`, one
 * after the other along the slow axis; photon energy and distance stand in the frames
 * (beam_energy in eV, detector_distance in mm), and `peaks` if there are any.  CrystFEL's lab has z
 * along the beam; its x is taken along the fast axis of panel 0, as far as that is perpendicular.
 * STATUS_INPUT for curved panels; write errors stay in the stream.
 */
enum status crystfel_write_geometry(FILE *out, const struct experiment *x, const char *key,
                                    bool peaks, struct error *e);

/* A unit cell file, primitive, with the lattice type that lengths and angles show.
 * STATUS_INPUT when the cell is not known; write errors stay in the stream. */
enum status crystfel_write_cell(FILE *out, const struct crystal *c, struct error *e);

#endif
