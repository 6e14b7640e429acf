/* Points of pixels in closed form, for CPUs and for CUDA, ENSEMBLE_LANES of them side by side, and
 * the interface between closed.c and the loop of closed_loop.c.  A file that includes this header
 * defines FASTMATH_UNFUSED, see physics/crystal/ensemble_sum.h. */
#ifndef BRAGG_ENGINE_CLOSED_POINT_H
#define BRAGG_ENGINE_CLOSED_POINT_H

#if !defined(FASTMATH_UNFUSED) || defined(FASTMATH_FUSED)
#error "define FASTMATH_UNFUSED before anything is included"
#endif

#include "physics/beam/polarization.h"
#include "physics/crystal/ensemble_sum.h"
#include "physics/detector/pixel.h"

/* Neighbouring pixels along fast, and the same point of each. */
struct closed_points {
    const struct panel *panel;
    int64_t fast, slow;  // of the first pixel
    int layer, sub_fast, sub_slow, oversample;
    double d[4][ENSEMBLE_LANES];  // unit vectors to the points, and their distances in m
    double sums[ENSEMBLE_LANES];  // of one reflection at the points, see ensemble_sum
};

/* Sets p->d. */
typedef void closed_look(struct closed_points *p);

/* Sets p->sums for a beam along `incident`.  Returns false if all sums are 0. */
typedef bool closed_sum(struct closed_points *p, const struct ensemble_spot *spot,
                        const double incident[3], const struct ensemble_waves *waves);

/* The factors of a sum, as in the reference engine, and the points at which they are evaluated. */
struct closed_factors {
    const struct closed_points *solid_angle, *capture, *polarization;
    int layer;
    const double *incident, *e, *b;  // as in struct cpu_source
    double kahn;
    bool no_polarization;
    double absorb;  // of the reflection, as in struct cpu_source
};

/* Adds to photons[] the sums of *p times `scale` and factors. */
typedef void closed_add(const struct closed_points *p, const struct closed_factors *f, double scale,
                        double photons[ENSEMBLE_LANES]);

/* The loop, compiled for one instruction set.  All instruction sets give the same bytes. */
struct closed_kernels {
    closed_look *look;
    closed_sum *sum;
    closed_add *add;
};

extern const struct closed_kernels closed_kernels_baseline, closed_kernels_avx2,
    closed_kernels_avx512;

/* --- the functions for one instruction set, or for a thread of a GPU -------------------- */

/* See closed_look; places have the bits of pixel_flat_position. */
HD void closed_look_at(struct closed_points *p)
{
    const struct panel *of = p->panel;
    const int n = p->oversample;
    const double edge = of->pixel_m / n, depth_m = pixel_layer_depth(of, p->layer);
    const double first = (double)((p->fast + of->grid_fast) * n + p->sub_fast);
    const double row = (double)((p->slow + of->grid_slow) * n + p->sub_slow);
    const double slow_m = edge * row + edge / 2.0, *corner = pixel_plane(of);
    double along[3], across[3], deep[3],
        from[3];  // a copy, so that writes to d cannot change the panel
    for (int k = 0; k < 3; k++) {
        along[k] = of->fast[k];
        across[k] = slow_m * of->slow[k];
        deep[k] = depth_m * of->normal[k];
        from[k] = corner[k];
    }
    double number[ENSEMBLE_LANES];
    for (int i = 0; i < ENSEMBLE_LANES; i++)
        number[i] = first + (double)(i * n);
    for (int i = 0; i < ENSEMBLE_LANES; i++) {  // vectorised
        const double fast_m = edge * number[i] + edge / 2.0;
        const double x = fast_m * along[0] + across[0] + deep[0] + from[0];
        const double y = fast_m * along[1] + across[1] + deep[1] + from[1];
        const double z = fast_m * along[2] + across[2] + deep[2] + from[2];
        const double distance = sqrt(x * x + y * y + z * z);
        p->d[0][i] = x / distance;
        p->d[1][i] = y / distance;
        p->d[2][i] = z / distance;
        p->d[3][i] = distance;
    }
}

/* See closed_sum. */
HD bool closed_sum_at(struct closed_points *p, const struct ensemble_spot *spot,
                      const double incident[3], const struct ensemble_waves *waves)
{
    double g[3][ENSEMBLE_LANES];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < ENSEMBLE_LANES; i++)
            g[k][i] = p->d[k][i] - incident[k];
    return ensemble_sum(spot, (const double(*)[ENSEMBLE_LANES])g, waves, p->sums);
}

/* See closed_add.  The factors are those of pixel_solid_angle, pixel_capture_of and
 * polarization_factor. */
HD void closed_add_at(const struct closed_points *p, const struct closed_factors *f, double scale,
                      double photons[ENSEMBLE_LANES])
{
    const struct panel *of = p->panel;
    double factor[ENSEMBLE_LANES];
    for (int i = 0; i < ENSEMBLE_LANES; i++)
        factor[i] = scale * pixel_solid_angle(of, f->solid_angle->d[3][i]);
    const double mu = of->absorption_1_m * f->absorb;
    const double front = -f->layer * of->layer_m * mu;
    const double back = -(f->layer + 1) * of->layer_m * mu;
    for (int i = 0; i < ENSEMBLE_LANES && of->thickness_m > 0.0; i++) {
        const double parallax = f->capture->d[0][i] * of->normal[0] +
                                f->capture->d[1][i] * of->normal[1] +
                                f->capture->d[2][i] * of->normal[2];
        factor[i] *= exp_fast(front / parallax) - exp_fast(back / parallax);
    }
    for (int i = 0; i < ENSEMBLE_LANES && !f->no_polarization; i++) {
        const double d[3] = {f->polarization->d[0][i], f->polarization->d[1][i],
                             f->polarization->d[2][i]};
        factor[i] *= polarization_factor(f->kahn, f->incident, d, f->e, f->b);
    }
    for (int i = 0; i < ENSEMBLE_LANES; i++)
        photons[i] += p->sums[i] != 0.0 ? p->sums[i] * factor[i] : 0.0;
}

#endif
