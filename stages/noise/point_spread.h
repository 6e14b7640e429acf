/* The point spread of a detector as options of bragg-noise say it. */
#ifndef BRAGG_STAGES_POINT_SPREAD_H
#define BRAGG_STAGES_POINT_SPREAD_H

#include "model/experiment.h"
#include "physics/detector/psf.h"

#define POINT_SPREAD_KINDS "none|gauss|fiber|charge"  // of enum psf_kind

/* Where nothing else is said. */
#define POINT_SPREAD_FWHM_UM 46.0
#define POINT_SPREAD_BIAS_V 200.0

struct point_spread {
    int kind;       // enum psf_kind
    double fwhm_m;  // of gauss and fiber
    double bias_V;  // of charge
    int64_t radius_px;
};

/* On pixels like those of a panel; light stays inside of it. */
struct psf point_spread_on(const struct point_spread *p, const struct panel *panel);

/* That which bragg-noise gave frames with this history (base/history.h); kind PSF_NONE: none. */
struct point_spread point_spread_told(const char *history);

#endif
