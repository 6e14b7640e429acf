#include "grains.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/portable_math.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/vec.h"
#include "physics/background/background_pixel.h"
#include "physics/detector/pixel.h"

static const double SMOOTH = 3e5;  // spots from which on a ring is smooth: 0.3 % of its photons
static const double RANGE = 4.0;   // rms widths on either side of the sphere, and of a spot
static const double BINS_A_RMS = 32.0;  // of the whole circle, times the rms of a spot in rad
static const double BINS_MOST = 5e7;    // of all rings, 200 MB
static const double WIDEST_RAD = 0.2;   // of a spot

/* --- azimuths ----------------------------------------------------------------------
 *
 * An azimuth is the place 0 to 4 at which its ray crosses the square |x| + |y| = 1.  This needs no
 * function whose last bits differ between machines.  A step of it is one to two times as many
 * radians. */

static double azimuth_of(double x, double y)
{
    const double sum = fabs(x) + fabs(y), at = sum > 0.0 ? y / sum : 0.0;
    return x < 0.0 ? 2.0 - at : at < 0.0 ? 4.0 + at : at;
}

static void azimuth_direction(double azimuth, double to[2])
{
    const double x = fabs(azimuth - 2.0) - 1.0;  // 1 at 0 and 4, -1 at 2
    const double y = (azimuth < 2.0 ? 1.0 : -1.0) * (1.0 - fabs(x));
    const double length = sqrt(x * x + y * y);
    to[0] = x / length;
    to[1] = y / length;
}

/* --- spots of a ring ---------------------------------------------------------------- */

static void draw_direction(struct rng *random, double to[2])
{
    double sum;
    do {
        to[0] = 2.0 * rng_uniform(random) - 1.0;
        to[1] = 2.0 * rng_uniform(random) - 1.0;
        sum = to[0] * to[0] + to[1] * to[1];
    } while (!(sum > 0.0 && sum <= 1.0));
    to[0] /= sqrt(sum);
    to[1] /= sqrt(sum);
}

/* Adds a spot of this rms width in rad to the sums of a ring.  The angle between a bin and the
 * middle of the spot is the chord. */
static void add_spot(const double middle[2], double weight, double rms_rad, size_t bins,
                     double *sums)
{
    const double scale = (double)bins / 4.0, at = azimuth_of(middle[0], middle[1]) * scale;
    const int64_t reach = (int64_t)(RANGE * rms_rad * scale) + 1, first = (int64_t)at - reach;
    for (int64_t i = first; i <= first + 2 * reach + 1; i++) {
        const size_t bin = (size_t)((i + (int64_t)bins) % (int64_t)bins);
        double to[2];
        azimuth_direction((double)bin / scale, to);
        const double x = to[0] - middle[0], y = to[1] - middle[1];
        sums[bin] += weight * portable_exp(-0.5 * (x * x + y * y) / (rms_rad * rms_rad));
    }
}

/* Draws the spots of a ring into sums[bins], on average `mean` of them. */
static void draw_spots(struct rng *random, double mean, double rms_rad, size_t bins, double *sums)
{
    /* gaps between spots of a Poisson process are exponential */
    for (double left = mean + portable_log(1.0 - rng_uniform(random)); left > 0.0;
         left += portable_log(1.0 - rng_uniform(random))) {
        double middle[2];
        const double off = RANGE * (2.0 * rng_uniform(random) - 1.0);
        draw_direction(random, middle);
        add_spot(middle, portable_exp(-0.5 * off * off), rms_rad, bins, sums);
    }
}

/* Fills the azimuths of a ring.  `mean` is the expected number of its spots. */
static void fill_ring(struct grains_ring *ring, double rms_rad, double mean, uint32_t index,
                      const struct grains_frame *f)
{
    struct rng random = rng_stream(f->seed, RNG_POWDER, f->id, index + 1);
    const double sum = sqrt(2.0 * M_PI);
    const double usual = mean * sum / (2.0 * RANGE) * sum * rms_rad / (2.0 * M_PI);
    double *sums = mem_array(ring->bins, sizeof *sums);
    ring->azimuth = mem_array(ring->bins + 1, sizeof *ring->azimuth);
    memset(sums, 0, ring->bins * sizeof *sums);
    draw_spots(&random, mean, rms_rad, ring->bins, sums);
    for (size_t i = 0; i <= ring->bins; i++)
        ring->azimuth[i] = (float)(sums[i % ring->bins] / usual);
    mem_free(sums);
}

/* --- all rings ----------------------------------------------------------------------- */

/* Returns the rms width in rad of the spots of a ring, along the ring. */
static double spot_rad(const struct grains_ring *ring, double wavelength_m)
{
    const double sine = fmin(0.5 * ring->s_1_A * m_to_angstrom(wavelength_m), 0.999);
    return fmin(ring->rms_1_A / (ring->s_1_A * sqrt(1.0 - sine * sine)), WIDEST_RAD);
}

