#include "physics/detector/detector.h"

#include <float.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "physics/detector/sensor.h"
#include "physics/request.h"

const struct frame_axes *convention_axes(enum convention convention)
{
    static const struct frame_axes table[] = {
        // clang-format off
        [CONVENTION_MOSFLM] = {{1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0},
                               {0, 0, -1}, {0, 0, 1}, {0, 0, 1}, PIVOT_BEAM},
        [CONVENTION_DENZO] = {{1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0},
                              {0, 0, -1}, {0, 0, 1}, {0, 0, 1}, PIVOT_BEAM},
        [CONVENTION_ADXV] = {{0, 0, 1}, {1, 0, 0}, {0, -1, 0}, {0, 0, 1},
                             {-1, 0, 0}, {1, 0, 0}, {1, 0, 0}, PIVOT_BEAM},
        [CONVENTION_XDS] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1},
                            {1, 0, 0}, {1, 0, 0}, {1, 0, 0}, PIVOT_SAMPLE},
        [CONVENTION_DIALS] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1},
                              {0, 1, 0}, {0, 1, 0}, {0, 1, 0}, PIVOT_SAMPLE},
        [CONVENTION_CUSTOM] = {{1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0},
                               {0, 1, 0}, {0, 0, 1}, {0, 0, 1}, PIVOT_BEAM},
        // clang-format on
    };
    return &table[convention];
}

/* Replaces a row of the table by the user's vector; every direction must exist. */
static enum status take_axis(const char *name, const double v[3], double axis[3], struct error *e)
{
    if (isnan(v[0]))
        return STATUS_OK;
    const enum status s = check_direction(name, v, e);
    vec_copy(axis, v);
    return s;
}

/* Sets the vectors that were given for the convention CUSTOM. */
static enum status take_custom_axes(const struct request *r, struct frame_axes *axes,
                                    struct error *e)
{
    const struct detector_request *d = &r->detector;
    const struct beam_request *b = &r->beam;
    enum status s;
    if ((s = take_axis("beam vector", b->direction, axes->beam, e)) ||
        (s = take_axis("fast axis", d->fast, axes->fast, e)) ||
        (s = take_axis("slow axis", d->slow, axes->slow, e)) ||
        (s = take_axis("detector normal", d->normal, axes->normal, e)) ||
        (s = take_axis("two-theta axis", d->twotheta_axis, axes->twotheta, e)) ||
        (s = take_axis("polarization vector", b->polarization, axes->polar, e)))
        return s;
    return take_axis("spindle axis", b->spindle, axes->spindle, e);
}

/* Sets the normal perpendicular to fast and slow, away from the sample (physical mode). */
static void cross_normal(struct frame_axes *axes)
{
    vec_cross(axes->fast, axes->slow, axes->normal);
    vec_unit(axes->normal, axes->normal);
    if (vec_dot(axes->normal, axes->beam) < 0.0)
        vec_scale(axes->normal, -1.0, axes->normal);
}

enum status detector_axes(const struct request *r, struct frame_axes *axes, struct error *e)
{
    const struct detector_request *d = &r->detector;
    const bool faithful = r->physics == PHYSICS_FAITHFUL;
    *axes = *convention_axes(d->convention);
    enum status s = d->convention == CONVENTION_CUSTOM ? take_custom_axes(r, axes, e) : STATUS_OK;
    if (s)
        return s;
    vec_unit(axes->beam, axes->beam);
    vec_unit(axes->fast, axes->fast);
    vec_unit(axes->slow, axes->slow);
    const double normal_length = vec_unit(axes->normal, axes->normal);
    vec_unit(axes->polar, axes->polar);
    vec_unit(axes->spindle, axes->spindle);
    double across[3];
    vec_cross(axes->fast, axes->slow, across);
    if (!(vec_length(across) > 1e-3))
        return error_set(
            e, STATUS_INPUT,
            "the fast and the slow axis are parallel; expected two different directions");
    vec_cross(axes->beam, axes->polar, across);
    if (!(vec_length(across) > 1e-6))
        return error_set(e, STATUS_INPUT,
                         "the polarization vector is along the beam; expected a vector across it");
    /* nanoBragg keeps a normal only if its length is exactly 1. */
    if (faithful && normal_length != 1.0) {
        vec_cross(axes->fast, axes->slow, axes->normal);
        vec_unit(axes->normal, axes->normal);
    } else if (!faithful) {
        vec_unit(axes->twotheta, axes->twotheta);
        if (d->convention == CONVENTION_CUSTOM && isnan(d->normal[0]) &&
            !(isnan(d->fast[0]) && isnan(d->slow[0])))
            cross_normal(axes);
    }
    return STATUS_OK;
}

