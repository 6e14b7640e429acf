/*
 * The stage bragg-noise: options, experiment, and the noise of each frame.  The noise itself is in
 * engine/detector/noise.h, that of --generator=nanobragg in physics/noise/noisify.h.
 */
#include "noise.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/units.h"
#include "detector_effects.h"
#include "engine/cpu/threads.h"
#include "engine/detector/noise.h"
#include "engine/detector/readout.h"
#include "model/frame.h"
#include "physics/noise/noisify.h"
#include "stage/stage.h"
#include "stages/shared/engines.h"
#include "stages/shared/probe_rules.h"

enum generator { GENERATOR_PHILOX, GENERATOR_NANOBRAGG };

/* The options and the state of the stage. */
struct noise_stage {
    /* options */
    double gain;                  // ADU per photon
    double adc_offset;            // ADU of a pixel without photons; NaN: not chosen yet
    double readout;               // standard deviation of the readout noise, ADU
    double flicker, calibration;  // relative errors: new in each frame; the same in all frames
    double saturation;            // largest value, ADU
    double dead_time_ns, count_time_ms;  // count_time_ms 0: not chosen yet
    int64_t calibration_seed, seed;      // seed -1: use the seed of the recipe
    int64_t threads;
    struct point_spread psf;
    int bits;       // 0: 16 bits, 1: 32 bits, -1: not chosen yet
    int generator;  // enum generator
    int counter;    // enum counter
    bool no_poisson;
    struct gpu_postprocess card;
    struct opt_marks given;
    struct defects defects;
    struct gain_switching switching;
    /* state */
    bool deferred;               // noise_defer was called
    struct noise noise;          // requested noise
    struct dead_time dead_time;  // used by `noise`, unless the counter is perfect
    struct clipped clipped;      // clipped pixels, for the message at the end
    struct noise_plan *plan;     // made by noise_start; NULL: GENERATOR_NANOBRAGG, or not started
    const struct experiment *experiment;
    float *photons;  // owned: copy of the photons of a frame; NULL: no step changes the photons
};

/* The option table of bragg-noise.  The order of rows with OPT_BYTES is that of the lineage: do not
 * change it. */

#define AT(member) .offset = offsetof(struct noise_stage, member)
#define DEFECT(member) .offset = offsetof(struct noise_stage, defects.member)
#define STAGE(member) .offset = offsetof(struct noise_stage, switching.member)
/* Flags of an option that a later version added. Frames without the option keep their lineage. */
#define LATER (OPT_BYTES | OPT_WHEN_SET)

