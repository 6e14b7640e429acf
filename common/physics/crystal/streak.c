#include "physics/crystal/streak.h"

#include <math.h>

#include "base/portable_math.h"
#include "base/rng.h"
#include "base/vec.h"
#include "physics/background/background_pixel.h"
#include "physics/detector/pixel.h"

#define FARTHEST 50.0  // widths, beyond which it is dark

/* How the streak of a frame lies. */
struct drawn {
    const struct streak_frame *frame;
    double photons, length, width;
    double along[3], across[3];  // unit vectors across the beam
};

static struct drawn draw(const struct streak *s, const struct experiment *x,
                         const struct streak_frame *f)
{
    struct rng random = rng_stream(f->seed, RNG_STREAK, f->id, 0);
    struct drawn d = {.frame = f, .length = s->length, .width = s->width};
    d.photons =
        s->photons * f->relative * (s->spread > 0.0 ? rng_lognormal(&random, s->spread) : 1.0);
    const double angle = s->angle_rad + s->angle_rms_rad * rng_normal(&random);
    const double *beam = x->beam.direction, toward = cos(angle), away = sin(angle);
    double fast[3], slow[3];
    pixel_curve_axes(&x->panels[0], beam, fast, slow);
    for (int k = 0; k < 3; k++) {
        d.along[k] = toward * fast[k] + away * slow[k];
        d.across[k] = toward * slow[k] - away * fast[k];
    }
    for (size_t i = 0; i < x->npanels; i++)
        d.width = fmax(d.width, x->panels[i].pixel_m / fmax(x->panels[i].close_distance_m, 1e-6));
    return d;
}

/* Fraction of the photons along unit vector `toward` that stop in the sensor. */
static double capture_of(const struct streak_frame *f, const struct panel *p,
                         const double toward[3])
{
    double capture = 0.0, weights = 0.0;
    for (int layer = 0; layer < p->layers && !f->absorb; layer++)
        capture += pixel_capture(p, toward, layer);
    if (!f->absorb)
        return capture;
    for (size_t i = 0; i < f->nsources; i++) {
        weights += f->sources[i].weight;
        capture += f->sources[i].weight * background_capture(p, toward, f->absorb[i]);
    }
    return weights > 0.0 ? capture / weights : 0.0;
}

static double photons_of(const struct drawn *d, const struct experiment *x, const struct panel *p,
                         int64_t fast, int64_t slow)
{
    double position[3], toward[3];
    background_point(p, x->physics, x->beam.direction, fast, slow, position);
    const double most = 1.001 * FARTHEST * d->width * vec_dot(position, x->beam.direction);
    if (fabs(vec_dot(position, d->across)) > most)
        return 0.0;  // surely dark, and most pixels are
    const double distance = vec_unit(position, toward);
    const double forward = vec_dot(toward, x->beam.direction);
    if (!(forward > 0.0))
        return 0.0;
    const double u = vec_dot(toward, d->along) / (forward * d->length);
    const double v = fabs(vec_dot(toward, d->across)) / (forward * d->width);
    if (v > FARTHEST)
        return 0.0;
    return d->photons * pixel_solid_angle(p, distance) * capture_of(d->frame, p, toward) *
           portable_exp(-v) / (2.0 * M_PI * d->width * d->length * (1.0 + u * u));
}

void streak_add(const struct streak *s, const struct experiment *x, const struct streak_frame *f,
                int threads, float *photons)
{
    const struct drawn d = draw(s, x, f);
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++) {
            float *row = photons + p->first_pixel + slow * p->fast_pixels;
            for (int64_t fast = 0; fast < p->fast_pixels; fast++)
                if (pixel_is_computed(p, fast, slow))
                    row[fast] = (float)((double)row[fast] + photons_of(&d, x, p, fast, slow));
        }
}
