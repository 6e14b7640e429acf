#include "detector_effects.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/history.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/units.h"
#include "io/detectors/detector_maps.h"
#include "io/images/smv.h"
#include "model/recipe.h"
#include "physics/detector/sensor.h"
#include "physics/detector/shadow.h"

/* ---- point spread -------------------------------------------------------------------------- */

/* Converts the options of --psf to a point spread in pixels, and reads these options from a
 * history. */

struct psf point_spread_on(const struct point_spread *p, const struct panel *panel)
{
    const double fwhm_m =
        p->kind == PSF_CHARGE ? sqrt(8.0 * log(2.0)) * sensor_cloud_m(panel, p->bias_V) : p->fwhm_m;
    return (struct psf){.kind = (enum psf_kind)p->kind,
                        .fwhm_px = fwhm_m / panel->pixel_m,
                        .radius_px = p->radius_px};
}

/* Returns the value of a numerical option in a line of the history. Returns `usual` if the line
 * does not have the option. */
static double number(const char *line, const char *name, double usual)
{
    char value[64];
    return history_value(line, name, value, sizeof value) && *value ? strtod(value, NULL) : usual;
}

struct point_spread point_spread_told(const char *history)
{
    static const char *const kinds[] = {"none", "gauss", "fiber", "charge"};
    static const char name[] = "bragg-noise\t";
    struct point_spread p = {.kind = PSF_NONE};
    for (const char *line = history; line && *line; line = strchr(line, '\n')) {
        char kind[16];
        line += *line == '\n';
        if (strncmp(line, name, sizeof name - 1) != 0 ||
            !history_value(line, "psf", kind, sizeof kind))
            continue;
        p = (struct point_spread){.fwhm_m = um_to_m(number(line, "psf-fwhm", POINT_SPREAD_FWHM_UM)),
                                  .bias_V = number(line, "bias", POINT_SPREAD_BIAS_V),
                                  .radius_px = (int64_t)number(line, "psf-radius", 0.0)};
        for (int k = PSF_GAUSS; k <= PSF_CHARGE; k++)
            if (strcmp(kind, kinds[k]) == 0)
                p.kind = k;
    }
    return p;
}

/* ---- defects and shadows ------------------------------------------------------------------- */

/* Makes the dead and hot pixels and the shadows, and masks the affected pixels. */

/* Pixel values in the file of --bad-pixels. */
enum { KIND_DEAD = 0, KIND_GOOD = 1, KIND_HOT = 2 };

#define HOT_SPREAD 1.0  // relative standard deviation of the mean counts of hot pixels

static enum status open_shadows(struct defects *d, struct error *e)
{
    struct shadows *s = &d->shadows;
    if (!d->shadow)
        return STATUS_OK;
    const enum status status = shadows_read(d->shadow, s, e);
    if (status)
        return status;
    uint64_t hash = hash_bytes(HASH_START, s->polygons, s->npolygons * sizeof *s->polygons);
    hash = hash_bytes(hash, s->corners_m, s->ncorners * sizeof *s->corners_m);
    (void)snprintf(d->shadow_digest, sizeof d->shadow_digest, "%016" PRIx64, hash_finish(hash));
    d->shadow = d->shadow_digest;
    return STATUS_OK;
}

/* Checks the kinds of all pixels. Warns if more than half of the pixels are bad, because the
 * file may use other numbers for good and bad pixels. STATUS_INPUT: all pixels are bad. */
static enum status check_kinds(const char *path, const uint8_t *kinds, size_t count,
                               struct error *e)
{
    size_t good = 0;
    for (size_t i = 0; i < count; i++)
        good += kinds[i] == KIND_GOOD;
    if (!good)
        return error_set(e, STATUS_INPUT,
                         "%s: all pixels are bad; expected 0 (dead), 1 (good) or 2 (hot), and 1 "
                         "somewhere",
                         path);
    if (good < count - good)
        log_line(LOG_WARNING, "%s: %zu of %zu pixels are bad. In this file 1 means good", path,
                 count - good, count);
    return STATUS_OK;
}

