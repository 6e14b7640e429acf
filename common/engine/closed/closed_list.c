/* The reflections of a frame in closed form that can light a pixel, and where. */
#include "engine/closed/closed_bounds.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/vec.h"
#include "physics/crystal/hkl.h"
#include "physics/detector/sensor.h"

struct spot_list {
    struct closed_spot *items;
    size_t count, capacity;
};

/* What all reflections of a step share. */
struct look {
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

/* Wave numbers for which the point at `centre` is within `reach` of the Ewald sphere; false for
 * none.  With p = centre . incident, | |centre + k incident| - k | <= reach for wave number k is
 * -2 k reach <= |centre|^2 + 2 k p <= reach (2 k + reach). */
static bool excited(const struct look *l, const double centre[3], double length_sqr, double reach,
                    double k[2])
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

/* The wave number of the beam that is nearest to per_A, of channels with a weight; per_A itself if
 * no channel has one. */
static double nearest_channel(const struct look *l, double per_A)
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

/* The absorption of the sensor for a reflection at `centre`.  Its photons have the wave numbers of
 * the beam, also where the Ewald sphere through the centre has one that the beam does not have, so
 * the nearest channel stands for them.  The absorption is known for all wave numbers of the beam.
 */
static double absorb_of(const struct look *l, const double centre[3])
{
    const double along = vec_dot(centre, l->step->ensemble.incident);
    const double per_A = along < 0.0 ? vec_dot(centre, centre) / (-2.0 * along) : l->most;
    const double wavelength_m = 1e-10 / nearest_channel(l, fmin(fmax(per_A, l->least), l->most));
    const struct experiment *x = l->c->x;
    double ratio;
    return sensor_ratio(sensor_of(x), x->beam.wavelength_m, wavelength_m, &ratio, NULL) ? 1.0
                                                                                        : ratio;
}

static bool add_spot(const struct look *l, const int hkl[3], struct spot_list *list)
{
    const struct crystal *crystal = l->step->ensemble.crystal;
    const double F = hkl_nearest(&crystal->table, (const double[3]){hkl[0], hkl[1], hkl[2]});
    struct closed_spot spot = {.step = (uint32_t)(l->step - l->c->steps),
                               .hkl = {hkl[0], hkl[1], hkl[2]},
                               .scale = l->step->scale * F * F,
                               .absorb = 1.0};
    if (!(spot.scale > 0.0) || !ensemble_spot_open(&l->step->ensemble, hkl, &spot.spot))
        return true;
    if (l->c->absorbs)
        spot.absorb = absorb_of(l, spot.spot.centre);
    struct closed_spot *items =
        mem_grow(list->items, list->count, 1, sizeof *items, &list->capacity);
    if (!items)
        return false;
    list->items = items;
    list->items[list->count++] = spot;
    return true;
}

/* Sets ends[] to the values of m between which |q|^2 + 2 k q . incident is below `bound`, with q =
 * p + m c*.  False if there are none. */
static bool below(const struct look *l, const double p[3], double k, double bound, double ends[2])
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

/* Where a row can meet the shell about the Ewald spheres of all wave numbers that the widest spot
 * reaches (see `excited`): inside of one of the outermost, but not deep in both of them.  False for
 * nowhere. */
static bool row_open(const struct look *l, struct lattice_row *row)
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

/* All reflections of one h. */
static bool list_plane(const struct look *l, int h, struct spot_list *list)
{
    const double *star = l->step->ensemble.star;
    const double dmin_A = l->c->x->dmin_m * 1e10;
    const double far = dmin_A > 0.0 ? fmin(l->farthest, 1.0 / dmin_A) : l->farthest;
    bool good = true;
    for (int k = l->min[1]; k <= l->max[1]; k++) {
        struct lattice_row row;
        for (int i = 0; i < 3; i++)
            row.p[i] = h * star[i] + k * star[3 + i];
        if (!row_open(l, &row))
            continue;
        for (int m = row.first; m <= row.last && good; m++) {
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
                good = add_spot(l, hkl, list);
        }
    }
    return good;
}

/* Largest |diffracted - incident| of a pixel: at a corner, while all are less than 90 deg from the
 * beam. */
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

/* Indices that the table has, or that the detector sees. */
static void set_box(struct look *l, const double *cell_m)
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

/* The widest that any spot of the box can be. */
static double widest_spot(const struct look *l, double length)
{
    int most[3];
    for (int i = 0; i < 3; i++)
        most[i] = abs(l->min[i]) > abs(l->max[i]) ? abs(l->min[i]) : abs(l->max[i]);
    return ensemble_reach(&l->step->ensemble, most, length);
}

static void look_open(struct look *l, const struct closed *c, const struct closed_step *step,
                      const struct cpu_view *v)
{
    const struct closed_beam *b = &c->beams[step->beam];
    const double *cell_m = c->recipe->lattices[step->lattice].cells_m + 9 * (size_t)step->step;
    *l = (struct look){.c = c, .step = step};
    l->least = c->channels[b->first].per_A;
    l->most = c->channels[b->first + b->count - 1].per_A;
    const double seen = l->most * widest(v, b->incident);
    l->farthest = seen;
    set_box(l, cell_m);
    l->farthest = seen + widest_spot(l, seen);
    set_box(l, cell_m);
    l->reach = widest_spot(l, l->farthest);
}

/* Reflections of one step, appended in the order of their indices. */
static bool list_step(struct closed *c, const struct look *l, int threads, size_t *capacity)
{
    const int planes = l->max[0] - l->min[0] + 1;
    if (planes <= 0)
        return true;
    struct spot_list *lists = mem_array((size_t)planes, sizeof *lists);
    bool good = lists;
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(&& : good)
    for (int i = 0; i < planes; i++)
        good = good && list_plane(l, l->min[0] + i, &lists[i]);
    for (int i = 0; i < planes && lists; i++) {
        struct closed_spot *spots =
            good ? mem_grow(c->spots, c->nspots, lists[i].count, sizeof *spots, capacity) : NULL;
        good = spots || (good && !lists[i].count);
        if (spots) {
            c->spots = spots;
            for (size_t k = 0; k < lists[i].count; k++)
                c->spots[c->nspots++] = lists[i].items[k];
        }
        mem_free(lists[i].items);
    }
    mem_free(lists);
    return good;
}

/* Pixels of a panel that the spot can reach; false for none. */
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

/* Where a spot lights panels: directions about those of the wave numbers that excite it. */
static bool place_spot(struct closed *c, const struct cpu_view *v, size_t index, size_t *capacity)
{
    const struct closed_spot *spot = &c->spots[index];
    const struct closed_step *step = &c->steps[spot->step];
    const struct closed_beam *b = &c->beams[step->beam];
    const double reach = spot->spot.reach, *centre = spot->spot.centre;
    const struct look l = {.c = c,
                           .step = step,
                           .least = c->channels[b->first].per_A,
                           .most = c->channels[b->first + b->count - 1].per_A};
    double k[2], ends[3][3], radius = 0.0;
    if (!excited(&l, centre, vec_dot(centre, centre), reach, k))
        return true;
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
        if (!places)
            return false;
        c->places = places;
        c->places[c->nplaces++] = place;
    }
    return true;
}

bool closed_list(struct closed *c, int threads)
{
    struct cpu_view view;
    size_t spots = 0, places = 0;
    bool good = cpu_view_open(&view, c->x);
    for (size_t i = 0; i < c->nsteps && good; i++) {
        struct look l;
        look_open(&l, c, &c->steps[i], &view);
        good = list_step(c, &l, threads, &spots);
    }
    for (size_t i = 0; i < c->nspots && good; i++)
        good = place_spot(c, &view, i, &places);
    cpu_view_close(&view);
    return good;
}
