/*
 * A block of pixels with their derivatives, for terms of either precision.
 *
 * First come the points of the pixels and all factors that do not depend on a crystal: solid angle,
 * capture, polarization, and how each of these changes with the parameters
 * (physics/detector/pixel_slopes.h has the formulas).  Then come the sums over layers, subpixels
 * and sources, and last the conversion of these sums to derivatives.
 *
 * This file is a part of the loops of cpu_slopes.h, compiled once per instruction set and
 * precision.  The compiler must vectorise loops marked "vectorised"; scripts/check-vectorised reads
 * its report.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_BLOCK_H
#define BRAGG_ENGINE_CPU_SLOPES_BLOCK_H

#include <string.h>

#include "engine/cpu/cpu_point.h"
#include "engine/derivatives/cpu_slopes.h"
#include "engine/derivatives/cpu_slopes_terms.h"

/* ---- points ------------------------------------------------------------------------------ */

/* Returns true if a parameter moves points of a panel or changes its sensor. */
INLINE bool moves_points(const struct parameter *p)
{
    return p->kind >= PARAMETER_DISTANCE;
}

/* Returns true if a parameter changes factors of a pixel. */
INLINE bool moves_factors(const struct parameter *p)
{
    return moves_points(p) || p->kind == PARAMETER_DIVERGENCE || p->kind == PARAMETER_POLARIZATION;
}

/* Sets the columns and rows of the pixels in the plane of the panel. Lanes behind the last pixel
 * repeat that pixel. */
static void places(const struct cpu_slopes_where *w, int n, struct cpu_slopes_scratch *s)
{
    struct derive_place at = {.number = -1, .fast = -1};
    for (int i = 0; i < CPU_LANES * n; i++) {
        if (i < w->count)
            at = derive_place_next(at, w->numbers[i], w->panel->fast_pixels);
        s->fast[i] = (double)(at.fast + w->panel->grid_fast);
        s->slow[i] = (double)(at.slow + w->panel->grid_slow);
    }
}

static void positions(const struct panel *p, int oversample, struct subpixel sub, int n,
                      struct cpu_slopes_scratch *s)
{
    const double edge = p->pixel_m / oversample, pixel = p->pixel_m;
    const double fast = edge * sub.fast + edge / 2.0, slow = edge * sub.slow + edge / 2.0;
    const double depth = pixel_layer_depth(p, sub.layer);
    for (int k = 0; k < 3; k++) {
        const double along_fast = p->fast[k], along_slow = p->slow[k];
        const double base = depth * p->normal[k] + pixel_plane(p)[k];
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->position[k][i] = fused(fused(s->fast[i], pixel, fast), along_fast,
                                      fused(fused(s->slow[i], pixel, slow), along_slow, base));
    }
}

/* Computes the unit vectors to the points. */
static void directions(int n, struct cpu_slopes_scratch *s)
{
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const struct point at = {s->position[0][i], s->position[1][i], s->position[2][i]};
        const double inverse = inverse_length(at);
        s->inverse[i] = inverse;
        s->along[0][i] = at.x * inverse;
        s->along[1][i] = at.y * inverse;
        s->along[2][i] = at.z * inverse;
    }
}

static void solid_angles(const struct panel *p, int n, struct cpu_slopes_scratch *s)
{
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->solid_angle[i] = solid_angle_of(p, s->inverse[i]);
}

static void captures(const struct panel *p, int layer, double absorb, int n,
                     struct cpu_slopes_scratch *s)
{
    if (!(p->thickness_m > 0.0))
        return;
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->capture[i] =
            layer_capture(p, layer, absorb, s->along[0][i], s->along[1][i], s->along[2][i]);
}

/* ---- moves ----------------------------------------------------------------------------- */

/* Computes how the directions to the points turn if the panel moves: the move of the point
 * (panel_move_point) without its component along the direction. */
