#include "nanobragg_actions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/opt.h"
#include "base/units.h"
#include "nanobragg_flags.h"
#include "physics/detector/detector.h"

void nanobragg_side_effects(struct nanobragg *n, const struct legacy_option *o)
{
    struct detector_request *d = &n->request.detector;
    if (o->id <= FLAG_YBEAM)
        d->pivot = PIVOT_BEAM;
    else if (o->id <= FLAG_TWOTHETA || o->id == FLAG_TWOTHETA_AXIS)
        d->pivot = PIVOT_SAMPLE;
    if (o->id >= FLAG_FIRST_VECTOR && o->id <= FLAG_LAST_VECTOR)
        d->convention = CONVENTION_CUSTOM;
    /* nanoBragg takes -twotheta_axis for -twotheta too */
    if (o->id == FLAG_TWOTHETA_AXIS && n->request.physics == PHYSICS_FAITHFUL)
        d->twotheta_rad = deg_to_rad(o->real[0]);
}

/* An explicit -pivot, which counts in CUSTOM and in physical mode. */
static enum status take_pivot(struct nanobragg *n, const char *text, struct error *e)
{
    const bool sample = strcmp(text, "sample") == 0;
    if (!sample && strcmp(text, "beam") != 0)
        return error_set(e, STATUS_USAGE, "-pivot: '%.60s' is unknown, must be sample or beam",
                         text);
    n->request.detector.pivot = sample ? PIVOT_SAMPLE : PIVOT_BEAM;
    n->named_pivot = true;
    return STATUS_OK;
}

/* A convention brings its own pivot; vectors given before are kept, but unused.
 * A vector flag behind it keeps that pivot, but for -dials: nanoBragg notes BEAM at
 * the flag and SAMPLE only where the convention stays. */
static void take_convention(struct nanobragg *n, int id)
{
    static const enum convention conventions[] = {
        CONVENTION_MOSFLM, CONVENTION_DENZO, CONVENTION_ADXV, CONVENTION_XDS, CONVENTION_DIALS};
    n->request.detector.convention = conventions[id - FLAG_MOSFLM];
    n->request.detector.pivot =
        id == FLAG_DIALS ? PIVOT_BEAM : (int)convention_axes(n->request.detector.convention)->pivot;
}

/* A depth of inf or 0 takes the sensor away, at this point of the command line. */
static enum status take_absorption(struct nanobragg *n, const char *text, struct error *e)
{
    struct detector_request *d = &n->request.detector;
    double depth_um = 0.0;
    if (strcmp(text, "inf") != 0) {
        const enum status s = parse_real(text, 0.0, 1e12, "-detector_abs", &depth_um, e);
        if (s)
            return s;
    }
    d->absorption_1_m = depth_um > 0.0 ? 1.0 / (depth_um * 1e-6) : 0.0;
    if (!(depth_um > 0.0))
        d->thickness.range = 0.0;
    return STATUS_OK;
}

/* Edges and angles that are not given: b = a, c = a, 90 degrees. */
static void take_cell(struct nanobragg *n, const struct legacy_option *o)
{
    n->crystal.has_cell = true;
    for (int i = 0; i < 3; i++) {
        n->crystal.cell_A[i] = o->real[i < o->count ? i : 0];
        n->crystal.cell_rad[i] = 3 + i < o->count ? deg_to_rad(o->real[3 + i]) : M_PI / 2;
    }
}

/* Three angles, or a word that begins with "rand". */
static enum status take_misset(struct nanobragg *n, const struct legacy_option *o, struct error *e)
{
    struct orientation_request *r = &n->orientation;
    r->random_misset = strncmp(o->text[0], "rand", 4) == 0;
    if (r->random_misset && o->count == 1)
        return STATUS_OK;
    if (o->count != 3)
        return error_set(e, STATUS_USAGE,
                         "-misset: needs three angles in degrees, or the word random");
    for (int i = 0; i < 3; i++) {
        double degrees;
        const enum status s = parse_real(o->text[i], -1e6, 1e6, "-misset", &degrees, e);
        if (s)
            return s;
        r->misset_rad[i] = deg_to_rad(degrees);
    }
    return STATUS_OK;
}

