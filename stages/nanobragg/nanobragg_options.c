/* The flags of nanoBragg: their table, what they do, and the order in which they are applied. */
#include "nanobragg_options.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/opt.h"
#include "base/units.h"
#include "physics/detector/detector.h"
#include "physics/request.h"

/*
 * The table of the flags of nanoBragg, as X-macros.  It is used twice: by the parser, and for the
 * places where values are stored.  Members are those of struct nanobragg.
 *
 *     FLAGS_VALUE   X(tag, flag, type, unit, member)   one value, converted to SI with SI_`unit`.
 *                   Type NONE has no value: the member is a bool, which is set to true
 *     FLAGS_VECTOR  X(tag, flag, member)               three reals; also selects CUSTOM
 *     FLAGS_ACTION  X(tag, flag, type, least, most)    flags with an action of their own
 *     FLAGS_IDLE    X(flag, type, values)              accepted, without effect
 */

#define FLAGS_VALUE(X)                                                                     \
    /* distance and centre; the first three choose pivot BEAM, the others SAMPLE */        \
    X(DISTANCE, "-distance", REAL, MM, request.detector.distance_m)                        \
    X(XBEAM, "-Xbeam", REAL, MM, request.detector.beam_m[0])                               \
    X(YBEAM, "-Ybeam", REAL, MM, request.detector.beam_m[1])                               \
    X(CLOSE_DISTANCE, "-close_distance", REAL, MM, request.detector.close_distance_m)      \
    X(XCLOSE, "-Xclose", REAL, MM, request.detector.close_m[0])                            \
    X(YCLOSE, "-Yclose", REAL, MM, request.detector.close_m[1])                            \
    X(ORGX, "-ORGX", REAL, SAME, request.detector.org_px[0])                               \
    X(ORGY, "-ORGY", REAL, SAME, request.detector.org_px[1])                               \
    X(TWOTHETA, "-twotheta", REAL, DEG, request.detector.twotheta_rad)                     \
    /* detector */                                                                         \
    X(PIXEL, "-pixel", REAL, MM, request.detector.pixel_m)                                 \
    X(DETPIXELS_F, "-detpixels_f", INT, SAME, request.detector.pixels[0])                  \
    X(DETPIXELS_X, "-detpixels_x", INT, SAME, request.detector.pixels[0])                  \
    X(DETPIXELS_S, "-detpixels_s", INT, SAME, request.detector.pixels[1])                  \
    X(DETPIXELS_Y, "-detpixels_y", INT, SAME, request.detector.pixels[1])                  \
    X(DETSIZE_F, "-detsize_f", REAL, MM, request.detector.size_m[0])                       \
    X(DETSIZE_S, "-detsize_s", REAL, MM, request.detector.size_m[1])                       \
    X(ROTX, "-detector_rotx", REAL, DEG, request.detector.rotation_rad[0])                 \
    X(ROTY, "-detector_roty", REAL, DEG, request.detector.rotation_rad[1])                 \
    X(ROTZ, "-detector_rotz", REAL, DEG, request.detector.rotation_rad[2])                 \
    X(THICK, "-detector_thick", REAL, UM, request.detector.thickness.range)                \
    X(DET_THICKSTEPS, "-detector_thicksteps", INT, SAME, request.detector.thickness.count) \
    X(THICKSTEPS, "-thicksteps", INT, SAME, request.detector.thickness.count)              \
    X(OVERSAMPLE, "-oversample", INT, SAME, request.oversample)                            \
    X(CURVED, "-curved_det", NONE, SAME, request.detector.curved)                          \
    X(POINT_PIXEL, "-point_pixel", NONE, SAME, request.detector.point_pixel)               \
    X(EACH_THICK, "-oversample_thick", NONE, SAME, request.each_thickness)                 \
    X(EACH_POLAR, "-oversample_polar", NONE, SAME, request.each_polarization)              \
    X(EACH_OMEGA, "-oversample_omega", NONE, SAME, request.each_solid_angle)               \
    X(MASK, "-mask", TEXT, SAME, mask_file)                                                \
    X(IMG, "-img", TEXT, SAME, header_file)                                                \
    /* beam */                                                                             \
    X(LAMBDA, "-lambda", REAL, ANGSTROM, request.beam.wavelength_m)                        \
    X(WAVE, "-wave*", REAL, ANGSTROM, request.beam.wavelength_m)                           \
    X(ENERGY, "-energy", REAL, EV, request.beam.wavelength_m)                              \
    X(DISPERSION, "-dispersion", REAL, PERCENT, request.beam.dispersion.range)             \
    X(DISPSTEPS, "-dispsteps", INT, SAME, request.beam.dispersion.count)                   \
    X(HDIVRANGE, "-hdivrange", REAL, MRAD, request.beam.horizontal.range)                  \
    X(VDIVRANGE, "-vdivrange", REAL, MRAD, request.beam.vertical.range)                    \
    X(HDIVSTEP, "-hdivstep", REAL, MRAD, request.beam.horizontal.step)                     \
    X(VDIVSTEP, "-vdivstep", REAL, MRAD, request.beam.vertical.step)                       \
    X(HDIVSTEPS, "-hdivsteps", INT, SAME, request.beam.horizontal.count)                   \
    X(VDIVSTEPS, "-vdivsteps", INT, SAME, request.beam.vertical.count)                     \
    X(FLUENCE, "-fluence", REAL, SAME, request.beam.fluence_ph_m2)                         \
    X(FLUX, "-flux", REAL, SAME, request.beam.flux_ph_s)                                   \
    X(EXPOSURE, "-exposure", REAL, SAME, request.beam.exposure_s)                          \
    X(BEAMSIZE, "-beamsize", REAL, MM, request.beam.size_m)                                \
    X(DMIN, "-dmin", REAL, TENTH_NM, request.dmin_m)                                       \
    X(WATER, "-water", REAL, MICRO, request.water_m)                                       \
    X(SQUARE_DIV, "-square_div", NONE, SAME, request.beam.square_divergence)               \
    X(NOPOLAR, "-nopolar", NONE, SAME, request.beam.no_polarization)                       \
    X(SOURCEFILE, "-sourcefile", TEXT, SAME, source_file)                                  \
    /* crystal */                                                                          \
    X(DEFAULT_F, "-default_F", REAL, SAME, default_F)                                      \
    X(NA, "-Na", REAL, WHOLE, crystal.cells[0])                                            \
    X(NB, "-Nb", REAL, WHOLE, crystal.cells[1])                                            \
    X(NC, "-Nc", REAL, WHOLE, crystal.cells[2])                                            \
    X(XTAL_THICK, "-xtal_thick*", REAL, MM, crystal.size_m[0])                             \
    X(XTAL_X, "-xtal_x", REAL, MM, crystal.size_m[0])                                      \
    X(SAMPLE_THICK, "-sample_thick*", REAL, MM, crystal.size_m[0])                         \
    X(SAMPLE_X, "-sample_x", REAL, MM, crystal.size_m[0])                                  \
    X(XTAL_WIDTH, "-xtal_width", REAL, MM, crystal.size_m[1])                              \
    X(XTAL_Y, "-xtal_y", REAL, MM, crystal.size_m[1])                                      \
    X(SAMPLE_WIDTH, "-sample_width", REAL, MM, crystal.size_m[1])                          \
    X(SAMPLE_Y, "-sample_y", REAL, MM, crystal.size_m[1])                                  \
    X(WIDTH, "-width", REAL, MM, crystal.size_m[1])                                        \
    X(XTAL_HEIGHT, "-xtal_heigh*", REAL, MM, crystal.size_m[2])                            \
    X(XTAL_Z, "-xtal_z", REAL, MM, crystal.size_m[2])                                      \
    X(SAMPLE_HEIGHT, "-sample_heigh*", REAL, MM, crystal.size_m[2])                        \
    X(SAMPLE_Z, "-sample_z", REAL, MM, crystal.size_m[2])                                  \
    X(HEIGHT, "-heigh*", REAL, MM, crystal.size_m[2])                                      \
    X(FUDGE, "-fudge", REAL, SAME, crystal.fudge)                                          \
    X(MOSAIC, "-mosaic", REAL, DEG, orientation.mosaic_rad)                                \
    X(MOSAICITY, "-mosaicity", REAL, DEG, orientation.mosaic_rad)                          \
    X(MOSAIC_SPREAD, "-mosaic_spread", REAL, DEG, orientation.mosaic_rad)                  \
    X(MOSAIC_DOMAINS, "-mosaic_dom*", INT, SAME, orientation.mosaic_domains)               \
    X(PHI, "-phi", REAL, DEG, orientation.phi_rad)                                         \
    X(OSC, "-osc", REAL, DEG, orientation.phi.range)                                       \
    X(PHISTEP, "-phistep", REAL, DEG, orientation.phi.step)                                \
    X(PHISTEPS, "-phisteps", INT, SAME, orientation.phi.count)                             \
    X(SEED, "-seed", INT, NEGATED, seed)                                                   \
    X(MOSAIC_SEED, "-mosaic_seed", INT, NEGATED, orientation.mosaic_seed)                  \
    X(MATRIX, "-mat", TEXT, SAME, matrix_file)                                             \
    X(MATRIX_LONG, "-matrix", TEXT, SAME, matrix_file)                                     \
    X(HKL, "-hkl", TEXT, SAME, hkl_file)                                                   \
    X(DUMP, "-dump", TEXT, SAME, dump_file)                                                \
    /* output */                                                                           \
    X(SCALE, "-scale", REAL, SAME, scale)                                                  \
    X(PGMSCALE, "-pgmscale", REAL, SAME, pgm_scale)                                        \
    X(ADC, "-adc", REAL, SAME, adc)                                                        \
    X(FLOATFILE, "-floatfile", TEXT, SAME, float_file)                                     \
    X(FLOATIMAGE, "-floatimage", TEXT, SAME, float_file)                                   \
    X(INTFILE, "-intfile", TEXT, SAME, int_file)                                           \
    X(INTIMAGE, "-intimage", TEXT, SAME, int_file)                                         \
    X(PGMFILE, "-pgmfile", TEXT, SAME, pgm_file)                                           \
    X(PGMIMAGE, "-pgmimage", TEXT, SAME, pgm_file)                                         \
    X(NOISEFILE, "-noisefile", TEXT, SAME, noise_file)                                     \
    X(NOISEIMAGE, "-noiseimage", TEXT, SAME, noise_file)                                   \
    X(NONOISE, "-nonoise", NONE, SAME, no_noise)                                           \
    X(NOPGM, "-nopgm", NONE, SAME, no_pgm)