static void turn_directions(const struct panel *p, const struct panel_move *move, int layer, int n,
                            const struct cpu_slopes_scratch *s, struct cpu_slopes_of *of)
{
    const struct panel_move m = *move;
    const double deeper = panel_move_deeper(p, &m, layer);
    const double normal[3] = {p->normal[0], p->normal[1], p->normal[2]};
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double ax = s->position[0][i] - m.centre[0], ay = s->position[1][i] - m.centre[1];
        const double az = s->position[2][i] - m.centre[2];
        const double x = m.tilt[1] * az - m.tilt[2] * ay + (m.shift[0] + deeper * normal[0]);
        const double y = m.tilt[2] * ax - m.tilt[0] * az + (m.shift[1] + deeper * normal[1]);
        const double z = m.tilt[0] * ay - m.tilt[1] * ax + (m.shift[2] + deeper * normal[2]);
        const double px = s->along[0][i], py = s->along[1][i], pz = s->along[2][i];
        const double farther = px * x + py * y + pz * z;
        of->turned[0][i] = (x - farther * px) * s->inverse[i];
        of->turned[1][i] = (y - farther * py) * s->inverse[i];
        of->turned[2][i] = (z - farther * pz) * s->inverse[i];
        of->farther[i] = farther * s->inverse[i];
    }
}

static void turn_solid_angles(const struct panel *p, const struct panel_move *m, int n,
                              const struct cpu_slopes_scratch *s, struct cpu_slopes_of *of)
{
    const double closer = panel_move_closer(p, m);
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        of->solid_angle[i] = s->solid_angle[i] * panel_move_solid_angle(p, closer, of->farther[i]);
}

/* Computes how the capture fractions change if the panel moves, as panel_move_capture. */
static void turn_captures(const struct panel *p, const struct panel_move *m, int layer,
                          double absorb, int n, const struct cpu_slopes_scratch *s,
                          struct cpu_slopes_of *of)
{
    if (!(p->thickness_m > 0.0))
        return;
    double tilted[3];
    vec_cross(m->tilt, p->normal, tilted);
    const double normal[3] = {p->normal[0], p->normal[1], p->normal[2]};
    const double mu = p->absorption_1_m * absorb, depth = p->layer_m * mu;
    const double more = m->layer * mu + p->layer_m * (m->absorption * absorb);
    const double front = layer, back = layer + 1;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double x = s->along[0][i], y = s->along[1][i], z = s->along[2][i];
        const double slant = 1.0 / (x * normal[0] + y * normal[1] + z * normal[2]);
        const double parallax = of->turned[0][i] * normal[0] + of->turned[1][i] * normal[1] +
                                of->turned[2][i] * normal[2] + x * tilted[0] + y * tilted[1] +
                                z * tilted[2];
        const double thick = depth * slant, thicker = (more - thick * parallax) * slant;
        of->capture[i] =
            thicker * (back * exp_fast(-back * thick) - front * exp_fast(-front * thick));
    }
}

/* Computes how a new point moves with each parameter; the flags say which factors are computed
 * again for this point.  Moves of a panel are summed before they are distributed to the parameters,
 * so directions are turned here only where factors depend on them. */
static void move_points(const struct cpu_slopes *job, const struct panel *p, int layer,
                        bool new_solid_angle, bool new_capture, int n, struct cpu_slopes_scratch *s)
{
    const struct parameters *set = job->frame.set;
    const struct panel_move *moves =
        job->frame.moves + (size_t)(p - job->frame.x->panels) * set->count;
    for (size_t k = 0; k < set->count; k++) {
        if (!moves_points(&set->items[k]) ||
            (slopes_of_panel(&set->items[k]) && !new_solid_angle && !new_capture && !s->polarized))
            continue;
        turn_directions(p, &moves[k], layer, n, s, &s->of[k]);
        if (new_solid_angle)
            turn_solid_angles(p, &moves[k], n, s, &s->of[k]);
        if (new_capture)
            turn_captures(p, &moves[k], layer, 1.0, n, s, &s->of[k]);
    }
}

