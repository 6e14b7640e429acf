/*
 * The reflections of a frame in closed form that can give photons to a pixel, and the pixels that
 * each of them can reach.
 */
#include "engine/closed/closed.h"

#include <math.h>
#include <stdlib.h>

#include "base/vec.h"
#include "physics/crystal/hkl.h"
#include "physics/detector/pixel.h"
#include "physics/detector/sensor.h"

/* ---- the pixels of a reflection --------------------------------------------------------------
 *
 * Which pixels get photons of a spot in closed form.  A point (f, s) of a panel, in pixels from a
 * middle one, is y = (1, f, s).  Its scattering vector for the wave number k is k/n (G y), n = D y,
 * where the distance from the sample is linearised: D has the distance of the middle and its
 * slopes.  The columns of G are those of the place less D times the incident beam.  With M, the
 * inverse of the moments, A = G'M G, b = G'M c and C = c M c - r^2, the spot is above its limit r
 * where
 *
 *     C A - b b'                           <= 0    for any k: a cone
 *     k^2 A - k (D b' + b D') + C D D'     <= 0    for one k
 *
 * as quadratic forms of y.  For all wave numbers between two limits, an extreme point of the region
 * is an extreme of the first form, if its wave number is between the limits, or an extreme of the
 * second form for one of the limits.
 */

/* Largest distance of points of a pixel from its middle, in pixels: half a pixel, and a margin
 * for rounding. */
#define MARGIN_PIXELS 1.5

/* Symmetric quadratic forms are stored as the elements 00 01 02 11 12 22. */
enum { FORM = 6 };
static const int ROW[FORM] = {0, 0, 0, 1, 1, 2}, COLUMN[FORM] = {0, 1, 2, 1, 2, 2};

struct bounds {
    double A[FORM], b[3], D[3], C;
    double per_A[2];
};

/* Sets at[] to the position of the middle pixel and to the steps from pixel to pixel along fast
 * and slow, in m. */
static void set_places(const struct panel *p, const double middle[2], double at[3][3])
{
    const double *corner = pixel_plane(p), depth_m = pixel_layer_depth(p, 0);
    const double fast_m = ((double)p->grid_fast + middle[0] + 0.5) * p->pixel_m;
    const double slow_m = ((double)p->grid_slow + middle[1] + 0.5) * p->pixel_m;
    for (int k = 0; k < 3; k++) {
        at[0][k] = fast_m * p->fast[k] + slow_m * p->slow[k] + depth_m * p->normal[k] + corner[k];
        at[1][k] = p->pixel_m * p->fast[k];
        at[2][k] = p->pixel_m * p->slow[k];
    }
}

/* Returns how much the limit must grow because distances are not linear: a distance is up to
 * (half m)^2 / 2n above the linear estimate. */
static double slack(const struct ensemble_spot *spot, double per_A, double distance_m,
                    double half_m)
{
    const double *m = spot->inverse, most = sqrt(m[0] + m[4] + m[8]);  // of the norms of directions
    const double least = distance_m - half_m;
    return least > 0.0 ? most * per_A * half_m * half_m / (2.0 * least * least) : INFINITY;
}

static void set_forms(struct bounds *o, const struct ensemble_spot *spot, const double incident[3],
                      const double at[3][3], double half_m)
{
    double G[3][3], turned[3][3];
    const double distance_m = vec_length(at[0]);
    for (int i = 0; i < 3; i++) {
        o->D[i] = vec_dot(at[i], at[0]) / distance_m;
        for (int k = 0; k < 3; k++)
            G[i][k] = at[i][k] - o->D[i] * incident[k];
        mat_apply(spot->inverse, G[i], turned[i]);
        o->b[i] = vec_dot(G[i], spot->pull);
    }
    for (int i = 0; i < FORM; i++)
        o->A[i] = vec_dot(G[ROW[i]], turned[COLUMN[i]]);
    const double limit = sqrt(2.0 * ENSEMBLE_LIMIT) + slack(spot, o->per_A[1], distance_m, half_m);
    o->C = spot->self - limit * limit;
}

static void adjoint(const double q[FORM], double w[3][3])
{
    w[0][0] = q[3] * q[5] - q[4] * q[4];
    w[1][1] = q[0] * q[5] - q[2] * q[2];
    w[2][2] = q[0] * q[3] - q[1] * q[1];
    w[0][1] = w[1][0] = q[2] * q[4] - q[1] * q[5];
    w[0][2] = w[2][0] = q[1] * q[4] - q[2] * q[3];
    w[1][2] = w[2][1] = q[1] * q[2] - q[0] * q[4];
}