#define FLAGS_VECTOR(X)                                                \
    X(FDET, "-fdet_vector", request.detector.fast)                     \
    X(SDET, "-sdet_vector", request.detector.slow)                     \
    X(ODET, "-odet_vector", request.detector.normal)                   \
    X(BEAM, "-beam_vector", request.beam.direction)                    \
    X(POLAR_AXIS, "-polar_vector", request.beam.polarization)          \
    X(SPINDLE, "-spindle_axis", request.beam.spindle)                  \
    X(TWOTHETA_AXIS, "-twotheta_axis", request.detector.twotheta_axis) \
    X(PIX0, "-pix0_vector", unused_origin)

#define FLAGS_ACTION(X)                             \
    X(PIVOT, "-pivot", TEXT, 1, 1)                  \
    X(MOSFLM, "-mosflm", NONE, 0, 0)                \
    X(DENZO, "-denzo", NONE, 0, 0)                  \
    X(ADXV, "-adxv", NONE, 0, 0)                    \
    X(XDS, "-xds", NONE, 0, 0)                      \
    X(DIALS, "-dials", NONE, 0, 0)                  \
    X(DETPIXELS, "-detpixels", INT, 1, 1)           \
    X(DETSIZE, "-detsize", REAL, 1, 1)              \
    X(ABSORB, "-detector_abs*", TEXT, 1, 1)         \
    X(ROI, "-roi", INT, 4, 4)                       \
    X(DIVERGENCE, "-divergence", REAL, 1, 1)        \
    X(DIVSTEPS, "-divsteps", INT, 1, 1)             \
    X(ROUND_DIV, "-round_div", NONE, 0, 0)          \
    X(POLAR, "-polar", REAL, 1, 1)                  \
    X(CELL, "-cell", REAL, 1, 6)                    \
    X(MISSET, "-misset", TEXT, 1, 3)                \
    X(MISSET_SEED, "-misset_seed", INT, 1, 1)       \
    X(INTERPOLATE, "-interpolate", NONE, 0, 0)      \
    X(NOINTERPOLATE, "-nointerpolate", NONE, 0, 0)  \
    X(CELLS, "-N", REAL, 1, 1)                      \
    X(XTALSIZE, "-xtalsize", REAL, 1, 1)            \
    X(XTAL_SIZE, "-xtal_size", REAL, 1, 1)          \
    X(SAMPLESIZE, "-samplesize", REAL, 1, 1)        \
    X(SAMPLE_SIZE, "-sample_size", REAL, 1, 1)      \
    X(SQUARE_XTAL, "-square_xtal", NONE, 0, 0)      \
    X(ROUND_XTAL, "-round_xtal", NONE, 0, 0)        \
    X(GAUSS_XTAL, "-gauss_xtal", NONE, 0, 0)        \
    X(TOPHAT_SPOTS, "-tophat_spots", NONE, 0, 0)    \
    X(BINARY_SPOTS, "-binary_spots", NONE, 0, 0)    \
    X(PRINTOUT_PIXEL, "-printout_pixel", INT, 2, 2) \
    X(PROGRESS, "-progress", NONE, 0, 0)            \
    X(NOPROGRESS, "-noprogress", NONE, 0, 0)

