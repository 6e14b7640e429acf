/*
 * Derivatives on the GPU.  The first part computes sums over phi steps and mosaic domains of one
 * lattice, for one direction, from which all derivatives follow.  Lattice factors are in the
 * precision that the including file selects (CPU_DOUBLE).  Their sums are in double precision.
 */
#ifndef BRAGG_GPU_SLOPES_H
#define BRAGG_GPU_SLOPES_H

#include "engine/derivatives/slopes_shapes.h"
#include "gpu/frame.h"
#include "gpu/pixel.h"

/* Adds the term of one step to *sums and *pull. */
INLINE void gpu_add_term(const struct gpu_slopes_lattice *l, const struct shape_of *of,
                         const struct cpu_table *t, const struct slopes_step *step,
                         const double q[3], struct shape_sums *sums, struct pull *pull)
{
    int32_t whole[3];
    real d[3], by_index[3];
    for (int i = 0; i < 3; i++)
        d[i] = (real)gpu_nearest(index_along(step->cell + 3 * i, q[0], q[1], q[2]), &whole[i]);
    const real F = F_SQR(t)[table_slot(t, whole[0], whole[1], whole[2])];
    shape_term(l->shape, of, d, F, true, by_index, sums);
    const double g[3] = {by_index[0], by_index[1], by_index[2]};
    pull_add(pull, step, q, g);
}

/* Sums all steps of a lattice for q in 1/m.  Sums in single precision are added to those in double
 * precision after GPU_FLOAT_TERMS terms. */
INLINE void gpu_pull(const struct gpu_slopes_lattice *l, const double q[3], struct pull *pull)
{
    const struct shape_of of = shape_of(l->shape, l->N, l->fudge);
    const struct cpu_table t = *l->table;
    const struct slopes_step *step = l->steps;
    memset(pull, 0, sizeof *pull);
    pull->value = l->value;
    for (size_t left = l->nsteps; left > 0;) {
        const int terms = left > GPU_FLOAT_TERMS ? GPU_FLOAT_TERMS : (int)left;
        struct shape_sums sums = {0, {0, 0, 0}, 0};
        for (int i = 0; i < terms; i++, step++)
            gpu_add_term(l, &of, &t, step, q, &sums, pull);
        pull->value += (double)sums.value;
        pull->by_fudge += (double)sums.by_fudge;
        for (int i = 0; i < 3; i++)
            pull->by_cells[i] += (double)sums.by_cells[i];
        left -= (size_t)terms;
    }
}

/*
 * What one thread of the GPU computes: all derivatives of one pixel.  The same text is compiled as
 * a kernel (gpu/slopes_kernel.cu) and as a loop for the CPU (tests/hostgpu/slopes_loop.c).
 *
 * A thread needs no arrays of parameters: the sums over terms are a few numbers in registers, the
 * derivatives are summed in the output array, and the changes of factors are computed when they are
 * needed.
 */

/* A pixel whose derivatives are being computed. */
struct gpu_slopes_pixel {
    const struct panel *panel;
    const struct panel_move *moves;  // moves of its panel, one per parameter
    int64_t fast, slow;              // column and row in the panel
    double *values;                  // photons, then derivatives, `stride` apart
    size_t stride;
    struct slopes_factors factors;  // factors of the current terms
    double absorb;  // absorption of the current source in the sensor, see struct cpu_source; 1 if
                    // it is the same for all sources
    double solid_angle, polarization;
    double total;        // photons before factors of the pixel
    int64_t capturing;   // number of the subpixel at which factors.capture was computed
    int64_t polarizing;  // number of the subpixel at which `polarization` was computed; -1: not yet
    size_t polarizer;    // index of the source for which `polarization` was computed
};

/* A subpixel of one sensor layer, as seen from the sample. */
struct gpu_view {
    int layer;
    double at[3], along[3];  // position in m; unit vector of the direction
    double inverse;          // 1 over the distance, in 1/m
};

INLINE struct gpu_view gpu_view(const struct gpu_slopes *f, const struct gpu_slopes_pixel *x,
                                int64_t number)
{
    const int oversample = f->frame.sampling.oversample;
    const struct subpixel sub = subpixel_at(number, oversample);
    const struct flat_row row = flat_row(x->panel, x->slow, oversample, sub);
    const struct point at = flat_point(x->panel, &row, (int32_t)x->fast);
    const double inverse = inverse_length(at);
    const struct gpu_view v = {
        sub.layer, {at.x, at.y, at.z}, {at.x * inverse, at.y * inverse, at.z * inverse}, inverse};
    return v;
}

/* ---- changes by parameter k ---------------------------------------------------------- */

/* Sets turned[] to the change of the direction, per unit of parameter k.  Returns the relative
 * change of the distance. */
INLINE double gpu_turn(const struct gpu_slopes *f, const struct gpu_slopes_pixel *x, size_t k,
                       const struct gpu_view *v, double turned[3])
{
    vec_set(turned, 0.0, 0.0, 0.0);
    if (!parameter_moves_points(f->set[k].kind))
        return 0.0;
    return panel_move_direction(x->panel, &x->moves[k], v->layer, v->at, v->along, v->inverse,
                                turned);
}

