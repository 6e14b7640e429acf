#include "nanobragg_options.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
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
const struct legacy_flag nanobragg_flags[] = {
#define X(tag, name, type, ...) {name, FLAG_##tag, LEGACY_##type, VALUES_##type, VALUES_##type},
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

/* Where a value goes: an offset in struct nanobragg. */
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

/* The effects of one flag, in the order of the command line. */
static enum status apply(struct nanobragg *n, const struct legacy_option *o,
                         const struct legacy_args *args, struct error *e)
{
    if (o->id >= FLAG_FIRST_ACTION)
        return nanobragg_act(n, o, args, e);
    legacy_store(&TARGETS[o->id], o, n);
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
    for (int i = 0; i < 2; i++) {
        const bool beam = !isnan(d->beam_m[i]) && isnan(h->beam_m[i]);
        const bool org = !isnan(d->org_px[i]) && isnan(h->org_px[i]);
        note_futile(list, sizeof list, !isnan(d->close_m[i]), i ? "-Yclose" : "-Xclose");
        note_futile(list, sizeof list, sample && beam, i ? "-Ybeam" : "-Xbeam");
        note_futile(list, sizeof list, !sample && org, i ? "-ORGY" : "-ORGX");
    }
    if (list[0])
        log_line(LOG_WARNING, "in this convention nanoBragg lets these flags do nothing:%s", list);
}

/* First reading: only the files whose headers the flags will overrule. */
static enum status take_headers(struct nanobragg *n, int argc, char **argv, struct error *e)
{
    struct legacy_args args = legacy_args(nanobragg_flags, argc, argv);
    struct legacy_option o;
    enum status s;
    while (!(s = legacy_next(&args, &o, e)) && o.id)
        if (o.id == FLAG_MASK || o.id == FLAG_IMG)
            legacy_store(&TARGETS[o.id], &o, n);
    return s ? s : nanobragg_take_headers(n, e);
}

enum status nanobragg_parse(struct nanobragg *n, int argc, char **argv, struct error *e)
{
    enum status s = take_headers(n, argc, argv, e);
    const struct detector_request headers = n->request.detector;
    struct legacy_args args = legacy_args(nanobragg_flags, argc, argv);
    struct legacy_option o;
    while (!s && !(s = legacy_next(&args, &o, e)) && o.id)
        s = apply(n, &o, &args, e);
    if (s)
        return s;
    /* CUSTOM listens to every event; the others, in physical mode, to -pivot only */
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