static const struct opt noise_options[] = {
    {.doc = "Noise:", .type = OPT_GROUP},
    {"seed", "N", "Seed of all noise that differs between frames (the seed of bragg-orient)",
     OPT_INT, AT(seed), .min = 0, .max = 0x1p63, .usual = "", .flags = OPT_BYTES, .first = true},
    {"no-poisson", NULL, "Disable Poisson (photon) noise", OPT_FLAG, AT(no_poisson),
     .flags = OPT_BYTES, .needs = "generator=philox"},
    {"flicker", "FRACTION", "Relative rms error of each pixel, different in each frame, 0 to 1",
     OPT_REAL, AT(flicker), .min = 0, .max = 1, .always = true, .flags = OPT_BYTES, .usual = "0"},
    {"calibration", "FRACTION",
     "Relative rms error of the sensitivity of each pixel, equal in all frames, 0 to 1", OPT_REAL,
     AT(calibration), .min = 0, .max = 1, .always = true, .flags = OPT_BYTES, .usual = "0"},
    {"calibration-seed", "N",
     "Seed of what is equal in all frames: sensitivities, bad pixels, gains and pedestals", OPT_INT,
     AT(calibration_seed), .min = 0, .max = 0x1p63, .flags = OPT_BYTES,
     .needs = "calibration|dead|hot|bad-pixels|gain-switching", .usual = "1"},
    {.doc = "Point spread:", .type = OPT_GROUP},
    {"psf", POINT_SPREAD_KINDS,
     "Point spread: Gaussian, fiber-coupled CCD, or charge shared between pixels", OPT_CHOICE,
     AT(psf.kind), .choices = POINT_SPREAD_KINDS, .flags = OPT_BYTES, .first = true},
    {"psf-fwhm", "UM", "Full width at half maximum of gauss and fiber, up to 1e6 um", OPT_REAL,
     AT(psf.fwhm_m), .si = SI_UM, .min = 0, .max = 1e6, .flags = OPT_BYTES | OPT_OPEN_MIN,
     .needs = "psf=gauss|psf=fiber", .usual = "46"},
    {"psf-radius", "PIXELS", "Half width of the point spread in pixels; 0: automatic", OPT_INT,
     AT(psf.radius_px), .min = 0, .max = 65535, .flags = OPT_BYTES, .needs = "psf=gauss|psf=fiber",
     .usual = "0"},
    {"bias", "V", "Voltage across the sensor for --psf=charge, 1 to 1e5 V", OPT_REAL,
     AT(psf.bias_V), .min = 1, .max = 1e5, .flags = LATER, .needs = "psf=charge", .usual = "200"},
    {.doc = "Readout:", .type = OPT_GROUP},
    {"gain", "ADU", "Value that one photon adds, up to 1e9", OPT_REAL, AT(gain), .min = 0,
     .max = 1e9, .always = true, .flags = OPT_BYTES | OPT_OPEN_MIN, .usual = "1", .first = true},
    {"adc-offset", "ADU",
     "Value of a pixel without photons, 0 to 1e6 (0 for detectors that count photons, else 40)",
     OPT_REAL, AT(adc_offset), .min = 0, .max = 1e6, .always = true, .flags = OPT_BYTES,
     .usual = "", .first = true},
    {"readout", "ADU", "Standard deviation of the readout noise, 0 to 1e6", OPT_REAL, AT(readout),
     .min = 0, .max = 1e6, .always = true, .flags = OPT_BYTES, .usual = "0", .first = true},
    {"saturation", "ADU", "Largest value (largest number of --bits, or of the detector)", OPT_REAL,
     AT(saturation), .min = 1, .max = 4294967295.0, .flags = OPT_BYTES, .needs = "generator=philox",
     .first = true},
    {"bits", "16|32",
     "Bits of a pixel (32 for detectors that count more than 65535 photons, else 16)", OPT_CHOICE,
     AT(bits), .choices = "16|32", .always = true, .flags = OPT_BYTES, .usual = "", .first = true},
    {.doc = "nanoBragg compatibility:", .type = OPT_GROUP},
    {"generator", "philox|nanobragg",
     "Random number generator; nanobragg needs bragg-geometry --physics=faithful", OPT_CHOICE,
     AT(generator), .choices = "philox|nanobragg", .always = true, .flags = OPT_BYTES},
    {.doc = "Photon counting detectors:", .type = OPT_GROUP},
    {"counter", "perfect|nonparalysable|paralysable|pulse",
     "How a counter misses photons that arrive soon after another photon", OPT_CHOICE, AT(counter),
     .choices = "perfect|nonparalysable|paralysable|pulse", .always = true, .flags = LATER,
     .excludes = "gain-switching", .needs = "generator=philox", .first = true},
    {"dead-time", "NS", "Dead time of a counter, up to a tenth of --count-time", OPT_REAL,
     AT(dead_time_ns), .min = 0, .max = 1e9, .flags = LATER | OPT_OPEN_MIN,
     .needs = "counter=nonparalysable|counter=paralysable", .usual = "150"},
    {"count-time", "MS",
     "Exposure of a frame, in which photons arrive evenly (that of bragg-geometry, or 10)",
     OPT_REAL, AT(count_time_ms), .min = 0, .max = 1e9, .flags = LATER | OPT_OPEN_MIN,
     .needs = "counter=nonparalysable|counter=paralysable", .usual = ""},
    {.doc = "Gain-switching detectors (Jungfrau, AGIPD):", .type = OPT_GROUP},
    {"gain-switching", NULL, "Write raw pixel words of gain level and ADC instead of counts",
     OPT_FLAG, STAGE(on), .flags = LATER, .excludes = "gain adc-offset saturation bits",
     .needs = "generator=philox"},
    {"words", "jungfrau|agipd",
     "Layout of a raw pixel word: 16 bits (2 of level, 14 of ADC), or 32 bits, gain above analog "
     "value",
     OPT_CHOICE, STAGE(words), .choices = "jungfrau|agipd", .flags = LATER,
     .needs = "gain-switching"},
    {"stage-gains", "G0,G1,G2", "Gains of the gain levels in ADU/keV; AGIPD: 7.5,0.15,0.03",
     OPT_REALS, STAGE(gain_adu_keV), .min = -1e4, .max = 1e4, .count = GAIN_STAGES, .flags = LATER,
     .unit = "ADU/keV", .needs = "gain-switching", .usual = "40,-1,-0.1"},
    {"stage-pedestals", "P0,P1,P2",
     "ADC values of the gain levels without charge, in ADU; AGIPD: 5000,5500,5500", OPT_REALS,
     STAGE(pedestal_adu), .min = 0, .max = GAIN_STAGES_ADC_MAX, .count = GAIN_STAGES,
     .flags = LATER, .unit = "ADU", .needs = "gain-switching", .usual = "3000,15000,15000"},
    {"stage-spread", "GAIN,PEDESTAL",
     "Relative standard deviations of gain and pedestal between pixels, 0 to 0.3", OPT_REALS,
     STAGE(spread), .min = 0, .max = 0.3, .count = 2, .flags = LATER, .unit = "fraction",
     .needs = "gain-switching", .usual = "0.02,0.03"},
    {"cell-spread", "ADU",
     "Standard deviation of pedestals between the memory cells of an AGIPD, 0 to 2000", OPT_REAL,
     STAGE(cell_spread_adu), .min = 0, .max = 2000, .flags = LATER, .unit = "ADU",
     .needs = "words=agipd", .usual = "60"},
    {"calibration-files", "PREFIX",
     "Write gains and pedestals to PREFIX_gains.h5 and PREFIX_pedestals.h5; AGIPD: "
     "PREFIX_agipd.h5",
     OPT_TEXT, STAGE(files), .needs = "gain-switching"},
    {.doc = "Detector defects:", .type = OPT_GROUP},
    {"dead", "FRACTION", "Pixels that detect no light, 0 to 0.5, equal in all frames", OPT_REAL,
     DEFECT(dead), .min = 0, .max = 0.5, .always = true, .flags = LATER,
     .needs = "generator=philox", .usual = "0"},
    {"hot", "FRACTION", "Pixels that count without light, 0 to 0.5, equal in all frames", OPT_REAL,
     DEFECT(hot), .min = 0, .max = 0.5, .always = true, .flags = LATER, .needs = "generator=philox",
     .usual = "0"},
    {"hot-photons", "N", "Mean number of photons that hot pixels add per frame", OPT_REAL,
     DEFECT(hot_photons), .min = 0, .max = 1e9, .flags = LATER, .needs = "hot|bad-pixels",
     .usual = "100"},
    {"bad-pixels", "FILE", "SMV image that lists bad pixels: 0 dead, 1 good, 2 hot", OPT_TEXT,
     DEFECT(file), .flags = LATER | OPT_INPUT, .needs = "generator=philox"},
    {.doc = "Shadows and masks:", .type = OPT_GROUP},
    {"beamstop", "MM|X,Y", "Beam stop of this diameter, or of this width and height, up to 1000 mm",
     OPT_REALS, DEFECT(stop_m), .si = SI_MM, .min = 0, .max = 1000, .count = 2,
     .flags = LATER | OPT_OPEN_MIN | OPT_ONE_FOR_ALL, .needs = "generator=philox", .first = true},
    {"beamstop-shape", "disc|rectangle", "Shape of the beam stop", OPT_CHOICE, DEFECT(stop_shape),
     .choices = "disc|rectangle", .flags = LATER, .needs = "beamstop"},
    {"beamstop-distance", "MM", "Distance from the sample to the beam stop (detector distance)",
     OPT_REAL, DEFECT(stop_distance_m), .si = SI_MM, .min = 0, .max = 1e6,
     .flags = LATER | OPT_OPEN_MIN, .needs = "beamstop"},
    {"beamstop-offset", "X,Y",
     "Centre of the beam stop relative to the beam, mm along fast and slow", OPT_REALS,
     DEFECT(stop_offset_m), .si = SI_MM, .min = -1000, .max = 1000, .count = 2, .flags = LATER,
     .unit = "mm", .needs = "beamstop", .usual = "0,0"},
    {"beamstop-arm", "MM", "Width of the arm that holds the beam stop, up to 1000 mm (no arm)",
     OPT_REAL, DEFECT(arm_m), .si = SI_MM, .min = 0, .max = 1000, .flags = LATER,
     .needs = "beamstop"},
    {"beamstop-angle", "DEG",
     "Direction of the arm of the beam stop, from the fast towards the slow axis", OPT_REAL,
     DEFECT(arm_rad), .si = SI_DEG, .min = -360, .max = 360, .flags = LATER,
     .needs = "beamstop-arm", .usual = "0"},
    {"beamstop-transmission", "FRACTION",
     "Fraction of the light that passes beam stop and arm, 0 to 1", OPT_REAL,
     DEFECT(stop_transmission), .min = 0, .max = 1, .flags = LATER, .needs = "beamstop",
     .usual = "0"},
    {"shadow", "FILE",
     "Shadows of other objects: text file of polygons, and the fraction of light that passes each "
     "polygon",
     OPT_TEXT, DEFECT(shadow), .flags = LATER | OPT_INPUT, .needs = "generator=philox"},
    {"transmission", "FILE",
     "Fraction of the light that reaches each pixel: HDF5, SMV or raw float32", OPT_TEXT,
     DEFECT(transmission), .flags = LATER | OPT_INPUT, .needs = "generator=philox"},
    {"unmasked", NULL, "Leave bad pixels and shadows out of the masks of files and streams",
     OPT_FLAG, DEFECT(unmasked), .flags = LATER,
     .needs = "dead|hot|bad-pixels|beamstop|shadow|transmission"},
    {.doc = "Execution:", .type = OPT_GROUP},
    {"engine", GPU_POSTPROCESS_ENGINES,
     "Run on the CPU, or on an NVIDIA GPU (cuda); the bytes are equal", OPT_CHOICE, AT(card.engine),
     .choices = GPU_POSTPROCESS_ENGINES, .first = true},
    ENGINE_DEVICE(offsetof(struct noise_stage, card.device)),
    {"threads", "N", "Threads of this process, 1 to 1024 (number of CPU cores)", OPT_INT,
     AT(threads), .min = 1, .max = 1024, .first = true},
    OPT_END(struct noise_stage, given),
};

