#include "physics/background/background.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "base/portable_math.h"
#include "base/rng.h"
#include "base/vec.h"
#include "physics/detector/pixel.h"
#include "physics/detector/sensor.h"

double *background_absorb(const struct experiment *x, const struct source *sources, size_t nsources,
                          enum status *s, struct error *e)
{
    double *absorb = mem_array(nsources, sizeof *absorb);
    bool differ = false;
    *s = sensor_ratios(x, sources, nsources, absorb, &differ, e);
    if (!*s && differ)
        return absorb;
    mem_free(absorb);
    return NULL;
}

struct background_scene background_scene(const struct experiment *x, const struct source *sources,
                                         size_t nsources, const double *absorb,
                                         const struct background_material *materials,
                                         size_t nmaterials)
{
    struct background_scene scene = {.physics = x->physics,
                                     .kahn = x->beam.kahn,
                                     .no_polarization = x->beam.no_polarization,
                                     .fluence_ph_m2 = x->beam.fluence_ph_m2,
                                     .sources = sources,
                                     .nsources = nsources,
                                     .absorb = absorb,
                                     .materials = materials,
                                     .nmaterials = nmaterials};
    memcpy(scene.beam, x->beam.direction, sizeof scene.beam);
    memcpy(scene.polarization, x->beam.polarization, sizeof scene.polarization);
    return scene;
}

/* Returns the ratio of the longest and the shortest wavelength, minus 1. */
static double width_of(const struct recipe *r)
{
    double shortest_m = INFINITY, longest_m = 0.0;
    for (size_t i = 0; i < r->nsources; i++) {
        shortest_m = fmin(shortest_m, r->sources[i].wavelength_m);
        longest_m = fmax(longest_m, r->sources[i].wavelength_m);
    }
    return longest_m / shortest_m - 1.0;
}

/* Returns a source for the photons of `count` sources of one direction. Its weight is the sum of
 * their weights times `share`. */
static struct source join_sources(const struct source *of, size_t count, double share)
{
    struct source joined = *of;
    double weights = 0.0, sum_m = 0.0;
    for (size_t i = 0; i < count; i++) {
        weights += of[i].weight;
        sum_m += of[i].weight * of[i].wavelength_m;
    }
    joined.weight = weights * share;
    if (weights > 0.0)
        joined.wavelength_m = sum_m / weights;
    return joined;
}

/* Returns the number of sources from the first one on that are in its direction, and no wider
 * apart than BACKGROUND_NARROW. */
static size_t count_near(const struct source *sources, size_t count)
{
    double shortest_m = sources->wavelength_m, longest_m = shortest_m;
    for (size_t i = 1; i < count; i++) {
        shortest_m = fmin(shortest_m, sources[i].wavelength_m);
        longest_m = fmax(longest_m, sources[i].wavelength_m);
        if (longest_m > shortest_m * (1.0 + BACKGROUND_NARROW) ||
            memcmp(sources[i].direction, sources->direction, sizeof sources->direction) != 0)
            return i;
    }
    return count;
}

/* Makes one source of those near each other in bins[count].  Returns their number. */
static size_t fill_bins(const struct source *sources, size_t count, struct source *bins)
{
    size_t n = 0;
    for (size_t i = 0; i < count; n++) {
        const size_t near = count_near(sources + i, count - i);
        bins[n] = join_sources(sources + i, near, 1.0 / (double)count);
        i += near;
    }
    for (size_t i = 0; i < n; i++)  // the mean of the weights stays
        bins[i].weight *= (double)n;
    return n;
}

/* Multiplies weights by the signal of photons. */
static void weigh(const struct beam *beam, struct source *sources, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sources[i].weight *= sensor_signal(beam, sources[i].wavelength_m);
}