INLINE double gpu_capture_slope(const struct gpu_slopes *f, const struct gpu_slopes_pixel *x,
                                size_t k)
{
    double turned[3];
    if (!parameter_moves_points(f->set[k].kind) || !(x->panel->thickness_m > 0.0))
        return 0.0;
    const struct gpu_view v = gpu_view(f, x, x->capturing);
    (void)gpu_turn(f, x, k, &v, turned);
    return panel_move_capture(x->panel, &x->moves[k], v.layer, x->absorb, v.along, turned);
}

/* Returns the derivative of the solid angle of a subpixel. */
INLINE double gpu_solid_angle_slope(const struct gpu_slopes *f, const struct gpu_slopes_pixel *x,
                                    size_t k, const struct gpu_view *v, double farther)
{
    if (!parameter_moves_points(f->set[k].kind))
        return 0.0;
    const double closer = panel_move_closer(x->panel, &x->moves[k]);
    return solid_angle_of(x->panel, v->inverse) * panel_move_solid_angle(x->panel, closer, farther);
}

/* Returns the derivative of the polarization factor of a subpixel, for source number `source`. */
INLINE double gpu_polarization_slope(const struct gpu_slopes *f, size_t k, size_t source,
                                     const struct gpu_view *v, const double turned[3])
{
    const struct cpu_source *from = &f->frame.sources[source];
    const enum parameter_kind kind = f->set[k].kind;
    if (f->frame.no_polarization)
        return 0.0;
    if (kind == PARAMETER_POLARIZATION)
        return polarization_by_kahn(v->along, from->e, from->b);
    if (kind != PARAMETER_DIVERGENCE && !parameter_moves_points(kind))
        return 0.0;
    return polarization_slope(f->frame.kahn, f->axis, from->incident, v->along,
                              f->sources[source].turned + 3 * k, turned, from->e, from->b);
}

/* ---- sums ---------------------------------------------------------------------------- */

/* Adds the contribution of the current source and subpixel to all derivatives.  `weight` is the
 * factor of the terms in *pull; `unweighted` is the same without the weight of lattice `index`. */
INLINE void gpu_add_slopes(const struct gpu_slopes *f, struct gpu_slopes_pixel *x,
                           const struct gpu_view *v, size_t source, const struct pull *pull,
                           double weight, size_t index, double unweighted)
{
    const struct slopes_factors *by = &x->factors;
    const double factor = by->capture * by->polarization * by->solid_angle;
    for (size_t k = 0; k < f->count; k++) {
        const struct gpu_slope *p = &f->set[k];
        const struct gpu_slopes_source *from = &f->sources[source];
        double turned[3];
        const double farther = gpu_turn(f, x, k, v, turned);
        const struct factor_slopes slopes = {
            gpu_capture_slope(f, x, k),
            by->each_solid_angle ? gpu_solid_angle_slope(f, x, k, v, farther) : 0.0,
            by->each_polarization ? gpu_polarization_slope(f, k, source, v, turned) : 0.0,
        };
        const struct pull_change change = {p->kind,          p->axis,
                                           p->unit_SI,       f->lattices[index].cell + 9 * k,
                                           from->ln_wave[k], from->turned + 3 * k,
                                           turned,           from->wavelength_m};
        double sum = pull_slope(pull, &change) * factor + pull->value * factors_slope(by, slopes);
        sum *= weight;
        if (p->kind == PARAMETER_SHARE && p->index == index)
            sum += unweighted * pull->value * factor;
        x->values[(1 + k) * x->stride] += sum;
    }
}

/* Adds the terms of all lattices for one source to the derivatives. */
INLINE void gpu_add_pulls(const struct gpu_slopes *f, struct gpu_slopes_pixel *x,
                          const struct gpu_view *v, size_t source)
{
    const struct cpu_source *from = &f->frame.sources[source];
    const double per_m = from->index_per_m / INDEX_SCALE;
    const double factor = x->factors.capture * x->factors.polarization * x->factors.solid_angle;
    double q[3];
    for (int i = 0; i < 3; i++)
        q[i] = (v->along[i] - from->incident[i]) * per_m;
    for (size_t i = 0; i < f->nlattices; i++) {
        const struct gpu_slopes_lattice *l = &f->lattices[i];
        const double unweighted = l->scale * from->weight, weight = unweighted * l->weight;
        struct pull pull;
        gpu_pull(l, q, &pull);
        x->total = fused(weight * factor, pull.value, x->total);
        gpu_add_slopes(f, x, v, source, &pull, weight, i, unweighted);
    }
}

/* Returns true if the capture fraction is computed for this subpixel. Returns false if the value
 * of an earlier subpixel is used. */
INLINE bool gpu_takes_capture(const struct gpu_slopes *f, int64_t number)
{
    const struct sampling *each = &f->frame.sampling;
    return each->each_thickness || number % ((int64_t)each->oversample * each->oversample) == 0;
}