/* Computes how much the sensor absorbs of one source at the current point, and the derivatives of
 * that.  The directions of the point must have been turned before. */
static void absorb_source(const struct cpu_slopes *job, const struct panel *p, int layer,
                          double absorb, int n, struct cpu_slopes_scratch *s)
{
    const struct parameters *set = job->frame.set;
    const struct panel_move *moves =
        job->frame.moves + (size_t)(p - job->frame.x->panels) * set->count;
    captures(p, layer, absorb, n, s);
    for (size_t k = 0; k < set->count; k++)
        if (moves_points(&set->items[k]))
            turn_captures(p, &moves[k], layer, absorb, n, s, &s->of[k]);
}

/* ---- sources --------------------------------------------------------------------------- */

static void scattering(const struct cpu_source *source, int n, struct cpu_slopes_scratch *s)
{
    const double per_m = source->index_per_m / INDEX_SCALE;
    for (int k = 0; k < 3; k++) {
        const double incident = source->incident[k];
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->q[k][i] = (s->along[k][i] - incident) * per_m;
    }
}

/* Sets the factor of dmin to 1 for pixels at which the reflections of this source are kept, and
 * to 0 for other pixels. */
static void culls(const struct cpu_source *source, int n, struct cpu_slopes_scratch *s)
{
    const struct cpu_source w = *source;
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->kept[i] = is_culled(&w, s->along[0][i], s->along[1][i], s->along[2][i]) ? 0.0 : 1.0;
}

/* Computes Kahn's factor: for this source if `each` is true, otherwise for the first source that
 * dmin does not exclude. */
INLINE void polarizations(const struct cpu_source *source, double kahn, bool each, int n,
                          struct cpu_slopes_scratch *s)
{
    const struct cpu_source w = *source;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double value = kahn_factor(&w, kahn, s->along[0][i], s->along[1][i], s->along[2][i]);
        const double old = s->polarization[i];
        const double fresh = each ? 1.0 : old == 0.0 ? s->kept[i] : 0.0;
        s->fresh[i] = fresh;
        s->polarization[i] = fused(fresh, value - old, old);
    }
}

/* Computes the derivative of Kahn's factor by parameter k, for pixels whose factor is new. */
static void turn_polarizations(const struct cpu_slopes *job, size_t k, size_t index, int n,
                               const struct cpu_slopes_scratch *s, struct cpu_slopes_of *of)
{
    const struct cpu_source w = job->job->sources[index];
    const double *swept = job->frame.sources[index].turned + 3 * k;
    const struct beam *beam = &job->frame.x->beam;
    const double of_kahn = job->frame.set->items[k].kind == PARAMETER_POLARIZATION ? 1.0 : 0.0;
    const double kahn = beam->kahn, sx = swept[0], sy = swept[1], sz = swept[2];
    double de[3], db[3];
    polarization_axes_slopes(w.incident, swept, beam->polarization, de, db);
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double x = s->along[0][i], y = s->along[1][i], z = s->along[2][i];
        const double dx = of->turned[0][i], dy = of->turned[1][i], dz = of->turned[2][i];
        const double c = w.incident[0] * x + w.incident[1] * y + w.incident[2] * z;
        const double e = w.e[0] * x + w.e[1] * y + w.e[2] * z;
        const double b = w.b[0] * x + w.b[1] * y + w.b[2] * z;
        const double dc = w.incident[0] * dx + w.incident[1] * dy + w.incident[2] * dz +
                          (sx * x + sy * y + sz * z);
        const double along_e =
            w.e[0] * dx + w.e[1] * dy + w.e[2] * dz + (de[0] * x + de[1] * y + de[2] * z);
        const double along_b =
            w.b[0] * dx + w.b[1] * dy + w.b[2] * dz + (db[0] * x + db[1] * y + db[2] * z);
        const double slope =
            c * dc - kahn * (e * along_e - b * along_b) - of_kahn * 0.5 * (e * e - b * b);
        of->polarization[i] = fused(s->fresh[i], slope - of->polarization[i], of->polarization[i]);
    }
}

