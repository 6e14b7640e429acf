/* Structure factors with anomalous scattering, as the options of bragg-geometry say. */
#ifndef BRAGG_STAGES_GEOMETRY_ANOMALOUS_H
#define BRAGG_STAGES_GEOMETRY_ANOMALOUS_H

#include "base/error.h"
#include "geometry_options.h"
#include "io/mtz_rows.h"
#include "model/experiment.h"

/* Adds to amplitudes and phases of *rows what the atoms of --sites, or of --model from sodium on,
 * scatter anomalously at the energy of the beam of *x, and expands F(+) and F(-) into *t; a line
 * of the log for each element says f' and f''.  hkl_free frees *t. */
enum status geometry_anomalous(const struct geometry_options *o, const struct experiment *x,
                               const struct mtz_rows *rows, struct hkl_table *t, struct error *e);

#endif
