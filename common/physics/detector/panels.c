/* Panels of a detector: their places, cuts, shifts from frame to frame, and where a ray meets them.
 */
#include "physics/detector/detector.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/vec.h"
#include "physics/detector/pixel.h"
#include "physics/request.h"

void panels_frame(const struct experiment *x, double frame[9])
{
    const double *beam = x->beam.direction;
    const double *fast = x->convention == CONVENTION_CUSTOM ? x->panels[0].fast
                                                            : convention_axes(x->convention)->fast;
    const double along = vec_dot(fast, beam);
    for (int i = 0; i < 3; i++)
        frame[i] = fast[i] - along * beam[i];
    if (!(vec_unit(frame, frame) > 1e-3)) {
        /* The axis is along the beam: any direction perpendicular to the beam is used. */
        const double other[3] = {fabs(beam[0]) < 0.5, fabs(beam[0]) >= 0.5, 0};
        vec_cross(beam, other, frame);
        vec_unit(frame, frame);
    }
    vec_cross(beam, frame, frame + 3);
    vec_copy(frame + 6, beam);
}

/* --- places -------------------------------------------------------------------- */

/* Converts v from the coordinate system of the beam to the laboratory frame. */
static void to_lab(const double frame[9], const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = v[0] * frame[i] + v[1] * frame[3 + i] + v[2] * frame[6 + i];
}

/* Sets the normal away from the sample, and what follows from it. The position of the panel is
 * set before. */
static enum status orient(struct panel *p, const double beam[3], size_t number, struct error *e)
{
    vec_cross(p->fast, p->slow, p->normal);
    vec_unit(p->normal, p->normal);
    if (vec_dot(p->normal, p->origin_m) < 0.0)
        vec_scale(p->normal, -1.0, p->normal);
    detector_derive(p, beam, detector_ratio(p, beam));
    if (!(p->close_distance_m > 1e-6))
        return error_set(e, STATUS_INPUT,
                         "the plane of panel %zu contains the sample: its nearest distance is %g "
                         "mm; expected a value greater than 0.001",
                         number, m_to_mm(p->close_distance_m));
    p->beam_x_mm = m_to_mm(p->beam_fast_m);
    p->beam_y_mm = m_to_mm(p->beam_slow_m);
    return STATUS_OK;
}