/* Computes the polarization factors for source number `index`, and their derivatives. */
static void polarize(const struct cpu_slopes *job, size_t index, int n,
                     struct cpu_slopes_scratch *s)
{
    const struct experiment *x = job->frame.x;
    const struct parameters *set = job->frame.set;
    if (x->sampling.each_polarization)
        polarizations(&job->job->sources[index], x->beam.kahn, true, n, s);
    else
        polarizations(&job->job->sources[index], x->beam.kahn, false, n, s);
    for (size_t k = 0; k < set->count; k++)
        if (moves_factors(&set->items[k]))
            turn_polarizations(job, k, index, n, s, &s->of[k]);
}

/* ---- sums ---------------------------------------------------------------------------- */

/* Computes the factors that all terms of the current source and point have. */
static void factors(const struct cpu_slopes *job, double weight, int n,
                    struct cpu_slopes_scratch *s)
{
    const struct sampling *each = &job->frame.x->sampling;
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->factor[i] = weight * s->capture[i] * s->kept[i];
    if (each->each_polarization)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->factor[i] *= s->polarization[i];
    if (each->each_solid_angle)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->factor[i] *= s->solid_angle[i];
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->factor_f[i] = (float)s->factor[i];
}

/* Adds the current terms, times the derivatives of their factors. */
static void add_factors(const struct cpu_slopes *job, double weight, int n,
                        const struct cpu_slopes_scratch *s, struct cpu_slopes_of *of)
{
    const struct sampling *each = &job->frame.x->sampling;
    const bool polarized = each->each_polarization, solid = each->each_solid_angle;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double P = polarized ? s->polarization[i] : 1.0;
        const double O = solid ? s->solid_angle[i] : 1.0;
        double slope = of->capture[i] * P * O;
        slope = polarized ? fused(s->capture[i] * of->polarization[i], O, slope) : slope;
        slope = solid ? fused(s->capture[i] * of->solid_angle[i], P, slope) : slope;
        of->sum[i] = fused(weight * s->kept[i] * s->lit[i], slope, of->sum[i]);
    }
}

/* Adds the derivatives of the photons of the current terms by moves of the points across their
 * directions. */
INLINE void add_pull(double per_m, bool tilt, int n, struct cpu_slopes_scratch *s)
{
    const double per = per_m / ANGSTROM_1_M;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double px = s->along[0][i], py = s->along[1][i], pz = s->along[2][i];
        const double vx = s->v[0][i], vy = s->v[1][i], vz = s->v[2][i];
        const double along = fused(px, vx, fused(py, vy, pz * vz));
        const double w = per * s->factor[i] * s->inverse[i];
        const double ux = w * fused(-along, px, vx), uy = w * fused(-along, py, vy);
        const double uz = w * fused(-along, pz, vz);
        s->pull[0][i] += ux;
        s->pull[1][i] += uy;
        s->pull[2][i] += uz;
        if (!tilt)
            continue;
        const double x = s->position[0][i], y = s->position[1][i], z = s->position[2][i];
        s->torque[0][i] += fused(y, uz, -(z * uy));
        s->torque[1][i] += fused(z, ux, -(x * uz));
        s->torque[2][i] += fused(x, uy, -(y * ux));
    }
}

/* Adds the derivatives of the current terms by a turn of the directions to the points. */
static void add_turned(double per_m, int n, const struct cpu_slopes_scratch *s,
                       struct cpu_slopes_of *of)
{
    const double per = per_m / ANGSTROM_1_M;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double along =
            fused(of->turned[0][i], s->v[0][i],
                  fused(of->turned[1][i], s->v[1][i], of->turned[2][i] * s->v[2][i]));
        of->sum[i] = fused(per * s->factor[i], along, of->sum[i]);
    }
}