/* Returns how many spots a ring has on average. */
static double mean_spots(const struct powder *p, const struct powder_ring *ring, double crystals)
{
    const double equal = ring->F2 / ring->F4 * ring->F2;
    return crystals * equal * 2.0 * RANGE * powder_rms(p, ring->s_1_A) / (2.0 * ring->s_1_A);
}

/* Sets the rings of *g, without their spots.  Returns the number of bins of all rings. */
static double set_rings(struct grains *g, const struct powder *p, const struct grains_frame *f)
{
    double bins = 0.0;
    grains_free(g);
    g->nrings = p->nrings;
    g->rings = mem_array(g->nrings, sizeof *g->rings);
    for (size_t i = 0; i < g->nrings; i++) {
        const double s_1_A = p->rings[i].s_1_A, rms_1_A = powder_drawn_rms(p, s_1_A);
        g->rings[i] = (struct grains_ring){
            .s_1_A = s_1_A, .rms_1_A = rms_1_A, .height = p->rings[i].F2 / rms_1_A};
        g->reach_1_A = POWDER_REACH * rms_1_A;
        if (mean_spots(p, &p->rings[i], f->crystals) > SMOOTH)
            continue;
        g->rings[i].bins = 4 * (size_t)(BINS_A_RMS / 4.0 / spot_rad(&g->rings[i], f->wavelength_m));
        bins += (double)g->rings[i].bins;
    }
    return bins;
}

enum status grains_draw(struct grains *g, const struct powder *p, const struct grains_frame *f,
                        int threads, struct error *e)
{
    const double bins = set_rings(g, p, f);
    if (bins > BINS_MOST)
        return error_set(e, STATUS_INPUT,
                         "--powder-grains: the powder has too many rings (got %zu); expected about "
                         "%.0f, as of crystals with a small cell. Remove --powder-grains for "
                         "smooth rings",
                         g->nrings, (double)g->nrings * BINS_MOST / bins);
    vec_copy(g->beam, f->x->beam.direction);
    pixel_curve_axes(&f->x->panels[0], g->beam, g->fast, g->slow);
    g->wavelength_m = f->wavelength_m;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (size_t i = 0; i < g->nrings; i++)
        if (g->rings[i].bins)
            fill_ring(&g->rings[i], spot_rad(&g->rings[i], f->wavelength_m),
                      mean_spots(p, &p->rings[i], f->crystals), (uint32_t)i, f);
    return STATUS_OK;
}

void grains_free(struct grains *g)
{
    for (size_t i = 0; i < g->nrings; i++)
        mem_free(g->rings[i].azimuth);
    mem_free(g->rings);
    *g = (struct grains){0};
}

/* --- pixels -------------------------------------------------------------------------- */

/* Returns the factor of a ring at an azimuth, on straight lines between bins. */
static double ring_factor(const struct grains_ring *ring, double azimuth)
{
    if (!ring->azimuth)
        return 1.0;
    const double at = azimuth * (double)ring->bins / 4.0;
    const size_t bin = at < (double)(ring->bins - 1) ? (size_t)at : ring->bins - 1;
    const double part = at - (double)bin;
    return (1.0 - part) * (double)ring->azimuth[bin] + part * (double)ring->azimuth[bin + 1];
}

/* Returns the first ring that reaches s. */
static size_t find_ring(const struct grains *g, double s_1_A)
{
    size_t low = 0, high = g->nrings;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (g->rings[middle].s_1_A < s_1_A - g->reach_1_A)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the factor of the powder at s and an azimuth: the mean of those of the rings there. */
static double factor_at(const struct grains *g, double s_1_A, double azimuth)
{
    double smooth = 0.0, grainy = 0.0;
    for (size_t i = find_ring(g, s_1_A); i < g->nrings && g->rings[i].s_1_A <= s_1_A + g->reach_1_A;
         i++) {
        const struct grains_ring *ring = &g->rings[i];
        const double x = (s_1_A - ring->s_1_A) / ring->rms_1_A;
        if (fabs(x) > POWDER_REACH)
            continue;
        const double height = ring->height * portable_exp(-0.5 * x * x);
        smooth += height;
        grainy += height * ring_factor(ring, azimuth);
    }
    return smooth > 0.0 ? grainy / smooth : 1.0;
}

static double pixel_factor(const struct grains *g, const struct experiment *x,
                           const struct panel *p, int64_t fast, int64_t slow)
{
    double to[3];
    background_point(p, x->physics, g->beam, fast, slow, to);
    vec_unit(to, to);
    const double s_1_A = 2e-10 * amorphous_stol(g->beam, to, g->wavelength_m);
    return factor_at(g, s_1_A, azimuth_of(vec_dot(to, g->fast), vec_dot(to, g->slow)));
}

void grains_add(const struct grains *g, const struct experiment *x, int threads,
                const double *powder, float *photons)
{
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++) {
            const int64_t first = p->first_pixel + slow * p->fast_pixels;
            for (int64_t fast = 0; fast < p->fast_pixels; fast++) {
                const int64_t i = first + fast;
                if (powder[i] > 0.0)
                    photons[i] =
                        (float)((double)photons[i] + powder[i] * pixel_factor(g, x, p, fast, slow));
            }
        }
}
