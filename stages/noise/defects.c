/* Makes the dead and hot pixels and the shadows, and masks the affected pixels. */
#include "defects.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/units.h"
#include "io/images/smv.h"
#include "physics/detector/shadow.h"

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
    if (!s && !(d->kinds = mem_array(count, 1)))
        s = error_memory(e, "the bad pixels");
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

static enum status cast(struct defects *d, const struct experiment *x, struct error *e)
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
    if (!d->passes)
        return error_memory(e, "the shadow");
    for (size_t i = 0; i < count; i++)
        d->passes[i] = d->map.passes && d->map.passes[i] == 0.0f ? 0.0f : 1.0f;
    if (d->stop_m[0] > 0)
        shadow_cast(&stop, x, d->passes);
    for (size_t i = 0; i < d->shadows.npolygons; i++)
        cast_polygon(d, i, x);
    return STATUS_OK;
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

static enum status add_bad_pixel(struct defects *d, uint64_t seed, int64_t pixel, size_t *room,
                                 struct error *e)
{
    struct rng random = rng_stream(seed, RNG_BAD, 0, (uint32_t)pixel);
    const int kind = kind_of(d, &random, pixel);
    if (kind == KIND_GOOD)
        return STATUS_OK;
    struct bad_pixel *grown = mem_grow(d->bad, d->nbad, 1, sizeof *grown, room);
    if (!grown)
        return error_memory(e, "the bad pixels");
    d->bad = grown;
    d->bad[d->nbad++] = (struct bad_pixel){
        .pixel = pixel,
        .dead = kind == KIND_DEAD,
        .dark =
            kind == KIND_HOT ? (float)(d->hot_photons * rng_lognormal(&random, HOT_SPREAD)) : 0.0f};
    return STATUS_OK;
}

/* Fills in d->bad and d->nbad. Only pixels that are computed can be bad. */
static enum status choose_bad_pixels(struct defects *d, uint64_t seed, const struct experiment *x,
                                     struct error *e)
{
    enum status s = STATUS_OK;
    size_t room = 0;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++)
            for (int64_t fast = 0; fast < p->fast_pixels && !s; fast++)
                if (panel_computes(p, fast, slow))
                    s = add_bad_pixel(d, seed, p->first_pixel + slow * p->fast_pixels + fast, &room,
                                      e);
    return s;
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
static enum status tell_reasons(const struct defects *d, struct experiment *x, struct error *e)
{
    const size_t count = (size_t)experiment_pixels(x);
    if (!x->reasons && !(x->reasons = mem_array(count, 1)))
        return error_memory(e, "the mask");
    x->has_reasons = true;
    for (size_t i = 0; d->passes && i < count; i++)
        if (d->passes[i] < 1.0f)
            x->reasons[i] |= REASON_SHADOW;
    for (size_t i = 0; i < d->nbad; i++) {
        uint8_t *reasons = &x->reasons[d->bad[i].pixel];
        *reasons = (uint8_t)(*reasons | (d->bad[i].dead ? REASON_DEAD : REASON_NOISY));
    }
    return STATUS_OK;
}

static enum status mask_panel(const struct defects *d, struct panel *p, struct error *e)
{
    const size_t count = (size_t)(p->fast_pixels * p->slow_pixels);
    if (!p->mask) {
        p->mask = mem_array(count, 1);
        if (!p->mask)
            return error_memory(e, "the mask");
        memset(p->mask, 1, count);
    }
    for (size_t i = 0; d->passes && i < count; i++)
        p->mask[i] = p->mask[i] && d->passes[(size_t)p->first_pixel + i] >= 1.0f;
    for (size_t i = 0; i < d->nbad; i++)
        if (panel_holds(p, d->bad[i].pixel))
            p->mask[d->bad[i].pixel - p->first_pixel] = 0;
    return STATUS_OK;
}

enum status defects_make(struct defects *d, uint64_t seed, struct experiment *x, struct error *e)
{
    const bool chooses = d->dead > 0.0 || d->hot > 0.0 || d->kinds;
    enum status s = check_size(d, x, e);
    s = s ? s : check_map(&d->map, x, e);
    if (!s && chooses)
        s = choose_bad_pixels(d, seed, x, e);
    if (!s && (d->stop_m[0] > 0 || d->shadows.npolygons || d->map.passes))
        s = cast(d, x, e);
    const bool masks = !s && !d->unmasked && (d->passes || d->nbad);
    for (size_t i = 0; i < x->npanels && masks && !s; i++)
        s = mask_panel(d, &x->panels[i], e);
    if (!s && masks)
        s = tell_reasons(d, x, e);
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