/* Sets the numbers of pixels and the edge lengths [1.2]. */
static enum status count_pixels(const struct detector_request *d, double size_m[2], struct panel *p,
                                struct error *e)
{
    enum status s = check_range("pixel size", d->pixel_m, 1e-3, "mm", 1e-4, 1e3, e);
    if (s)
        return s;
    int64_t counts[2];
    for (int i = 0; i < 2; i++) {
        const char *what = i ? "number of pixels along slow" : "number of pixels along fast";
        size_m[i] = d->pixels[i] ? d->pixel_m * (double)d->pixels[i] : d->size_m[i];
        const double count = ceil(size_m[i] / d->pixel_m - 0.5);
        if ((s = check_range(what, count, 1.0, "", 1.0, LIMIT_EDGE_PIXELS, e)))
            return s;
        counts[i] = (int64_t)count;
    }
    p->pixel_m = d->pixel_m;
    p->fast_pixels = counts[0];
    p->slow_pixels = counts[1];
    return check_range("number of pixels", (double)counts[0] * (double)counts[1], 1.0, "", 1.0,
                       LIMIT_PIXELS, e);
}

/* --- beam centre ------------------------------------------------------------------ */

/* The point that the beam hits, and the point nearest to the sample, in m from the outer corner
 * of pixel (0,0). */
struct centre {
    double beam_x, beam_y;  // Xbeam, Ybeam by the convention
    double beam_fast, beam_slow;
    double close_fast, close_slow;
};

/* Converts Xbeam and Ybeam to fast and slow as the convention defines them [1.4]. */
static void beam_to_axes(enum convention convention, double pixel_m, double slow_size_m,
                         struct centre *c)
{
    switch (convention) {
    case CONVENTION_MOSFLM:
        c->beam_fast = c->beam_y + 0.5 * pixel_m;
        c->beam_slow = c->beam_x + 0.5 * pixel_m;
        break;
    case CONVENTION_DENZO:
        c->beam_fast = c->beam_y;
        c->beam_slow = c->beam_x;
        break;
    case CONVENTION_ADXV:
        c->beam_fast = c->beam_x;
        c->beam_slow = slow_size_m - c->beam_y;
        break;
    case CONVENTION_XDS:
    case CONVENTION_DIALS:
    case CONVENTION_CUSTOM:
        c->beam_fast = c->beam_x;
        c->beam_slow = c->beam_y;
        break;
    }
}

/* The inverse of beam_to_axes. */
static void axes_to_beam(enum convention convention, double pixel_m, double slow_size_m,
                         struct centre *c)
{
    const bool swapped = convention == CONVENTION_MOSFLM || convention == CONVENTION_DENZO;
    const double half = convention == CONVENTION_MOSFLM ? 0.5 * pixel_m : 0.0;
    const double slow = convention == CONVENTION_ADXV ? slow_size_m - c->beam_slow : c->beam_slow;
    c->beam_x = swapped ? slow - half : c->beam_fast;
    c->beam_y = swapped ? c->beam_fast - half : slow;
}

/* Sets Xbeam and Ybeam to the middle of the detector, as each convention counts, if they are not
 * given. */
static void default_beam(enum convention convention, double pixel_m, const double size_m[2],
                         double xclose, double yclose, struct centre *c)
{
    switch (convention) {
    case CONVENTION_MOSFLM:
    case CONVENTION_DENZO:
        c->beam_x = (size_m[1] + pixel_m) / 2.0;
        c->beam_y = (size_m[0] + pixel_m) / 2.0;
        break;
    case CONVENTION_ADXV:
        c->beam_x = (size_m[0] + pixel_m) / 2.0;
        c->beam_y = (size_m[1] - pixel_m) / 2.0;
        break;
    case CONVENTION_XDS:
    case CONVENTION_DIALS:
    case CONVENTION_CUSTOM:
        c->beam_x = xclose;
        c->beam_y = yclose;
        break;
    }
}

/* In physical mode, if only one of beam centre and nearest point was given, it is used for both,
 * axis by axis. */
static void stand_in(const struct detector_request *d, double pixel_m, double slow_size_m,
                     struct centre *c)
{
    const bool swapped = d->convention == CONVENTION_MOSFLM || d->convention == CONVENTION_DENZO;
    const bool beam_fast = !isnan(d->beam_m[swapped]), beam_slow = !isnan(d->beam_m[!swapped]);
    const bool close_fast = !isnan(d->org_px[0]) || !isnan(d->close_m[0]);
    const bool close_slow = !isnan(d->org_px[1]) || !isnan(d->close_m[1]);
    if (close_fast && !beam_fast)
        c->beam_fast = c->close_fast;
    else if (!close_fast)
        c->close_fast = c->beam_fast;
    if (close_slow && !beam_slow)
        c->beam_slow = c->close_slow;
    else if (!close_slow)
        c->close_slow = c->beam_slow;
    axes_to_beam(d->convention, pixel_m, slow_size_m, c);
}

