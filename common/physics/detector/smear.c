#include "physics/detector/smear.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "physics/detector/pixel.h"

/* Deeper than this many attenuation depths, 1e-11 of the photons are left. */
static const double STOPPED = 25.0;

/* Steps to which smear_open rounds: of the foot in pixels, of the distance in m, of cosines. */
static const double FOOT_STEP = 0x1p-20, DISTANCE_STEP_m = 0x1p-32, COSINE_STEP = 0x1p-32;

enum status smear_check(const struct detector_request *d, const struct experiment *x,
                        struct error *e)
{
    bool thick = false;
    if (x->physics == PHYSICS_FAITHFUL)
        return error_set(e, STATUS_INPUT,
                         "--sensor=smear needs --physics=physical. Faithful images have layers");
    if (d->thickness.count > 0 || d->thickness.step != 0.0)
        return error_set(e, STATUS_INPUT,
                         "--sensor=smear has no layers. Remove --layers, or give --sensor=layers");
    for (size_t i = 0; i < x->npanels; i++) {
        if (x->panels[i].curved)
            return error_set(e, STATUS_INPUT,
                             "--sensor=smear needs flat panels. Remove --curved, or give "
                             "--sensor=layers");
        thick = thick || x->panels[i].thickness_m > 0.0;
    }
    return thick ? STATUS_OK
                 : error_set(e, STATUS_INPUT,
                             "--sensor=smear needs a sensor with a thickness. Give --thickness");
}

enum status smear_check_experiment(const struct experiment *x, struct error *e)
{
    struct smear s;
    enum status status = STATUS_OK;
    CRYSTAL_SHAPES_ARE(4);
    for (size_t i = 0; i < x->ncrystals && x->sampling.smears; i++)
        if (x->crystals[i].shape == SHAPE_TOPHAT)
            return error_set(e, STATUS_INPUT,
                             "--sensor=smear needs spots without sharp edges. Give another shape "
                             "than --shape=tophat, or --sensor=layers");
    for (size_t i = 0; i < x->npanels && x->sampling.smears && !status; i++)
        status = smear_open(&s, x, &x->panels[i], e);
    return status;
}

const char *smear_obstacle(const struct detector_request *d, double wanted,
                           const struct experiment *x)
{
    struct smear s;
    if (x->physics != PHYSICS_PHYSICAL)
        return "the mode is not physical";
    if (d->thickness.count > 0 || d->thickness.step != 0.0)
        return "their number is given";
    if (!smear_has_layers(x))
        return "one layer is enough";
    if (x->sampling.oversample < wanted)
        return "spots have less than three subpixels";
    CRYSTAL_SHAPES_ARE(4);
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].shape == SHAPE_TOPHAT)
            return "spots have sharp edges";
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return "the detector is curved";
    for (size_t i = 0; i < x->npanels; i++)
        if (smear_open(&s, x, &x->panels[i], NULL))
            return "rays to a panel are too slanted";
    return NULL;
}

void smear_choose(const struct detector_request *d, double wanted, struct experiment *x)
{
    const bool smears = d->may_smear && !smear_obstacle(d, wanted, x);
    x->sampling.smears = x->sampling.smears || smears;
}

bool smear_has_layers(const struct experiment *x)
{
    int most = 1;
    for (size_t i = 0; i < x->npanels; i++)
        most = x->panels[i].layers > most ? x->panels[i].layers : most;
    return most > 1;
}

enum status smear_refuse(const struct experiment *x, const char *name, struct error *e)
{
    return x->sampling.smears && !smear_has_layers(x)
               ? error_set(e, STATUS_INPUT,
                           "%s not support --sensor=smear. Give bragg-geometry --sensor=layers",
                           name)
               : STATUS_OK;
}

/* Sets the distance and the foot of the normal: corner = distance normal - foot[0] fast - foot[1]
 * slow.  The axes need not be at right angles.  Returns false if the sample is not in front of the
 * panel, or if fast and slow are so alike that no foot can be computed. */
static bool find_foot(struct smear *s)
{
    const struct panel *p = s->panel;
    const double *corner = pixel_plane(p), edge_m = p->pixel_m / s->oversample;
    double across[3], rest[3];
    vec_cross(p->fast, p->slow, across);
    s->distance_m = vec_dot(corner, across) / vec_dot(p->normal, across);
    for (int i = 0; i < 3; i++)
        rest[i] = s->distance_m * p->normal[i] - corner[i];
    s->skew = vec_dot(p->fast, p->slow);
    s->lean[0] = vec_dot(p->fast, p->normal);
    s->lean[1] = vec_dot(p->slow, p->normal);
    const double fast = vec_dot(rest, p->fast), slow = vec_dot(rest, p->slow);
    s->foot[0] = (fast - s->skew * slow) / (1.0 - s->skew * s->skew) / edge_m;
    s->foot[1] = (slow - s->skew * fast) / (1.0 - s->skew * s->skew) / edge_m;
    return s->distance_m > 0.0 && fabs(s->foot[0]) < 1e12 && fabs(s->foot[1]) < 1e12;
}

