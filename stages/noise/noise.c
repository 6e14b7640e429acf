/*
 * The stage bragg-noise: options, experiment, and the noise of each frame.  The noise itself is in
 * engine/detector/noise.h, that of --generator=nanobragg in physics/noise/noisify.h.
 */
#include "noise.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/cpu/threads.h"
#include "noise_state.h"
#include "physics/constants.h"
#include "physics/noise/noisify.h"
#include "stage/stage.h"

static enum pixel_type pixel_type(const struct noise_stage *o)
{
    const bool planes = o->switching.on && o->switching.words == WORDS_AGIPD;
    return o->bits == 0 && !planes ? PIXEL_U16 : PIXEL_U32;
}

static enum status open_noise(void *state, const char **operands, int noperands, struct error *e)
{
    struct noise_stage *o = state;
    (void)operands;
    (void)noperands;
    const double largest = o->bits == 0 ? 65535.0 : 4294967295.0;
    if (!opt_given(noise_options, o, "saturation"))
        o->saturation = largest;
    if (o->saturation > largest)
        return error_set(e, STATUS_USAGE,
                         "--saturation=%.12g does not fit into %d bits; expected at most %.12g",
                         o->saturation, o->bits ? 32 : 16, largest);
    if (o->adc_offset > o->saturation)
        return error_set(
            e, STATUS_USAGE,
            "--adc-offset=%.12g is above the saturation of %.12g. Reduce the offset, or raise "
            "--saturation",
            o->adc_offset, o->saturation);
    if (o->dead_time_ns * 1e-6 > 0.1 * o->count_time_ms)
        return error_set(
            e, STATUS_USAGE,
            "--dead-time=%g ns is too long; expected at most a tenth of --count-time=%g ms",
            o->dead_time_ns, o->count_time_ms);
    enum status s = switching_check(&o->switching, opt_given(noise_options, o, "stage-gains"),
                                    opt_given(noise_options, o, "stage-pedestals"), e);
    if (!s)
        s = defects_open(&o->defects, e);
    return s ? s : threads_start(&o->threads, e);
}

enum status noise_start(void *state, struct error *e)
{
    struct noise_stage *o = state;
    const struct experiment *x = o->experiment;
    if (o->psf.kind != PSF_NONE || o->generator == GENERATOR_NANOBRAGG) {
        o->photons = mem_array((size_t)experiment_pixels(x), sizeof *o->photons);
        if (!o->photons)
            return error_memory(e, "the photons");
    }
    return o->generator == GENERATOR_NANOBRAGG ? STATUS_OK
                                               : noise_create(&o->plan, &o->noise, x, e);
}

/* Prepares for frames on the GPU, if --engine=cuda is given and the GPU supports all of the noise,
 * or else on the CPU.  The first frame that the GPU does not support calls noise_start. */
static enum status start(struct noise_stage *o, struct error *e)
{
    struct engine_after after = {0};
    after.noise = noise_asked(o, &after.type);
    const enum status s = card_work_begin(&o->card, o->experiment, &after, o->threads,
                                          "point spread, bad pixels, shadows, missed counts, gain "
                                          "switching and --generator=nanobragg",
                                          e);
    return s || o->card.plan ? s : noise_start(o, e);
}