enum status panels_place(const struct detector_request *r, struct experiment *x, struct error *e)
{
    const struct panel sensor = x->panels[0];
    double frame[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    if (!r->lab_places)
        panels_frame(x, frame);
    struct panel *list = mem_array(r->nplaces, sizeof *list);
    mem_free(x->panels);
    x->panels = list;
    x->npanels = r->nplaces;
    for (size_t i = 0; i < r->nplaces; i++) {
        list[i].mask = r->places[i].mask;
        r->places[i].mask = NULL;
    }
    enum status s = check_range("number of panels", (double)r->nplaces, 1, "", 1, LIMIT_PANELS, e);
    double pixels = 0;
    for (size_t i = 0; i < r->nplaces && !s; i++) {
        const struct place *place = &r->places[i];
        struct panel *p = &list[i];
        uint8_t *mask = p->mask;
        *p = sensor;
        p->mask = mask;
        p->fast_pixels = place->pixels[0];
        p->slow_pixels = place->pixels[1];
        p->pixel_m = place->pixel_m;
        p->roi = (struct roi){0, p->fast_pixels - 1, 0, p->slow_pixels - 1};
        p->first_pixel = (int64_t)pixels;
        pixels += (double)p->fast_pixels * (double)p->slow_pixels;
        to_lab(frame, place->fast, p->fast);
        to_lab(frame, place->slow, p->slow);
        to_lab(frame, place->corner_m, p->origin_m);
        s = check_range("number of pixels", pixels, 1.0, "", 1.0, LIMIT_PIXELS, e);
        s = s ? s : orient(p, x->beam.direction, i, e);
    }
    return s;
}

/* --- cuts ---------------------------------------------------------------------- */

int64_t layout_pixels(const struct layout *l, int along)
{
    return l->count[along] * (l->pixels[along] + l->gap[along]) - l->gap[along];
}

void layout_mask(const struct layout *l, uint8_t **mask)
{
    const int64_t nfast = layout_pixels(l, 0), nslow = layout_pixels(l, 1);
    *mask = mem_array((size_t)nfast, (size_t)nslow);
    for (int64_t s = 0; s < nslow; s++)
        for (int64_t f = 0; f < nfast; f++)
            (*mask)[s * nfast + f] = f % (l->pixels[0] + l->gap[0]) < l->pixels[0] &&
                                     s % (l->pixels[1] + l->gap[1]) < l->pixels[1];
}

/* Sets the first pixel of part i along an edge of `pixels` pixels, and the number of its pixels. */
static int64_t part_of(const struct layout *l, int along, int64_t pixels, int64_t i, int64_t *count)
{
    const int64_t n = l->count[along];
    const int64_t first =
        l->pixels[along] ? i * (l->pixels[along] + l->gap[along]) : i * pixels / n;
    *count = l->pixels[along] ? l->pixels[along] : (i + 1) * pixels / n - first;
    return first;
}

static int64_t clip(int64_t value, int64_t count)
{
    return value < 0 ? 0 : value >= count ? count - 1 : value;
}

/* Copies the mask of a part of `from`, if `from` has a mask. */
static void cut_mask(const struct panel *from, struct panel *p)
{
    const int64_t f0 = p->grid_fast - from->grid_fast, s0 = p->grid_slow - from->grid_slow;
    if (!from->mask)
        return;
    p->mask = mem_array((size_t)p->fast_pixels, (size_t)p->slow_pixels);
    for (int64_t s = 0; s < p->slow_pixels; s++)
        memcpy(p->mask + s * p->fast_pixels, from->mask + (s0 + s) * from->fast_pixels + f0,
               (size_t)p->fast_pixels);
}

/* Makes part (f, s) of `from`. */
static void cut_part(const struct layout *l, const struct panel *from, int64_t f, int64_t s,
                     struct panel *p)
{
    *p = *from;
    p->mask = NULL;
    const int64_t f0 = part_of(l, 0, from->fast_pixels, f, &p->fast_pixels);
    const int64_t s0 = part_of(l, 1, from->slow_pixels, s, &p->slow_pixels);
    if (!from->grid_fast && !from->grid_slow)
        vec_copy(p->grid_m, from->origin_m);
    p->grid_fast += f0;
    p->grid_slow += s0;
    const double along_fast = p->pixel_m * (double)f0, along_slow = p->pixel_m * (double)s0;
    for (int i = 0; i < 3; i++)
        p->origin_m[i] += along_fast * p->fast[i] + along_slow * p->slow[i];
    p->beam_fast_m -= along_fast;
    p->beam_slow_m -= along_slow;
    p->close_fast_m -= along_fast;
    p->close_slow_m -= along_slow;
    const struct roi *r = &from->roi;
    const bool seen = r->fast_max >= f0 && r->fast_min < f0 + p->fast_pixels && r->slow_max >= s0 &&
                      r->slow_min < s0 + p->slow_pixels;
    p->roi = (struct roi){0, -1, 0, -1};
    if (seen)
        p->roi = (struct roi){
            clip(r->fast_min - f0, p->fast_pixels), clip(r->fast_max - f0, p->fast_pixels),
            clip(r->slow_min - s0, p->slow_pixels), clip(r->slow_max - s0, p->slow_pixels)};
    cut_mask(from, p);
}

static enum status check_cut(const struct layout *l, const struct experiment *x, struct error *e)
{
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        const int64_t edge[2] = {p->fast_pixels, p->slow_pixels};
        if (p->curved)
            return error_set(e, STATUS_INPUT, "a curved detector cannot be cut into panels");
        for (int k = 0; k < 2; k++)
            if (l->count[k] < 1 || l->count[k] > edge[k] ||
                (l->pixels[k] && layout_pixels(l, k) > edge[k]))
                return error_set(e, STATUS_INPUT, "%lld panels along %s do not fit on %lld pixels",
                                 (long long)l->count[k], k ? "slow" : "fast", (long long)edge[k]);
    }
    return check_range("number of panels",
                       (double)x->npanels * (double)l->count[0] * (double)l->count[1], 1, "", 1,
                       LIMIT_PANELS, e);
}

enum status panels_cut(const struct layout *l, struct experiment *x, struct error *e)
{
    if (!l->count[0])
        return STATUS_OK;
    enum status s = check_cut(l, x, e);
    if (s)
        return s;
    const size_t parts = (size_t)(l->count[0] * l->count[1]);
    struct panel *list = mem_array(x->npanels * parts, sizeof *list);
    int64_t pixels = 0;
    for (size_t i = 0; i < x->npanels * parts; i++) {
        const int64_t part = (int64_t)(i % parts);
        cut_part(l, &x->panels[i / parts], part % l->count[0], part / l->count[0], &list[i]);
        list[i].first_pixel = pixels;
        pixels += list[i].fast_pixels * list[i].slow_pixels;
    }
    for (size_t i = 0; i < x->npanels; i++)
        mem_free(x->panels[i].mask);
    mem_free(x->panels);
    x->panels = list;
    x->npanels *= parts;
    return s;
}