static enum status open_bad_pixels(struct defects *d, struct error *e)
{
    struct smv smv;
    if (!d->file)
        return STATUS_OK;
    bool big;
    enum status s = smv_read(d->file, true, &smv, e);
    s = s ? s : smv_is_big_endian(d->file, &smv, &big, e);
    const size_t count = s ? 0 : (size_t)(smv.fast_pixels * smv.slow_pixels);
    if (!s)
        d->kinds = mem_array(count, 1);
    for (size_t i = 0; i < count && !s; i++) {
        if (smv.pixels[i] > KIND_HOT)
            s = error_set(e, STATUS_INPUT,
                          "%s: pixel %zu,%zu is %u; expected 0 (dead), 1 (good) or 2 (hot)",
                          d->file, i % (size_t)smv.fast_pixels, i / (size_t)smv.fast_pixels,
                          (unsigned)smv.pixels[i]);
        d->kinds[i] = (uint8_t)smv.pixels[i];
    }
    s = s ? s : check_kinds(d->file, d->kinds, count, e);
    if (!s) {
        d->pixel_m = smv_pixel_m(&smv);
        d->fast_pixels = smv.fast_pixels;
        d->slow_pixels = smv.slow_pixels;
        (void)snprintf(d->digest, sizeof d->digest, "%016" PRIx64,
                       hash_finish(hash_bytes(HASH_START, d->kinds, count)));
        d->file = d->digest;
    }
    smv_free(&smv);
    return s;
}

static enum status open_map(struct defects *d, struct error *e)
{
    const struct transmission *t = &d->map;
    if (!d->transmission)
        return STATUS_OK;
    const enum status s = transmission_read(d->transmission, &d->map, e);
    if (s)
        return s;
    (void)snprintf(d->map_digest, sizeof d->map_digest, "%016" PRIx64,
                   hash_finish(hash_bytes(HASH_START, t->passes, t->count * sizeof *t->passes)));
    d->transmission = d->map_digest;
    return STATUS_OK;
}

enum status defects_open(struct defects *d, struct error *e)
{
    enum status s = open_shadows(d, e);
    s = s ? s : open_map(d, e);
    return s ? s : open_bad_pixels(d, e);
}

/* --- the shadow -------------------------------------------------------------------------- */

static double sum_of(const float *values, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

/* Applies the shadow of polygon `number` to d->passes. Warns if the polygon darkens no pixel:
 * its corners may be in pixels, or relative to another origin than the beam, and are then
 * usually outside the detector. */
static void cast_polygon(const struct defects *d, size_t number, const struct experiment *x)
{
    const struct polygon *p = &d->shadows.polygons[number];
    const size_t count = (size_t)experiment_pixels(x);
    const struct stop plate = {.shape = STOP_POLYGON,
                               .corners_m = d->shadows.corners_m + p->first,
                               .ncorners = p->count,
                               .distance_m = p->distance_m,
                               .transmission = p->transmission};
    const double before = sum_of(d->passes, count);
    shadow_cast(&plate, x, d->passes);
    if (p->transmission < 1.0 && before > 0.0 && sum_of(d->passes, count) == before)
        log_line(LOG_WARNING,
                 "--shadow: shadow %zu of the file darkens no pixel. Its corners are in mm from "
                 "the beam",
                 number + 1);
}

static void cast(struct defects *d, const struct experiment *x)
{
    const struct stop stop = {.shape = (enum stop_shape)d->stop_shape,
                              .size_m = {d->stop_m[0], d->stop_m[1]},
                              .offset_m = {d->stop_offset_m[0], d->stop_offset_m[1]},
                              .distance_m = d->stop_distance_m,
                              .arm_m = d->arm_m,
                              .arm_rad = d->arm_rad,
                              .transmission = d->stop_transmission};
    const size_t count = (size_t)experiment_pixels(x);
    d->passes = mem_array(count, sizeof *d->passes);
    for (size_t i = 0; i < count; i++)
        d->passes[i] = d->map.passes && d->map.passes[i] == 0.0f ? 0.0f : 1.0f;
    if (d->stop_m[0] > 0)
        shadow_cast(&stop, x, d->passes);
    for (size_t i = 0; i < d->shadows.npolygons; i++)
        cast_polygon(d, i, x);
}

/* Multiplies d->passes by the map of --transmission. Call this after the masks are made, because
 * pixels behind thin objects are not masked. */
static void dim(struct defects *d)
{
    for (size_t i = 0; i < d->map.count; i++)
        d->passes[i] *= d->map.passes[i];
}

/* --- bad pixels -------------------------------------------------------------------------- */

/* Returns the kind of a pixel. The kind depends only on the options, the seed and the pixel, so
 * it is the same in all frames. */
static int kind_of(const struct defects *d, struct rng *random, int64_t pixel)
{
    const double chance = rng_uniform(random);
    if (d->kinds && d->kinds[pixel] != KIND_GOOD)
        return d->kinds[pixel];
    return chance < d->dead ? KIND_DEAD : chance < d->dead + d->hot ? KIND_HOT : KIND_GOOD;
}

static void add_bad_pixel(struct defects *d, uint64_t seed, int64_t pixel, size_t *room)
{
    struct rng random = rng_stream(seed, RNG_BAD, 0, (uint32_t)pixel);
    const int kind = kind_of(d, &random, pixel);
    if (kind == KIND_GOOD)
        return;
    struct bad_pixel *grown = mem_grow(d->bad, d->nbad, 1, sizeof *grown, room);
    d->bad = grown;
    d->bad[d->nbad++] = (struct bad_pixel){
        .pixel = pixel,
        .dead = kind == KIND_DEAD,
        .dark =
            kind == KIND_HOT ? (float)(d->hot_photons * rng_lognormal(&random, HOT_SPREAD)) : 0.0f};
}

/* Fills in d->bad and d->nbad. Only pixels that are computed can be bad. */
static void choose_bad_pixels(struct defects *d, uint64_t seed, const struct experiment *x)
{
    size_t room = 0;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++)
            for (int64_t fast = 0; fast < p->fast_pixels; fast++)
                if (panel_computes(p, fast, slow))
                    add_bad_pixel(d, seed, p->first_pixel + slow * p->fast_pixels + fast, &room);
}