/* Default pedestal, in ADU, of a detector that integrates charge. */
static const double PEDESTAL_ADU = 40.0;

static double largest_of(int bits)
{
    return bits == 1 ? UINT32_MAX : UINT16_MAX;
}

/* Checks that the saturation and the offset fit into the pixels. Values that are not chosen yet
 * are not checked. If the number of bits is not chosen yet, 16 bits are assumed. STATUS_USAGE: a
 * value does not fit. */
static enum status check_range(const struct noise_stage *o, struct error *e)
{
    const double largest = largest_of(o->bits);
    const double saturation = opt_given(noise_options, o, "saturation") ? o->saturation : largest;
    if (saturation > largest)
        return error_set(e, STATUS_USAGE,
                         "--saturation=%.12g does not fit into %d bits; expected at most %.12g%s",
                         saturation, o->bits == 1 ? 32 : 16, largest,
                         o->bits == 1 ? "" : ". Give --bits=32");
    if (o->adc_offset > saturation)
        return error_set(
            e, STATUS_USAGE,
            "--adc-offset=%.12g is above the saturation of %.12g. Reduce the offset, or raise "
            "--saturation",
            o->adc_offset, saturation);
    return STATUS_OK;
}

/* Chooses the offset, the number of bits and the saturation, unless options give them. A
 * photon-counting detector has no pedestal, and its pixels get enough bits for its largest
 * count.  If this count is not known, the pixels get 32 bits. */
