#include "physics/detector/smear.h"

#include <math.h>

#include "base/units.h"
#include "base/vec.h"
#include "physics/detector/pixel.h"
#include "physics/detector/smear_kernel.h"

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

void smear_reach(const struct smear *s, int axis, double at, int *first, int *end)
{
    const double moved = s->deepest * (at - s->foot[axis]);
    *first = (moved > 0.0 ? (int)floor(-moved) : 0) - 1;
    *end = *first + (int)fabs(moved) + 5;
}

/* A row of weights has four subpixels, and one more for each that the ray moves along fast while it
 * is within two rows.  So all rows together have at most four for each row and for each column. */
struct smear_room smear_room(const struct smear *s, const double low[2], const double high[2],
                             bool changes)
{
    size_t most[2];
    for (int axis = 0; axis < 2; axis++) {
        const double farthest = fmax(moves(s, axis, low[axis]), moves(s, axis, high[axis]));
        most[axis] = (size_t)farthest + (changes ? 7 : 5);
    }
    return (struct smear_room){
        .rows = most[1] + 1,
        .weights = changes ? most[0] * most[1] : 4 * (most[0] + most[1]),
    };
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

/* ---- kernels -------------------------------------------------------------------------------- */

static smear_kernel_loop *loop_of(enum isa isa)
{
    static smear_kernel_loop *const all[ISA_COUNT] = ISA_TABLE(smear_kernel_loop_);
    return all[isa];
}

/* Returns the number of parts into which the sensor is divided for the ray to a place. */
static int parts_of(const struct smear *s, const double at[2])
{
    double farthest = 0.0;
    for (int axis = 0; axis < 2; axis++)
        farthest = fmax(farthest, fabs(s->deepest * (at[axis] - s->foot[axis])));
    const double parts = fmax(SMEAR_PARTS_LEAST, ceil(SMEAR_PARTS_STEP * farthest));
    return (int)fmin(parts, SMEAR_PARTS_MOST);
}

void smear_kernel(const struct smear *s, const double at[2], enum isa isa, struct smear_kernel *k)
{
    const struct smear_kernel_ray ray = {s, 1.0};
    loop_of(isa)(&ray, 1, at, parts_of(s, at), k);
}

void smear_kernel_change(const struct smear *s, const struct smear_change *change,
                         const double at[2], enum isa isa, struct smear_kernel *k)
{
    const struct smear_kernel_ray rays[2] = {{&change->before, -change->factor},
                                             {&change->after, change->factor}};
    loop_of(isa)(rays, 2, at, parts_of(s, at), k);
}