/* nanoBragg takes -misset_seed for -misset too: with two more arguments behind the
 * value, all three become angles, whatever they are. */
static void take_misset_seed(struct nanobragg *n, const struct legacy_option *o,
                             const struct legacy_args *args)
{
    struct orientation_request *r = &n->orientation;
    r->misset_seed = -o->integer[0];
    if (n->request.physics != PHYSICS_FAITHFUL || args->next + 1 >= args->argc)
        return;
    r->random_misset = false;
    r->misset_rad[0] = deg_to_rad((double)o->integer[0]);
    r->misset_rad[1] = deg_to_rad(strtod(args->argv[args->next], NULL));
    r->misset_rad[2] = deg_to_rad(strtod(args->argv[args->next + 1], NULL));
}

static void set_three(double values[3], double value)
{
    values[0] = values[1] = values[2] = value;
}

/* Divergence for both directions at once, and polarization. */
static void shape_beam(struct beam_request *b, const struct legacy_option *o)
{
    switch (o->id) {
    case FLAG_DIVERGENCE:
        b->horizontal.range = b->vertical.range = mrad_to_rad(o->real[0]);
        break;
    case FLAG_DIVSTEPS:
        b->horizontal.count = b->vertical.count = o->integer[0];
        break;
    case FLAG_ROUND_DIV:
        b->square_divergence = false;
        break;
    default:  // FLAG_POLAR
        b->kahn = o->real[0];
        b->no_polarization = false;
        break;
    }
}

/* Size, shape and interpolation. */
static void shape_crystal(struct crystal_request *c, const struct legacy_option *o)
{
    switch (o->id) {
    case FLAG_INTERPOLATE:
        c->interpolate = INTERPOLATE_ON;
        break;
    case FLAG_NOINTERPOLATE:
        c->interpolate = INTERPOLATE_OFF;
        break;
    case FLAG_CELLS:
        set_three(c->cells, trunc(o->real[0]));
        break;
    case FLAG_SQUARE_XTAL:
        c->shape = SHAPE_SQUARE;
        break;
    case FLAG_ROUND_XTAL:
        c->shape = SHAPE_ROUND;
        break;
    case FLAG_GAUSS_XTAL:
        c->shape = SHAPE_GAUSS;
        break;
    case FLAG_TOPHAT_SPOTS:
    case FLAG_BINARY_SPOTS:
        c->shape = SHAPE_TOPHAT;
        break;
    default:  // the spellings of -xtalsize
        set_three(c->size_m, mm_to_m(o->real[0]));
        break;
    }
}

enum status nanobragg_act(struct nanobragg *n, const struct legacy_option *o,
                          const struct legacy_args *args, struct error *e)
{
    struct detector_request *d = &n->request.detector;
    switch (o->id) {
    case FLAG_PIVOT:
        return take_pivot(n, o->text[0], e);
    case FLAG_MOSFLM:
    case FLAG_DENZO:
    case FLAG_ADXV:
    case FLAG_XDS:
    case FLAG_DIALS:
        take_convention(n, o->id);
        break;
    case FLAG_DETPIXELS:
        d->pixels[0] = d->pixels[1] = o->integer[0];
        break;
    case FLAG_DETSIZE:
        d->size_m[0] = d->size_m[1] = mm_to_m(o->real[0]);
        break;
    case FLAG_ABSORB:
        return take_absorption(n, o->text[0], e);
    case FLAG_ROI:
        d->roi = (struct roi){o->integer[0], o->integer[1], o->integer[2], o->integer[3]};
        break;
    case FLAG_CELL:
        take_cell(n, o);
        break;
    case FLAG_MISSET:
        return take_misset(n, o, e);
    case FLAG_MISSET_SEED:
        take_misset_seed(n, o, args);
        break;
    case FLAG_PRINTOUT_PIXEL:
        n->trace_fast = o->integer[0];
        n->trace_slow = o->integer[1];
        break;
    case FLAG_PROGRESS:  // there is no progress bar
    case FLAG_NOPROGRESS:
        break;
    default:
        if (o->id >= FLAG_DIVERGENCE && o->id <= FLAG_POLAR)
            shape_beam(&n->request.beam, o);
        else
            shape_crystal(&n->crystal, o);
        break;
    }
    return STATUS_OK;
}
