/*
 * A crystal of very many domains in closed form: the mean of their squared lattice factors, summed
 * over a spectrum.  Blocks are Gaussian (GAUSS in physical mode), and so are their rotations, their
 * strain and the directions of the beam: to first order a spot is a Gaussian whose second moments
 * are the sum of all.  It holds while rotations are small (rms below 0.3 deg).  Spots of
 * neighbouring reflections add where they overlap.
 *
 * Lengths in reciprocal space are 1/A; matrices are row-major, moments symmetric.
 */
#ifndef BRAGG_PHYSICS_ENSEMBLE_H
#define BRAGG_PHYSICS_ENSEMBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/experiment.h"

/* Exponents beyond this are dark: e^-20 of a spot's brightest point. */
#define ENSEMBLE_LIMIT 20.0

/* A crystal as it lies in the lab at one step of the rotation. */
struct ensemble {
    const struct crystal *crystal;
    double star[9];  // rows a*, b*, c*
    double axes[9];  // rows a, c* x a and c*, unit vectors
    double incident[3];
    double per_A;     // mean wave number of the beam
    double block[9];  // second moments that a block has alone
    double block_determinant;
    double peak;  // squared lattice factor of a block at a reciprocal lattice point
};

/* One reflection. */
struct ensemble_spot {
    double centre[3];   // h a* + k b* + l c*
    double inverse[9];  // of its second moments
    double pull[3];     // inverse times centre
    double self;        // centre times pull
    double peak;        // mean squared lattice factor at the centre
    double reach;       // radius of a ball beyond which it is dark
};

/* One wavelength. */
struct ensemble_channel {
    double per_A;  // 1/wavelength
    double weight;
};

/* Whether the matrix of cells [Na Nd Nf; Nd Nb Ne; Nf Ne Nc] is positive definite. */
bool ensemble_cells_fit(const double cells[3], const double across[3]);

/* Sets *s for cell vectors in m (rows a, b, c), in a beam along the unit vector `incident` of mean
 * wave number per_A; false for a cell without volume or a matrix of cells that does not fit.
 * *crystal must outlive it. */
bool ensemble_open(struct ensemble *s, const struct crystal *crystal, const double cell_m[9],
                   const double incident[3], double per_A);

/* Second moments of the spot about its centre. */
void ensemble_moments(const struct ensemble *s, const int hkl[3], double moments[9]);

/* Sets *spot; false where the moments have no inverse. */
bool ensemble_spot_open(const struct ensemble *s, const int hkl[3], struct ensemble_spot *spot);

/* Mean squared lattice factor at `offset` from the centre. */
double ensemble_factor(const struct ensemble_spot *spot, const double offset[3]);

/* Upper bound of `reach` of any reflection that is as far from 0 as `length`, for indices up to
 * those of hkl in size. */
double ensemble_reach(const struct ensemble *s, const int hkl[3], double length);

#endif
