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

/* --- wavelengths in groups -------------------------------------------------------- */

/*
 * The wavelengths of a beam in groups, for spots that are wider than the groups: a group stands for
 * its channels by their centre of mass and their moments about it.  A Gaussian of inverse moment a
 * about n is, summed over the channels of a group at c with weights of moments M_i,
 *
 *     exp(-s^2/2) sum over i of  (-a^1/2)^i M_i/i! He_i(s),    s = a^1/2 (c - n),
 *
 * He the polynomials of Hermite.  To the sixth order this is right to 6e-7 of the group's own peak
 * while groups are at most half of a^-1/2 wide, whatever the channels, and to 1e-9 for even ones.
 */

/* Widest group, of the rms width of a spot. */
#define ENSEMBLE_GROUP_WIDTH 0.5

enum { ENSEMBLE_LEVELS = 12, ENSEMBLE_MOMENTS = 7 };

struct ensemble_group {
    double per_A;                     // centre of mass
    double moment[ENSEMBLE_MOMENTS];  // M_i/i!; the first is the weight, the second 0
};

struct ensemble_waves {
    const struct ensemble_channel *channels;  // by ascending per_A
    size_t count;
    double range;                       // from the first to the last
    struct ensemble_group *groups;      // owned: those of all levels, each by ascending per_A
    size_t begin[ENSEMBLE_LEVELS + 1];  // level i cuts the range into 2^i parts
    int levels;
};

/* Sets *w for channels that must outlive it; false when memory is out.  ensemble_waves_close frees
 * it, after an error too. */
bool ensemble_waves_open(struct ensemble_waves *w, const struct ensemble_channel *channels,
                         size_t count);
void ensemble_waves_close(struct ensemble_waves *w);

#endif
