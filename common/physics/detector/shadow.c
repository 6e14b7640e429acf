#include "physics/detector/shadow.h"

#include <math.h>

#include "physics/background/background_pixel.h"
#include "physics/detector/pixel.h"

/* The beam stop, and its coordinate system as seen from the sample. */
struct view {
    const struct stop *stop;
    const double *beam;
    double x[3], y[3];  // unit vectors across the beam
    double distance_m;
    double arm[2];  // unit vector along the arm
};

/* Returns true if the point is in a polygon: a ray along x crosses an odd number of its edges. */
static bool inside(const struct stop *s, double x, double y)
{
    bool in = false;
    for (size_t i = 0; i < s->ncorners; i++) {
        const double *a = s->corners_m[i], *b = s->corners_m[i + 1 < s->ncorners ? i + 1 : 0];
        if ((a[1] > y) != (b[1] > y) && x < a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0]))
            in = !in;
    }
    return in;
}

/* Returns true if light to this point, in m from the sample, meets the stop. */
static bool meets(const struct view *v, const double position[3])
{
    const struct stop *s = v->stop;
    const double along = vec_dot(position, v->beam);
    if (!(along > 0.0))
        return false;
    const double scale = v->distance_m / along;
    const double x = vec_dot(position, v->x) * scale - s->offset_m[0];
    const double y = vec_dot(position, v->y) * scale - s->offset_m[1];
    if (s->shape == STOP_POLYGON)
        return inside(s, x, y);
    const double a = 2.0 * x / s->size_m[0], b = 2.0 * y / s->size_m[1];
    if (s->shape == STOP_DISC ? a * a + b * b <= 1.0 : fabs(a) <= 1.0 && fabs(b) <= 1.0)
        return true;
    return x * v->arm[0] + y * v->arm[1] >= 0.0 &&
           2.0 * fabs(y * v->arm[0] - x * v->arm[1]) <= s->arm_m && s->arm_m > 0.0;
}

/* Computes point number (sub_fast, sub_slow) of SHADOW_EDGE x SHADOW_EDGE points of a pixel. Its
 * depth is the mean depth at which photons are absorbed in the whole sensor, as in
 * background_point. */
static void point_of(const struct experiment *x, const struct panel *p, int64_t fast, int64_t slow,
                     int sub_fast, int sub_slow, double position[3])
{
    const double edge = p->pixel_m / SHADOW_EDGE;
    if (p->curved) {
        pixel_position(p, x->physics, x->beam.direction, fast, slow, 0, sub_fast, sub_slow,
                       SHADOW_EDGE, position);
        return;
    }
    const int64_t f = (fast + p->grid_fast) * SHADOW_EDGE + sub_fast;
    const int64_t s = (slow + p->grid_slow) * SHADOW_EDGE + sub_slow;
    background_flat_point(p, edge * (double)f + edge / 2.0, edge * (double)s + edge / 2.0,
                          position);
}

/* Returns the number of points of a pixel that are in the shadow, among every `step`-th point
 * along both edges. */
static int points(const struct view *v, const struct experiment *x, const struct panel *p,
                  int64_t fast, int64_t slow, int step)
{
    int met = 0;
    for (int s = 0; s < SHADOW_EDGE; s += step)
        for (int f = 0; f < SHADOW_EDGE; f += step) {
            double position[3];
            point_of(x, p, fast, slow, f, s, position);
            met += meets(v, position);
        }
    return met;
}

/* Returns the fraction of a pixel that is in the shadow. If all corners are on one side of the
 * edge, the whole pixel is. */
static double covered(const struct view *v, const struct experiment *x, const struct panel *p,
                      int64_t fast, int64_t slow)
{
    const int corners = points(v, x, p, fast, slow, SHADOW_EDGE - 1);
    if (corners == 0 || corners == 4)
        return corners / 4.0;
    return points(v, x, p, fast, slow, 1) / (double)(SHADOW_EDGE * SHADOW_EDGE);
}

void shadow_cast(const struct stop *stop, const struct experiment *x, float *passes)
{
    struct view v = {.stop = stop,
                     .beam = x->beam.direction,
                     .distance_m =
                         stop->distance_m > 0.0 ? stop->distance_m : x->panels[0].distance_m,
                     .arm = {cos(stop->arm_rad), sin(stop->arm_rad)}};
    pixel_curve_axes(&x->panels[0], v.beam, v.x, v.y);
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int64_t s = 0; s < p->slow_pixels; s++)
            for (int64_t f = 0; f < p->fast_pixels; f++)
                passes[p->first_pixel + s * p->fast_pixels + f] *=
                    (float)(1.0 - (1.0 - stop->transmission) * covered(&v, x, p, f, s));
}
