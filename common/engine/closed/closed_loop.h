/* The interface between closed_rows.c and the loop of closed_loop.c. */
#ifndef BRAGG_ENGINE_CLOSED_LOOP_H
#define BRAGG_ENGINE_CLOSED_LOOP_H

#include "physics/crystal/ensemble_sum.h"

/* Neighbouring pixels along fast, and the same point of each. */
struct closed_points {
    const struct panel *panel;
    int64_t fast, slow;  // of the first pixel
    int layer, sub_fast, sub_slow, oversample;
    double d[4][ENSEMBLE_LANES];  // unit vectors to the points, and their distances in m
    double sums[ENSEMBLE_LANES];  // of one reflection at the points, see ensemble_sum
};

/* Sets p->d. */
typedef void closed_look(struct closed_points *p);

/* Sets p->sums for a beam along `incident`.  Returns false if all sums are 0. */
typedef bool closed_sum(struct closed_points *p, const struct ensemble_spot *spot,
                        const double incident[3], const struct ensemble_waves *waves);

/* The factors of a sum, as in the reference engine, and the points at which they are evaluated. */
struct closed_factors {
    const struct closed_points *solid_angle, *capture, *polarization;
    int layer;
    const double *incident, *e, *b;  // as in struct cpu_source
    double kahn;
    bool no_polarization;
    double absorb;  // of the reflection, as in struct cpu_source
};

/* Adds to photons[] the sums of *p times `scale` and factors. */
typedef void closed_add(const struct closed_points *p, const struct closed_factors *f, double scale,
                        double photons[ENSEMBLE_LANES]);

/* The loop, compiled for one instruction set.  All instruction sets give the same bytes. */
struct closed_kernels {
    closed_look *look;
    closed_sum *sum;
    closed_add *add;
};

extern const struct closed_kernels closed_kernels_baseline, closed_kernels_avx2,
    closed_kernels_avx512;

#endif