static enum status choose_readout(struct noise_stage *o, const struct experiment *x,
                                  struct error *e)
{
    const bool counts = x->counts_photons && !o->switching.on;
    if (!opt_given(noise_options, o, "adc-offset"))
        o->adc_offset = counts ? 0.0 : PEDESTAL_ADU;
    if (!opt_given(noise_options, o, "bits"))
        o->bits = counts && !(x->saturation > 0 && x->saturation <= UINT16_MAX) &&
                  !opt_given(noise_options, o, "saturation");
    const enum status s = check_range(o, e);
    if (s || opt_given(noise_options, o, "saturation"))
        return s;
    /* x->saturation is the largest count of the detector in photons: convert it to ADU */
    const double largest = largest_of(o->bits), most = x->saturation * o->gain + o->adc_offset;
    o->saturation = x->saturation > 0 && most < largest ? most : largest;
    return STATUS_OK;
}

static enum pixel_type pixel_type(const struct noise_stage *o)
{
    const bool planes = o->switching.on && o->switching.words == WORDS_AGIPD;
    return o->bits == 0 && !planes ? PIXEL_U16 : PIXEL_U32;
}

/* Checks that a counter is not dead for long, if the exposure of a frame is known. */
static enum status check_dead_time(const struct noise_stage *o, struct error *e)
{
    if (!(o->count_time_ms > 0) || o->dead_time_ns * 1e-6 <= 0.1 * o->count_time_ms)
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "--dead-time=%g ns is too long; expected at most a tenth of --count-time=%g "
                     "ms",
                     o->dead_time_ns, o->count_time_ms);
}

