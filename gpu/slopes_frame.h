/*
 * A frame whose derivatives are wanted, as the threads of a GPU see it: packed as struct gpu_frame
 * is, beside one.
 */
#ifndef BRAGG_GPU_SLOPES_FRAME_H
#define BRAGG_GPU_SLOPES_FRAME_H

#include "engine/derivatives/slopes_pull.h"
#include "gpu/frame.h"
#include "physics/detector/pixel_slopes.h"

struct gpu_slopes_lattice {
    enum crystal_shape shape;  // not TOPHAT
    const struct cpu_table *table;
    double N[3], fudge;
    size_t nsteps;
    const struct slopes_step *steps;  // [nsteps]
    const double *cell;               // [count x 9]: see struct slopes_lattice
    double scale;                     // F^2 S to photons; of weight 1
    double weight;
    double value;  // beside the terms: water is a lattice without steps
};

struct gpu_slopes_source {
    double wavelength_m;
    const double *ln_wave, *turned;  // [count], [count x 3]: see struct slopes_source
};

/* A parameter, see struct parameter. */
struct gpu_slope {
    enum parameter_kind kind;
    int32_t axis;
    size_t index;
    double unit_SI;
};

/* Flat panels, no structure factors that are interpolated. */
struct gpu_slopes {
    struct gpu_frame frame;                     // but for its lattices
    double axis[3];                             // of polarization
    size_t count;                               // of parameters
    const struct gpu_slope *set;                // [count]
    const struct panel_move *moves;             // [npanels x count], panels as those of `frame`
    const struct gpu_slopes_source *sources;    // [nsources]
    size_t nlattices;                           // water, if there is any, behind the others
    const struct gpu_slopes_lattice *lattices;  // [nlattices]
};

/* Pixels to compute. */
struct gpu_slopes_batch {
    const int64_t *numbers;  // of the image; NULL: from `first` on
    int64_t first;
    size_t count;
    double *values;  // [(1 + count of parameters) x count]: photons, then derivatives
    float *planes;   // [count of parameters x count]: derivatives once more; NULL: not wanted
};

#endif
