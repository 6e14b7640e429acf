/*
 * --powder-grains: rings that consist of the spots of single crystals.
 *
 * A smooth ring is multiplied by a function of the azimuth, whose mean over many frames is 1.  With
 * n crystals, m reflections and a reciprocal spot of rms width w, a reflection at s = 1/d comes
 * within R/2 of the Ewald sphere in n m R/(2 s) crystals, because all directions are equally
 * likely. So a ring gets as many spots, a Poisson number, for R = 8 w.  A spot at the distance e
 * from the sphere has the weight exp(-e^2/(2 w^2)), and on the detector the width w.  The relative
 * variance of the photons of a ring is 1/k, with
 *
 *     k = n m sqrt(pi) w/s
 */
#ifndef BRAGG_STAGES_GRAINS_H
#define BRAGG_STAGES_GRAINS_H

#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"
#include "powder.h"

/* The frame that grains are drawn for. */
struct grains_frame {
    const struct experiment *x;  // with the detector at its place in the frame
    double wavelength_m;         // the mean one of the frame
    double crystals;             // n
    uint64_t seed, id;           // the grains are a function of these
};

/* A ring with its spots. */
struct grains_ring {
    double s_1_A, rms_1_A;
    double height;   // of the ring, relative to other rings
    size_t bins;     // of the whole circle
    float *azimuth;  // owned, bins + 1: the factor at each azimuth; NULL: 1 everywhere
};

/* The grains of a frame.  Begins as all zero. */
struct grains {
    size_t nrings;
    struct grains_ring *rings;  // owned, in ascending order of s
    double reach_1_A;           // the farthest from its middle that a ring reaches
    double beam[3], fast[3], slow[3];
    double wavelength_m;
};

/* Draws the grains of a frame.  STATUS_INPUT: there are too many rings. */
enum status grains_draw(struct grains *g, const struct powder *p, const struct grains_frame *f,
                        int threads, struct error *e);

/* Adds the powder to photons[experiment_pixels()].  powder[] is the image of its smooth rings. */
void grains_add(const struct grains *g, const struct experiment *x, int threads,
                const double *powder, float *photons);

void grains_free(struct grains *g);

#endif