/* Finds the two lines across axis 1 or 2 that touch a form: their coordinates ends[], and the
 * points where they touch. Returns false if there are none. */
static bool touch(const double w[3][3], int axis, double ends[2], double points[2][3])
{
    const double left = w[0][axis] * w[0][axis] - w[0][0] * w[axis][axis];
    if (!(left >= 0.0))
        return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = (w[0][axis] + (i ? sqrt(left) : -sqrt(left))) / w[0][0];
        for (int k = 0; k < 3; k++)
            points[i][k] = w[axis][k] - ends[i] * w[0][k];
    }
    return true;
}

static void form_of(const struct bounds *o, double per_A, double q[FORM])
{
    for (int i = 0; i < FORM; i++) {
        const int r = ROW[i], c = COLUMN[i];
        q[i] = per_A * per_A * o->A[i] - per_A * (o->D[r] * o->b[c] + o->b[r] * o->D[c]) +
               o->C * o->D[r] * o->D[c];
    }
}

/* Returns the wave number for which a point of the cone is nearest to the spot. */
static double wave_at(const struct bounds *o, const double y[3])
{
    double a = 0.0;
    for (int i = 0; i < FORM; i++)
        a += o->A[i] * y[ROW[i]] * y[COLUMN[i]] * (ROW[i] == COLUMN[i] ? 1.0 : 2.0);
    return vec_dot(o->b, y) / a * vec_dot(o->D, y);
}

enum found { FOUND, FOUND_NOTHING, FOUND_NO_BOUNDS };

static void include(double ends[2], double at)
{
    ends[0] = fmin(ends[0], at);
    ends[1] = fmax(ends[1], at);
}

/* Extends the range by the pixels that get photons with one wave number. Returns false if this
 * range has no bounds. */
static bool include_wave(const struct bounds *o, double per_A, double ends[2][2])
{
    double q[FORM], w[3][3], at[2], unused[2][3];
    form_of(o, per_A, q);
    adjoint(q, w);
    if (!(q[3] > 0.0 && w[0][0] > 0.0))
        return false;
    for (int axis = 1; axis < 3; axis++)
        if (touch(w, axis, at, unused)) {
            include(ends[axis - 1], at[0]);
            include(ends[axis - 1], at[1]);
        }
    return true;
}

/* Extends the range by the extremes of the cone for wave numbers between the two limits. Returns
 * false if this range has no bounds. */
static bool include_cone(const struct bounds *o, double ends[2][2])
{
    double q[FORM], w[3][3], at[2], points[2][3];
    for (int i = 0; i < FORM; i++)
        q[i] = o->C * o->A[i] - o->b[ROW[i]] * o->b[COLUMN[i]];
    adjoint(q, w);
    for (int axis = 1; axis < 3; axis++)
        for (int i = 0; i < 2 && touch(w, axis, at, points); i++) {
            const double k = wave_at(o, points[i]);
            if (!isfinite(k))
                return false;
            if (k >= o->per_A[0] && k <= o->per_A[1])
                include(ends[axis - 1], at[i]);
        }
    return true;
}

/* Finds the smallest and the largest coordinate along fast, then along slow. */
static enum found find_ends(const struct bounds *o, double ends[2][2])
{
    for (int axis = 0; axis < 2; axis++) {
        ends[axis][0] = INFINITY;
        ends[axis][1] = -INFINITY;
    }
    if (!(o->C > 0.0) || !include_wave(o, o->per_A[0], ends) ||
        !include_wave(o, o->per_A[1], ends) || !include_cone(o, ends))
        return FOUND_NO_BOUNDS;
    return ends[0][0] <= ends[0][1] && ends[1][0] <= ends[1][1] ? FOUND : FOUND_NOTHING;
}

/* Returns the largest distance in pixels between the places at which a direction meets the first
 * and the last layer of the sensor. */
static double apart(const struct panel *p, const double at[3], double half_m)
{
    const double along_m = fmax(fabs(vec_dot(at, p->normal)), p->pixel_m);
    const double beside_m = half_m + sqrt(fmax(vec_dot(at, at) - along_m * along_m, 0.0));
    return (p->layers - 1) * p->layer_m / p->pixel_m * (beside_m / along_m);
}