static enum status begin(void *state, struct experiment *x, struct error *e)
{
    struct noise_stage *o = state;
    if (o->generator == GENERATOR_NANOBRAGG && (x->physics != PHYSICS_FAITHFUL || x->npanels != 1))
        return error_set(
            e, STATUS_USAGE,
            "--generator=nanobragg needs bragg-geometry --physics=faithful, and one panel");
    if (o->psf.kind == PSF_CHARGE &&
        (o->generator == GENERATOR_NANOBRAGG || !(x->panels[0].thickness_m > 0.0)))
        return error_set(
            e, STATUS_USAGE,
            "--psf=charge needs --generator=philox and a sensor with a thickness. Give "
            "bragg-geometry --thickness or --detector");
    enum status s = defects_make(&o->defects, (uint64_t)o->calibration_seed, x, e);
    if (s)
        return s;
    o->experiment = x;
    /* x->saturation is the largest count of the detector in photons: convert it to ADU */
    const double most = x->saturation * o->gain + o->adc_offset;
    if (x->saturation > 0 && !opt_given(noise_options, o, "saturation") && most < o->saturation)
        o->saturation = most;
    o->noise = (struct noise){
        .flicker = o->flicker,
        .calibration = o->calibration,
        .calibration_seed = (uint64_t)o->calibration_seed,
        .passes = o->defects.passes,
        .bad = o->defects.bad,
        .nbad = o->defects.nbad,
        .poisson = !o->no_poisson,
        .psf = point_spread_on(&o->psf, &x->panels[0]),
        .gain = o->gain,
        .offset_adu = o->adc_offset,
        .readout_adu = o->readout,
        .saturation_adu = o->saturation,
        .clipped = &o->clipped,
        .threads = (int)o->threads,
    };
    o->dead_time = (struct dead_time){.counter = (enum counter)o->counter,
                                      .share = o->dead_time_ns * 1e-6 / o->count_time_ms};
    o->noise.dead_time = o->counter != COUNTER_PERFECT ? &o->dead_time : NULL;
    o->clipped.largest_adu = floor(o->saturation);
    x->adc_offset = o->adc_offset;
    x->gain = o->gain;
    x->saturation = o->saturation;
    if (o->switching.on) {
        o->noise.stages = &o->switching.stages;
        if (o->switching.words == WORDS_AGIPD)
            o->noise.cells = &o->switching.cells;
        o->clipped.largest_adu = switching_full_word(&o->switching);
        s = switching_make(&o->switching, (uint64_t)o->calibration_seed, (int)o->threads, x, e);
    }
    return s || o->deferred ? s : start(o, e);
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
    return o->seed >= 0 ? (uint64_t)o->seed : recipe->seed;
}

/* Applies the steps of noisify, with its sequential generators.  The generators start again in each
 * frame, with the seed plus the number of the frame. */
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
                         "frame %" PRIu64
                         " has integer pixels, so it already has noise. Use only one "
                         "bragg-noise in a pipe",
                         id);
    if (f->reflections.has_slopes && o->psf.kind != PSF_NONE)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64
                         ": --psf cannot be applied to derivatives by F. Remove F from "
                         "bragg-intensity --derivatives",
                         id);
    if (o->card.plan && !f->planes.count && !f->reflections.has_slopes)
        return card_work_frame(&o->card, f, seed, e);
    enum status s = card_work_fetch(&o->card, &f->image, e);
    if (!s && o->card.plan && !o->plan)
        s = noise_start(o, e);
    if (s)
        return s;
    struct image adu = {.memory = f->image.memory};
    if (!image_reserve(&adu, pixel_type(o), UNIT_ADU, count))
        return error_memory(e, "the counts");
    float *photons = f->image.pixels;
    if (o->photons)
        photons = memcpy(o->photons, photons, count * sizeof *photons);
    if (o->switching.on)
        noise_set_pulse(o->plan, switching_energy_keV(o->experiment, &f->recipe),
                        pulse_place(&o->experiment->pulse_ids, id));
    s = o->generator == GENERATOR_NANOBRAGG ? run_nanobragg(o, seed, id, photons, &adu, e)
                                            : noise_apply(o->plan, seed, id, photons, &adu, e);
    if (!s && o->plan)
        s = noise_planes(o->plan, &f->planes, e);
    if (!s && o->plan && f->reflections.has_slopes)
        noise_pixels(o->plan, f->reflections.pixels, f->reflections.slopes, f->reflections.npixels);
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
    switching_free(&o->switching);
    mem_free(o->photons);
    card_work_close(&o->card);
}

static const struct card *card(void *state)
{
    return card_work_card(&((const struct noise_stage *)state)->card);
}

static const char *report(void *state)
{
    return card_work_report(&((struct noise_stage *)state)->card);
}

const struct stage stage_noise = {
    .role = {.name = "bragg-noise", .wants = KIND_IMAGE, .gives = KIND_IMAGE},
    .summary = "Turn expected photons into detector counts with noise.",
    .examples = "... | bragg-noise --seed=9 | bragg-write 'lyso_%04d.img'\n"
                "... | bragg-noise --gain=0.7 --readout=3 --psf=fiber --psf-fwhm=80 | ...",
    .options = noise_options,
    .reads_only = true,
    .state_size = sizeof(struct noise_stage),
    .open = open_noise,
    .begin = begin,
    .card = card,
    .frame = frame,
    .report = report,
    .close = close_noise,
};
