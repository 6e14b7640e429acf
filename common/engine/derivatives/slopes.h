/*
 * Derivatives of one pixel, gathered while its terms are summed: for each parameter one number,
 * however many terms there are.  Terms of a lattice leave a few sums behind (struct pull), which
 * are turned into the derivatives once a source.
 */
#ifndef BRAGG_ENGINE_SLOPES_H
#define BRAGG_ENGINE_SLOPES_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/derivatives/slopes_pull.h"
#include "model/recipe.h"
#include "physics/detector/pixel_slopes.h"

/* What a lattice adds to a parameter. */
struct slopes_lattice {
    double *turn;       // owned, nphi x 9: rotation by phi
    double *turn_axis;  // owned, ndomains x 3: rotation vector of the domain, rad
    double *cell;       // owned, set->count x 9: change of the direct vectors for a unit, m
};

/* What a source does. */
struct slopes_source {
    double *ln_wave;  // owned, set->count: of its wavelength, for a unit
    double *turned;   // owned, set->count x 3: of the unit vector of propagation
};

/* One frame: what all pixels share. */
struct slopes_frame {
    const struct experiment *x;
    const struct recipe *recipe;
    const struct parameters *set;
    struct slopes_lattice *lattices;  // owned, as in the recipe
    struct slopes_source *sources;    // owned
    size_t nsources;
    struct panel_move *moves;  // owned, npanels x set->count
};

/* STATUS_FAILED when memory is out; slopes_close frees in any case. */
enum status slopes_open(struct slopes_frame *f, const struct experiment *x,
                        const struct recipe *recipe, const struct parameters *set, struct error *e);
void slopes_close(struct slopes_frame *f);

/* Phi step `step` and domain `domain` of lattice `index`, its direct vectors as they lie being
 * cell[], into *to. */
void slopes_step(const struct slopes_frame *f, size_t index, size_t step, size_t domain,
                 const double cell[9], struct slopes_step *to);

/* The width of what dispersion (a fraction) or divergence (rad) spreads over the sources of a
 * frame; 0 for other parameters. */
double slopes_width(const struct experiment *x, const struct recipe *r, const struct parameter *p);

/* How panel number `index` moves and changes for a unit of *q, into *m, which is zeroed before. */
void slopes_move(const struct experiment *x, const struct parameter *q, size_t index,
                 struct panel_move *m);

/* Of a pixel being summed up. */
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

/* The polarization factor was set anew for source number `source`. */
void slopes_polarization(struct slopes *s, size_t source, const double incident[3],
                         const double diffracted[3]);

/* One term of lattice `index`, F in electrons: phi step, domain, direct vectors as they lie. */
void slopes_term(struct slopes *s, size_t index, size_t step, size_t domain, const double cell[9],
                 const double q[3], const double hkl[3], double F);

/* Ends the terms of lattice `index` under a source: they count `weight`; `unweighted`: the
 * same for a lattice of weight 1. */
void slopes_lattice(struct slopes *s, size_t index, size_t source, double weight, double unweighted,
                    const struct slopes_factors *f);

/* Adds a term that no crystal has a part in. */
void slopes_water(struct slopes *s, double term, const struct slopes_factors *f);

/* Ends the pixel: derivatives in units of the parameters.  `photons` of it, `scale` from intensity
 * to photons, and the factors of the pixel, 1 where terms have their own. */
void slopes_end(const struct slopes *s, double photons, double scale, double intensity,
                const struct slopes_factors *f, double *out);

#endif