static double or_else(double given, double otherwise)
{
    return isnan(given) ? otherwise : given;
}

/* Rules of [1.4]. */
static void apply_rules(const struct detector_request *d, bool faithful, const double size_m[2],
                        struct centre *c)
{
    const double pixel = d->pixel_m;
    const bool x = !isnan(d->org_px[0]), y = !isnan(d->org_px[1]);
    c->close_fast = x ? (d->org_px[0] - 0.5) * pixel : size_m[0] / 2.0;
    c->close_slow = y ? (d->org_px[1] - 0.5) * pixel : size_m[1] / 2.0;
    /* nanoBragg reads -Xclose but takes only ORGX for the nearest point */
    const double xclose = or_else(d->close_m[0], c->close_fast);
    const double yclose = or_else(d->close_m[1], c->close_slow);
    if (!faithful) {
        c->close_fast = x ? c->close_fast : xclose;
        c->close_slow = y ? c->close_slow : yclose;
    }
    default_beam(d->convention, pixel, size_m, xclose, yclose, c);
    /* The value of the user replaces the default. */
    c->beam_x = or_else(d->beam_m[0], c->beam_x);
    c->beam_y = or_else(d->beam_m[1], c->beam_y);
    beam_to_axes(d->convention, pixel, size_m[1], c);
    if (!faithful) {
        stand_in(d, pixel, size_m[1], c);
    } else if (d->convention == CONVENTION_CUSTOM) {
        c->close_fast = c->beam_x;
        c->close_slow = c->beam_y;
    }
}

/* Refuses NaN and absurd values from all sources. */
static enum status check_centre(const struct centre *c, struct error *e)
{
    enum status s;
    if ((s = check_range("beam centre X", c->beam_x, 1e-3, "mm", -1e6, 1e6, e)) ||
        (s = check_range("beam centre Y", c->beam_y, 1e-3, "mm", -1e6, 1e6, e)) ||
        (s = check_range("nearest point along fast", c->close_fast, 1e-3, "mm", -1e6, 1e6, e)))
        return s;
    return check_range("nearest point along slow", c->close_slow, 1e-3, "mm", -1e6, 1e6, e);
}

/* Fills *c for a detector of size_m (fast, slow).  Faithful: only CUSTOM takes the
 * nearest point from the beam centre, nothing else stands in.  Physical: whichever
 * of the two was given stands in for the other, axis by axis.  STATUS_INPUT for
 * centres that are not finite or farther than 1 km away. */
static enum status find_centre(const struct detector_request *d, bool faithful,
                               const double size_m[2], struct centre *c, struct error *e)
{
    apply_rules(d, faithful, size_m, c);
    return check_centre(c, e);
}

/* --- the panel -------------------------------------------------------------------- */

/* Rotates about the axes of the laboratory frame, then about the two-theta axis. */
static void turn_vector(const struct detector_request *d, const struct frame_axes *axes,
                        double v[3])
{
    vec_rotate(v, d->rotation_rad);
    vec_rotate_axis(v, axes->twotheta, d->twotheta_rad);
}

void detector_derive(struct panel *p, const double beam[3], double ratio)
{
    p->close_fast_m = -vec_dot(p->origin_m, p->fast);
    p->close_slow_m = -vec_dot(p->origin_m, p->slow);
    p->close_distance_m = vec_dot(p->origin_m, p->normal);
    p->distance_m = p->close_distance_m / ratio;
    double to_beam[3];
    for (int i = 0; i < 3; i++)
        to_beam[i] = p->distance_m * beam[i] - p->origin_m[i];
    p->beam_fast_m = vec_dot(p->fast, to_beam);
    p->beam_slow_m = vec_dot(p->slow, to_beam);
}

double detector_ratio(const struct panel *p, const double beam[3])
{
    const double ratio = vec_dot(beam, p->normal);
    return fabs(ratio) > 1e-6 ? ratio : 1.0;
}

/* Sets origin, axes, distances and the derived centres of the panel [1.7]. */
static void place_panel(const struct detector_request *d, const struct frame_axes *axes,
                        enum pivot pivot, bool faithful, const struct centre *c, struct panel *p)
{
    double tilted[3];
    vec_copy(tilted, axes->normal);
    vec_rotate(tilted, d->rotation_rad);
    /* The cosine between beam and normal without the arm, as in nanoBragg. */
    double ratio = vec_dot(axes->beam, tilted);
    if (ratio == 0.0)
        ratio = DBL_MIN;
    const double close =
        isnan(d->close_distance_m) ? fabs(ratio * d->distance_m) : d->close_distance_m;
    const double distance = close / ratio;

