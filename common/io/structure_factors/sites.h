/* Atoms that scatter anomalously: from a list, or out of a model. */
#ifndef BRAGG_IO_SITES_H
#define BRAGG_IO_SITES_H

#include "base/error.h"
#include "model/atoms.h"

/* Reads lines `element x y z [occupancy [B]]`, with x, y, z of the cell's edges and B in A^2, where
 * # starts a comment; 1 and 0 where nothing is said.  STATUS_INPUT with FILE:LINE for others.
 * atoms_free frees, after an error too; f' and f'' are left 0. */
enum status sites_read(const char *path, struct atoms *atoms, struct error *e);

/* Atoms of a model, as io/structure_factors/molecule.h reads it, that are of the element `least` or
 * a heavier one. STATUS_INPUT for a model without such atoms; other errors are those of
 * molecule_read. */
enum status sites_of_model(const char *path, int least, struct atoms *atoms, struct error *e);

#endif