/* Adds the derivatives of the current terms by a change of the source: its direction moves by
 * swept[], and its wavelength changes by the fraction ln_wave. */
static void add_source_change(const double swept[3], double ln_wave, double per_m, int n,
                              const struct cpu_slopes_scratch *s, struct cpu_slopes_of *of)
{
    const double x = swept[0] * per_m, y = swept[1] * per_m, z = swept[2] * per_m;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double dx = fused(ln_wave, s->q[0][i], x), dy = fused(ln_wave, s->q[1][i], y);
        const double dz = fused(ln_wave, s->q[2][i], z);
        const double along = fused(dx, s->v[0][i], fused(dy, s->v[1][i], dz * s->v[2][i]));
        of->sum[i] = fused(s->factor[i] * (-1.0 / ANGSTROM_1_M), along, of->sum[i]);
    }
}

/* Adds the derivatives that differ between sources and points. `changing`: the factors of the
 * terms also depend on parameters. */
static void add_changes(const struct cpu_slopes *job, size_t index, bool changing, int n,
                        struct cpu_slopes_scratch *s)
{
    const struct slopes_source *from = &job->frame.sources[index];
    const double per_m = job->job->sources[index].index_per_m / INDEX_SCALE;
    const double weight = job->job->sources[index].weight;
    if (job->tilt)
        add_pull(per_m, true, n, s);
    else if (job->pull)
        add_pull(per_m, false, n, s);
    for (size_t k = 0; k < job->frame.set->count; k++) {
        const struct parameter *p = &job->frame.set->items[k];
        if (changing && moves_factors(p))
            add_factors(job, weight, n, s, &s->of[k]);
        if (moves_points(p) && !slopes_of_panel(p))
            add_turned(per_m, n, s, &s->of[k]);
        if (slopes_of_source(p))
            add_source_change(from->turned + 3 * k, from->ln_wave[k], per_m, n, s, &s->of[k]);
    }
}

static void add_source(const struct cpu_slopes *job, const struct panel *p, int layer, size_t index,
                       int n, struct cpu_slopes_scratch *s)
{
    const struct cpu_source *source = &job->job->sources[index];
    const struct sampling *each = &job->frame.x->sampling;
    const double water = job->job->water;
    const bool sensor = p->thickness_m > 0.0;
    scattering(source, n, s);
    if (job->job->absorbs && sensor)
        absorb_source(job, p, layer, source->absorb, n, s);
    if (job->frame.x->dmin_m > 0.0)
        culls(source, n, s);
    if (s->polarized)
        polarize(job, index, n, s);
    s->polarized = s->polarized && (each->each_polarization || job->frame.x->dmin_m > 0.0);
    factors(job, source->weight, n, s);
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        s->lit[i] = water;
        s->v[0][i] = s->v[1][i] = s->v[2][i] = 0.0;
    }
    for (size_t l = 0; l < job->job->nlattices; l++)
        add_lattice(job, l, n, s);
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->total[i] = fused(s->factor[i], s->lit[i], s->total[i]);
    add_changes(job, index, sensor || each->each_polarization || each->each_solid_angle, n, s);
}

/* Adds one subpixel of one layer. If solid angle, capture fraction or polarization are not
 * computed for each subpixel, they are those of the first subpixel, as in the reference engine. */
static void add_subpixel(const struct cpu_slopes *job, const struct panel *p, struct subpixel sub,
                         int n, struct cpu_slopes_scratch *s)
{
    const struct sampling *each = &job->frame.x->sampling;
    const bool first = !sub.slow && !sub.fast;
    const bool new_solid_angle = each->each_solid_angle || (first && !sub.layer);
    const bool new_capture = each->each_thickness || first || job->job->absorbs;
    positions(p, each->oversample, sub, n, s);
    directions(n, s);
    if (new_solid_angle)
        solid_angles(p, n, s);
    if (new_capture)
        captures(p, sub.layer, 1.0, n, s);
    move_points(job, p, sub.layer, new_solid_angle, new_capture, n, s);
    for (size_t i = 0; i < job->job->nsources; i++)
        add_source(job, p, sub.layer, i, n, s);
}

