#include "physics/detector/centre.h"

#include "physics/request.h"

/* Xbeam, Ybeam to fast, slow, by the convention's own idea [1.4]. */
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

/* Xbeam and Ybeam when they are not given: the middle, as each convention counts. */
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

/* Physical mode: whichever of beam centre and nearest point was given stands in for
 * the other, axis by axis. */
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
    /* what was typed replaces the default */
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

/* NaN and absurd values, whichever way they came in. */
static enum status check_centre(const struct centre *c, struct error *e)
{
    enum status s;
    if ((s = check_range("beam centre X", c->beam_x, 1e-3, "mm", -1e6, 1e6, e)) ||
        (s = check_range("beam centre Y", c->beam_y, 1e-3, "mm", -1e6, 1e6, e)) ||
        (s = check_range("nearest point along fast", c->close_fast, 1e-3, "mm", -1e6, 1e6, e)))
        return s;
    return check_range("nearest point along slow", c->close_slow, 1e-3, "mm", -1e6, 1e6, e);
}

enum status centre_find(const struct detector_request *d, bool faithful, const double size_m[2],
                        struct centre *c, struct error *e)
{
    apply_rules(d, faithful, size_m, c);
    return check_centre(c, e);
}
