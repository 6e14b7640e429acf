/*
 * A frame as the threads of a GPU see it: plain data, packed into one block of memory
 * that is copied as it is.  All pointers below point into memory of the side that
 * computes, see gpu/pack.h.
 */
#ifndef BRAGG_GPU_FRAME_H
#define BRAGG_GPU_FRAME_H

#include <string.h>

#include "base/portable_math.h"
#include "engine/derivatives/slopes_pull.h"
#include "engine/prepared.h"
#include "engine/reflections/photons.h"
#include "engine/spots/share_pieces.h"
#include "physics/crystal/ensemble.h"
#include "physics/detector/pixel_slopes.h"

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

/* A frame in closed form (engine/closed/closed.h) as the threads of a GPU see it. */

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

/*
 * A frame whose reflections are wanted, as the threads of a GPU see it: what each reflection gives
 * to a pixel, see engine/spots/shares.h, in as many places as a pixel has at most; then pieces of
 * it.
 */

enum {
    GPU_SHARES = 16,             // reflections of a pixel; frames with more are not for the card
    GPU_SHARES_RUN = 32,         // pixels of a batch whose pieces are made by one thread
    GPU_SHARES_BATCH = 1 << 19,  // pixels of a batch, at most: whole runs
};

struct gpu_share {
    uint32_t key;  // of the reflection, see struct gpu_keys
    float photons, turn;
};

/* What a lattice has beside its struct cpu_lattice: h, k, l have the key zero - h stride[0] -
 * k stride[1] - l, which no other lattice has. */
struct gpu_keys {
    const double *phi_rad;  // of each phi step; NULL: angles do not count
    size_t ndomains;
    uint32_t zero, stride[2];
};

struct gpu_shares {
    struct gpu_frame frame;
    const struct gpu_keys *keys;  // [nlattices]
    double least_photons;         // terms of a pixel that may be lost are this together
};

/* Pixels to compute. */
struct gpu_shares_batch {
    const uint32_t *numbers;  // [count]: of the image, ascending
    size_t count;
    struct gpu_share *shares;  // [GPU_SHARES x count]: those of a pixel are `count` apart
    int32_t *found;            // [count]: how many there are; more than GPU_SHARES: not all of them
};

/* How much there is of them. */
struct gpu_pieces_used {
    uint64_t pieces, photons;  // of all runs
    uint64_t beyond;           // pixels with more than GPU_SHARES
};

/* Pieces of all batches, in an order that is not known before, in runs whose order is that of the
 * pixels. */
struct gpu_pieces {
    struct share_run *runs;         // [count / GPU_SHARES_RUN, rounded up]
    const struct share_pack *pack;  // of them, here
    struct share_piece *pieces;     // room for `most_pieces`
    float *photons, *turn;          // room for `most`; turn NULL: angles do not count
    uint64_t most_pieces, most;     // runs beyond that are not written
    struct gpu_pieces_used *used;   // is counted from the value that is there
};

/* A copy here. */
struct gpu_pieces_here {
    struct gpu_pieces_used used;
    struct share_pack pack;
    const struct share_run *runs;
};

/* Whether all are there. */
HD bool gpu_pieces_fit(const struct gpu_pieces *p, const struct gpu_pieces_used *used)
{
    return used->pieces <= p->most_pieces && used->photons <= p->most;
}

/* The batch of all that begins with pixel `first`; moves the runs of *pieces there. */
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
 * A frame whose derivatives are wanted, as the threads of a GPU see it: packed as struct gpu_frame
 * is, beside one.
 */

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