static void clear_block(const struct cpu_slopes *job, int n, struct cpu_slopes_scratch *s)
{
    const struct parameters *set = job->frame.set;
    const double polarization = job->frame.x->beam.no_polarization ? 1.0 : 0.0;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        s->total[i] = 0.0;
        s->polarization[i] = polarization;
        s->capture[i] = s->kept[i] = 1.0;
    }
    s->polarized = !job->frame.x->beam.no_polarization;
    if (job->pull) {
        memset(s->pull, 0, sizeof s->pull);
        memset(s->torque, 0, sizeof s->torque);
    }
    for (size_t l = 0; l < job->job->nlattices; l++) {
        s->gathered[l].taken = false;
        memset(s->gathered[l].first[0], SLOPES_NO_WINDOW, sizeof s->gathered[l].first[0]);
        for (int k = 0; k < job->nkept && !GATHERS(&job->lattices[l]); k++)
            memset(s->lattices[l][job->kept[k]], 0, sizeof s->lattices[l][0]);
    }
    for (size_t k = 0; k < set->count; k++)
        memset(&s->of[k], 0,
               moves_factors(&set->items[k]) ? offsetof(struct cpu_slopes_of, turned)
                                             : sizeof s->of->sum);
}

/* ---- derivatives ----------------------------------------------------------------------- */

static void add_sum(double *restrict to, const double *restrict sum, double factor, int n)
{
    for (int i = 0; i < CPU_LANES * n; i++)
        to[i] = fused(factor, sum[i], to[i]);
}

/* Adds the derivative by a parameter that changes the direct vectors by change[] = c_ik. */
static void add_cell_sums(double *restrict to, double (*restrict sums)[SLOPES_BLOCK],
                          const double change[9], int n)
{
    double c[9];
    memcpy(c, change, sizeof c);
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        double sum = to[i];
        for (int k = 0; k < 9; k++)
            sum = fused(c[k], sums[SLOPES_CELL + k][i], sum);
        to[i] = sum;
    }
}

/* Adds the derivatives by parameter k that follow from the sums of lattice `index`. */
static void contract(const struct cpu_slopes *job, size_t k, size_t index, int n,
                     struct cpu_slopes_scratch *s)
{
    const struct parameter *p = &job->frame.set->items[k];
    const double *change = job->lattices[index].change + 9 * k;
    double *to = s->of[k].sum, (*sums)[SLOPES_BLOCK] = s->lattices[index];
    if (slopes_of_cell(p))
        add_cell_sums(to, sums, change, n);
    if (p->kind == PARAMETER_CELLS)
        add_sum(to, sums[SLOPES_CELLS + p->axis], 1.0, n);
    if (p->kind == PARAMETER_FUDGE)
        add_sum(to, sums[SLOPES_FUDGE], 1.0, n);
    if (p->kind == PARAMETER_MOSAIC)
        add_sum(to, sums[SLOPES_RATE + SLOPES_MOSAIC], 1.0, n);
    if (p->kind == PARAMETER_PHI0)
        add_sum(to, sums[SLOPES_RATE + SLOPES_PHI], p->unit_SI, n);
    if (p->kind == PARAMETER_OSC)
        add_sum(to, sums[SLOPES_RATE + SLOPES_OSC], p->unit_SI, n);
    if (p->kind == PARAMETER_SHARE && p->index == index)
        add_sum(to, sums[SLOPES_VALUE], 1.0, n);
}

