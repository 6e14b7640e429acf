#include "noise.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "defects.h"
#include "engine/threads.h"
#include "physics/constants.h"
#include "physics/noisify.h"
#include "stage/stage.h"

enum generator { GENERATOR_PHILOX, GENERATOR_NANOBRAGG };

struct noise_stage {
    /* options */
    double gain, adc_offset, readout, flicker, calibration, psf_fwhm_um, saturation;
    int64_t calibration_seed, psf_radius_px, seed, threads;
    int psf, bits, generator;
    bool has_seed, has_saturation, has_psf, has_calibration_seed, has_psf_fwhm, has_psf_radius,
        no_poisson;
    struct defects defects;
    /* state */
    bool deferred;
    struct noise noise;
    struct clipped clipped;
    struct noise_plan *plan;  // of the generator philox
    const struct experiment *experiment;
    float *photons;  // NULL, or where a frame's are copied to: they are changed on the way; owned
};

#define AT(member) .offset = offsetof(struct noise_stage, member)
#define GIVEN(member) .given = offsetof(struct noise_stage, has_##member)
#define DEFECT(member) .offset = offsetof(struct noise_stage, defects.member)
#define GIVEN_DEFECT(member) .given = offsetof(struct noise_stage, defects.has_##member)
#define LATER (OPT_BYTES | OPT_WHEN_SET)