/* Narrows a place to whole groups of lanes, counted from the first pixel of the place. */
static void narrow(struct closed_place *place, const double middle[2], const double ends[2][2],
                   double margin)
{
    const double from = middle[0] + ends[0][0] - margin - place->fast_min;
    const double to = middle[0] + ends[0][1] + margin - place->fast_min;
    const double rows[2] = {ceil(middle[1] + ends[1][0] - margin),
                            floor(middle[1] + ends[1][1] + margin)};
    const int32_t first = place->fast_min;
    if (to >= 0.0 && to < place->fast_max - first)
        place->fast_max = (int32_t)fmin(
            place->fast_max, first + ENSEMBLE_LANES * (floor(to / ENSEMBLE_LANES) + 1.0) - 1.0);
    else if (to < 0.0)
        place->fast_max = first - 1;
    if (from > 0.0)
        place->fast_min = (int32_t)fmin((double)place->fast_max + 1.0,
                                        first + ENSEMBLE_LANES * floor(from / ENSEMBLE_LANES));
    place->row_min = (int32_t)fmin(fmax(place->row_min, rows[0]), (double)place->row_max + 1.0);
    place->row_max = (int32_t)fmax(fmin(place->row_max, rows[1]), (double)place->row_min - 1.0);
}

/* Narrows *place, a box that contains all pixels to which the spot can give photons, to the wave
 * numbers from per_A[0] to per_A[1].  The box shrinks along fast by multiples of ENSEMBLE_LANES, so
 * that code which evaluates ENSEMBLE_LANES pixels side by side groups the same pixels as before.
 * Returns false if no pixel gets photons. */
static bool closed_bounds(const struct panel *p, const struct ensemble_spot *spot,
                          const double incident[3], const double per_A[2],
                          struct closed_place *place)
{
    struct bounds o = {.per_A = {per_A[0], per_A[1]}};
    const double middle[2] = {0.5 * (place->fast_min + place->fast_max),
                              0.5 * (place->row_min + place->row_max)};
    const double half_m = p->pixel_m * hypot(middle[0] - place->fast_min + MARGIN_PIXELS,
                                             middle[1] - place->row_min + MARGIN_PIXELS);
    double at[3][3], ends[2][2];
    set_places(p, middle, at);
    set_forms(&o, spot, incident, (const double(*)[3])at, half_m);
    const enum found found = find_ends(&o, ends);
    if (found == FOUND_NOTHING)
        return false;
    if (found == FOUND)
        narrow(place, middle, (const double(*)[2])ends, MARGIN_PIXELS + apart(p, at[0], half_m));
    return place->fast_min <= place->fast_max && place->row_min <= place->row_max;
}

/* ---- reflections ---------------------------------------------------------------------------- */

struct spot_list {
    struct closed_spot *items;
    size_t count, capacity;
};

/* Data that is the same for all reflections of a step. */
struct spot_search {
    const struct closed *c;
    const struct closed_step *step;
    double least, most;  // wave numbers of the beam, 1/A
    double farthest;     // from 0 that the detector sees, 1/A
    double reach;        // of the widest spot, 1/A
    int min[3], max[3];
};

/* Points p + m c* of a row of the reciprocal lattice. */
struct lattice_row {
    double p[3];
    int first, last;  // values of m that may be excited
    int skip[2];      // of these, values between the two are not excited
};

/* Sets k[] to the range of wave numbers for which the point `centre` is within `reach` of the
 * Ewald sphere. Returns false if there are none. With p = centre . incident, the condition |
 * |centre + k incident| - k | <= reach is -2 k reach <= |centre|^2 + 2 k p <= reach (2 k +
 * reach). */
static bool excited(const struct spot_search *l, const double centre[3], double length_sqr,
                    double reach, double k[2])
{
    const double p = vec_dot(centre, l->step->ensemble.incident);
    const double above = length_sqr - reach * reach;
    k[0] = l->least;
    k[1] = l->most;
    if (p < reach)
        k[0] = fmax(k[0], above / (2.0 * (reach - p)));
    else if (above > 0.0)
        return false;
    if (p < -reach)
        k[1] = fmin(k[1], length_sqr / (-2.0 * (p + reach)));
    return k[0] <= k[1];
}

/* Returns the wave number of the beam that is nearest to per_A, among the channels with a
 * weight. Returns per_A if no channel has a weight. */
