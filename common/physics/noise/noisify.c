#include "physics/noise/noisify.h"

#include <math.h>
#include <stdbool.h>

#include "base/units.h"

static const double LARGEST_16 = 65535.0, LARGEST_32 = 4294967295.0;

/* Returns v, truncated and limited to 0..limit. NaN becomes 0. */
static uint32_t counts(double v, double limit)
{
    return (uint32_t)(v > limit ? limit : v > 0.0 ? v : 0.0);
}

void noisify_photons(const struct noisify *n, const float *input, float *photons)
{
    for (int64_t i = 0; i < n->nx * n->ny; i++)
        photons[i] =
            (float)(n->fluence_ph_m2 * ELECTRON_RADIUS_SQR_M2 * n->scale * (double)input[i]);
}

void noisify_ideal(const struct noisify *n, const float *photons, uint32_t *image)
{
    for (int64_t i = 0; i < n->nx * n->ny; i++)
        image[i] = counts((double)photons[i] * n->gain + n->adc, LARGEST_16);
}

void noisify_noise(struct noisify *n, struct ran1 *r, float *photons, uint32_t *image)
{
    const double largest = n->bits == 32 ? LARGEST_32 : LARGEST_16;
    int64_t count = n->nx * n->ny;
    for (int64_t i = 0; i < count; i++) {
        double p = (double)photons[i];
        if (n->flicker > 0.0)
            p *= 1.0 + n->flicker * (double)ran1_gauss(r, &n->seed);
        if (n->calibration > 0.0)
            p *= 1.0 + n->calibration * (double)ran1_gauss(r, &n->calibration_seed);
        photons[i] = ran1_poisson(r, (float)p, &n->seed);
    }
    psf_apply(&n->psf, photons, n->nx, n->ny);
    for (int64_t i = 0; i < count; i++) {
        double v = (double)photons[i] * n->gain + n->adc;
        if (n->readout > 0.0)
            v += n->readout * (double)ran1_gauss(r, &n->seed);
        image[i] = counts(v, largest);
        n->saturated += v >= largest;
        n->below += v <= -1.0;
    }
}

/* --- the images of nanoBragg and nonBragg ---------------------------------------- */

static bool inside(const struct roi *roi, int64_t f, int64_t s)
{
    return f >= roi->fast_min && f <= roi->fast_max && s >= roi->slow_min && s <= roi->slow_max;
}

static bool masked(const struct panel *p, int64_t i)
{
    return p->mask && !p->mask[i];
}

/* Returns v, limited to 0..limit. NaN becomes 0. */
static double clip(double v, double limit)
{
    return v > limit ? limit : v > 0.0 ? v : 0.0;
}

struct legacy_statistics legacy_statistics(const struct panel *p, const float *pixels)
{
    struct legacy_statistics st = {0};
    int64_t in_roi = 0;
    double sum = 0.0, squares = 0.0;
    for (int64_t s = 0, i = 0; s < p->slow_pixels; s++)
        for (int64_t f = 0; f < p->fast_pixels; f++, i++) {
            if (!inside(&p->roi, f, s))
                continue;
            in_roi++;
            if (masked(p, i))
                continue;
            st.computed++;
            sum += (double)pixels[i];
            if ((double)pixels[i] > st.max) {
                st.max = (double)pixels[i];
                st.max_fast = f;
                st.max_slow = s;
            }
        }
    st.mean = st.computed ? sum / (double)st.computed : 0.0;
    for (int64_t s = 0, i = 0; s < p->slow_pixels; s++)
        for (int64_t f = 0; f < p->fast_pixels; f++, i++)
            if (inside(&p->roi, f, s)) {
                double d = (double)pixels[i] - st.mean;
                squares += d * d;
            }
    st.rmsd = in_roi > 1 ? sqrt(squares / (double)(in_roi - 1)) : 0.0;
    return st;
}

double legacy_scale(double scale, const struct legacy_statistics *stats)
{
    if (scale > 0.0)
        return scale;
    return stats->max > 0.0 ? 55000.0 / stats->max : 1.0;
}

double legacy_preview_scale(double scale, double fallback, const struct legacy_statistics *stats)
{
    if (scale > 0.0)
        return scale;
    return stats->rmsd > 0.0 ? 250.0 / (5.0 * stats->rmsd) : fallback;
}

void legacy_ideal(const struct panel *p, const float *pixels, double scale, double adc,
                  uint16_t *image)
{
    for (int64_t s = 0, i = 0; s < p->slow_pixels; s++)
        for (int64_t f = 0; f < p->fast_pixels; f++, i++) {
            double v = clip((double)pixels[i] * scale + adc, 65535.0);
            image[i] = inside(&p->roi, f, s) ? (uint16_t)floorf((float)(v + 0.5)) : 0;
        }
}

void legacy_preview(const struct panel *p, const float *pixels, double scale, uint8_t *image)
{
    for (int64_t i = 0; i < p->fast_pixels * p->slow_pixels; i++)
        image[i] = (uint8_t)clip((double)pixels[i] * scale, 255.0);
}

void legacy_noise(const struct panel *p, const float *pixels, double adc, struct ran1 *r,
                  long *seed, uint16_t *image)
{
    for (int64_t s = 0, i = 0; s < p->slow_pixels; s++)
        for (int64_t f = 0; f < p->fast_pixels; f++, i++) {
            image[i] = 0;
            if (inside(&p->roi, f, s)) {
                double v = (double)ran1_poisson(r, pixels[i], seed) + adc;
                image[i] = (uint16_t)clip(v, 65535.0);
            }
        }
}