/* Chooses the exposure of a frame if no option gives it: the exposure of the beam if bragg-geometry
 * has it. */
static enum status choose_count_time(struct noise_stage *o, const struct beam *b, struct error *e)
{
    static const double APART = 0.01;
    const double exposure_ms = b->exposure_s * 1e3;
    if (!(o->count_time_ms > 0))
        o->count_time_ms = b->has_exposure ? exposure_ms : 10;
    else if (b->has_exposure && fabs(o->count_time_ms - exposure_ms) > APART * exposure_ms)
        log_line(LOG_WARNING,
                 "--count-time=%g ms differs from the exposure of %g ms (bragg-geometry "
                 "--exposure), which files report",
                 o->count_time_ms, exposure_ms);
    return check_dead_time(o, e);
}

static enum status open_noise(void *state, const char **operands, int noperands, struct error *e)
{
    struct noise_stage *o = state;
    (void)operands;
    (void)noperands;
    enum status s = check_range(o, e);
    s = s ? s : check_dead_time(o, e);
    s = s ? s
          : gain_switching_check(&o->switching, opt_given(noise_options, o, "stage-gains"),
                                 opt_given(noise_options, o, "stage-pedestals"), e);
    s = s ? s : defects_open(&o->defects, e);
    return s ? s : threads_start(&o->threads, e);
}

enum status noise_start(void *state, struct error *e)
{
    struct noise_stage *o = state;
    const struct experiment *x = o->experiment;
    if (o->psf.kind != PSF_NONE || o->generator == GENERATOR_NANOBRAGG) {
        o->photons = mem_array((size_t)experiment_pixels(x), sizeof *o->photons);
    }
    return o->generator == GENERATOR_NANOBRAGG ? STATUS_OK
                                               : noise_create(&o->plan, &o->noise, x, e);
}

/* Prepares for frames on the GPU, if --engine=cuda is given and the GPU supports all of the noise,
 * or else on the CPU.  The first frame that the GPU does not support calls noise_start. */
static enum status prepare_frames(struct noise_stage *o, struct error *e)
{
    struct engine_after after = {0};
    after.noise = noise_asked(o, &after.type);
    const enum status s =
        gpu_postprocess_begin(&o->card, o->experiment, &after, o->threads,
                              "point spread, bad pixels, shadows, missed counts, gain "
                              "switching and --generator=nanobragg",
                              e);
    return s || o->card.plan ? s : noise_start(o, e);
}

/* Checks the options against the experiment.  STATUS_USAGE: an option does not suit it. */
static enum status check_experiment(const struct noise_stage *o, const struct experiment *x,
                                    struct error *e)
{
    static const struct probe_rule rules[] = {
        {"gain-switching", "has gains for the energy of a photon in keV"},
        {"psf=charge", "is the charge of a photon"},
        {NULL, NULL},
    };
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
    return probe_refuse(x->probe, rules, noise_options, o, e);
}

