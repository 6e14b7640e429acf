/*
 * The footprint of the crystal on a frame (physics/crystal/illuminated_volume.h), behind an engine:
 * every pixel hands its photons on to the pixels around it.
 *
 * Each panel gets a chain of passes, one per lattice direction.  In a pass a pixel keeps the
 * share weight[0] of its photons and gives weight[n] to the pixels n steps away, both ways.
 * Kernels are known at nodes, every FOOTPRINT_NODE pixels, where the projection is evaluated;
 * between them weights are interpolated linearly along fast and slow.  What leaves the
 * panel may come back in a later pass, as far as a margin around it; what ends up outside the
 * panel, its ROI or under its mask is lost.
 */
#ifndef BRAGG_ENGINE_FOOTPRINT_H
#define BRAGG_ENGINE_FOOTPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"

enum { FOOTPRINT_NODE = 32 };  // pixels from node to node

/* One direction. */
struct footprint_pass {
    int fast, slow;  // a step, in pixels
    int reach;       // most steps to either side
    float *weight;   // owned: rows x columns nodes, reach + 1 each; 1, 0, 0 ... where not used
};

/* The data of a panel. */
struct footprint_panel {
    int64_t columns, rows;  // of nodes, node (0,0) at pixel (0,0)
    int64_t margin;         // pixels that photons go at most, along fast or slow
    size_t npasses;
    struct footprint_pass *pass;  // owned
};

struct footprint {
    const struct experiment *x;
    int threads;
    bool is_seen;                   // by the recipe at hand, a hundredth of a pixel at least
    double lit[9];                  // the lit part that the panels are made for
    double shift_m[3];              // of the detector, likewise
    struct footprint_panel *panel;  // owned, [x->npanels]
    float *photons;                 // owned, [experiment_pixels()]: what an engine computes ...
};

/* *f for an experiment that outlives it; NULL where no crystal has a size.  STATUS_FAILED when
 * memory is out. */
enum status footprint_create(struct footprint **f, const struct experiment *x, int threads,
                             struct error *e);

/* Where to compute the photons of this recipe, which is checked: at f->photons, or at pixels
 * themselves where f is NULL or the footprint too small to be seen.  STATUS_INPUT for one of
 * more than FOOTPRINT_WIDEST_PX, NULL then. */
float *footprint_begin(struct footprint *f, const struct recipe *r, float *pixels, struct error *e);

/* From f->photons into pixels[experiment_pixels()], if footprint_begin said so.  Same bytes for
 * any number of threads and any `isa` (NULL: the best).  STATUS_INPUT for photons that are not
 * finite. */
enum status footprint_end(struct footprint *f, const struct recipe *r, const char *isa,
                          float *pixels, struct error *e);

/* The same in double precision, as plainly as can be: the specification. */
enum status footprint_end_plainly(struct footprint *f, const struct recipe *r, float *pixels,
                                  struct error *e);

/* Photons of a pixel of the image. */
struct lit_pixel {
    int64_t pixel;
    double photons;
};

/* What becomes of the photons of `count` pixels, ascending, alone, as plainly: into new memory at
 * *spread, ascending, with room for twice *nspread; the caller frees it.  The recipe's footprint
 * is_seen.  False when memory is out; *spread is NULL then. */
bool footprint_spread(const struct footprint *f, const struct lit_pixel *lit, size_t count,
                      struct lit_pixel **spread, size_t *nspread);

/* Frees and sets the pointer to NULL. */
void footprint_destroy(struct footprint **f);

/* The number of a row or column of nodes, of `count`, that stands for `at`, which may lie beyond
 * the panel. */
static inline int64_t footprint_within(int64_t at, int64_t count)
{
    return at < 0 ? 0 : at < count ? at : count - 1;
}

/* Whether a pass hands anything on from pixels of these nodes, both ends inclusive; nodes beyond
 * the panel are like those at its edge. */
bool footprint_pass_acts(const struct footprint_panel *p, const struct footprint_pass *pass,
                         int64_t column, int64_t last_column, int64_t row, int64_t last_row);

/* ---- inside: what footprint_tiles.c and the loop of footprint_loop.c share ------------------ */

/* One row of pixels in one pass. */
struct footprint_row {
    const float *in;      // spans x FOOTPRINT_NODE pixels
    int64_t spans;        // from node to node
    const float *weight;  // of spans + 1 nodes, reach + 1 each
    int reach;
    float *const *before, *const *after;  // [reach + 1]: pixel 0 of the rows n steps away, shifted
                                          // by n steps; before[0] is not used
};

/* The loop, compiled for one instruction set; every one gives the same bytes. */
struct footprint_kernels {
    void (*row)(const struct footprint_row *r);
};

extern const struct footprint_kernels footprint_kernels_baseline, footprint_kernels_avx2,
    footprint_kernels_avx512;

#endif