static const struct opt options[] = {
    {"seed", "N", "Seed of all noise but the calibration (that of bragg-orient)", OPT_INT, AT(seed),
     .min = 0, .max = 0x1p63, .flags = OPT_BYTES, GIVEN(seed)},
    {"no-poisson", NULL, "Do not count: no photon noise", OPT_FLAG, AT(no_poisson),
     .flags = OPT_BYTES, .needs = "generator=philox"},
    {"flicker", "FRACTION", "Relative error of every pixel in every frame", OPT_REAL, AT(flicker),
     .min = 0, .max = 1, .flags = OPT_BYTES, .usual = "0"},
    {"calibration", "FRACTION", "Relative error of a pixel's sensitivity, the same in all frames",
     OPT_REAL, AT(calibration), .min = 0, .max = 1, .flags = OPT_BYTES, .usual = "0"},
    {"calibration-seed", "N", "Seed of the calibration, and of what is bad", OPT_INT,
     AT(calibration_seed), .min = 0, .max = 0x1p63, .flags = OPT_BYTES, GIVEN(calibration_seed),
     .needs = "calibration|dead|hot|bad-pixels", .usual = "1"},
    {"psf", "none|gauss|fiber", "Point spread of the detector", OPT_CHOICE, AT(psf),
     .choices = "none|gauss|fiber", .flags = OPT_BYTES, GIVEN(psf)},
    {"psf-fwhm", "UM", "Full width at half maximum of the point spread", OPT_REAL, AT(psf_fwhm_um),
     .min = 0, .max = 1e6, .flags = OPT_BYTES | OPT_OPEN_MIN, GIVEN(psf_fwhm),
     .needs = "psf=gauss|psf=fiber", .usual = "46"},
    {"psf-radius", "PIXELS", "How far the point spread reaches, 0 chooses", OPT_INT,
     AT(psf_radius_px), .min = 0, .max = 65535, .flags = OPT_BYTES, GIVEN(psf_radius),
     .needs = "psf=gauss|psf=fiber", .usual = "0"},
    {"gain", "ADU", "Value that one photon adds", OPT_REAL, AT(gain), .min = 0, .max = 1e9,
     .flags = OPT_BYTES | OPT_OPEN_MIN, .usual = "1"},
    {"adc-offset", "ADU", "Value of a pixel without photons", OPT_REAL, AT(adc_offset), .min = 0,
     .max = 1e6, .flags = OPT_BYTES, .usual = "40"},
    {"readout", "ADU", "Standard deviation of the readout noise", OPT_REAL, AT(readout), .min = 0,
     .max = 1e6, .flags = OPT_BYTES, .usual = "0"},
    {"saturation", "ADU", "Largest value (what bits and detector hold)", OPT_REAL, AT(saturation),
     .min = 1, .max = 4294967295.0, .flags = OPT_BYTES, GIVEN(saturation),
     .needs = "generator=philox"},
    {"bits", "16|32", "Bits of a pixel", OPT_CHOICE, AT(bits), .choices = "16|32",
     .flags = OPT_BYTES, .usual = "16"},
    {"generator", "philox|nanobragg", "Random numbers; nanobragg for faithful physics only",
     OPT_CHOICE, AT(generator), .choices = "philox|nanobragg", .flags = OPT_BYTES},
    {.doc = "What is wrong with the detector:", .type = OPT_GROUP},
    {"dead", "FRACTION", "Pixels that see no light, the same in all frames", OPT_REAL, DEFECT(dead),
     .min = 0, .max = 0.5, .flags = LATER, .needs = "generator=philox", .usual = "0"},
    {"hot", "FRACTION", "Pixels that count without light, the same in all frames", OPT_REAL,
     DEFECT(hot), .min = 0, .max = 0.5, .flags = LATER, .needs = "generator=philox", .usual = "0"},
    {"hot-photons", "N", "What they count in a frame, on average", OPT_REAL, DEFECT(hot_photons),
     .min = 0, .max = 1e9, .flags = LATER, GIVEN_DEFECT(hot_photons), .needs = "hot|bad-pixels",
     .usual = "100"},
    {"bad-pixels", "FILE", "SMV image that says which are bad: 0 dead, 1 good, 2 hot", OPT_TEXT,
     DEFECT(file), .flags = LATER | OPT_INPUT, .needs = "generator=philox"},
    {"beamstop", "MM|X,Y", "A stop in the beam, of this diameter, or so wide and high", OPT_REALS,
     DEFECT(stop_mm), .min = 0, .max = 1000, .count = 2,
     .flags = LATER | OPT_OPEN_MIN | OPT_ONE_FOR_ALL, GIVEN_DEFECT(stop),
     .needs = "generator=philox"},
    {"beamstop-shape", "disc|rectangle", "What it looks like", OPT_CHOICE, DEFECT(stop_shape),
     .choices = "disc|rectangle", .flags = LATER, GIVEN_DEFECT(shape), .needs = "beamstop"},
    {"beamstop-distance", "MM", "From the sample to the stop (that of the detector)", OPT_REAL,
     DEFECT(stop_distance_mm), .min = 0, .max = 1e6, .flags = LATER | OPT_OPEN_MIN,
     GIVEN_DEFECT(distance), .needs = "beamstop"},
    {"beamstop-offset", "X,Y", "Its middle from the beam, mm along fast and slow", OPT_REALS,
     DEFECT(stop_offset_mm), .min = -1000, .max = 1000, .count = 2, .flags = LATER,
     GIVEN_DEFECT(offset), .unit = "mm", .needs = "beamstop", .usual = "0,0"},
    {"beamstop-arm", "MM", "Width of the arm that holds it (none)", OPT_REAL, DEFECT(arm_mm),
     .min = 0, .max = 1000, .flags = LATER, GIVEN_DEFECT(arm), .needs = "beamstop"},
    {"beamstop-angle", "DEG", "Where the arm points to, from fast towards slow", OPT_REAL,
     DEFECT(arm_deg), .min = -360, .max = 360, .flags = LATER, GIVEN_DEFECT(arm_angle),
     .needs = "beamstop-arm", .usual = "0"},
    {"beamstop-transmission", "FRACTION", "Light that passes stop and arm", OPT_REAL,
     DEFECT(stop_transmission), .min = 0, .max = 1, .flags = LATER, GIVEN_DEFECT(transmission),
     .needs = "beamstop", .usual = "0"},
    {"unmasked", NULL, "Leave bad pixels and shadow out of the masks of files and streams",
     OPT_FLAG, DEFECT(unmasked), .flags = LATER, .needs = "dead|hot|bad-pixels|beamstop"},
    {.doc = "Work:", .type = OPT_GROUP},
    {"threads", "N", "Threads of this process (as many as processors)", OPT_INT, AT(threads),
     .min = 1, .max = 1024},
    {0},
};

