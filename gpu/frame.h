/*
 * The data of a frame that the kernels read: plain structs, packed into one block of memory that is
 * copied to the GPU unchanged.  All pointers below are addresses of the side that computes: of the
 * GPU, or of the host if the CPU stands in for it.  See gpu/plan.h.
 */
#ifndef BRAGG_GPU_FRAME_H
#define BRAGG_GPU_FRAME_H

#include <string.h>

#include "base/portable_math.h"
#include "engine/derivatives/slopes.h"
#include "engine/prepared.h"
#include "engine/reflections/photons.h"
#include "engine/spots/shares.h"
#include "physics/crystal/ensemble.h"
#include "physics/detector/pixel_slopes.h"

enum { GPU_THREADS = 128 };  // threads of a block; each computes a pixel of the same row

enum { GPU_ANY_SHAPE = -1 };

/* The kind of lattices for which the code of a pixel is compiled; a constant in each kernel. */
struct gpu_kind {
    bool precise;   // lattice factors in double precision
    bool cubic;     // some structure factors are interpolated
    int32_t shape;  // enum crystal_shape, if all lattices have this shape and all panels are flat;
                    // otherwise GPU_ANY_SHAPE
};

/* The kind of lattices for which the code of the dense form is compiled, see gpu/dense.h. */
struct gpu_dense_kind {
    bool lone;        // photons of a pixel are one short sum, see dense_is_alone
    bool any;         // general case.  If false: one subpixel, one lattice, the same factor for all
                      // sources, and no water
    bool fine, flat;  // as in struct dense_lattice; not used if `any`
    bool one;         // `lone`, not `any`, and the sum is one term
};

struct gpu_panel {
    struct panel panel;     // its mask is in the memory of the side that computes
    int64_t first_row;      // number of the first row; rows are numbered through all panels
    double nearest_column;  // flat panels: the column nearest to the sample, see dense_row.h
};

struct gpu_frame {
    /* members that depend on the experiment */
    enum physics physics;
    struct sampling sampling;
    double beam[3];                // unit vector of propagation
    double kahn;                   // polarization factor
    bool no_polarization, culled;  // the polarization factor is 1; dmin is set
    bool absorbs;                  // depends on the recipe: as in struct cpu_job
    struct gpu_kind kind;
    int32_t npanels;                 // in the order of their pixels
    const struct gpu_panel *panels;  // [npanels]
    /* members that depend on the recipe */
    double water;  // photons of water for one source and subpixel
    size_t nsources, nlattices;
    const struct cpu_source *sources;    // [nsources]
    const struct cpu_lattice *lattices;  // [nlattices]; `crystal` is NULL
    size_t ndense;                       // 0: this frame is not computed in the dense form
    const struct dense_lattice *dense;   // [ndense], all lattices
    struct dense_lattice only;           // copy of dense[0] in the arguments of the kernel, where
                                         // instructions can read it directly
    struct gpu_dense_kind dense_kind;
};

/* A bad pixel, whose photons are not a finite number, is coded as number << 32 | bits of the
 * photons.  The verdict on a frame is the smallest code of its bad pixels.  GPU_GOOD: no pixel is
 * bad. */
#define GPU_GOOD UINT64_MAX

HD uint64_t gpu_bad(int64_t pixel, float photons)
{
    uint32_t bits;
    memcpy(&bits, &photons, sizeof bits);
    return (uint64_t)pixel << 32 | bits;
}

/* Checks photons that are output.  If they are not finite, lowers *worst to the code of this pixel.
 * *worst is in the memory of the side that computes; all threads of a GPU share it.  NULL: no
 * check. */
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

/* Returns the panel of a row; rows are numbered through all panels. */
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

/* Returns the panel that contains a pixel of the image. */
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

/* The pixel that a thread computes. */
struct gpu_place {
    const struct panel *panel;
    int64_t fast, slow;  // column and row in the panel
    int64_t pixel;       // number of the pixel in the frame
};

/* Sets *at to the pixel of thread `thread` in block number `block` of row `row`.  Returns false if
 * the row ends before this pixel. */
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

/* ---- the data of a frame in closed form, see engine/closed/closed.h ---- */

/* The wavelengths of one direction of the beam. */
struct gpu_closed_beam {
    double incident[3], e[3], b[3];  // as in struct cpu_source
    struct ensemble_waves waves;     // its arrays are in GPU memory
};

/* A reflection of a frame in closed form. */
struct gpu_closed_spot {
    struct ensemble_spot spot;
    double scale;  // photons per unit of the sum, without the factors of the pixel
    const struct gpu_closed_beam *beam;
    double absorb;  // as in struct closed_spot
};

/* The columns of a row to which a reflection may add photons. */
struct gpu_closed_place {
    uint32_t spot;
    int32_t fast_min, fast_max;
};

struct gpu_closed {
    struct gpu_frame frame;  // only the members that depend on the experiment
    const struct gpu_closed_spot *spots;
    const struct gpu_closed_place *places;  // ordered by row, then by spot
    const uint64_t *begin;                  // [rows + 1]: index in places[] of the first place of
                                            // each row
    const int64_t *first_row;               // [npanels], in the order of frame.panels: index in
                                            // begin[] of the first row of each panel
};

/* Pixels to compute: `count` pixels of the image from number `first` on. */
struct gpu_closed_batch {
    int64_t first;
    size_t count;
    float *pixels;  // [count]
};

