/*
 * Derivatives of one pixel, gathered while its terms are summed: one number for each parameter,
 * however many terms there are.  The terms of a lattice add to a few sums (struct pull), which are
 * converted to the derivatives once a source.
 */
#ifndef BRAGG_ENGINE_SLOPES_H
#define BRAGG_ENGINE_SLOPES_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/derivatives/slopes_pull.h"
#include "model/recipe.h"
#include "physics/detector/pixel_slopes.h"

/* Effect of the parameters on a lattice. */
struct slopes_lattice {
    double *turn;       // owned, nphi x 9: rotation by phi
    double *turn_axis;  // owned, ndomains x 3: rotation vector of the domain, rad
    double *cell;       // owned, set->count x 9: change of the direct vectors per unit of a
                        // parameter, m
};

/* Effect of the parameters on a source. */
struct slopes_source {
    double *ln_wave;  // owned, set->count: change of ln wavelength per unit
    double *turned;   // owned, set->count x 3: change of the unit vector of propagation
};

/* Data of one frame, used by all pixels. */
struct slopes_frame {
    const struct experiment *x;
    const struct recipe *recipe;
    const struct parameters *set;
    struct slopes_lattice *lattices;  // owned, as in the recipe
    struct slopes_source *sources;    // owned
    size_t nsources;
    struct panel_move *moves;  // owned, npanels x set->count
};

/* Prepares *f for a frame.  slopes_close frees it, also after an error.  STATUS_FAILED: memory
 * cannot be allocated. */
enum status slopes_open(struct slopes_frame *f, const struct experiment *x,
                        const struct recipe *recipe, const struct parameters *set, struct error *e);
void slopes_close(struct slopes_frame *f);

/* Sets *to for phi step `step` and domain `domain` of lattice `index`.  cell[] has its rotated
 * direct vectors. */
void slopes_step(const struct slopes_frame *f, size_t index, size_t step, size_t domain,
                 const double cell[9], struct slopes_step *to);

/* Returns the width of the dispersion (a fraction) or divergence (rad) of the sources of a frame; 0
 * for other parameters. */
double slopes_width(const struct experiment *x, const struct recipe *r, const struct parameter *p);

/* Sets *m to the motion and change of panel number `index` per unit of *q.  *m is zeroed before. */
void slopes_move(const struct experiment *x, const struct parameter *q, size_t index,
                 struct panel_move *m);

/* The sums of the current pixel. */
struct slopes {
    const struct slopes_frame *frame;
    const struct panel_move *moves;  // of its panel
    double sum[PARAMETERS_MAX];      // of the intensity
    double capture[PARAMETERS_MAX], solid_angle[PARAMETERS_MAX], polarization[PARAMETERS_MAX];
    double turned[PARAMETERS_MAX][3];  // of the direction to the current point
    struct pull pull;
};

/* Begins a pixel of panel number `panel`. */
void slopes_begin(struct slopes *s, const struct slopes_frame *frame, size_t panel);

/* Sets the current point, which is at `position`; the flags say which factors were computed again
 * for this point. */
void slopes_point(struct slopes *s, const struct panel *p, int layer, const double position[3],
                  bool new_solid_angle, bool new_capture);

/* Computes how much the sensor absorbs of the current source (struct cpu_source) at the current
 * point, which lies in the direction `diffracted`. */
void slopes_capture(struct slopes *s, const struct panel *p, int layer, double absorb,
                    const double diffracted[3]);

/* Must be called after the polarization factor was computed for source number `source`. */
void slopes_polarization(struct slopes *s, size_t source, const double incident[3],
                         const double diffracted[3]);

/* Adds one term of lattice `index`: phi step, domain, rotated direct vectors, F in electrons. */
void slopes_term(struct slopes *s, size_t index, size_t step, size_t domain, const double cell[9],
                 const double q[3], const double hkl[3], double F);

/* Ends the terms of lattice `index` for a source.  `weight` is the factor on these terms, and
 * `unweighted` the same for a lattice of weight 1. */
void slopes_lattice(struct slopes *s, size_t index, size_t source, double weight, double unweighted,
                    const struct slopes_factors *f);

/* Adds a term that does not come from a crystal. */
void slopes_water(struct slopes *s, double term, const struct slopes_factors *f);

/* Ends the pixel: sets out[] to its derivatives in units of the parameters.  `photons` are those of
 * the pixel, `scale` converts intensity to photons, and *f has the factors of the pixel, which are
 * 1 if terms have their own. */
void slopes_end(const struct slopes *s, double photons, double scale, double intensity,
                const struct slopes_factors *f, double *out);

#endif