/* Adds the derivatives by a parameter that moves the panel. */
static void add_move(const struct panel_move *move, int n, const struct cpu_slopes_scratch *s,
                     double *restrict to)
{
    const struct panel_move m = *move;
    double shift[3];
    vec_cross(m.tilt, m.centre, shift);
    for (int k = 0; k < 3; k++)
        shift[k] = m.shift[k] - shift[k];
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        double sum = to[i];
        for (int k = 0; k < 3; k++)
            sum = fused(shift[k], s->pull[k][i], fused(m.tilt[k], s->torque[k][i], sum));
        to[i] = sum;
    }
}

/* Multiplies the derivative by parameter k by the factors of the pixel that are the same for all
 * terms. */
static void finish_derivative(const struct cpu_slopes *job, size_t k, int n,
                              const struct cpu_slopes_scratch *s, struct cpu_slopes_of *of)
{
    const bool scale = job->frame.set->items[k].kind == PARAMETER_SCALE;
    const double *from = scale ? s->total : of->sum;
    double *to = of->sum;
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        to[i] = from[i] * s->factor[i];
}

/* Like `finish_derivative`, for a parameter that changes factors of the pixel. */
static void end_changing(const struct cpu_slopes *job, int n, const struct cpu_slopes_scratch *s,
                         struct cpu_slopes_of *of)
{
    const struct sampling *each = &job->frame.x->sampling;
    const bool polarized = !each->each_polarization, solid = !each->each_solid_angle;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double P = polarized ? s->polarization[i] : 1.0;
        const double O = solid ? s->solid_angle[i] : 1.0;
        const double dP = polarized ? of->polarization[i] : 0.0;
        const double dO = solid ? of->solid_angle[i] : 0.0;
        of->sum[i] = fused(s->total[i], fused(dP, O, P * dO), of->sum[i] * P * O);
    }
}

/* Sets s->factor to the factors of the whole pixel. */
static void pixel_factors(const struct cpu_slopes *job, int n, struct cpu_slopes_scratch *s)
{
    const struct sampling *each = &job->frame.x->sampling;
    const bool polarized = !each->each_polarization, solid = !each->each_solid_angle;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double P = polarized ? s->polarization[i] : 1.0;
        s->factor[i] = P * (solid ? s->solid_angle[i] : 1.0);
    }
}

/* See derive_pixels. */
static void block(const struct cpu_slopes *job, const struct cpu_slopes_where *w,
                  struct cpu_slopes_scratch *s, double (*values)[DERIVE_BLOCK])
{
    const struct sampling *each = &job->frame.x->sampling;
    const size_t count = job->frame.set->count;
    const struct panel_move *moves =
        job->frame.moves + (size_t)(w->panel - job->frame.x->panels) * count;
    const int n = (w->count + CPU_LANES - 1) / CPU_LANES;
    clear_block(job, n, s);
    places(w, n, s);
    const int64_t points = subpixels_of(w->panel, each->oversample);
    for (int64_t i = 0; i < points; i++)
        add_subpixel(job, w->panel, subpixel_at(i, each->oversample), n, s);
#if !CPU_DOUBLE
    for (size_t l = 0; l < job->job->nlattices; l++)
        take_gathered(job, l, n, s);
#endif
    pixel_factors(job, n, s);
    for (size_t k = 0; k < count; k++) {
        for (size_t l = 0; l < job->job->nlattices; l++)
            contract(job, k, l, n, s);
        if (slopes_of_panel(&job->frame.set->items[k]))
            add_move(&moves[k], n, s, s->of[k].sum);
        if (moves_factors(&job->frame.set->items[k]))
            end_changing(job, n, s, &s->of[k]);
        else
            finish_derivative(job, k, n, s, &s->of[k]);
        for (int i = 0; i < w->count; i++)
            values[1 + k][i] = s->of[k].sum[i];
    }
    for (int i = 0; i < w->count; i++)
        values[0][i] = s->total[i] * s->factor[i];
}

#endif