/*
 * The data of a frame whose reflections are requested.  A share is the number of photons that one
 * reflection adds to one pixel, see engine/spots/shares.h.  Each pixel has memory for GPU_SHARES
 * shares.  A second kernel joins the shares of neighbouring pixels into pieces.
 */

enum {
    GPU_SHARES = 16,             // maximum number of reflections of a pixel.  A frame with more is
                                 // computed by the CPU engine
    GPU_SHARES_RUN = 32,         // pixels of a run, whose pieces one thread makes
    GPU_SHARES_BATCH = 1 << 19,  // maximum number of pixels of a batch; a multiple of a run
};

struct gpu_share {
    uint32_t key;         // key of the reflection, see struct gpu_keys
    float photons, turn;  // `turn`: sum of photons times the phi angle in rad
};

/* The data of a lattice for shares, in addition to its struct cpu_lattice.  Reflection h, k, l has
 * the key zero - h stride[0] - k stride[1] - l.  Keys of different lattices differ. */
struct gpu_keys {
    const double *phi_rad;  // angle of each phi step; NULL: angles are not recorded
    size_t ndomains;
    uint32_t zero, stride[2];
};

struct gpu_shares {
    struct gpu_frame frame;
    const struct gpu_keys *keys;  // [nlattices]
    double least_photons;         // terms of a pixel may be dropped if their sum is below this
};

/* Pixels to compute. */
struct gpu_shares_batch {
    const uint32_t *numbers;  // [count]: numbers of the pixels in the image, ascending
    size_t count;
    struct gpu_share *shares;  // [GPU_SHARES x count]: shares of the same pixel are `count` apart
    int32_t *found;            // [count]: number of reflections of each pixel; above GPU_SHARES:
                               // shares[] does not hold all of them
};

/* The numbers of pieces and of items of photons[] and turn[] that the kernels made. */
struct gpu_pieces_used {
    uint64_t pieces, photons;  // totals of all runs
    uint64_t beyond;           // number of pixels with more than GPU_SHARES reflections
};

/* The pieces of all batches.  Runs are in the order of the pixels.  The pieces of different runs
 * are in an arbitrary order, because threads reserve memory for them as they finish. */
struct gpu_pieces {
    struct share_run *runs;         // [count / GPU_SHARES_RUN, rounded up]
    const struct share_pack *pack;  // host address of the struct that will hold the pieces
    struct share_piece *pieces;     // memory for most_pieces items
    float *photons, *turn;          // memory for `most` items; turn NULL: angles are not recorded
    uint64_t most_pieces, most;     // runs that do not fit are counted but not written
    struct gpu_pieces_used *used;   // kernels add to these counts
};

/* A copy of the pieces in host memory. */
struct gpu_pieces_here {
    struct gpu_pieces_used used;
    struct share_pack pack;
    const struct share_run *runs;
};

/* Returns true if all pieces fit into the memory of *p. */
HD bool gpu_pieces_fit(const struct gpu_pieces *p, const struct gpu_pieces_used *used)
{
    return used->pieces <= p->most_pieces && used->photons <= p->most;
}

/* Returns the batch of *all that begins with pixel `first`.  Sets *pieces to *there with the runs
 * of this batch. */
HD struct gpu_shares_batch gpu_shares_cut(const struct gpu_shares_batch *all, size_t first,
                                          const struct gpu_pieces *there, struct gpu_pieces *pieces)
{
    const size_t left = all->count - first;
    const struct gpu_shares_batch batch = {all->numbers + first,
                                           left < GPU_SHARES_BATCH ? left : GPU_SHARES_BATCH,
                                           all->shares, all->found};
    *pieces = *there;
    pieces->runs += first / GPU_SHARES_RUN;
    return batch;
}

/*
 * The data of a frame whose derivatives are requested.  They are packed like struct gpu_frame and
 * contain one.
 */

struct gpu_slopes_lattice {
    enum crystal_shape shape;  // not TOPHAT
    const struct cpu_table *table;
    double N[3], fudge;
    size_t nsteps;
    const struct slopes_step *steps;  // [nsteps]
    const double *cell;               // [count x 9]: see struct slopes_lattice
    double scale;                     // photons per unit of F^2 S, for weight 1
    double weight;
    double value;  // is added to the sum of the terms; water is a lattice without steps
};

struct gpu_slopes_source {
    double wavelength_m;
    const double *ln_wave, *turned;  // [count], [count x 3]: see struct slopes_source
};

/* A parameter of the derivatives, see struct parameter. */
struct gpu_slope {
    enum parameter_kind kind;
    int32_t axis;
    size_t index;
    double unit_SI;
};

/* A frame for derivatives.  All panels are flat, and structure factors are not interpolated. */
struct gpu_slopes {
    struct gpu_frame frame;                     // without its lattices
    double axis[3];                             // polarization axis
    size_t count;                               // number of parameters
    const struct gpu_slope *set;                // [count]
    const struct panel_move *moves;             // [npanels x count], in the order of frame.panels
    const struct gpu_slopes_source *sources;    // [nsources]
    size_t nlattices;                           // water, if there is any, is the last one
    const struct gpu_slopes_lattice *lattices;  // [nlattices]
};

/* Pixels to compute. */
struct gpu_slopes_batch {
    const int64_t *numbers;  // numbers of the pixels in the image; NULL: they follow `first`
    int64_t first;
    size_t count;
    double *values;  // [(1 + count of parameters) x count]: photons, then derivatives
    float *planes;   // [count of parameters x count]: the derivatives in single precision; NULL:
                     // not requested
};

#endif
