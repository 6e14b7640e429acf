/* The point spread that the options of bragg-noise ask for. */
#ifndef BRAGG_STAGES_POINT_SPREAD_H
#define BRAGG_STAGES_POINT_SPREAD_H

#include "model/experiment.h"
#include "physics/detector/psf.h"

#define POINT_SPREAD_KINDS "none|gauss|fiber|charge"  // in the order of enum psf_kind

/* Defaults of --psf-fwhm and --bias. */
#define POINT_SPREAD_FWHM_UM 46.0
#define POINT_SPREAD_BIAS_V 200.0

struct point_spread {
    int kind;           // enum psf_kind
    double fwhm_m;      // PSF_GAUSS, PSF_FIBER: full width at half maximum
    double bias_V;      // PSF_CHARGE: voltage across the sensor
    int64_t radius_px;  // half width of the square that light reaches; 0: automatic
};

/* Returns the point spread in pixels of a panel. Light does not cross from one panel to another. */
struct psf point_spread_on(const struct point_spread *p, const struct panel *panel);

/* Returns the point spread that bragg-noise applied to frames with this history
 * (base/history.h). If there is none, the kind is PSF_NONE. */
struct point_spread point_spread_told(const char *history);

#endif
