/*
 * The crystal that ships with the programs: orthorhombic hen egg-white
 * lysozyme, |F| to 1.4 A calculated from PDB entry 1AKI (scripts/make-lysozyme).
 */
#ifndef BRAGG_IO_LYSOZYME_H
#define BRAGG_IO_LYSOZYME_H

#include "base/error.h"
#include "model/experiment.h"

/* Cell edges in A, angles in rad, and |F| of all reflections to 1.4 A by point
 * group mmm, 0 beyond.  *t is overwritten; hkl_free frees it. */
enum status lysozyme_table(double cell_A[3], double cell_rad[3], struct hkl_table *t,
                           struct error *e);

#endif