const struct source *background_sources(const struct beam *beam, const struct recipe *r,
                                        struct source **gathered, size_t *n)
{
    const struct source *sources = r->nsources ? r->sources : beam->sources;
    const size_t count = r->nsources ? r->nsources : beam->nsources;
    const size_t channels = beam->nsources ? r->nsources / beam->nsources : 0;
    const bool narrow = channels >= 2 && channels * beam->nsources == r->nsources &&
                        width_of(r) <= BACKGROUND_NARROW;
    const bool few = !narrow && count <= BACKGROUND_FEW;
    *n = count;
    if (few && !beam->adds_energy)
        return sources;
    mem_free(*gathered);
    *gathered = few ? mem_copy(sources, count, sizeof **gathered)
                    : mem_array(narrow ? beam->nsources : count, sizeof **gathered);
    if (!few)
        *n = narrow ? beam->nsources : fill_bins(sources, count, *gathered);
    for (size_t i = 0; narrow && i < beam->nsources; i++)
        (*gathered)[i] = join_sources(r->sources + i * channels, channels, 1.0 / (double)channels);
    if (beam->adds_energy)
        weigh(beam, *gathered, *n);
    return beam->adds_energy || *n < count ? *gathered : sources;
}

/* The image that is filled: one of the two is not NULL. */
struct target {
    float *rounded;
    double *exact;
};

static void store(const struct target *to, int64_t at, const double *photons, int count)
{
    if (to->exact)
        memcpy(to->exact + at, photons, (size_t)count * sizeof *photons);
    for (int i = 0; i < count && to->rounded; i++)
        to->rounded[at + i] = (float)photons[i];
}

static void fill_row(const struct background_kernels *kernels, const struct background_scene *scene,
                     const struct panel *p, int64_t slow, const struct target *to)
{
    const struct roi *roi = &p->roi;
    const int64_t first = p->first_pixel + slow * p->fast_pixels;
    const bool crossed = slow >= roi->slow_min && slow <= roi->slow_max;
    const int64_t end = crossed ? roi->fast_max + 1 : 0;
    const double none = 0.0;
    for (int64_t fast = roi->fast_min; fast < end; fast += BACKGROUND_RUN) {
        double photons[BACKGROUND_RUN];
        const int count = end - fast < BACKGROUND_RUN ? (int)(end - fast) : BACKGROUND_RUN;
        kernels->run(scene, p, fast, slow, count, photons);
        store(to, first + fast, photons, count);
    }
    for (int64_t fast = 0; fast < p->fast_pixels; fast++)
        if (!pixel_is_computed(p, fast, slow))
            store(to, first + fast, &none, 1);
}

/* Fills an image; arguments are those of background_image. */
static enum status fill_image(const struct experiment *x, const struct source *sources,
                              size_t nsources, const struct background_material *materials,
                              size_t nmaterials, int threads, const struct target *to,
                              struct error *e)
{
    enum status s;
    double *absorb = background_absorb(x, sources, nsources, &s, e);
    if (s)
        return s;
    static const struct background_kernels *const all[ISA_COUNT] = ISA_TABLE(background_kernels_);
    const struct background_kernels *kernels = all[isa_best()];
    const struct background_scene scene =
        background_scene(x, sources, nsources, absorb, materials, nmaterials);
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++)
            fill_row(kernels, &scene, p, slow, to);
    }
    mem_free(absorb);
    return STATUS_OK;
}

enum status background_image(const struct experiment *x, const struct source *sources,
                             size_t nsources, const struct background_material *materials,
                             size_t nmaterials, int threads, float *photons, struct error *e)
{
    const struct target to = {.rounded = photons};
    return fill_image(x, sources, nsources, materials, nmaterials, threads, &to, e);
}

enum status background_image_double(const struct experiment *x, const struct source *sources,
                                    size_t nsources, const struct background_material *materials,
                                    size_t nmaterials, int threads, double *photons,
                                    struct error *e)
{
    const struct target to = {.exact = photons};
    return fill_image(x, sources, nsources, materials, nmaterials, threads, &to, e);
}

/* --- the streak of a jet --------------------------------------------------------- */

#define FARTHEST 50.0  // widths, beyond which it is dark

/* The position and direction of the streak of a frame. */
struct drawn {
    const struct streak_frame *frame;
    double photons, length, width;
    double along[3], across[3];  // unit vectors across the beam
};

static struct drawn draw_streak(const struct streak *s, const struct experiment *x,
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

/* Returns the fraction of the photons along the unit vector `toward` that the sensor absorbs. */
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
    const struct drawn d = draw_streak(s, x, f);
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++) {
            float *row = photons + p->first_pixel + slow * p->fast_pixels;
            for (int64_t fast = 0; fast < p->fast_pixels; fast++)
                if (pixel_is_computed(p, fast, slow))
                    row[fast] = (float)((double)row[fast] + photons_of(&d, x, p, fast, slow));
        }
}