/* Returns the distance in subpixels along an axis that the ray to a place moves in the sensor. */
static double moves(const struct smear *s, int axis, double at)
{
    return fabs(at - smear_front(s, axis, at));
}

int smear_room(const struct smear *s, int axis, double low, double high)
{
    return (int)fmax(moves(s, axis, low), moves(s, axis, high)) + 5;
}

/* Returns the distance between nodes, so that the kernels of neighbouring nodes end at most half a
 * subpixel apart. */
static int node_of(const struct smear *s)
{
    int node = SMEAR_NODE;
    while (node > 1 && node * s->oversample * s->deepest > 0.5)
        node /= 2;
    return node;
}

static double rounded(double value, double step)
{
    return step * floor(value / step + 0.5);
}

/* Rounds foot, distance and cosines, and sets the pixels of the nodes. */
static void round_foot(struct smear *s)
{
    s->distance_m = rounded(s->distance_m, DISTANCE_STEP_m);
    s->skew = rounded(s->skew, COSINE_STEP);
    for (int axis = 0; axis < 2; axis++) {
        s->lean[axis] = rounded(s->lean[axis], COSINE_STEP);
        const double pixels = rounded(s->foot[axis] / s->oversample, FOOT_STEP);
        s->foot[axis] = pixels * s->oversample;
        s->base[axis] = (int64_t)ceil(pixels - 0.5);
        s->part[axis] = (double)s->base[axis] + 0.5 - pixels;
    }
}

/* Sets *s, with or without rounding.  Returns false as find_foot. */
static bool view(struct smear *s, const struct panel *p, int oversample, bool rounds)
{
    *s = (struct smear){.panel = p, .oversample = oversample};
    const bool in_front = find_foot(s);
    if (in_front && rounds)
        round_foot(s);
    if (p->thickness_m > 0.0)
        s->thickness_m = fmin(p->thickness_m, STOPPED / p->absorption_1_m);
    s->deepest = s->thickness_m / (s->distance_m + s->thickness_m);
    s->node = node_of(s);
    return in_front;
}

void smear_view(struct smear *s, const struct panel *p, int oversample)
{
    (void)view(s, p, oversample, false);
}

enum status smear_open(struct smear *s, const struct experiment *x, const struct panel *p,
                       struct error *e)
{
    const int64_t grid[2] = {p->grid_fast, p->grid_slow};
    const int64_t pixels[2] = {p->fast_pixels, p->slow_pixels};
    double most = 0.0;
    if (!view(s, p, x->sampling.oversample, true))
        return error_set(e, STATUS_INPUT,
                         "--sensor=smear: the sample is behind panel %d (got a distance of %g mm); "
                         "expected a distance above 0",
                         (int)(p - x->panels), m_to_mm(s->distance_m));
    for (int axis = 0; axis < 2; axis++)
        for (int end = 0; end < 2; end++) {
            const int64_t at = end ? grid[axis] + pixels[axis] + s->node : grid[axis] - s->node;
            most = fmax(most, moves(s, axis, (double)(at * s->oversample)));
        }
    if (most <= SMEAR_WIDEST)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "--sensor=smear: rays move by %.4g subpixels in the sensor of panel %d; "
                     "expected at most %d. Give --sensor=layers",
                     most, (int)(p - x->panels), SMEAR_WIDEST);
}

/* The ray to a place in front of a panel: how far it is from the foot of the normal, and how far it
 * moves in the sensor, in subpixels. */
struct ray {
    double from_foot[2], end[2];
};

static struct ray ray_to(const struct smear *s, const double at[2])
{
    struct ray r;
    for (int axis = 0; axis < 2; axis++) {
        r.from_foot[axis] = at[axis] - s->foot[axis];
        r.end[axis] = s->deepest * r.from_foot[axis];
    }
    return r;
}

/* Returns the number of parts into which the sensor is divided for a ray. */
static int parts_of(const struct ray *r)
{
    const double farthest = fmax(fabs(r->end[0]), fabs(r->end[1]));
    return (int)fmax(SMEAR_PARTS_LEAST, ceil(SMEAR_PARTS_STEP * farthest));
}

/* Sets the rectangle of subpixels from which two rays come that move by `one` and by `other`, and
 * clears it. */
