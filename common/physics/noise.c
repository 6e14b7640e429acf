#include "physics/noise.h"

#include <inttypes.h>
#include <math.h>

#include "base/rng.h"
#include "physics/poisson.h"

/* Who draws: the key of all streams of a frame. */
struct draw {
    const struct noise *noise;
    uint64_t seed, id;
};

static double factor(double sigma, uint64_t seed, enum rng_purpose purpose, uint64_t id,
                     uint32_t pixel)
{
    struct rng r = rng_stream(seed, purpose, id, pixel);
    return fmax(0.0, 1.0 + sigma * rng_normal(&r));
}

/* Photons that one pixel counts. */
static double count_photons(const struct draw *d, uint32_t pixel, double photons)
{
    const struct noise *n = d->noise;
    if (n->flicker > 0.0)
        photons *= factor(n->flicker, d->seed, RNG_FLICKER, d->id, pixel);
    if (n->calibration > 0.0)
        photons *= factor(n->calibration, n->calibration_seed, RNG_CALIBRATION, 0, pixel);
    if (!n->poisson)
        return photons;
    struct rng r = rng_stream(d->seed, RNG_POISSON, d->id, pixel);
    return poisson_draw(photons, &r);
}

/* What the electronics make of them. */
static double read_out(const struct draw *d, uint32_t pixel, double photons)
{
    const struct noise *n = d->noise;
    double adu = photons * n->gain + n->offset_adu;
    if (n->readout_adu > 0.0) {
        struct rng r = rng_stream(d->seed, RNG_READOUT, d->id, pixel);
        adu += n->readout_adu * rng_normal(&r);
    }
    return fmin(fmax(floor(adu + 0.5), 0.0), n->saturation_adu);
}

static void store(struct image *image, int64_t pixel, double adu)
{
    if (image->type == PIXEL_U16)
        ((uint16_t *)image->pixels)[pixel] = (uint16_t)adu;
    else
        ((uint32_t *)image->pixels)[pixel] = (uint32_t)adu;
}

/* Index of the first pixel that is no number of photons, or count. */
static int64_t first_bad(const float *photons, int64_t count, int threads)
{
    int64_t bad = count;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : bad)
    for (int64_t i = 0; i < count; i++)
        if (!(photons[i] >= 0.0f && photons[i] <= 3.4e38f) && i < bad)
            bad = i;
    return bad;
}

static enum status spread(const struct noise *n, const struct experiment *x, float *photons,
                          struct error *e)
{
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        const enum status s =
            psf_apply(&n->psf, photons + p->first_pixel, p->fast_pixels, p->slow_pixels, e);
        if (s)
            return s;
    }
    return STATUS_OK;
}

enum status noise_apply(const struct noise *n, const struct experiment *x, uint64_t seed,
                        uint64_t id, float *photons, struct image *adu, struct error *e)
{
    const int64_t count = experiment_pixels(x);
    const int64_t bad = first_bad(photons, count, n->threads);
    if (bad < count)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64 ": pixel %" PRId64
                         " has %g photons, must be finite and not negative",
                         id, bad, (double)photons[bad]);
    const struct draw d = {n, seed, id};
    const bool spreads = n->psf.kind != PSF_NONE;
#pragma omp parallel for num_threads(n->threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        const double counted = count_photons(&d, (uint32_t)i, (double)photons[i]);
        if (spreads)
            photons[i] = (float)counted;
        else
            store(adu, i, read_out(&d, (uint32_t)i, counted));
    }
    if (!spreads)
        return STATUS_OK;
    const enum status s = spread(n, x, photons, e);
    if (s)
        return s;
#pragma omp parallel for num_threads(n->threads) schedule(static)
    for (int64_t i = 0; i < count; i++)
        store(adu, i, read_out(&d, (uint32_t)i, (double)photons[i]));
    return STATUS_OK;
}
