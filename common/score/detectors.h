/* Compares the detector model of an analysis with the true detector: which panel is which, where
 * each place on the true detector is in the model, and what the model as a whole is off by. */
#ifndef BRAGG_SCORE_DETECTORS_H
#define BRAGG_SCORE_DETECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/crystfel/geom.h"
#include "score/answer.h"

/* The true detector and the model, with panels in the coordinate system of the beam.  Lengths are
 * in m. */
struct detectors {
    const struct geom_panel *truth, *model;  // borrowed
    size_t nmodel;
    struct geom_panel *turned;  // owned: the panels of the model, rotated about the beam, if the
                                // model has other axes across the beam; else NULL
    double turn_rad;            // angle of this rotation; 0: none
    int32_t *truth_of;          // owned: [nmodel], true panel of each panel of the model
    int32_t *model_of;          // owned: [panels of the truth], panel of the model for each true
                                // panel; -1: it is missing in the model
};

/* Pairs each panel of the model with the nearest true panel of the same size.  If `model` is NULL,
 * the panels are those of the truth, and d->model is d->truth.
 *
 * The axes of the model across the beam may differ from those of the key, because the key uses the
 * axes of the rotation axis and CrystFEL those of the detector.  Such a model is rotated about the
 * beam.  The criterion is that the model is far off and that a rotation by more than a possible
 * misalignment reduces the distance to less than a quarter.
 *
 * The caller must call detectors_free in any case.  STATUS_INPUT, with the name `path`: a panel has
 * no partner, two panels have the same partner, or pixels have another size. */
enum status detectors_match(struct detectors *d, const struct geom_panel *truth, size_t ntruth,
                            const struct geom_panel *model, size_t nmodel, const char *path,
                            struct error *e);

/* Sets up *d for a key without a detector.  The panels are those of the model, or `truth` if
 * `model` is NULL, with their numbers unchanged.
 *
 * `panel0` is the direction of the fast axis of the first panel of the key across the beam, in rad,
 * from x to y; NaN: not known.  If the first panel of the model differs from it by more than a
 * possible misalignment, the axes of the model are different, and the model is rotated. */
enum status detectors_assume(struct detectors *d, const struct geom_panel *truth, size_t ntruth,
                             double panel0, const struct geom_panel *model, size_t nmodel,
                             struct error *e);

/* Rotates the lattices of an answer in the same way as the model. */
void detectors_turn(const struct detectors *d, struct answer *a);

/* Finds the pixel (fast, slow) of the model that a ray hits.  The ray hits the true panel `panel`
 * at (fast, slow) px.  The true panel is shifted by true_m from the detector of the key, and the
 * model by model_m from the detector of the results, in m.  Sets out[2] in px.  Returns false if
 * the panel is missing in the model, or faces away. */
bool detectors_project(const struct detectors *d, const double true_m[3], const double model_m[3],
                       int32_t panel, double fast, double slow, double out[2]);

/* Sets truth[3] to the position of a pixel of a true panel, and model[3] to the position of the
 * same pixel in the model, in m.  The shifts are those of detectors_project.  Returns false if the
 * panel is missing in the model. */
bool detectors_places(const struct detectors *d, const double true_m[3], const double model_m[3],
                      int32_t panel, double fast, double slow, double truth[3], double model[3]);

void detectors_free(struct detectors *d);

/*
 * Alignment of the detector model of an analysis with the true detector: camera length, rotation
 * about the beam, and tilt.  A mean of offsets hides these, because the offsets point away from the
 * beam centre or around it.
 */

enum { ALIGNMENT_TERMS = 6 };

/* Sums over places.  Must be {0} at the beginning. */
struct alignment {
    size_t n;
    double products[ALIGNMENT_TERMS][ALIGNMENT_TERMS], measured[ALIGNMENT_TERMS];
    double distance_m, radius2;  // sums of distances along the beam and of squared tangents
    double pixel_m;              // pixel size at the place that was added last
};

/* Adds a place: its true position, and the position of the same pixel in the model, in m, in the
 * coordinate system of the beam.  Places that are not in front of the sample are left out. */
void alignment_add(struct alignment *a, const double truth_m[3], const double model_m[3],
                   double pixel_m);

/* Misalignment of the model.  Values are NaN if there are too few places to determine them. */
struct alignment_off {
    double distance_m;     // mean true distance along the beam
    double camera_length;  // model / truth - 1
    double turn_deg;       // about the beam, from x to y
    double tilt_deg[2];    // about x and y
    double radius_px;      // rms distance of the places from the beam centre
};
struct alignment_off alignment_solve(const struct alignment *a);

#endif