INLINE void gpu_slopes_source(const struct gpu_slopes *f, struct gpu_slopes_pixel *x,
                              const struct gpu_view *v, int64_t number, size_t source)
{
    const struct cpu_source *from = &f->frame.sources[source];
    const bool each = f->frame.sampling.each_polarization;
    if (f->frame.absorbs || (source == 0 && gpu_takes_capture(f, number))) {
        x->absorb = from->absorb;  // 1 if the absorption is the same for all sources
        x->factors.capture =
            capture_of(x->panel, v->layer, x->absorb, v->along[0], v->along[1], v->along[2]);
        x->capturing = number;
    }
    if (f->frame.culled && is_culled(from, v->along[0], v->along[1], v->along[2]))
        return;
    if (!f->frame.no_polarization && (each || x->polarizing < 0)) {
        x->polarization = kahn_factor(from, f->frame.kahn, v->along[0], v->along[1], v->along[2]);
        x->polarizing = number;
        x->polarizer = source;
    }
    x->factors.polarization = each ? x->polarization : 1.0;
    gpu_add_pulls(f, x, v, source);
}

/* Adds the terms of one subpixel of one layer. If the options do not ask for the solid angle or
 * the capture fraction of each subpixel, the value of the first subpixel is kept. */
INLINE void gpu_slopes_subpixel(const struct gpu_slopes *f, struct gpu_slopes_pixel *x,
                                int64_t number)
{
    const struct sampling *each = &f->frame.sampling;
    const struct gpu_view v = gpu_view(f, x, number);
    if (number == 0 || each->each_solid_angle)
        x->solid_angle = solid_angle_of(x->panel, v.inverse);
    x->factors.solid_angle = each->each_solid_angle ? x->solid_angle : 1.0;
    for (size_t i = 0; i < f->frame.nsources; i++)
        gpu_slopes_source(f, x, &v, number, i);
}

/* Multiplies the photons and all derivatives by the factors of the pixel. */
INLINE void gpu_end_slopes(const struct gpu_slopes *f, const struct gpu_slopes_pixel *x)
{
    const struct sampling *each = &f->frame.sampling;
    const struct slopes_factors by = {1.0, each->each_solid_angle ? 1.0 : x->solid_angle,
                                      each->each_polarization ? 1.0 : x->polarization,
                                      each->each_solid_angle, each->each_polarization};
    const double photons = x->total * by.polarization * by.solid_angle;
    x->values[0] = photons;
    for (size_t k = 0; k < f->count; k++) {
        double *to = &x->values[(1 + k) * x->stride], turned[3];
        struct factor_slopes slopes = {0.0, 0.0, 0.0};
        struct gpu_view v = gpu_view(f, x, 0);
        slopes.solid_angle = gpu_solid_angle_slope(f, x, k, &v, gpu_turn(f, x, k, &v, turned));
        if (x->polarizing >= 0) {
            v = gpu_view(f, x, x->polarizing);
            (void)gpu_turn(f, x, k, &v, turned);
            slopes.polarization = gpu_polarization_slope(f, k, x->polarizer, &v, turned);
        }
        *to = f->set[k].kind == PARAMETER_SCALE ? photons : pixel_slope(&by, slopes, x->total, *to);
    }
}

/* ---- threads ------------------------------------------------------------------------- */

/* Computes the photons and derivatives of pixel `i` of a batch. For masked pixels and pixels
 * outside the ROI all values are 0. */
INLINE void gpu_slopes_thread(const struct gpu_slopes *f, const struct gpu_slopes_batch *b,
                              size_t i)
{
    const int64_t pixel = b->numbers ? b->numbers[i] : b->first + (int64_t)i;
    const struct gpu_panel *panel = gpu_panel_holding(&f->frame, pixel);
    const size_t number = (size_t)(panel - f->frame.panels);
    const struct panel *p = &panel->panel;
    const int64_t at = pixel - p->first_pixel;
    const int64_t points = subpixels_of(p, f->frame.sampling.oversample);
    struct gpu_slopes_pixel x = {
        p,
        f->moves + number * f->count,
        at % p->fast_pixels,
        at / p->fast_pixels,
        b->values + i,
        b->count,
        {1.0, 1.0, 1.0, f->frame.sampling.each_solid_angle, f->frame.sampling.each_polarization},
        1.0,
        0.0,
        f->frame.no_polarization ? 1.0 : 0.0,
        0.0,
        0,
        -1,
        0};
    for (size_t k = 0; k <= f->count; k++)
        x.values[k * x.stride] = 0.0;
    if (pixel_is_computed(p, x.fast, x.slow)) {
        for (int64_t point = 0; point < points; point++)
            gpu_slopes_subpixel(f, &x, point);
        gpu_end_slopes(f, &x);
    }
    for (size_t k = 0; k < f->count && b->planes; k++)
        b->planes[k * x.stride + i] = (float)x.values[(1 + k) * x.stride];
}

#endif