#define FLAGS_IDLE(X)       \
    X("-printout", NONE, 0) \
    X("-stol", TEXT, 1)     \
    X("-4stol", TEXT, 1)    \
    X("-Q", TEXT, 1)        \
    X("-stolout", TEXT, 1)  \
    X("-density", REAL, 1)  \
    X("-MW", REAL, 1)       \
    X("-molec*", REAL, 1)   \
    X("-coherent", NONE, 0) \
    X("-dispstep", REAL, 1) \
    X("-hdiv", REAL, 1)     \
    X("-vdiv", REAL, 1)

/* Numbers of the flags: values first, then vectors, then actions. */
enum flag_id {
    FLAG_END,  // 0: no more flags, as in struct legacy_option
#define X(tag, ...) FLAG_##tag,
    FLAGS_VALUE(X) FLAG_FIRST_VECTOR,
    FLAG_LAST_VALUE = FLAG_FIRST_VECTOR - 1,
    FLAGS_VECTOR(X) FLAG_FIRST_ACTION,
    FLAG_LAST_VECTOR = FLAG_FIRST_ACTION - 1,
    FLAGS_ACTION(X)
#undef X
};

/* --- the tables of the flags ------------------------------------------------- */

/* Number of values after a flag, for each type. */
// clang-format off
const struct legacy_flag nanobragg_flags[] = {
#define X(tag, name, type, ...) {name, FLAG_##tag, LEGACY_##type, LEGACY_ONE(type), LEGACY_ONE(type)},
    FLAGS_VALUE(X)
#undef X
#define X(tag, name, member) {name, FLAG_##tag, LEGACY_REAL, 3, 3},
    FLAGS_VECTOR(X)
#undef X
#define X(tag, name, type, least, most) {name, FLAG_##tag, LEGACY_##type, least, most},
    FLAGS_ACTION(X)
#undef X
#define X(name, type, values) {name, LEGACY_NO_EFFECT, LEGACY_##type, values, values},
    FLAGS_IDLE(X)
#undef X
    {NULL, 0, LEGACY_NONE, 0, 0},
};
// clang-format on

