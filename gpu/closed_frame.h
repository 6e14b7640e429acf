/* A frame in closed form (engine/closed/closed.h) as the threads of a GPU see it. */
#ifndef BRAGG_GPU_CLOSED_FRAME_H
#define BRAGG_GPU_CLOSED_FRAME_H

#include "gpu/frame.h"
#include "physics/crystal/ensemble_waves.h"

/* Wavelengths of one direction of the beam. */
struct gpu_closed_beam {
    double incident[3], e[3], b[3];  // as struct cpu_source
    struct ensemble_waves waves;     // its arrays are of the card
};

/* A reflection. */
struct gpu_closed_spot {
    struct ensemble_spot spot;
    double scale;  // makes photons of a sum, apart from the factors of the pixel
    const struct gpu_closed_beam *beam;
    double absorb;  // as struct closed_spot has it
};

/* Columns of a row that a reflection may light. */
struct gpu_closed_place {
    uint32_t spot;
    int32_t fast_min, fast_max;
};

struct gpu_closed {
    struct gpu_frame frame;  // of the experiment
    const struct gpu_closed_spot *spots;
    const struct gpu_closed_place *places;  // in the order of rows, and of spots in each
    const uint64_t *begin;                  // [rows + 1]: the first place of a row
    const int64_t *first_row;               // [npanels], panels as those of `frame`: where rows of
                                            // a panel begin in begin[]
};

/* Pixels to compute: of the image, from `first` on. */
struct gpu_closed_batch {
    int64_t first;
    size_t count;
    float *pixels;  // [count]
};

#endif
