#include "nanobragg_options.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "legacy_options.h"
#include "nanobragg_actions.h"
#include "nanobragg_flags.h"
#include "nanobragg_header.h"
#include "physics/constants.h"

/* Arguments behind a flag, by the type in its row. */
#define VALUES_NONE 0
#define VALUES_REAL 1
#define VALUES_INT 1
#define VALUES_TEXT 1

// clang-format off
static const struct legacy_flag FLAGS[] = {
#define X(tag, name, type, ...) {name, FLAG_##tag, LEGACY_##type, VALUES_##type, VALUES_##type},
    FLAGS_VALUE(X)
#undef X
#define X(tag, name, member, has_member) {name, FLAG_##tag, LEGACY_REAL, 3, 3},
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

enum unit {
    UNIT_NONE,
    UNIT_MM,
    UNIT_UM,
    UNIT_MICRO,
    UNIT_DEG,
    UNIT_MRAD,
    UNIT_ANGSTROM,
    UNIT_TENTH_NM,
    UNIT_EV,
    UNIT_PERCENT,
    UNIT_WHOLE,
    UNIT_NEGATED,
};

/* Where a value goes: offsets in struct nanobragg. */
static const struct target {
    enum legacy_type type;
    enum unit unit;
    size_t value, given;
} TARGETS[] = {
#define X(tag, name, type, unit, member, has_member)                                \
    [FLAG_##tag] = {LEGACY_##type, UNIT_##unit, offsetof(struct nanobragg, member), \
                    offsetof(struct nanobragg, has_member)},
    FLAGS_VALUE(X)
#undef X
#define X(tag, name, member, has_member)                                        \
    [FLAG_##tag] = {LEGACY_REAL, UNIT_NONE, offsetof(struct nanobragg, member), \
                    offsetof(struct nanobragg, has_member)},
        FLAGS_VECTOR(X)
#undef X
};

/* To SI, by the very operations of nanoBragg: -water divides where a thickness
 * multiplies, and -dmin multiplies where a wavelength divides. */
static double to_si(enum unit unit, double v)
{
    switch (unit) {
    case UNIT_MM:
        return mm_to_m(v);
    case UNIT_UM:
        return um_to_m(v);
    case UNIT_MICRO:
        return v / 1e6;
    case UNIT_DEG:
        return deg_to_rad(v);
    case UNIT_MRAD:
        return mrad_to_rad(v);
    case UNIT_ANGSTROM:
        return angstrom_to_m(v);
    case UNIT_TENTH_NM:
        return v * 1e-10;
    case UNIT_EV:
        return ev_to_m(v);
    case UNIT_PERCENT:
        return percent_to_fraction(v);
    case UNIT_WHOLE:
        return trunc(v);
    case UNIT_NEGATED:
    case UNIT_NONE:
        break;
    }
    return v;
}

/* Puts the value of a flag where the table says. */
static void store_value(struct nanobragg *n, const struct legacy_option *o)
{
    const struct target *t = &TARGETS[o->id];
    void *value = (char *)n + t->value;
    *(bool *)(void *)((char *)n + t->given) = true;
    switch (t->type) {
    case LEGACY_NONE:
        *(bool *)value = true;
        break;
    case LEGACY_REAL:
        for (int i = 0; i < o->count; i++)
            ((double *)value)[i] = to_si(t->unit, o->real[i]);
        break;
    case LEGACY_INT:
        *(int64_t *)value = t->unit == UNIT_NEGATED ? -o->integer[0] : o->integer[0];
        break;
    case LEGACY_TEXT:
        *(const char **)value = o->text[0];
        break;
    }
}

void nanobragg_defaults(struct nanobragg *n, enum physics physics)
{
    memset(n, 0, sizeof *n);
    struct detector_request *d = &n->request.detector;
    n->request.physics = physics;
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
    n->orientation.misset_seed = -1;
    n->orientation.mosaic_seed = -12345678;
    n->float_file = "floatimage.bin";
    n->int_file = "intimage.img";
    n->pgm_file = "image.pgm";
    n->noise_file = "noiseimage.img";
    n->dump_file = "Fdump.bin";
    n->adc = 40.0;
    n->seed = -1;
}

/* The effects of one flag, in the order of the command line. */
static enum status apply(struct nanobragg *n, const struct legacy_option *o,
                         const struct legacy_args *args, struct error *e)
{
    if (o->id >= FLAG_FIRST_ACTION)
        return nanobragg_act(n, o, args, e);
    store_value(n, o);
    nanobragg_side_effects(n, o);
    return STATUS_OK;
}

/* Adds a flag to the list of those that will not move the image. */
static void note_futile(char *list, size_t size, bool futile, const char *name)
{
    if (futile)
        (void)snprintf(list + strlen(list), size - strlen(list), " %s", name);
}

/* Warns of flags that nanoBragg parses and then overrules in this convention; what
 * the headers gave, `h`, is not the user's doing. */
static void warn_futile(const struct nanobragg *n, const struct detector_request *h)
{
    const struct detector_request *d = &n->request.detector;
    const bool sample = d->convention == CONVENTION_XDS || d->convention == CONVENTION_DIALS;
    char list[160] = "";
    if (n->request.physics != PHYSICS_FAITHFUL || d->convention == CONVENTION_CUSTOM)
        return;
    note_futile(list, sizeof list, n->named_pivot, "-pivot");
    note_futile(list, sizeof list, d->has_close_x, "-Xclose");
    note_futile(list, sizeof list, d->has_close_y, "-Yclose");
    note_futile(list, sizeof list, sample && d->has_beam_x && !h->has_beam_x, "-Xbeam");
    note_futile(list, sizeof list, sample && d->has_beam_y && !h->has_beam_y, "-Ybeam");
    note_futile(list, sizeof list, !sample && d->has_orgx && !h->has_orgx, "-ORGX");
    note_futile(list, sizeof list, !sample && d->has_orgy && !h->has_orgy, "-ORGY");
    if (list[0])
        log_line(LOG_WARNING, "in this convention nanoBragg lets these flags do nothing:%s", list);
}

/* First reading: only the files whose headers the flags will overrule. */
static enum status take_headers(struct nanobragg *n, int argc, char **argv, struct error *e)
{
    struct legacy_args args = legacy_args(FLAGS, argc, argv);
    struct legacy_option o;
    enum status s;
    while (!(s = legacy_next(&args, &o, e)) && o.id)
        if (o.id == FLAG_MASK || o.id == FLAG_IMG)
            store_value(n, &o);
    return s ? s : nanobragg_take_headers(n, e);
}

enum status nanobragg_parse(struct nanobragg *n, int argc, char **argv, struct error *e)
{
    enum status s = take_headers(n, argc, argv, e);
    const struct detector_request headers = n->request.detector;
    struct legacy_args args = legacy_args(FLAGS, argc, argv);
    struct legacy_option o;
    while (!s && !(s = legacy_next(&args, &o, e)) && o.id)
        s = apply(n, &o, &args, e);
    if (s)
        return s;
    /* CUSTOM listens to every event; the others, in physical mode, to -pivot only */
    n->request.detector.has_pivot =
        n->named_pivot || n->request.detector.convention == CONVENTION_CUSTOM;
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
