/*
 * The recipe: what makes one frame differ from the next.  A frame is a pure function of experiment
 * and recipe.  A recipe owns its arrays.
 */
#ifndef BRAGG_MODEL_RECIPE_H
#define BRAGG_MODEL_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/experiment.h"

/* One crystal lattice in the beam, turned through `nphi` steps and spread over
 * `ndomains` mosaic domains.  Everything transcendental is computed already. */
struct lattice {
    uint32_t crystal;        // index into experiment.crystals
    double weight;           // factor on the intensity of one block: its share times the blocks in
                             // the beam; lattices add incoherently
    double rotation[9];      // row-major U: crystal to lab at phi 0 (truth, for headers)
    double reciprocal_A[9];  // rows a*, b*, c* in 1/A, missetted, phi 0 (GAUSS, TOPHAT)
    size_t nphi;
    double *phi_rad;  // owned, nphi: middle of each slice; faithful: its start, where exactly
                      // 0.0 matters
    double *cells_m;  // owned, nphi x 9: rows a, b, c in m, rotated by phi
    size_t ndomains;
    bool mosaic;      // false: the one domain is the identity and is not applied
    double *domains;  // owned, ndomains x 9: row-major rotation applied after phi
};

struct recipe {
    uint64_t id;               // frame number
    uint64_t seed;             // of all randomness of this frame, with id and purpose
    double phi_rad;            // start of the rotation (for headers)
    double osc_rad;            // its width, 0 for a still
    bool has_shift;            // all panels stand elsewhere in this frame: as the experiment says,
    double shift_m[3];         // and so far from there, in the lab
    size_t nlattices;          // 0: a blank frame, the beam met no crystal
    struct lattice *lattices;  // owned
    size_t nsources;           // 0: the beam's own list is used
    struct source *sources;    // owned; replaces beam.sources for this frame, the mean of their
                               // weights being the fluence relative to the beam's
};

/* Frees the arrays and clears *r. */
void recipe_free(struct recipe *r);

/* A deep copy into *to (overwritten, not freed); false when memory is out.  The caller frees it
 * either way. */
bool recipe_copy(struct recipe *to, const struct recipe *from);

/* Edges in A and angles in deg of a lattice whose crystal is there: those of the crystal, unless
 * its reciprocal vectors are of another cell (by more than 1e-8; never in faithful mode, nor where
 * the crystal's cell is not known). */
void lattice_cell(const struct experiment *x, const struct lattice *l, double cell[6]);

/* Gives lattice *l arrays for nphi steps and ndomains domains (zeroed; freed by
 * recipe_free); false when memory is out. */
bool lattice_reserve(struct lattice *l, size_t nphi, size_t ndomains);

/* --- where the detector stood -------------------------------------------- */

/* An experiment that follows the recipes of its frames: a shallow copy with panels of its own,
 * which stand where the detector stood in a frame.  What it shares must outlive it. */
struct moved {
    const struct experiment *of;  // as it stands in frames without a shift
    struct experiment x;          // as in the frame at hand; never given to experiment_free
    double by_m[3];
};

/* As *of is; false when memory is out.  moved_close frees it, after an error too. */
bool moved_open(struct moved *m, const struct experiment *of);
void moved_close(struct moved *m);

/* The experiment as the frame of *r saw it, &m->x, until the next call.  Panels of equal shifts
 * have equal bytes, whatever was before. */
const struct experiment *moved_to(struct moved *m, const struct recipe *r);

/* Moves a panel of *x, with all that is said of where it is. */
void panel_shift(const struct experiment *x, struct panel *p, const double by_m[3]);

#endif
