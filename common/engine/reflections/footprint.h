/*
 * The footprint of the crystal on a frame (physics/crystal/illuminated_volume.h), applied after an
 * engine: every pixel gives photons to the pixels around it.
 *
 * Each panel gets a chain of passes, one per lattice direction.  In a pass a pixel keeps the
 * fraction weight[0] of its photons and gives weight[n] to the pixels n steps away, in both
 * directions.  Kernels are known at nodes, every FOOTPRINT_NODE pixels, where the projection is
 * evaluated.  Between nodes, weights are interpolated linearly along fast and slow.  Photons that
 * leave the panel may come back in a later pass, as far as a margin around the panel.  Photons that
 * end outside the panel, outside its ROI or under its mask are lost.
 */
#ifndef BRAGG_ENGINE_FOOTPRINT_H
#define BRAGG_ENGINE_FOOTPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"

enum { FOOTPRINT_NODE = 32 };  // distance between nodes, in pixels

/* A pass, which moves photons along one direction. */
struct footprint_pass {
    int fast, slow;  // one step of the pass, in pixels
    int reach;       // largest number of steps to either side
    float *weight;   // owned: rows x columns nodes, reach + 1 each; 1, 0, 0 ... for nodes that are
                     // not used
};

/* The data of a panel. */
struct footprint_panel {
    int64_t columns, rows;  // numbers of nodes; node (0,0) is at pixel (0,0)
    int64_t margin;         // largest distance in pixels that photons move along fast or slow
    size_t npasses;
    struct footprint_pass *pass;  // owned
};

struct footprint {
    const struct experiment *x;
    int threads;
    bool is_seen;                   // the footprint of the current recipe has an effect: it is at
                                    // least a hundredth of a pixel
    double lit[9];                  // covariance of the illuminated part for which the panels were
                                    // prepared
    double shift_m[3];              // shift of the detector for which the panels were prepared
    struct footprint_panel *panel;  // owned, [x->npanels]
    float *photons;                 // owned, [experiment_pixels()]: photons as an engine computes
                                    // them
};

/* Prepares *f for an experiment, which must outlive it.  Sets *f to NULL if no crystal has a size.
 */
void footprint_create(struct footprint **f, const struct experiment *x, int threads);

/* Returns where to compute the photons of a recipe, which recipe_check has accepted: f->photons, or
 * `pixels` if f is NULL or the footprint is too small to be seen.  Returns NULL with STATUS_INPUT
 * in *e if the footprint is wider than FOOTPRINT_WIDEST_PX. */
float *footprint_begin(struct footprint *f, const struct recipe *r, float *pixels, struct error *e);

/* Spreads f->photons into pixels[experiment_pixels()], if footprint_begin returned f->photons.  The
 * bytes are the same for any number of threads and any `isa` (NULL: the best).  STATUS_INPUT:
 * photons that are not finite. */
enum status footprint_end(struct footprint *f, const struct recipe *r, const char *isa,
                          float *pixels, struct error *e);

/* Does the same as footprint_end, in double precision and with the simplest code. This function
 * is the specification of footprint_end. */
enum status footprint_end_plainly(struct footprint *f, const struct recipe *r, float *pixels,
                                  struct error *e);

/* A pixel of the image, and its photons. */
struct lit_pixel {
    int64_t pixel;
    double photons;
};

/* Spreads the photons of `count` pixels alone, in double precision like footprint_end_plainly.
 * `lit` has the pixels in ascending order.  *spread gets new memory with *nspread pixels in
 * ascending order and with room for twice as many; the caller frees it.  The footprint of the
 * recipe must be `is_seen`. */
void footprint_spread(const struct footprint *f, const struct lit_pixel *lit, size_t count,
                      struct lit_pixel **spread, size_t *nspread);

/* Frees *f and sets the pointer to NULL. */
void footprint_destroy(struct footprint **f);

/* Returns the number of the row or column of nodes, among `count`, that is used for `at`, which may
 * be outside the panel. */
static inline int64_t footprint_within(int64_t at, int64_t count)
{
    return at < 0 ? 0 : at < count ? at : count - 1;
}

/* Returns true if a pass moves photons from pixels of these nodes; both ends are included.  Nodes
 * outside the panel equal those at its edge. */
bool footprint_pass_acts(const struct footprint_panel *p, const struct footprint_pass *pass,
                         int64_t column, int64_t last_column, int64_t row, int64_t last_row);

/* ---- inside: what footprint_tiles.c and the loop of footprint_loop.c share ------------------ */

/* The data of one row of pixels in one pass. */
struct footprint_row {
    const float *in;      // spans x FOOTPRINT_NODE pixels
    int64_t spans;        // number of spans, each from one node to the next
    const float *weight;  // weights of spans + 1 nodes, reach + 1 each
    int reach;
    float *const *before, *const *after;  // [reach + 1]: pixel 0 of the rows n steps away, shifted
                                          // by n steps; before[0] is not used
};

/* The loop, compiled for one instruction set.  All instruction sets give the same bytes. */
struct footprint_kernels {
    void (*row)(const struct footprint_row *r);
};

extern const struct footprint_kernels footprint_kernels_baseline, footprint_kernels_avx2,
    footprint_kernels_avx512;

#endif