/* Warns if the wavelengths of the map and of the beam differ by more than 1 %, because
 * transmission depends on the wavelength. */
static void compare_wavelength(const struct transmission *t, const struct experiment *x)
{
    const double beam_m = x->beam.wavelength_m;
    if (t->wavelength_m > 0.0 && fabs(t->wavelength_m - beam_m) > 0.01 * beam_m)
        log_line(LOG_WARNING,
                 "--transmission: the file has the wavelength %.4g A, but the beam %.4g A. "
                 "Transmission depends on the wavelength",
                 m_to_angstrom(t->wavelength_m), m_to_angstrom(beam_m));
}

/* Warns if all fractions are below 0.01, because the map may have another scale. */
static void warn_scale(const struct transmission *t)
{
    float most = 0.0f;
    for (size_t i = 0; i < t->count; i++)
        most = fmaxf(most, t->passes[i]);
    if (most < 0.01f)
        log_line(LOG_WARNING,
                 "--transmission: the largest fraction of all pixels is %.3g. The value that means "
                 "full transmission is 65535 in SMV and 1 in other formats",
                 (double)most);
}

static enum status check_map(const struct transmission *t, const struct experiment *x,
                             struct error *e)
{
    const bool fits = t->count == (size_t)experiment_pixels(x) &&
                      (!t->fast_pixels || t->fast_pixels == x->panels[0].fast_pixels);
    if (!t->passes)
        return STATUS_OK;
    if (fits) {
        const enum status s =
            smv_compare_pixel("--transmission", t->pixel_m, x->panels[0].pixel_m, e);
        if (!s)
            compare_wavelength(t, x);
        if (!s)
            warn_scale(t);
        return s;
    }
    return error_set(e, STATUS_INPUT,
                     "--transmission: the file has %zu pixels in rows of %" PRId64
                     "; expected %" PRId64 " in rows of %" PRId64 ", as frames have",
                     t->count, t->fast_pixels ? t->fast_pixels : (int64_t)t->count,
                     experiment_pixels(x), x->panels[0].fast_pixels);
}

static enum status check_size(const struct defects *d, const struct experiment *x, struct error *e)
{
    if (!d->kinds)
        return STATUS_OK;
    if (d->fast_pixels == x->panels[0].fast_pixels &&
        d->fast_pixels * d->slow_pixels == experiment_pixels(x))
        return smv_compare_pixel("--bad-pixels", d->pixel_m, x->panels[0].pixel_m, e);
    return error_set(e, STATUS_INPUT,
                     "--bad-pixels: the file has %" PRId64 " x %" PRId64
                     " pixels; expected %" PRId64 " x %" PRId64 ", as frames have",
                     d->fast_pixels, d->slow_pixels, x->panels[0].fast_pixels, experiment_rows(x));
}

