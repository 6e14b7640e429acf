/* The state of bragg-orient, and the recipes that it makes. */
#ifndef BRAGG_STAGES_ORIENT_FRAME_H
#define BRAGG_STAGES_ORIENT_FRAME_H

#include "orient_options.h"
#include "orient_runs.h"

struct orient {
    struct orient_options options;
    const struct experiment *experiment;
    double (*listed)[9];  // rotations from the file, owned
    size_t nlisted;
    char digest[17];     // of the list
    struct pulse pulse;  // as asked for, with what is usual where nothing was said
    char spectra[17];    // digest of the file
    struct shift shift;  // with the list of the file, owned
    char shifts[17];     // digest of that
    struct orient_runs runs;
};

/* *r, whose id is set, for lattices that turn and spread as *turned says: a pure function of state
 * and id, once orient_runs_begin has been called. */
enum status orient_recipe(const struct orient *o, const struct orientation_request *turned,
                          struct recipe *r, struct error *e);

#endif