static enum pixel_type pixel_type(const struct noise_stage *o)
{
    return o->bits == 0 ? PIXEL_U16 : PIXEL_U32;
}

static enum status open_noise(void *state, const char **operands, int noperands, struct error *e)
{
    struct noise_stage *o = state;
    (void)operands;
    (void)noperands;
    const double largest = o->bits == 0 ? 65535.0 : 4294967295.0;
    if (!o->has_saturation)
        o->saturation = largest;
    if (o->saturation > largest)
        return error_set(e, STATUS_USAGE,
                         "--saturation=%.12g does not fit into %d bits, must be at most %.12g",
                         o->saturation, o->bits ? 32 : 16, largest);
    if (o->adc_offset > o->saturation)
        return error_set(e, STATUS_USAGE, "--adc-offset=%.12g is above the saturation of %.12g",
                         o->adc_offset, o->saturation);
    const enum status s = defects_open(&o->defects, e);
    return s ? s : threads_start(&o->threads, e);
}

enum status noise_start(void *state, struct error *e)
{
    struct noise_stage *o = state;
    const struct experiment *x = o->experiment;
    if (o->psf != PSF_NONE || o->generator == GENERATOR_NANOBRAGG) {
        o->photons = mem_array((size_t)experiment_pixels(x), sizeof *o->photons);
        if (!o->photons)
            return error_memory(e, "the photons");
    }
    return o->generator == GENERATOR_NANOBRAGG ? STATUS_OK
                                               : noise_create(&o->plan, &o->noise, x, e);
}

static enum status begin(void *state, struct experiment *x, struct error *e)
{
    struct noise_stage *o = state;
    if (o->generator == GENERATOR_NANOBRAGG && (x->physics != PHYSICS_FAITHFUL || x->npanels != 1))
        return error_set(e, STATUS_USAGE,
                         "--generator=nanobragg needs bragg-geometry --physics=faithful");
    const enum status s = defects_make(&o->defects, (uint64_t)o->calibration_seed, x, e);
    if (s)
        return s;
    o->experiment = x;
    /* a detector that counts so many photons saturates as many above the offset */
    const double most = x->saturation * o->gain + o->adc_offset;
    if (x->saturation > 0 && !o->has_saturation && most < o->saturation)
        o->saturation = most;
    o->noise = (struct noise){
        .flicker = o->flicker,
        .calibration = o->calibration,
        .calibration_seed = (uint64_t)o->calibration_seed,
        .passes = o->defects.passes,
        .bad = o->defects.bad,
        .nbad = o->defects.nbad,
        .poisson = !o->no_poisson,
        .psf = {.kind = (enum psf_kind)o->psf,
                .fwhm_px = um_to_m(o->psf_fwhm_um) / x->panels[0].pixel_m,
                .radius_px = o->psf_radius_px},
        .gain = o->gain,
        .offset_adu = o->adc_offset,
        .readout_adu = o->readout,
        .saturation_adu = o->saturation,
        .clipped = &o->clipped,
        .threads = (int)o->threads,
    };
    o->clipped.largest_adu = floor(o->saturation);
    x->adc_offset = o->adc_offset;
    x->gain = o->gain;
    x->saturation = o->saturation;
    return o->deferred ? STATUS_OK : noise_start(o, e);
}

void noise_defer(void *state)
{
    ((struct noise_stage *)state)->deferred = true;
}

const struct noise *noise_asked(const void *state, enum pixel_type *type)
{
    const struct noise_stage *o = state;
    *type = pixel_type(o);
    return o->generator == GENERATOR_NANOBRAGG ? NULL : &o->noise;
}

