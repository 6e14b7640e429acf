/* From directions to pixels: where a ray from the sample meets a panel. */
#ifndef BRAGG_PHYSICS_AIM_H
#define BRAGG_PHYSICS_AIM_H

#include <stdbool.h>

#include "model/experiment.h"

/* Where the ray from the sample along `direction`, of any length, meets the panel's plane or, of a
 * curved panel, its sphere about the sample: *fast, *slow in pixels from the outer corner of
 * pixel (0,0), also outside of the panel.  `beam`: unit vector of propagation.  false: nowhere. */
bool aim_panel(const struct panel *p, const double beam[3], const double direction[3], double *fast,
               double *slow);

/* The unit vector at `twotheta_rad` from the unit vector `beam`, at `azimuth_rad` about it. */
void aim_cone(const double beam[3], double twotheta_rad, double azimuth_rad, double direction[3]);

#endif
