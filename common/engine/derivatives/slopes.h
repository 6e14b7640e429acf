/*
 * Derivatives of one pixel, gathered while its terms are summed: one number for each parameter,
 * however many terms there are.  The terms of a lattice add to a few sums (struct pull), which are
 * converted to the derivatives once a source.
 */
#ifndef BRAGG_ENGINE_SLOPES_H
#define BRAGG_ENGINE_SLOPES_H

#include <stdbool.h>

#include "base/vec.h"
#include "engine/derivatives/parameter.h"
#include "model/recipe.h"
#include "physics/detector/pixel_slopes.h"
#include "physics/fastmath.h"

struct derive_request;

/* --- the sums of terms, for CPUs and for CUDA -------------------------------------------- */

/* Sums over phi steps and domains of one lattice, for one scattering vector q in 1/m.  With
 * g_i = d(F^2 S)/dh_i, v = sum of g_i times the direct vectors as they lie, all in m. */
struct pull {
    double value;       // F^2 S
    double by_cell[9];  // g_i q_j, q turned back to phi 0: by row i of the direct vectors, 1/m
    double v[3];
    double by_wave;    // -v.q: by ln wavelength
    double by_mosaic;  // by ln spread
    double by_phi, by_osc;
    double by_cells[3], by_fudge;
};

/* One phi step of one mosaic domain. */
struct slopes_step {
    double cell[9];     // direct vectors as they lie, m
    double back[9];     // turns a vector back to phi 0
    double spindle[3];  // as it lies, unit vector
    double axis[3];     // rotation vector of the domain, rad
    double part;        // of the width of the slice that this step has turned
};

/* Adds a term with the slopes g[] by its indices: all but its value and what shapes know. */
HD void pull_add(struct pull *sum, const struct slopes_step *step, const double q[3],
                 const double g[3])
{
    double v[3], torque[3];
    const double *back = step->back, *cell = step->cell;
    for (int j = 0; j < 3; j++) {
        const double at =
            fused(back[3 * j], q[0], fused(back[3 * j + 1], q[1], back[3 * j + 2] * q[2]));
        for (int i = 0; i < 3; i++)
            sum->by_cell[3 * i + j] = fused(g[i], at, sum->by_cell[3 * i + j]);
        v[j] = fused(g[0], cell[j], fused(g[1], cell[3 + j], g[2] * cell[6 + j]));
        sum->v[j] += v[j];
    }
    vec_cross(v, q, torque);
    const double by_phi = vec_dot(step->spindle, torque);
    sum->by_wave -= vec_dot(v, q);
    sum->by_mosaic += vec_dot(step->axis, torque);
    sum->by_phi += by_phi;
    sum->by_osc = fused(by_phi, step->part, sum->by_osc);
}

/* Returns true if a parameter moves points of panels or changes their sensors. */
HD bool parameter_moves_points(enum parameter_kind kind)
{
    return kind >= PARAMETER_DISTANCE;
}

/* Changes by one unit of a parameter, except for factors of the pixel. */
struct pull_change {
    enum parameter_kind kind;
    int axis;
    double unit_SI;
    const double *cell;    // [9]: of the direct vectors at phi 0, m
    double ln_wave;        // of the wavelength of the source
    const double *swept;   // [3]: of the direction of the source
    const double *turned;  // [3]: of the direction to the point
    double wavelength_m;
};

/* Returns the derivative of F^2 S by that parameter. */
HD double pull_slope(const struct pull *sum, const struct pull_change *by)
{
    double slope = 0.0;
    switch (by->kind) {
    case PARAMETER_ROTATION:
    case PARAMETER_CELL:
        for (int i = 0; i < 9; i++)
            slope += sum->by_cell[i] * by->cell[i];
        return slope;
    case PARAMETER_CELLS:
        return by->axis == 0   ? sum->by_cells[0]
               : by->axis == 1 ? sum->by_cells[1]
                               : sum->by_cells[2];
    case PARAMETER_FUDGE:
        return sum->by_fudge;
    case PARAMETER_MOSAIC:
        return sum->by_mosaic;
    case PARAMETER_PHI0:
        return sum->by_phi * by->unit_SI;
    case PARAMETER_OSC:
        return sum->by_osc * by->unit_SI;
    case PARAMETER_WAVELENGTH:
    case PARAMETER_DISPERSION:
        return sum->by_wave * by->ln_wave;
    case PARAMETER_DIVERGENCE:
        return -vec_dot(by->swept, sum->v) / by->wavelength_m;
    case PARAMETER_SCALE:
    case PARAMETER_SHARE:
    case PARAMETER_POLARIZATION:
        return 0.0;
    case PARAMETER_DISTANCE:
    case PARAMETER_CENTRE:
    case PARAMETER_SHIFT:
    case PARAMETER_TILT:
    case PARAMETER_THICKNESS:
    case PARAMETER_ABSORPTION:
        return vec_dot(by->turned, sum->v) / by->wavelength_m;
    }
    return 0.0;
}

/* Factors of terms. */
struct slopes_factors {
    double capture, solid_angle, polarization;  // of this term, 1 where the pixel has one
    bool each_solid_angle, each_polarization;
};

/* Changes of the factors of a point by a parameter. */
struct factor_slopes {
    double capture, solid_angle, polarization;
};

/* Returns the derivative of the product of the factors of a term by a parameter. */
HD double factors_slope(const struct slopes_factors *f, struct factor_slopes by)
{
    double slope = by.capture * f->polarization * f->solid_angle;
    if (f->each_polarization)
        slope += f->capture * by.polarization * f->solid_angle;
    if (f->each_solid_angle)
        slope += f->capture * f->polarization * by.solid_angle;
    return slope;
}

/* Returns the derivative of the intensity of a pixel with respect to a parameter.  `intensity` is
 * the sum of the terms of the pixel.  `sum` is the sum of the derivatives of these terms.  *f
 * contains the factors of the pixel, and `by` the derivatives of these factors. */
HD double pixel_slope(const struct slopes_factors *f, struct factor_slopes by, double intensity,
                      double sum)
{
    double slope = sum * f->polarization * f->solid_angle;
    if (!f->each_polarization)
        slope += intensity * by.polarization * f->solid_angle;
    if (!f->each_solid_angle)
        slope += intensity * f->polarization * by.solid_angle;
    return slope;
}

/* --- the derivatives of one pixel -------------------------------------------------------- */

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
    double exposed;                   // recipe_exposed
    struct slopes_lattice *lattices;  // owned, as in the recipe
    struct slopes_source *sources;    // owned
    size_t nsources;
    struct panel_move *moves;  // owned, npanels x set->count
};

/* Prepares *f for a frame and for the parameters of the request.  slopes_close frees it. */
void slopes_open(struct slopes_frame *f, const struct experiment *x, const struct recipe *recipe,
                 const struct derive_request *request);
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
