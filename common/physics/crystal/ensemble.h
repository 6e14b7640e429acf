/*
 * A crystal of very many domains in closed form: the mean of the squared lattice factors of the
 * domains, summed over a spectrum.
 *
 * Blocks are Gaussian (GAUSS in physical mode), and so are their rotations, their strain and the
 * directions of the beam.  To first order a spot is then a Gaussian whose second moments are the
 * sum of all second moments.  This is valid for small rotations (rms below 0.3 deg).  Spots of
 * neighbouring reflections add where they overlap.
 *
 * Lengths in reciprocal space are in 1/A.  Matrices are row-major, and moments are symmetric.
 */
#ifndef BRAGG_PHYSICS_ENSEMBLE_H
#define BRAGG_PHYSICS_ENSEMBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/experiment.h"

/* Exponent beyond which a spot counts as dark: e^-20 of its brightest point. */
#define ENSEMBLE_LIMIT 20.0

/* A crystal in the laboratory frame at one step of the rotation. */
struct ensemble {
    const struct crystal *crystal;
    double star[9];  // rows a*, b*, c*
    double axes[9];  // rows a, c* x a and c*, unit vectors
    double incident[3];
    double per_A;     // mean wave number of the beam
    double block[9];  // second moments of a spot of a single block
    double block_determinant;
    double peak;  // squared lattice factor of a block at a reciprocal lattice point
};

/* One reflection. */
struct ensemble_spot {
    double centre[3];   // h a* + k b* + l c*
    double inverse[9];  // inverse of its second moments
    double pull[3];     // inverse times centre
    double self;        // centre times pull
    double peak;        // mean squared lattice factor at the centre
    double reach;       // radius of the ball outside which the spot is dark
};

/* One wavelength. */
struct ensemble_channel {
    double per_A;  // 1/wavelength
    double weight;
};

/* Returns true if the matrix of cells [Na Nd Nf; Nd Nb Ne; Nf Ne Nc] is positive definite. */
bool ensemble_cells_fit(const double cells[3], const double across[3]);

/* Sets *s for cell vectors in m (rows a, b, c) in a beam along the unit vector `incident` with mean
 * wave number per_A.  *crystal must outlive *s.  Returns false for a cell without volume, or for a
 * matrix of cells that is not positive definite. */
bool ensemble_open(struct ensemble *s, const struct crystal *crystal, const double cell_m[9],
                   const double incident[3], double per_A);

/* Sets moments[] to the second moments of the spot about its centre. */
void ensemble_moments(const struct ensemble *s, const int hkl[3], double moments[9]);

/* Sets *spot.  Returns false if the moments have no inverse. */
bool ensemble_spot_open(const struct ensemble *s, const int hkl[3], struct ensemble_spot *spot);

/* Returns an upper bound of `reach` for reflections at the distance `length` from the origin whose
 * indices are at most those of hkl in size. */
double ensemble_reach(const struct ensemble *s, const int hkl[3], double length);

/* --- wavelengths in groups -------------------------------------------------------- */

/*
 * The wavelengths of a beam in groups, for spots that are wider than the groups.  A group
 * represents its channels with their centre of mass and their moments about it.  The sum of a
 * Gaussian of inverse moment a about n, over the channels of a group at c with weights of moments
 * M_i, is
 *
 *     exp(-s^2/2) sum over i of  (-a^1/2)^i M_i/i! He_i(s),    s = a^1/2 (c - n),
 *
 * where He are the polynomials of Hermite.  To the sixth order the error is 6e-7 of the peak of the
 * group for any channels, and 1e-9 for evenly spaced channels, if groups are at most half of a^-1/2
 * wide.
 */

/* Width of the widest group, relative to the rms width of a spot. */
#define ENSEMBLE_GROUP_WIDTH 0.5

enum { ENSEMBLE_LEVELS = 12, ENSEMBLE_MOMENTS = 7 };

struct ensemble_group {
    double per_A;                     // centre of mass
    double moment[ENSEMBLE_MOMENTS];  // M_i/i!; the first is the weight, the second 0
};

struct ensemble_waves {
    const struct ensemble_channel *channels;  // by ascending per_A
    size_t count;
    double range;                       // from the first to the last channel
    struct ensemble_group *groups;      // owned: the groups of all levels, each level by ascending
                                        // per_A
    size_t begin[ENSEMBLE_LEVELS + 1];  // first group of each level; level i cuts the range into
                                        // 2^i parts
    int levels;
};

/* Sets *w for channels, which must outlive it.  ensemble_waves_close frees *w. */
void ensemble_waves_open(struct ensemble_waves *w, const struct ensemble_channel *channels,
                         size_t count);
void ensemble_waves_close(struct ensemble_waves *w);

#endif