static double nearest_channel(const struct spot_search *l, double per_A)
{
    const struct closed_beam *beam = &l->c->beams[l->step->beam];
    const struct ensemble_channel *channels = l->c->channels + beam->first;
    size_t above = 0, end = beam->count;  // channels ascend
    while (above < end) {
        const size_t middle = above + (end - above) / 2;
        if (channels[middle].per_A < per_A)
            above = middle + 1;
        else
            end = middle;
    }
    size_t below = above;  // the channel before this number
    while (below > 0 && !(channels[below - 1].weight > 0.0))
        below--;
    while (above < beam->count && !(channels[above].weight > 0.0))
        above++;
    if (below == 0)
        return above < beam->count ? channels[above].per_A : per_A;
    const double low = channels[below - 1].per_A;
    return above < beam->count && channels[above].per_A - per_A < per_A - low
               ? channels[above].per_A
               : low;
}

/* Returns the absorption of the sensor for a reflection at `centre`. The photons have the wave
 * numbers of the beam. If the Ewald sphere through the centre has another wave number, the
 * nearest channel of the beam is used. The absorption is known for all wave numbers of the beam. */
static double absorb_of(const struct spot_search *l, const double centre[3])
{
    const double along = vec_dot(centre, l->step->ensemble.incident);
    const double per_A = along < 0.0 ? vec_dot(centre, centre) / (-2.0 * along) : l->most;
    const double wavelength_m = 1e-10 / nearest_channel(l, fmin(fmax(per_A, l->least), l->most));
    const struct experiment *x = l->c->x;
    double ratio;
    return sensor_ratio(sensor_of(x), x->beam.wavelength_m, wavelength_m, &ratio, NULL) ? 1.0
                                                                                        : ratio;
}

static void add_spot(const struct spot_search *l, const int hkl[3], struct spot_list *list)
{
    const struct crystal *crystal = l->step->ensemble.crystal;
    const struct lattice *lattice = &l->c->recipe->lattices[l->step->lattice];
    const double F = hkl_nearest(&crystal->table, (const double[3]){hkl[0], hkl[1], hkl[2]});
    struct closed_spot spot = {.step = (uint32_t)(l->step - l->c->steps),
                               .hkl = {hkl[0], hkl[1], hkl[2]},
                               .scale = l->step->scale * F * F,
                               .absorb = 1.0};
    if (!(spot.scale > 0.0) || !ensemble_spot_open(&l->step->ensemble, hkl, &spot.spot))
        return;
    if (lattice->has_b_factor)
        spot.scale *=
            exp(-0.5 * lattice->b_factor_A2 * vec_dot(spot.spot.centre, spot.spot.centre));
    if (l->c->absorbs)
        spot.absorb = absorb_of(l, spot.spot.centre);
    struct closed_spot *items =
        mem_grow(list->items, list->count, 1, sizeof *items, &list->capacity);
    list->items = items;
    list->items[list->count++] = spot;
}

/* Sets ends[] to the values of m between which |q|^2 + 2 k q . incident is below `bound`, with q =
 * p + m c*.  False if there are none. */
static bool below(const struct spot_search *l, const double p[3], double k, double bound,
                  double ends[2])
{
    const double *step = l->step->ensemble.star + 6, *incident = l->step->ensemble.incident;
    const double a = vec_dot(step, step), b = vec_dot(p, step) + k * vec_dot(incident, step);
    const double left = b * b - a * (vec_dot(p, p) + 2.0 * k * vec_dot(p, incident) - bound);
    if (!(left > 0.0))
        return false;
    ends[0] = (-b - sqrt(left)) / a;
    ends[1] = (-b + sqrt(left)) / a;
    return true;
}

static int within(double m, int min, int max)
{
    return (int)fmin(fmax(m, min), max);
}

/* Finds the part of a row that can meet the Ewald spheres of the wave numbers of the beam within
 * the reach of the widest spot (see `excited`): the points that are inside one of the two
 * outermost spheres, but not deep inside both. Returns false if there is no such part. */
