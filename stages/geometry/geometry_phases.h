/* Structure factors with phases.  Anomalous scatterers and excited states are added before the
 * phases are dropped.  The files are those of the options of bragg-geometry. */
#ifndef BRAGG_STAGES_GEOMETRY_PHASES_H
#define BRAGG_STAGES_GEOMETRY_PHASES_H

#include <stdbool.h>

#include "base/error.h"
#include "geometry_options.h"
#include "model/experiment.h"

/* Whether these options need phases. */
bool geometry_needs_phases(const struct geometry_options *o);

/* Makes the table *t of F(+) and F(-):
 *   - reads amplitudes and phases of --mtz, or computes those of --model to dmin_A;
 *   - adds f' and f'' of the atoms of --sites, or of the model from sodium on, at the energy of the
 *     beam of *x, and prints them with --verbose;
 *   - mixes the result with that of --light;
 *   - expands it by symmetry.
 * The cell is stored in cell_A (edges, A) and cell_rad (angles, rad).  The caller frees *t with
 * hkl_free. */
enum status geometry_read_phases(const struct geometry_options *o, const struct experiment *x,
                                 double dmin_A, struct hkl_table *t, double cell_A[3],
                                 double cell_rad[3], struct error *e);

#endif