    vec_copy(p->fast, axes->fast);
    vec_copy(p->slow, axes->slow);
    vec_copy(p->normal, axes->normal);
    /* About the sample: the origin turns with the panel. */
    for (int i = 0; pivot == PIVOT_SAMPLE && i < 3; i++)
        p->origin_m[i] =
            -c->close_fast * p->fast[i] - c->close_slow * p->slow[i] + close * p->normal[i];
    if (pivot == PIVOT_SAMPLE)
        turn_vector(d, axes, p->origin_m);
    turn_vector(d, axes, p->fast);
    turn_vector(d, axes, p->slow);
    turn_vector(d, axes, p->normal);
    /* About the beam: the panel turns, and its beam centre stays. */
    for (int i = 0; pivot == PIVOT_BEAM && i < 3; i++)
        p->origin_m[i] =
            -c->beam_fast * p->fast[i] - c->beam_slow * p->slow[i] + distance * axes->beam[i];

    /* These values belong to the panel after its rotation. */
    if (!faithful)
        ratio = detector_ratio(p, axes->beam);  // the arm turns the normal too
    detector_derive(p, axes->beam, ratio);
}

/* Sets the region of interest: the whole panel, or the part of the requested region that is on
 * the panel. */
static enum status set_roi(const struct detector_request *d, struct panel *p, struct error *e)
{
    p->roi = d->roi;
    struct roi *roi = &p->roi;
    roi->fast_min = roi->fast_min < 0 ? 0 : roi->fast_min;
    roi->slow_min = roi->slow_min < 0 ? 0 : roi->slow_min;
    roi->fast_max = roi->fast_max >= p->fast_pixels ? p->fast_pixels - 1 : roi->fast_max;
    roi->slow_max = roi->slow_max >= p->slow_pixels ? p->slow_pixels - 1 : roi->slow_max;
    if (roi->fast_min > roi->fast_max || roi->slow_min > roi->slow_max)
        return error_set(e, STATUS_INPUT,
                         "--roi: the region is outside the detector of %lld x %lld pixels",
                         (long long)p->fast_pixels, (long long)p->slow_pixels);
    return STATUS_OK;
}

/* Sets the effective distance, and all angles. */
static enum status check_distances(const struct detector_request *d, struct error *e)
{
    enum status s = STATUS_OK;
    if (!isnan(d->close_distance_m))
        s = check_range("close distance", d->close_distance_m, 1e-3, "mm", 1e-3, 1e6, e);
    else
        s = check_range("distance", d->distance_m, 1e-3, "mm", 1e-3, 1e6, e);
    for (int i = 0; i < 3 && !s; i++)
        s = check_range("detector rotation", d->rotation_rad[i], deg_to_rad(1.0), "deg", -3600,
                        3600, e);
    return s ? s
             : check_range("two-theta", d->twotheta_rad, deg_to_rad(1.0), "deg", -3600, 3600, e);
}

enum status detector_panel(const struct request *r, const struct frame_axes *axes, struct panel *p,
                           struct error *e)
{
    const struct detector_request *d = &r->detector;
    const bool faithful = r->physics == PHYSICS_FAITHFUL;
    memset(p, 0, sizeof *p);
    p->mask = d->mask;
    p->curved = d->curved;
    p->point_pixel = d->point_pixel;
    p->twotheta_rad = d->twotheta_rad;
    double size_m[2];
    enum status s;
    if ((s = count_pixels(d, size_m, p, e)) || (s = check_distances(d, e)) ||
        (s = set_roi(d, p, e)) || (s = sensor_setup(d, faithful, p, e)))
        return s;
    struct centre centre = {0};
    if ((s = find_centre(d, faithful, size_m, &centre, e)))
        return s;
    /* In nanoBragg only CUSTOM lets the user choose. */
    const bool listens = d->pivot >= 0 && (!faithful || d->convention == CONVENTION_CUSTOM);
    place_panel(d, axes, listens ? (enum pivot)d->pivot : axes->pivot, faithful, &centre, p);
    p->beam_x_mm = m_to_mm(centre.beam_x);
    p->beam_y_mm = m_to_mm(centre.beam_y);
    if (!(p->close_distance_m > 0.0))
        return error_set(e, STATUS_INPUT,
                         "the detector faces away: its nearest distance is %g mm; expected a value "
                         "greater than 0",
                         m_to_mm(p->close_distance_m));
    return STATUS_OK;
}