/* The places in struct nanobragg where the values of flags are stored, indexed by FLAG_. */
static const struct legacy_target TARGETS[] = {
#define X(tag, name, type, unit, member) \
    [FLAG_##tag] = {LEGACY_##type, SI_##unit, offsetof(struct nanobragg, member)},
    FLAGS_VALUE(X)
#undef X
#define X(tag, name, member) \
    [FLAG_##tag] = {LEGACY_REAL, SI_SAME, offsetof(struct nanobragg, member)},
        FLAGS_VECTOR(X)
#undef X
};

/* --- flags that do more than store a value ----------------------------------- */

/* Sets the pivot and the convention that follow from a flag with a value or a vector. Call this
 * after the value was stored. */
static void side_effects(struct nanobragg *n, const struct legacy_option *o)
{
    struct detector_request *d = &n->request.detector;
    if (o->id <= FLAG_YBEAM)
        d->pivot = PIVOT_BEAM;
    else if (o->id <= FLAG_TWOTHETA || o->id == FLAG_TWOTHETA_AXIS)
        d->pivot = PIVOT_SAMPLE;
    if (o->id >= FLAG_FIRST_VECTOR && o->id <= FLAG_LAST_VECTOR)
        d->convention = CONVENTION_CUSTOM;
    /* nanoBragg also reads -twotheta_axis as -twotheta */
    if (o->id == FLAG_TWOTHETA_AXIS && n->request.physics == PHYSICS_FAITHFUL)
        d->twotheta_rad = deg_to_rad(o->real[0]);
}

/* Applies -pivot, which has an effect in the convention CUSTOM and in physical mode. */
static enum status set_pivot(struct nanobragg *n, const char *text, struct error *e)
{
    const bool sample = strcmp(text, "sample") == 0;
    if (!sample && strcmp(text, "beam") != 0)
        return error_set(e, STATUS_USAGE, "-pivot: '%.60s' is unknown; expected sample or beam",
                         text);
    n->request.detector.pivot = sample ? PIVOT_SAMPLE : PIVOT_BEAM;
    n->named_pivot = true;
    return STATUS_OK;
}

/* Applies the flag of a convention: sets the convention and its pivot. Vectors that were given
 * before the flag are kept but not used. A vector flag after it changes the convention and keeps
 * the pivot. The pivot of -dials is therefore BEAM here: nanoBragg sets BEAM at this flag, and
 * SAMPLE at the end if the convention is still DIALS. */
static void set_convention(struct nanobragg *n, int id)
{
    static const enum convention conventions[] = {
        CONVENTION_MOSFLM, CONVENTION_DENZO, CONVENTION_ADXV, CONVENTION_XDS, CONVENTION_DIALS};
    n->request.detector.convention = conventions[id - FLAG_MOSFLM];
    n->request.detector.pivot =
        id == FLAG_DIALS ? PIVOT_BEAM : (int)convention_axes(n->request.detector.convention)->pivot;
}

/* Applies -detector_abs. A depth of inf or 0 removes the sensor; a thickness that is given later
 * on the command line sets a new one. */
static enum status set_absorption(struct nanobragg *n, const char *text, struct error *e)
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

/* Applies -cell. If b or c is not given, it is equal to a. Angles that are not given are 90
 * degrees. */
static void set_cell(struct nanobragg *n, const struct legacy_option *o)
{
    n->crystal.has_cell = true;
    for (int i = 0; i < 3; i++) {
        n->crystal.cell_A[i] = o->real[i < o->count ? i : 0];
        n->crystal.cell_rad[i] = 3 + i < o->count ? deg_to_rad(o->real[3 + i]) : M_PI / 2;
    }
}

/* Applies -misset: three angles, or a word that begins with "rand". */
static enum status set_misset(struct nanobragg *n, const struct legacy_option *o, struct error *e)
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

/* Applies -misset_seed. nanoBragg also reads it as -misset: if two more arguments follow the value,
 * all three become angles, whatever they are. */
static void set_misset_seed(struct nanobragg *n, const struct legacy_option *o,
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

/* Applies flags that set the divergence in both directions, and the polarization. */
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

/* Applies flags about size, shape and interpolation. */
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

/* Applies an option of FLAGS_ACTION.  `args` is at the argument after the flag. */
static enum status act(struct nanobragg *n, const struct legacy_option *o,
                       const struct legacy_args *args, struct error *e)
{
    struct detector_request *d = &n->request.detector;
    switch (o->id) {
    case FLAG_PIVOT:
        return set_pivot(n, o->text[0], e);
    case FLAG_MOSFLM:
    case FLAG_DENZO:
    case FLAG_ADXV:
    case FLAG_XDS:
    case FLAG_DIALS:
        set_convention(n, o->id);
        break;
    case FLAG_DETPIXELS:
        d->pixels[0] = d->pixels[1] = o->integer[0];
        break;
    case FLAG_DETSIZE:
        d->size_m[0] = d->size_m[1] = mm_to_m(o->real[0]);
        break;
    case FLAG_ABSORB:
        return set_absorption(n, o->text[0], e);
    case FLAG_ROI:
        d->roi = (struct roi){o->integer[0], o->integer[1], o->integer[2], o->integer[3]};
        break;
    case FLAG_CELL:
        set_cell(n, o);
        break;
    case FLAG_MISSET:
        return set_misset(n, o, e);
    case FLAG_MISSET_SEED:
        set_misset_seed(n, o, args);
        break;
    case FLAG_PRINTOUT_PIXEL:
        n->trace_fast = o->integer[0];
        n->trace_slow = o->integer[1];
        break;
    case FLAG_PROGRESS:  // accepted, but there is no progress bar
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

/* --- the command line -------------------------------------------------------- */

void nanobragg_defaults(struct nanobragg *n, enum physics physics)
{
    memset(n, 0, sizeof *n);
    request_clear(&n->request);
    struct detector_request *d = &n->request.detector;
    n->request.physics = physics;
    d->pivot = PIVOT_BEAM;
    d->pixel_m = mm_to_m(0.1);
    d->size_m[0] = d->size_m[1] = mm_to_m(102.4);
    d->distance_m = mm_to_m(100.0);
    struct beam_request *b = &n->request.beam;
    b->wavelength_m = angstrom_to_m(1.0);
    b->fluence_ph_m2 = FLUENCE_UNIT_PH_M2;
    b->exposure_s = 1.0;
    b->size_m = mm_to_m(0.1);
    for (int i = 0; i < 3; i++)
        n->crystal.cells[i] = 1.0;
    n->crystal.fudge = 1.0;
    n->orientation.phi = (struct steps_request)NO_STEPS;
    n->orientation.misset_seed = -1;
    n->orientation.mosaic_seed = -12345678;
    n->float_file = "floatimage.bin";
    n->int_file = "intimage.img";
    n->pgm_file = "image.pgm";
    n->noise_file = "noiseimage.img";
    n->trace_fast = -1;
    n->adc = 40.0;
    n->seed = -1;
}

/* Applies one flag.  Flags are applied in the order of the command line. */
static enum status apply_flag(struct nanobragg *n, const struct legacy_option *o,
                              const struct legacy_args *args, struct error *e)
{
    if (o->id >= FLAG_FIRST_ACTION)
        return act(n, o, args, e);
    legacy_store(&TARGETS[o->id], o, n);
    side_effects(n, o);
    return STATUS_OK;
}

/* Appends the name of a flag to the list of flags without effect, if `futile`. */
static void note_futile(char *list, size_t size, bool futile, const char *name)
{
    if (futile)
        (void)snprintf(list + strlen(list), size - strlen(list), " %s", name);
}

/* Warns about flags that nanoBragg parses but overrules in this convention. `h` has the values
 * of the headers, which are not flags of the user. */
static void warn_futile(const struct nanobragg *n, const struct detector_request *h)
{
    const struct detector_request *d = &n->request.detector;
    const bool sample = d->convention == CONVENTION_XDS || d->convention == CONVENTION_DIALS;
    char list[160] = "";
    if (n->request.physics != PHYSICS_FAITHFUL || d->convention == CONVENTION_CUSTOM)
        return;
    note_futile(list, sizeof list, n->named_pivot, "-pivot");
    for (int i = 0; i < 2; i++) {
        const bool beam = !isnan(d->beam_m[i]) && isnan(h->beam_m[i]);
        const bool org = !isnan(d->org_px[i]) && isnan(h->org_px[i]);
        note_futile(list, sizeof list, !isnan(d->close_m[i]), i ? "-Yclose" : "-Xclose");
        note_futile(list, sizeof list, sample && beam, i ? "-Ybeam" : "-Xbeam");
        note_futile(list, sizeof list, !sample && org, i ? "-ORGY" : "-ORGX");
    }
    if (list[0])
        log_line(LOG_WARNING, "these flags have no effect in this convention, as in nanoBragg:%s",
                 list);
}

/* Does the first pass over the command line: reads the files of -mask and -img, whose headers
 * the flags will overrule in the second pass. */
static enum status parse_headers(struct nanobragg *n, int argc, char **argv, struct error *e)
{
    struct legacy_args args = legacy_args(nanobragg_flags, argc, argv);
    struct legacy_option o;
    enum status s;
    while (!(s = legacy_next(&args, &o, e)) && o.id)
        if (o.id == FLAG_MASK || o.id == FLAG_IMG)
            legacy_store(&TARGETS[o.id], &o, n);
    return s ? s : nanobragg_read_headers(n, e);
}

enum status nanobragg_parse(struct nanobragg *n, int argc, char **argv, struct error *e)
{
    enum status s = parse_headers(n, argc, argv, e);
    const struct detector_request headers = n->request.detector;
    struct legacy_args args = legacy_args(nanobragg_flags, argc, argv);
    struct legacy_option o;
    while (!s && !(s = legacy_next(&args, &o, e)) && o.id)
        s = apply_flag(n, &o, &args, e);
    if (s)
        return s;
    /* in CUSTOM every flag may set the pivot; in other conventions only -pivot sets it, and only
     * in physical mode */
    if (!n->named_pivot && n->request.detector.convention != CONVENTION_CUSTOM)
        n->request.detector.pivot = -1;
    legacy_warn(&args);
    warn_futile(n, &headers);
    return STATUS_OK;
}

struct legacy_files nanobragg_files(const struct nanobragg *n)
{
    return (struct legacy_files){
        .float_path = n->float_file,
        .int_path = n->int_file,
        .pgm_path = n->no_pgm ? NULL : n->pgm_file,
        .noise_path = n->no_noise ? NULL : n->noise_file,
        .scale = n->scale,
        .pgm_scale = n->pgm_scale,
        .adc = n->adc,
        .seed = (long)n->seed,
    };
}