uint64_t noise_seed(const void *state, const struct recipe *recipe)
{
    const struct noise_stage *o = state;
    return o->has_seed ? (uint64_t)o->seed : recipe->seed;
}

/* noisify's chain and its sequential generators, started anew for every frame with
 * the seed plus the frame's number. */
static enum status run_nanobragg(struct noise_stage *o, uint64_t seed, uint64_t id, float *photons,
                                 struct image *adu, struct error *e)
{
    const struct panel *p = &o->experiment->panels[0];
    struct noisify n = {.nx = p->fast_pixels,
                        .ny = p->slow_pixels,
                        .fluence_ph_m2 = FLUENCE_UNIT_PH_M2,
                        .scale = 1,
                        .gain = o->gain,
                        .adc = o->adc_offset,
                        .flicker = o->flicker,
                        .calibration = o->calibration,
                        .readout = o->readout,
                        .psf = o->noise.psf,
                        .bits = o->bits ? 32 : 16,
                        .seed = -(long)((seed + id) & 0x7fffffff),
                        .calibration_seed = -(long)(o->calibration_seed & 0x7fffffff)};
    n.psf.loose_bounds = true;
    uint32_t *wide = mem_array(adu->count, sizeof *wide);
    if (!wide)
        return error_memory(e, "the counts");
    struct ran1 r = {0};
    const enum status s = noisify_noise(&n, &r, photons, wide, e);
    for (size_t i = 0; !s && adu->type == PIXEL_U16 && i < adu->count; i++)
        ((uint16_t *)adu->pixels)[i] = (uint16_t)wide[i];
    if (!s && adu->type == PIXEL_U32)
        memcpy(adu->pixels, wide, adu->count * sizeof *wide);
    if (!s)
        clipped_add(&o->clipped, n.saturated, n.below);
    mem_free(wide);
    return s;
}

static enum status frame(void *state, struct frame *f, struct error *e)
{
    struct noise_stage *o = state;
    const uint64_t id = f->recipe.id, seed = noise_seed(o, &f->recipe);
    const size_t count = (size_t)experiment_pixels(o->experiment);
    if (f->image.type != PIXEL_F32 || f->image.unit != UNIT_PHOTONS || f->image.count != count)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64 " holds no float32 photons: it has its noise already",
                         id);
    struct image adu = {.memory = f->image.memory};
    if (!image_reserve(&adu, pixel_type(o), UNIT_ADU, count))
        return error_memory(e, "the counts");
    float *photons = f->image.pixels;
    if (o->photons)
        photons = memcpy(o->photons, photons, count * sizeof *photons);
    const enum status s = o->generator == GENERATOR_NANOBRAGG
                              ? run_nanobragg(o, seed, id, photons, &adu, e)
                              : noise_apply(o->plan, seed, id, photons, &adu, e);
    if (s) {
        image_free(&adu);
        return s;
    }
    image_free(&f->image);
    f->image = adu;
    return STATUS_OK;
}

static void close_noise(void *state)
{
    struct noise_stage *o = state;
    clipped_say(&o->clipped, NULL);
    noise_destroy(&o->plan);
    defects_free(&o->defects);
    mem_free(o->photons);
}

const struct stage stage_noise = {
    .name = "bragg-noise",
    .summary = "Turn expected photons into detector counts with noise.",
    .examples = "... | bragg-noise --seed=9 | bragg-write 'lyso_%04d.img'\n"
                "... | bragg-noise --gain=0.7 --readout=3 --psf=fiber --psf-fwhm=80 | ...",
    .options = options,
    .wants = KIND_IMAGE,
    .gives = KIND_IMAGE,
    .reads_only = true,
    .state_size = sizeof(struct noise_stage),
    .open = open_noise,
    .begin = begin,
    .frame = frame,
    .close = close_noise,
};