/* --- from frame to frame ---------------------------------------------------------- */

bool shift_moves(const struct shift *s)
{
    return s->coffset_m != 0.0 || s->across_m[0] != 0.0 || s->across_m[1] != 0.0 ||
           s->coffset_jitter_m > 0.0 || s->jitter_m > 0.0 || s->nlisted;
}

/* Computes the shift without jitter, in the coordinate system of the beam. */
static void listed_shift(const struct shift *s, uint64_t frame, double by_m[3])
{
    for (int i = 0; i < 3; i++)
        by_m[i] = s->nlisted ? s->listed_m[frame % s->nlisted][i] : 0.0;
    for (int i = 0; i < 2; i++)
        by_m[i] += s->across_m[i];
    by_m[2] += s->coffset_m;
}

enum status shift_check(const struct shift *s, const struct experiment *x, struct error *e)
{
    static const double NEAREST_M = 1e-6;
    const size_t count = s->nlisted ? s->nlisted : shift_moves(s);
    double frame[9];
    panels_frame(x, frame);
    for (size_t k = 0; k < count * x->npanels; k++) {
        const struct panel *p = &x->panels[k % x->npanels];
        double by_m[3], lab[3];
        if (p->curved)
            return error_set(e, STATUS_INPUT, "a curved detector cannot move from frame to frame");
        listed_shift(s, k / x->npanels, by_m);
        to_lab(frame, by_m, lab);
        if (!(p->close_distance_m + vec_dot(p->normal, lab) > NEAREST_M))
            return error_set(
                e, STATUS_INPUT,
                "a shift of %g mm along the beam puts panel %zu in front of the sample; "
                "expected all panels behind the sample",
                m_to_mm(by_m[2]), k % x->npanels);
    }
    return STATUS_OK;
}

void shift_make(const struct shift *s, const struct experiment *x, struct recipe *r)
{
    double frame[9], by_m[3];
    r->has_shift = shift_moves(s);
    if (!r->has_shift)
        return;
    listed_shift(s, r->id, by_m);
    if (s->coffset_jitter_m > 0.0 || s->jitter_m > 0.0) {
        struct rng random = rng_stream(r->seed, RNG_SHIFT, r->id, 0);
        by_m[2] += s->coffset_jitter_m * rng_normal(&random);
        by_m[0] += s->jitter_m * rng_normal(&random);
        by_m[1] += s->jitter_m * rng_normal(&random);
    }
    panels_frame(x, frame);
    to_lab(frame, by_m, r->shift_m);
}

/* --- from directions to pixels ---------------------------------------------------- */

/* The inverse of pixel_curve. */
static bool ray_to_curved(const struct panel *p, const double beam[3], const double direction[3],
                          double *fast, double *slow)
{
    double across_fast[3], across_slow[3], unit[3];
    vec_unit(direction, unit);
    pixel_curve_axes(p, beam, across_fast, across_slow);
    const double a = asin(vec_dot(unit, across_fast));
    const double b = atan2(vec_dot(unit, across_slow), vec_dot(unit, beam));
    *fast = (p->beam_fast_m + p->distance_m * a) / p->pixel_m;
    *slow = (p->beam_slow_m + p->distance_m * b) / p->pixel_m;
    return p->distance_m > 0.0;
}

bool ray_to_pixel(const struct panel *p, const double beam[3], const double direction[3],
                  double *fast, double *slow)
{
    if (p->curved)
        return ray_to_curved(p, beam, direction, fast, slow);
    const double length = vec_dot(p->origin_m, p->normal) / vec_dot(direction, p->normal);
    if (!(length > 0.0) || !isfinite(length))
        return false;
    double on[3];
    for (int i = 0; i < 3; i++)
        on[i] = length * direction[i] - p->origin_m[i];
    *fast = vec_dot(on, p->fast) / p->pixel_m;
    *slow = vec_dot(on, p->slow) / p->pixel_m;
    return true;
}

void ray_on_cone(const double beam[3], double twotheta_rad, double azimuth_rad, double direction[3])
{
    const double other[3] = {fabs(beam[0]) < 0.5, fabs(beam[0]) >= 0.5, 0.0};
    double u[3], v[3];
    vec_cross(beam, other, u);
    vec_unit(u, u);
    vec_cross(beam, u, v);
    for (int i = 0; i < 3; i++)
        direction[i] = cos(twotheta_rad) * beam[i] +
                       sin(twotheta_rad) * (cos(azimuth_rad) * u[i] + sin(azimuth_rad) * v[i]);
}