static bool row_open(const struct spot_search *l, struct lattice_row *row)
{
    const double outside = l->reach * (2.0 * l->most + l->reach),
                 inside = -2.0 * l->most * l->reach;
    const double k[2] = {l->least, l->most};
    double from = INFINITY, to = -INFINITY, ends[2], deep[2] = {-INFINITY, INFINITY};
    for (int i = 0; i < 2; i++) {
        if (below(l, row->p, k[i], outside, ends)) {
            from = fmin(from, ends[0]);
            to = fmax(to, ends[1]);
        }
        const bool has = below(l, row->p, k[i], inside, ends);
        deep[0] = has ? fmax(deep[0], ends[0]) : INFINITY;
        deep[1] = has ? fmin(deep[1], ends[1]) : -INFINITY;
    }
    if (!(from <= to))
        return false;
    row->first = within(floor(from), l->min[2], l->max[2]);
    row->last = within(ceil(to), l->min[2], l->max[2]);
    const bool hollow = deep[0] < deep[1];
    row->skip[0] = hollow ? within(ceil(deep[0]), row->first, row->last) : row->last;
    row->skip[1] = hollow ? within(floor(deep[1]), row->first, row->last) : row->last;
    return true;
}

/* Lists all reflections with one index h. */
static void list_plane(const struct spot_search *l, int h, struct spot_list *list)
{
    const double *star = l->step->ensemble.star;
    const double dmin_A = l->c->x->dmin_m * 1e10;
    const double far = dmin_A > 0.0 ? fmin(l->farthest, 1.0 / dmin_A) : l->farthest;
    for (int k = l->min[1]; k <= l->max[1]; k++) {
        struct lattice_row row;
        for (int i = 0; i < 3; i++)
            row.p[i] = h * star[i] + k * star[3 + i];
        if (!row_open(l, &row))
            continue;
        for (int m = row.first; m <= row.last; m++) {
            m = m > row.skip[0] && m < row.skip[1] ? row.skip[1] : m;
            const int hkl[3] = {h, k, m};
            double centre[3], wave[2];
            for (int i = 0; i < 3; i++)
                centre[i] = h * star[i] + k * star[3 + i] + m * star[6 + i];
            const double sqr = vec_dot(centre, centre);
            if (sqr > far * far)
                continue;
            const double reach = ensemble_reach(&l->step->ensemble, hkl, sqrt(sqr));
            if (excited(l, centre, sqr, reach, wave))
                add_spot(l, hkl, list);
        }
    }
}

/* Returns the largest |diffracted - incident| of a pixel. It is that of a corner if all corners
 * are less than 90 deg from the beam. */
static double widest(const struct cpu_view *v, const double incident[3])
{
    double least = 1.0;
    for (size_t i = 0; i < v->nscreens; i++) {
        const struct cpu_screen *s = &v->screens[i];
        const struct panel *p = s->panel;
        for (int at = 0; at < 8; at++) {
            const double z = at & 4 ? s->far : s->near;
            const double fast = s->fast_m + s->min[0] * !(at & 1) + s->max[0] * (at & 1);
            const double slow = s->slow_m + s->min[1] * !(at & 2) + s->max[1] * !!(at & 2);
            double d[3];
            for (int k = 0; k < 3; k++)
                d[k] = fast * p->fast[k] + slow * p->slow[k] + z * p->normal[k];
            vec_unit(d, d);
            least = fmin(least, vec_dot(d, incident));
        }
    }
    return least > 0.0 ? sqrt(2.0 - 2.0 * least) : 2.0;
}

/* Sets the range of indices: those of the table, or those that the detector can see. */
static void set_box(struct spot_search *l, const double *cell_m)
{
    const struct hkl_table *t = &l->step->ensemble.crystal->table;
    for (int i = 0; i < 3; i++) {
        const int most = (int)fmin(vec_length(cell_m + 3 * i) * 1e10 * l->farthest + 1.0, 1e6);
        const bool listed = t->F && t->default_F == 0.0;
        l->min[i] = listed && t->min[i] > -most ? t->min[i] : -most;
        l->max[i] =
            listed && t->min[i] + t->count[i] - 1 < most ? t->min[i] + t->count[i] - 1 : most;
    }
}

/* Returns an upper bound of the width of all spots in the box. */
static double widest_spot(const struct spot_search *l, double length)
{
    int most[3];
    for (int i = 0; i < 3; i++)
        most[i] = abs(l->min[i]) > abs(l->max[i]) ? abs(l->min[i]) : abs(l->max[i]);
    return ensemble_reach(&l->step->ensemble, most, length);
}

static void look_open(struct spot_search *l, const struct closed *c, const struct closed_step *step,
                      const struct cpu_view *v)
{
    const struct closed_beam *b = &c->beams[step->beam];
    const double *cell_m = c->recipe->lattices[step->lattice].cells_m + 9 * (size_t)step->step;
    *l = (struct spot_search){.c = c, .step = step};
    l->least = c->channels[b->first].per_A;
    l->most = c->channels[b->first + b->count - 1].per_A;
    const double seen = l->most * widest(v, b->incident);
    l->farthest = seen;
    set_box(l, cell_m);
    l->farthest = seen + widest_spot(l, seen);
    set_box(l, cell_m);
    l->reach = widest_spot(l, l->farthest);
}