static void clear_kernel(struct smear_kernel *k, const double one[2], const double other[2])
{
    for (int axis = 0; axis < 2; axis++) {
        const int first[2] = {(one[axis] > 0.0 ? (int)floor(-one[axis]) : 0) - 1,
                              (other[axis] > 0.0 ? (int)floor(-other[axis]) : 0) - 1};
        const int end[2] = {first[0] + (int)fabs(one[axis]) + 5,
                            first[1] + (int)fabs(other[axis]) + 5};
        k->first[axis] = first[0] < first[1] ? first[0] : first[1];
        k->count[axis] = (end[0] > end[1] ? end[0] : end[1]) - k->first[axis];
    }
    memset(k->weight, 0, (size_t)k->count[0] * (size_t)k->count[1] * sizeof *k->weight);
}

/* Sets the weights of four subpixels, from one before the subpixel to two after it, for a point at
 * `part` of the way to the next one: Lagrange's of the third order.  Weights that are not negative
 * would widen the spots. */
static void set_cubic(double part, double weight[4])
{
    const double before = part + 1.0, after = part - 1.0, last = part - 2.0;
    weight[0] = part * after * last * (-1.0 / 6.0);
    weight[1] = before * after * last * 0.5;
    weight[2] = before * part * last * -0.5;
    weight[3] = before * part * after * (1.0 / 6.0);
}

/* Adds a weight at `by` subpixels before the place, divided between the subpixels around. */
static void add_weight(struct smear_kernel *k, const double by[2], double weight)
{
    int at[2];
    double part[2][4];
    for (int axis = 0; axis < 2; axis++) {
        const double whole = floor(-by[axis]);
        at[axis] = (int)whole - 1 - k->first[axis];
        set_cubic(-by[axis] - whole, part[axis]);
    }
    double *to = k->weight + at[1] * k->count[0] + at[0];
    for (int j = 0; j < 4; j++, to += k->count[0])
        for (int i = 0; i < 4; i++)
            to[i] += weight * part[1][j] * part[0][i];
}

/* Returns the cosine of the angle between the normal and the ray to a place at a depth. */
static double cosine_of(const struct smear *s, const double from_foot_m[2], double depth_m)
{
    const double fast = from_foot_m[0], slow = from_foot_m[1], away = s->distance_m + depth_m;
    const double leaning = fast * s->lean[0] + slow * s->lean[1];
    const double square =
        fast * fast + slow * slow + away * away + 2.0 * (fast * slow * s->skew + leaning * away);
    return (leaning + away) / sqrt(square);
}

/* Returns the solid angle of a pixel at a depth, relative to that at the front of its ray. */
static double solid_angle_ratio(const struct smear *s, double depth_m)
{
    const double nearer = s->distance_m / (s->distance_m + depth_m);
    return nearer * nearer * (s->panel->point_pixel ? 1.0 : nearer);
}

/* Adds the kernel of a ray, times `factor`. */
static void add_kernel(const struct smear *s, const struct ray *r, int parts, double factor,
                       struct smear_kernel *k)
{
    const double edge_m = s->panel->pixel_m / s->oversample;
    const double from_foot_m[2] = {r->from_foot[0] * edge_m, r->from_foot[1] * edge_m};
    const double area =
        factor * (s->panel->point_pixel ? 1.0 / ((double)s->oversample * s->oversample) : 1.0);
    if (!(s->thickness_m > 0.0)) {
        add_weight(k, (double[2]){0.0, 0.0}, area);
        return;
    }
    const double part_m = s->thickness_m / parts;
    for (int i = 0; i < parts; i++) {
        const double cosine = cosine_of(s, from_foot_m, (i + 0.5) * part_m);
        const double x = fmin(part_m * s->panel->absorption_1_m / cosine, 600.0);
        if (x * i > 600.0)
            break;
        const double left = portable_exp(-x), stopped = portable_exp(-x * i) * (1.0 - left);
        const double share = x < 1e-3 ? 0.5 - x / 12.0 : 1.0 / x - left / (1.0 - left);
        const double depth_m = (i + share) * part_m;
        const double moved = depth_m / (s->distance_m + depth_m);
        const double by[2] = {moved * r->from_foot[0], moved * r->from_foot[1]};
        add_weight(k, by, area * stopped * solid_angle_ratio(s, depth_m));
    }
}

void smear_kernel(const struct smear *s, const double at[2], struct smear_kernel *k)
{
    const struct ray r = ray_to(s, at);
    clear_kernel(k, r.end, r.end);
    add_kernel(s, &r, parts_of(&r), 1.0, k);
}

void smear_kernel_change(const struct smear *s, const struct smear_change *change,
                         const double at[2], struct smear_kernel *k)
{
    const struct ray here = ray_to(s, at);
    const struct ray before = ray_to(&change->before, at), after = ray_to(&change->after, at);
    const int parts = parts_of(&here);
    clear_kernel(k, before.end, after.end);
    add_kernel(&change->before, &before, parts, -change->factor, k);
    add_kernel(&change->after, &after, parts, change->factor, k);
}
