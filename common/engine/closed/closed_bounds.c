#include "engine/closed/closed_bounds.h"

#include <math.h>

#include "base/vec.h"
#include "physics/detector/pixel.h"

/* How far points of a pixel are from its middle: half a pixel, and a little for rounding. */
#define MARGIN_PIXELS 1.5

/* Symmetric forms, of the items 00 01 02 11 12 22. */
enum { FORM = 6 };
static const int ROW[FORM] = {0, 0, 0, 1, 1, 2}, COLUMN[FORM] = {0, 1, 2, 1, 2, 2};

struct bounds {
    double A[FORM], b[3], D[3], C;
    double per_A[2];
};

/* The places of the middle pixel and from pixel to pixel, in m. */
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

/* How much the limit grows, since a distance is up to (half m)^2 / 2n above the linear one. */
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

/* The lines that touch a form across axis 1 or 2: where they are, and where they do.  False for
 * none. */
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

/* The wave number that is nearest at a point of the cone. */
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

/* Adds the pixels that a single wave number lights.  False where they have no bounds. */
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

/* Adds the extremes of the cone that wave numbers between the two reach.  False where they have no
 * bounds. */
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

/* Least and most along fast, then along slow. */
static enum found find(const struct bounds *o, double ends[2][2])
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

/* How far from its place in the first layer something is seen in the last one, in pixels. */
static double apart(const struct panel *p, const double at[3], double half_m)
{
    const double along_m = fmax(fabs(vec_dot(at, p->normal)), p->pixel_m);
    const double beside_m = half_m + sqrt(fmax(vec_dot(at, at) - along_m * along_m, 0.0));
    return (p->layers - 1) * p->layer_m / p->pixel_m * (beside_m / along_m);
}

/* Whole lanes, counted from the place's first pixel. */
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

bool closed_bounds(const struct panel *p, const struct ensemble_spot *spot,
                   const double incident[3], const double per_A[2], struct closed_place *place)
{
    struct bounds o = {.per_A = {per_A[0], per_A[1]}};
    const double middle[2] = {0.5 * (place->fast_min + place->fast_max),
                              0.5 * (place->row_min + place->row_max)};
    const double half_m = p->pixel_m * hypot(middle[0] - place->fast_min + MARGIN_PIXELS,
                                             middle[1] - place->row_min + MARGIN_PIXELS);
    double at[3][3], ends[2][2];
    set_places(p, middle, at);
    set_forms(&o, spot, incident, (const double(*)[3])at, half_m);
    const enum found found = find(&o, ends);
    if (found == FOUND_NOTHING)
        return false;
    if (found == FOUND)
        narrow(place, middle, (const double(*)[2])ends, MARGIN_PIXELS + apart(p, at[0], half_m));
    return place->fast_min <= place->fast_max && place->row_min <= place->row_max;
}