/* --- the mask ---------------------------------------------------------------------------- */

/* Stores the reasons for which pixels are masked in *x. */
static void tell_reasons(const struct defects *d, struct experiment *x)
{
    const size_t count = (size_t)experiment_pixels(x);
    if (!x->reasons)
        x->reasons = mem_array(count, 1);
    x->has_reasons = true;
    for (size_t i = 0; d->passes && i < count; i++)
        if (d->passes[i] < 1.0f)
            x->reasons[i] |= REASON_SHADOW;
    for (size_t i = 0; i < d->nbad; i++) {
        uint8_t *reasons = &x->reasons[d->bad[i].pixel];
        *reasons = (uint8_t)(*reasons | (d->bad[i].dead ? REASON_DEAD : REASON_NOISY));
    }
}

static void mask_panel(const struct defects *d, struct panel *p)
{
    const size_t count = (size_t)(p->fast_pixels * p->slow_pixels);
    if (!p->mask) {
        p->mask = mem_array(count, 1);
        memset(p->mask, 1, count);
    }
    for (size_t i = 0; d->passes && i < count; i++)
        p->mask[i] = p->mask[i] && d->passes[(size_t)p->first_pixel + i] >= 1.0f;
    for (size_t i = 0; i < d->nbad; i++)
        if (panel_holds(p, d->bad[i].pixel))
            p->mask[d->bad[i].pixel - p->first_pixel] = 0;
}

enum status defects_make(struct defects *d, uint64_t seed, struct experiment *x, struct error *e)
{
    const bool chooses = d->dead > 0.0 || d->hot > 0.0 || d->kinds;
    enum status s = check_size(d, x, e);
    s = s ? s : check_map(&d->map, x, e);
    if (!s && chooses)
        choose_bad_pixels(d, seed, x);
    if (!s && (d->stop_m[0] > 0 || d->shadows.npolygons || d->map.passes)) {
        struct experiment seen;
        experiment_view_true(&seen, x);
        cast(d, &seen);
        experiment_view_close(&seen);
    }
    const bool masks = !s && !d->unmasked && (d->passes || d->nbad);
    for (size_t i = 0; i < x->npanels && masks; i++)
        mask_panel(d, &x->panels[i]);
    if (!s && masks)
        tell_reasons(d, x);
    if (!s)
        dim(d);
    return s;
}

void defects_free(struct defects *d)
{
    shadows_free(&d->shadows);
    transmission_free(&d->map);
    mem_free(d->kinds);
    mem_free(d->passes);
    mem_free(d->bad);
    *d = (struct defects){0};
}

/* ---- gain switching ------------------------------------------------------------------------ */

/* Makes gains, pedestals and memory cells of --gain-switching, and writes their calibration files.
 */

/* Defaults, the ADC values at which a level is left, and the gain values of the AGIPD levels.  They
 * are round numbers of models, not those of certain detectors. */
static const struct {
    double gain_adu_keV[GAIN_STAGES], pedestal_adu[GAIN_STAGES], top_adu, bottom_adu;
} USUAL[] = {[WORDS_JUNGFRAU] = {{40, -1, -0.1}, {3000, 15000, 15000}, 15800, 3000},
             [WORDS_AGIPD] = {{7.5, 0.15, 0.03}, {5000, 5500, 5500}, 10000, 3000}};
static const double LEVELS_ADU[GAIN_STAGES] = {5500, 7500, 8500};

enum status gain_switching_check(struct gain_switching *w, bool has_gains, bool has_pedestals,
                                 struct error *e)
{
    if (!has_gains)
        memcpy(w->gain_adu_keV, USUAL[w->words].gain_adu_keV, sizeof w->gain_adu_keV);
    if (!has_pedestals)
        memcpy(w->pedestal_adu, USUAL[w->words].pedestal_adu, sizeof w->pedestal_adu);
    for (int i = 0; i < GAIN_STAGES && w->on; i++)
        if (w->gain_adu_keV[i] == 0.0)
            return error_set(e, STATUS_USAGE,
                             "--stage-gains: a gain is 0; expected gains other than 0");
    return STATUS_OK;
}

double gain_switching_energy_keV(const struct experiment *x, const struct recipe *r)
{
    return m_to_ev(incident_beam(x, r).mean_m) / 1000.0;
}

