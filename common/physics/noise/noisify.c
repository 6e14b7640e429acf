#include "physics/noise/noisify.h"

#include "physics/constants.h"

static const double LARGEST_16 = 65535.0, LARGEST_32 = 4294967295.0;

/* v truncated and within 0..limit; NaN becomes 0. */
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

enum status noisify_noise(struct noisify *n, struct ran1 *r, float *photons, uint32_t *image,
                          struct error *e)
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
    enum status status = psf_apply(&n->psf, photons, n->nx, n->ny, e);
    if (status)
        return status;
    for (int64_t i = 0; i < count; i++) {
        double v = (double)photons[i] * n->gain + n->adc;
        if (n->readout > 0.0)
            v += n->readout * (double)ran1_gauss(r, &n->seed);
        image[i] = counts(v, largest);
        n->saturated += v >= largest;
        n->below += v <= -1.0;
    }
    return STATUS_OK;
}
