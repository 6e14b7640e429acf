/*
 * Structure factors, sources and lattices in the form that a loop over pixels wants:
 * squared, scaled, multiplied out.  Plain data that the CPU engine prepares (cpu_job.c)
 * and that loops of both sides read; it compiles as CUDA.
 */
#ifndef BRAGG_ENGINE_PREPARED_H
#define BRAGG_ENGINE_PREPARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/portable_math.h"
#include "model/experiment.h"

/* Structure factors of one crystal, as a table for gather instructions. */
struct cpu_table {
    float *F_sqr;          // owned: (F/F_max)^2 in the order of struct hkl_table, then default_F's
    double *F_sqr_double;  // owned: the same, unrounded; NULL: single precision is enough
    const double *F;       // tricubic: the experiment's table; NULL: nearest index
    double F_max;          // electrons; largest |F|, 1 when all are 0
    int32_t min[3], count[3];
    int32_t default_slot;  // of F_sqr
    bool flat;             // F is default_F everywhere
};

struct cpu_source {
    double incident[3];  // unit vector of propagation
    double index_per_m;  // INDEX_SCALE / wavelength
    double weight;
    double reach_sqr;   // |diffracted - incident|^2 beyond which dmin culls
    double e[3], b[3];  // polarization_axes
    double absorb;  // absorption coefficient of a sensor for it, over that for the wavelength of
                    // the beam
};

/* Returns how many sources from `first` on, at most `most`, the sensor absorbs alike. */
HD size_t cpu_sources_alike(const struct cpu_source *sources, size_t first, size_t count,
                            size_t most)
{
    size_t n = 1;
    while (n < most && first + n < count && sources[first + n].absorb == sources[first].absorb)
        n++;
    return n;
}

struct cpu_lattice {
    const struct crystal *crystal;
    enum crystal_shape shape;
    const struct cpu_table *table;
    size_t nsteps;          // phi steps x mosaic domains, domains fastest
    double *cells;          // owned, nsteps x 9: rows a, b, c in m, mosaic applied
    double scale;           // to photons, before weight, polarization, solid angle
    double damping_m2;      // half of the B factor: terms are multiplied by exp(-damping q^2)
    double shape_unit;      // squared lattice factor = shape_unit * the shape that is summed
    double form[6];         // GAUSS, TOPHAT: shape_form
    double cells_fudge[3];  // ROUND: N^2 times the fudge factor
    float N[3];             // SQUARE
    float start;            // SQUARE: about 1/(Na Nb Nc), a power of 2
    uint32_t turns[3];      // SQUARE: N 2^16 modulo 2^32
    bool scattered;         // spot by spot, CPU only, see cpu_spots.h
    double reach_1_m;       // of a spot in reciprocal space
    bool wide;              // SQUARE: some N is above WIDE_CELLS
};

enum {
    DENSE_TERMS = 64,        // terms summed in single precision before going to double
    DENSE_LOW_CELLS = 20,    // along an axis: 32 bits of fraction
    DENSE_CELLS_MAX = 3000,  // likewise: 40 bits
};

/* What is added to -h: numbers of these sizes have 32 and 40 bits of fraction, and above
 * those 16 and 12 of a whole number that no index within DENSE_*_INDEX turns negative. */
#define DENSE_LOW (0x1.8p20 + 16384.0)
#define DENSE_FINE 0x1.8p12
#define DENSE_LOW_INDEX 16000.0
#define DENSE_FINE_INDEX 2040.0

/* Unit of the fractions of indices, in which two quadratics that make a sine differ by a constant
 * less the square, see scaled_sinc. */
#define DENSE_UNIT 0x1.746554p+0f

/* A lattice in the dense form, see dense_row.h. */
struct dense_lattice {
    const double *cells;  // of the struct cpu_lattice
    size_t nsteps;
    double scale;       // to photons
    double damping_m2;  // of the struct cpu_lattice
    enum crystal_shape shape;
    double form[6];  // ROUND: cells_fudge; GAUSS, TOPHAT: as there
    float N[3];
    uint32_t turns[3];   // the same
    const float *F_sqr;  // flat: one item
    uint32_t stride[2];  // of the table along h and k
    uint32_t offset;     // of it: item = stride . high words + offset modulo 2^32
    bool fine;           // 40 bits of fraction
    bool flat;           // F is default_F everywhere
    bool wide;           // stride[0] does not fit 15 bits, or may not
    int32_t reach[3];    // indices of the box are -reach .. reach
    uint32_t box;        // items of the boxes of the lattices before, modulo 2^32
};

/* A part of the smear of a thick sensor, see smear/smear_bands.h: a sum of oversample x
 * oversample subpixels that is added to each pixel of a cell: it begins `fast` and `slow` subpixels
 * after the first subpixel of the pixel.  Its weights are those at the four nodes around the cell:
 * the nearer row of nodes, then the farther one; in each the nearer column first. */
struct smear_tap {
    int fast, slow;
    double weight[4];
};

/* Sets the weight of a tap for the first pixel of a row of a cell, and how much it grows from pixel
 * to pixel.  `down` and `across` are the place of the middle of that pixel between the nodes, 0 to
 * 1.  `step` is 1 divided by the number of pixels between nodes. */
HD void smear_tap_weight(const double w[4], double down, double across, double step, float *weight,
                         float *slope)
{
    const double left = w[0] + down * (w[2] - w[0]), right = w[1] + down * (w[3] - w[1]);
    *weight = (float)(left + across * (right - left));
    *slope = (float)(step * (right - left));
}

#endif