/* Sets *cells to the number of memory cells that the pulses of a train fill. STATUS_USAGE: a
 * train has more pulses than there are cells. */
static enum status count_cells(const struct experiment *x, uint64_t *cells, struct error *e)
{
    *cells = x->pulse_ids.train_pulses ? x->pulse_ids.train_pulses : 1;
    if (*cells <= MEMORY_CELLS_MAX)
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "--words=agipd: a train has %" PRIu64
                     " pulses; expected at most %d, the number of memory cells. Reduce "
                     "bragg-orient --train-pulses",
                     *cells, MEMORY_CELLS_MAX);
}

/* Writes the gains, pedestals and thresholds of all cells to the calibration files. One image at
 * a time is in memory. */
static enum status write_cells(const struct gain_switching *w, uint64_t cells, int threads,
                               const struct experiment *x, struct error *e)
{
    const int64_t count = experiment_pixels(x);
    struct cell_files f;
    float *plane = mem_array((size_t)count, sizeof *plane);
    enum status s = cell_files_open(&f, w->files, x, cells, e);
    for (int stage = 0; stage < GAIN_STAGES && !s; stage++) {
        cell_files_gains(&f, stage, w->gain_adu_keV[0], w->stages.gain[stage], plane);
        for (uint64_t cell = 0; cell < cells; cell++) {
            memory_cells_pedestals(&w->cells, stage, cell, plane, count, threads);
            cell_files_offsets(&f, stage, cell, plane);
            if (stage > 0) {
                memory_cells_thresholds(&w->cells, stage, cell, plane, count, threads);
                cell_files_levels(&f, stage, cell, plane);
            }
        }
    }
    mem_free(plane);
    return s ? s : cell_files_commit(&f, x, e);
}

static enum status make_cells(struct gain_switching *w, uint64_t seed, int threads,
                              struct experiment *x, struct error *e)
{
    uint64_t cells;
    enum status s = count_cells(x, &cells, e);
    if (s)
        return s;
    w->cells =
        (struct memory_cells){.stages = &w->stages, .seed = seed, .spread_adu = w->cell_spread_adu};
    memcpy(w->cells.level_adu, LEVELS_ADU, sizeof LEVELS_ADU);
    s = memory_cells_make(&w->cells, experiment_pixels(x), threads, e);
    if (!s && w->files)
        s = write_cells(w, cells, threads, x, e);
    x->has_pulse_ids = x->pulse_ids.has_cells = true;
    x->adc_offset = LEVELS_ADU[0] * (1 << MEMORY_CELLS_SHIFT) + w->pedestal_adu[0];
    x->saturation = UINT32_MAX;
    return s;
}

enum status gain_switching_make(struct gain_switching *w, uint64_t seed, int threads,
                                struct experiment *x, struct error *e)
{
    if (!w->on)
        return STATUS_OK;
    struct gain_request r = {.gain_spread = w->spread[0],
                             .pedestal_spread = w->spread[1],
                             .top_adu = USUAL[w->words].top_adu,
                             .bottom_adu = USUAL[w->words].bottom_adu,
                             .seed = seed};
    memcpy(r.gain_adu_keV, w->gain_adu_keV, sizeof r.gain_adu_keV);
    memcpy(r.pedestal_adu, w->pedestal_adu, sizeof r.pedestal_adu);
    const enum status s = gain_stages_make(&w->stages, &r, experiment_pixels(x), threads, e);
    x->adc_offset = w->pedestal_adu[0];
    x->gain = w->gain_adu_keV[0] * m_to_ev(x->beam.wavelength_m) / 1000.0;
    x->saturation = UINT16_MAX;
    x->gain_switches = true;
    if (s)
        return s;
    if (w->words == WORDS_AGIPD)
        return make_cells(w, seed, threads, x, e);
    return w->files ? gain_files_write(w->files, x, w->stages.gain, w->stages.pedestal, e)
                    : STATUS_OK;
}

double gain_switching_full_word(const struct gain_switching *w)
{
    if (w->words == WORDS_AGIPD)
        return GAIN_STAGES_ADC_MAX;
    return w->gain_adu_keV[GAIN_STAGES - 1] > 0.0 ? UINT16_MAX : UINT16_MAX - GAIN_STAGES_ADC_MAX;
}

void gain_switching_free(struct gain_switching *w)
{
    memory_cells_free(&w->cells);
    gain_stages_free(&w->stages);
}
