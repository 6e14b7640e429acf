/*
 * What the pixels of a block see before any crystal is asked, and how that changes with the
 * parameters: points, solid angle, capture, polarization.  A part of the loops of cpu_slopes.h.
 * See pixel_slopes.h for the formulas.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_POINTS_H
#define BRAGG_ENGINE_CPU_SLOPES_POINTS_H

#include "engine/cpu/cpu_point.h"
#include "engine/derivatives/cpu_slopes.h"

/* Whether a parameter moves points of a panel or changes its sensor. */
INLINE bool moves_points(const struct parameter *p)
{
    return p->kind >= PARAMETER_DISTANCE;
}

/* Whether a parameter changes factors of a pixel. */
INLINE bool moves_factors(const struct parameter *p)
{
    return moves_points(p) || p->kind == PARAMETER_DIVERGENCE || p->kind == PARAMETER_POLARIZATION;
}

/* Columns and rows of the plane; lanes beyond the last pixel compute that once more. */
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

/* Unit vectors to the points. */
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

/* The directions turn; panel_move_point, and what is left of a move across the direction. */
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

/* As panel_move_capture. */
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

/* 1 for pixels at which dmin keeps the reflections of this source, 0 for others. */
static void culls(const struct cpu_source *source, int n, struct cpu_slopes_scratch *s)
{
    const struct cpu_source w = *source;
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->kept[i] = is_culled(&w, s->along[0][i], s->along[1][i], s->along[2][i]) ? 0.0 : 1.0;
}

/* Kahn's factor of this source (`each`), or of the first one that is not culled. */
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

/* Its change by parameter k, where it is new. */
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

/* Polarization as seen from source number `index`. */
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

#endif
