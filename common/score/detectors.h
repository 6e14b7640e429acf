/* The detector of an analysis against the true one. */
#ifndef BRAGG_SCORE_DETECTORS_H
#define BRAGG_SCORE_DETECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/crystfel/geom.h"
#include "score/answer.h"

/* Panels are in the frame of the beam, lengths in m. */
struct detectors {
    const struct geom_panel *truth, *model;  // borrowed
    size_t nmodel;
    struct geom_panel *turned;  // owned: the model's panels, if it has other axes across the beam
    double turn_rad;            // ... turned about the beam by so much; else 0
    int32_t *truth_of;          // owned: by panels of the model
    int32_t *model_of;          // owned: by true panels, -1: the model lacks it
};

/* Finds, where `model` is not NULL, for each panel of the model the true one of the same size that
 * is nearest.  STATUS_INPUT, naming `path`, when a panel has none, two have the same, or pixels
 * have another size.  Without a
 * model the panels are those of the truth, and d->model is d->truth.  A model that is far off, and
 * less than a quarter as far when it is turned about the beam by more than a detector may be off,
 * has other axes across the beam than the key (which has the spindle's, CrystFEL the detector's):
 * it is turned.  detectors_free frees
 * *d in any case. */
enum status detectors_match(struct detectors *d, const struct geom_panel *truth, size_t ntruth,
                            const struct geom_panel *model, size_t nmodel, const char *path,
                            struct error *e);

/* Without a true detector: panels are the model's, or else `truth`, as they are numbered.  A model
 * whose first panel has another direction across the beam than `panel0` (rad, from x to y; NaN: not
 * known) by more than it may be off has other axes than the key: it is turned. */
enum status detectors_assume(struct detectors *d, const struct geom_panel *truth, size_t ntruth,
                             double panel0, const struct geom_panel *model, size_t nmodel,
                             struct error *e);

/* Turns the lattices of an answer with the model. */
void detectors_turn(const struct detectors *d, struct answer *a);

/* (fast, slow), px, where the model puts the direction of a place on a true panel, which stands
 * true_m from where the key has it, the model model_m from where the results have it; false when
 * the model lacks the panel or it faces away. */
bool detectors_project(const struct detectors *d, const double true_m[3], const double model_m[3],
                       int32_t panel, double fast, double slow, double out[2]);

/* Where a place on a true panel is, and where the model has this pixel, with the shifts as above.
 */
bool detectors_places(const struct detectors *d, const double true_m[3], const double model_m[3],
                      int32_t panel, double fast, double slow, double truth[3], double model[3]);

void detectors_free(struct detectors *d);

/*
 * How the detector of an analysis lies against the true one: what the mean of distances hides, as
 * it points away from the beam centre or goes round it.
 */

enum { ALIGNMENT_TERMS = 6 };

/* Sums over places; all zero at the beginning. */
struct alignment {
    size_t n;
    double products[ALIGNMENT_TERMS][ALIGNMENT_TERMS], measured[ALIGNMENT_TERMS];
    double distance_m, radius2;  // along the beam, and squares of tangents
    double pixel_m;              // of the place that was added last
};

/* A place as the truth has it and where the analysis has the same pixel, m, in the frame of the
 * beam.  Places that are not in front of the sample are left out. */
void alignment_add(struct alignment *a, const double truth_m[3], const double model_m[3],
                   double pixel_m);

/* What the model is off by; NaN where too few places tell. */
struct alignment_off {
    double distance_m;     // mean true distance along the beam
    double camera_length;  // model / truth - 1
    double turn_deg;       // about the beam, from x to y
    double tilt_deg[2];    // about x and y
    double radius_px;      // root of the mean square of distances from the beam centre
};
struct alignment_off alignment_solve(const struct alignment *a);

#endif
