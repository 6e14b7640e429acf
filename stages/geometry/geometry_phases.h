/* Structure factors with phases, to which something is added before the phases go, as the options
 * of bragg-geometry say. */
#ifndef BRAGG_STAGES_GEOMETRY_PHASES_H
#define BRAGG_STAGES_GEOMETRY_PHASES_H

#include <stdbool.h>

#include "base/error.h"
#include "geometry_options.h"
#include "model/experiment.h"

/* Whether these options need phases. */
bool geometry_needs_phases(const struct geometry_options *o);

/* Reads amplitudes and phases of --mtz, or computes those of --model to dmin_A; adds what the atoms
 * of
 * --sites, or of the model from sodium on, scatter anomalously at the energy of the beam of *x (a
 * line of the log for each element says f' and f''); mixes them with those of --light; and expands
 * F(+) and F(-) into *t, which hkl_free frees.  The cell goes to cell_A (edges, A) and cell_rad
 * (rad). */
enum status geometry_read_phases(const struct geometry_options *o, const struct experiment *x,
                                 double dmin_A, struct hkl_table *t, double cell_A[3],
                                 double cell_rad[3], struct error *e);

#endif