static enum status noise_begin(void *state, struct experiment *x, struct error *e)
{
    struct noise_stage *o = state;
    enum status s = check_experiment(o, x, e);
    s = s ? s : choose_readout(o, x, e);
    if (!s && o->counter != COUNTER_PERFECT)
        s = choose_count_time(o, &x->beam, e);
    s = s ? s : defects_make(&o->defects, (uint64_t)o->calibration_seed, x, e);
    if (s)
        return s;
    o->experiment = x;
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
    if (o->counter != COUNTER_PERFECT) {
        o->dead_time = (struct dead_time){.counter = (enum counter)o->counter,
                                          .share = o->dead_time_ns * 1e-6 / o->count_time_ms};
        o->noise.dead_time = &o->dead_time;
    }
    o->clipped.largest_adu = floor(o->saturation);
    x->adc_offset = o->adc_offset;
    x->gain = o->gain;
    x->has_readout = o->readout > 0.0;
    x->readout_adu = o->readout;
    x->saturation = o->saturation;
    if (o->switching.on) {
        o->noise.stages = &o->switching.stages;
        if (o->switching.words == WORDS_AGIPD)
            o->noise.cells = &o->switching.cells;
        o->clipped.largest_adu = gain_switching_full_word(&o->switching);
        s = gain_switching_make(&o->switching, (uint64_t)o->calibration_seed, (int)o->threads, x,
                                e);
    }
    return s || o->deferred ? s : prepare_frames(o, e);
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

/* Applies the noise of noisify, with the sequential random generators of noisify. The generators
 * are restarted for each frame, with the seed plus the frame number. */
static void run_nanobragg(struct noise_stage *o, uint64_t seed, uint64_t id, float *photons,
                          struct image *adu)
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
    struct ran1 r = {0};
    noisify_noise(&n, &r, photons, wide);
    for (size_t i = 0; adu->type == PIXEL_U16 && i < adu->count; i++)
        ((uint16_t *)adu->pixels)[i] = (uint16_t)wide[i];
    if (adu->type == PIXEL_U32)
        memcpy(adu->pixels, wide, adu->count * sizeof *wide);
    clipped_add(&o->clipped, n.saturated, n.below);
    mem_free(wide);
}

static void set_pulse(struct noise_stage *o, const struct recipe *r)
{
    if (o->switching.on)
        noise_set_pulse(o->plan, gain_switching_energy_keV(o->experiment, r),
                        pulse_place(&o->experiment->pulse_ids, r->id));
}

struct noise_plan *noise_by_parts(void *state, const struct recipe *recipe)
{
    struct noise_stage *o = state;
    if (!o->plan || o->psf.kind != PSF_NONE)
        return NULL;
    set_pulse(o, recipe);
    return o->plan;
}

static enum status noise_frame(void *state, struct frame *f, struct error *e)
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
    reflection_table_unrate(&f->reflections);
    if (o->card.plan && !f->planes.count && !f->reflections.has_slopes)
        return gpu_postprocess_frame(&o->card, f, seed, e);
    enum status s = gpu_postprocess_fetch(&o->card, &f->image, e);
    if (!s && o->card.plan && !o->plan)
        s = noise_start(o, e);
    if (s)
        return s;
    struct image adu = {.memory = f->image.memory};
    image_allocate(&adu, pixel_type(o), UNIT_ADU, count);
    float *photons = f->image.pixels;
    if (o->photons)
        photons = memcpy(o->photons, photons, count * sizeof *photons);
    set_pulse(o, &f->recipe);
    if (o->generator == GENERATOR_NANOBRAGG)
        run_nanobragg(o, seed, id, photons, &adu);
    else
        s = noise_apply(o->plan, seed, id, photons, &adu, e);
    if (!s && o->plan)
        noise_planes(o->plan, &f->planes);
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
    gain_switching_free(&o->switching);
    mem_free(o->photons);
    gpu_postprocess_close(&o->card);
}

static const struct card *noise_card(void *state)
{
    return gpu_postprocess_card(&((const struct noise_stage *)state)->card);
}

static const char *noise_report(void *state)
{
    return gpu_postprocess_report(&((struct noise_stage *)state)->card);
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
    .begin = noise_begin,
    .card = noise_card,
    .frame = noise_frame,
    .report = noise_report,
    .close = close_noise,
};
