/* Points of pixels in closed form, compiled once per instruction set. */
#define FASTMATH_UNFUSED
#include "base/isa.h"
#include "engine/closed/closed_point.h"

static void look_at_points(struct closed_points *p)
{
    closed_look_at(p);
}

static bool sum_spot(struct closed_points *p, const struct ensemble_spot *spot,
                     const double incident[3], const struct ensemble_waves *waves)
{
    return closed_sum_at(p, spot, incident, waves);
}

static void add_photons(const struct closed_points *p, const struct closed_factors *f, double scale,
                        double photons[ENSEMBLE_LANES])
{
    closed_add_at(p, f, scale, photons);
}

const struct closed_kernels NAME(closed_kernels_, ISA) = {
    .look = look_at_points, .sum = sum_spot, .add = add_photons};