/* Appends the reflections of one step, in the order of their indices. */
static void list_step(struct closed *c, const struct spot_search *l, int threads, size_t *capacity)
{
    const int planes = l->max[0] - l->min[0] + 1;
    if (planes <= 0)
        return;
    struct spot_list *lists = mem_array((size_t)planes, sizeof *lists);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int i = 0; i < planes; i++)
        list_plane(l, l->min[0] + i, &lists[i]);
    for (int i = 0; i < planes; i++) {
        c->spots = mem_grow(c->spots, c->nspots, lists[i].count, sizeof *c->spots, capacity);
        for (size_t k = 0; k < lists[i].count; k++)
            c->spots[c->nspots++] = lists[i].items[k];
        mem_free(lists[i].items);
    }
    mem_free(lists);
}

/* Sets *place to the pixels of a panel that a spot can reach. Returns false if there are none. */
static bool find_place(const struct cpu_screen *s, const double direction[3], double radius,
                       struct closed_place *place)
{
    struct cpu_spot spot;
    double columns[2];
    if (!cpu_view_reaches(s, direction, radius, &spot, columns))
        return false;
    const double pixel_m = s->panel->pixel_m;
    place->row_min = spot.row_min;
    place->row_max = spot.row_max < (int32_t)s->panel->roi.slow_max
                         ? spot.row_max
                         : (int32_t)s->panel->roi.slow_max;
    place->fast_min = (int32_t)(fmax(columns[0], s->min[0]) / pixel_m - 1e-6);
    place->fast_max = (int32_t)fmin(columns[1] / pixel_m + 1e-6, (double)s->panel->roi.fast_max);
    return place->row_min <= place->row_max && place->fast_min <= place->fast_max;
}

/* Appends the places of a spot on the panels, from the directions of the wave numbers that
 * excite it. */
static void place_spot(struct closed *c, const struct cpu_view *v, size_t index, size_t *capacity)
{
    const struct closed_spot *spot = &c->spots[index];
    const struct closed_step *step = &c->steps[spot->step];
    const struct closed_beam *b = &c->beams[step->beam];
    const double reach = spot->spot.reach, *centre = spot->spot.centre;
    const struct spot_search l = {.c = c,
                                  .step = step,
                                  .least = c->channels[b->first].per_A,
                                  .most = c->channels[b->first + b->count - 1].per_A};
    double k[2], ends[3][3], radius = 0.0;
    if (!excited(&l, centre, vec_dot(centre, centre), reach, k))
        return;
    const double waves[3] = {k[0], k[1], 0.5 * (k[0] + k[1])};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            ends[i][j] = centre[j] + waves[i] * b->incident[j];
        vec_unit(ends[i], ends[i]);
    }
    for (int i = 0; i < 2; i++) {
        const double d[3] = {ends[i][0] - ends[2][0], ends[i][1] - ends[2][1],
                             ends[i][2] - ends[2][2]};
        radius = fmax(radius, vec_length(d));
    }
    radius += reach < 0.5 * k[0] ? reach / sqrt(k[0] * (k[0] - reach)) : 2.0;
    for (size_t i = 0; i < v->nscreens; i++) {
        struct closed_place place = {.spot = index, .panel = (int32_t)i};
        const double range[2] = {l.least, l.most};
        if (!find_place(&v->screens[i], ends[2], fmin(radius, 2.0), &place) ||
            !closed_bounds(v->screens[i].panel, &spot->spot, b->incident, range, &place))
            continue;
        struct closed_place *places = mem_grow(c->places, c->nplaces, 1, sizeof *places, capacity);
        c->places = places;
        c->places[c->nplaces++] = place;
    }
}

void closed_list(struct closed *c, int threads)
{
    struct cpu_view view;
    size_t spots = 0, places = 0;
    cpu_view_open(&view, c->x);
    for (size_t i = 0; i < c->nsteps; i++) {
        struct spot_search l;
        look_open(&l, c, &c->steps[i], &view);
        list_step(c, &l, threads, &spots);
    }
    for (size_t i = 0; i < c->nspots; i++)
        place_spot(c, &view, i, &places);
    cpu_view_close(&view);
}
