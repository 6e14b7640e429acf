/*
 * A frame as the threads of a GPU see it: plain data, packed into one block of memory
 * that is copied as it is.  All pointers below point into memory of the side that
 * computes, see gpu/pack.h.
 */
#ifndef BRAGG_GPU_FRAME_H
#define BRAGG_GPU_FRAME_H

#include <string.h>

#include "base/hd.h"
#include "engine/prepared.h"
#include "engine/reflections/photons.h"

enum { GPU_THREADS = 128 };  // of a block: that many pixels of one row

enum { GPU_ANY_SHAPE = -1 };

/* The kind of lattices that the code of a pixel is compiled for.  It is a constant in each kernel.
 * */
struct gpu_kind {
    bool precise;   // lattice factors in double precision
    bool cubic;     // some structure factors are interpolated
    int32_t shape;  // enum crystal_shape of all lattices, where all panels are flat; else
                    // GPU_ANY_SHAPE
};

/* The same for the dense form, see gpu/dense.h. */
struct gpu_dense_kind {
    bool lone;        // photons of a pixel are one short sum, see dense_is_alone
    bool any;         // not one subpixel, one lattice, the same factor for all sources, no water
    bool fine, flat;  // as in struct dense_lattice; of `any` not used
};

struct gpu_panel {
    struct panel panel;     // mask: in the same memory
    int64_t first_row;      // rows are numbered through all panels
    double nearest_column;  // of flat panels, see dense_row.h
};

struct gpu_frame {
    /* of the experiment */
    enum physics physics;
    struct sampling sampling;
    double beam[3];                // unit vector of propagation
    double kahn;                   // polarization factor
    bool no_polarization, culled;  // factor 1; dmin is set
    bool absorbs;                  // of the recipe: as in struct cpu_job
    struct gpu_kind kind;
    int32_t npanels;                 // in the order of their pixels
    const struct gpu_panel *panels;  // [npanels]
    /* of the recipe */
    double water;  // photons of one source and subpixel
    size_t nsources, nlattices;
    const struct cpu_source *sources;    // [nsources]
    const struct cpu_lattice *lattices;  // [nlattices]; `crystal` is NULL
    size_t ndense;                       // 0: the dense form is not for this frame
    const struct dense_lattice *dense;   // [ndense], all lattices
    struct dense_lattice only;           // the first one once more: in reach of every operation
    struct gpu_dense_kind dense_kind;
};

/* The verdict on pixels: of those with bad photons, the least value of number << 32 | bits of the
 * photons.  GPU_GOOD: no pixel is bad. */
#define GPU_GOOD UINT64_MAX

HD uint64_t gpu_bad(int64_t pixel, float photons)
{
    uint32_t bits;
    memcpy(&bits, &photons, sizeof bits);
    return (uint64_t)pixel << 32 | bits;
}

/* Judges photons that leave as they are; *worst is memory of the side that computes, of a card that
 * of all threads, NULL: nobody asks. */
HD void gpu_judge(uint64_t *worst, int64_t pixel, float photons)
{
    if (photons_finite(photons) || !worst)
        return;
    const uint64_t bad = gpu_bad(pixel, photons);
#ifdef __CUDA_ARCH__
    (void)atomicMin((unsigned long long *)worst, (unsigned long long)bad);
#else
    *worst = bad < *worst ? bad : *worst;
#endif
}

/* The panel of a row, rows being numbered through all panels. */
HD const struct gpu_panel *gpu_panel_of(const struct gpu_frame *f, int64_t row)
{
    int32_t low = 0, high = f->npanels - 1;
    while (low < high) {
        const int32_t middle = (low + high + 1) / 2;
        if (f->panels[middle].first_row <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return &f->panels[low];
}

/* The panel that holds a pixel of the image. */
HD const struct gpu_panel *gpu_panel_holding(const struct gpu_frame *f, int64_t pixel)
{
    int32_t low = 0, high = f->npanels - 1;
    while (low < high) {
        const int32_t middle = (low + high + 1) / 2;
        if (f->panels[middle].panel.first_pixel <= pixel)
            low = middle;
        else
            high = middle - 1;
    }
    return &f->panels[low];
}

/* The pixel of a thread. */
struct gpu_place {
    const struct panel *panel;
    int64_t fast, slow;  // of the panel
    int64_t pixel;       // of the frame
};

/* Of thread `thread` of a block of pixels, the `block`-th of row `row`; false when the row is
 * shorter. */
HD bool gpu_find_place(const struct gpu_frame *f, int64_t row, int64_t block, int thread,
                       struct gpu_place *at)
{
    const struct gpu_panel *g = gpu_panel_of(f, row);
    at->panel = &g->panel;
    at->fast = block * GPU_THREADS + thread;
    at->slow = row - g->first_row;
    at->pixel = g->panel.first_pixel + at->slow * g->panel.fast_pixels + at->fast;
    return at->fast < g->panel.fast_pixels;
}

#endif
