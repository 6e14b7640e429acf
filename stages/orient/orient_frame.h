/* State of bragg-orient, and the recipes that it makes. */
#ifndef BRAGG_STAGES_ORIENT_FRAME_H
#define BRAGG_STAGES_ORIENT_FRAME_H

#include "orient_options.h"
#include "orient_runs.h"

struct orient {
    struct orient_options options;
    const struct experiment *experiment;
    double (*listed)[9];  // rotations of --orientations, owned; NULL: none
    size_t nlisted;
    char digest[17];     // hash of `listed`, for the lineage
    struct pulse pulse;  // options of the pulse, with the spectra of --spectra
    char spectra[17];    // hash of the spectra
    struct shift shift;  // options of the detector position; the list is owned
    char shifts[17];     // hash of the list
    struct orient_runs runs;
};

/* Fills *r, whose id is set.  *turned has the rotation and the mosaic spread of the lattices. After
 * orient_runs_begin the result depends on the state and the id only. */
enum status orient_recipe(const struct orient *o, const struct orientation_request *turned,
                          struct recipe *r, struct error *e);

#endif
