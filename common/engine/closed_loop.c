/* Points of pixels in closed form, compiled once per instruction set. */
#define FASTMATH_UNFUSED
#include "engine/closed_loop.h"

#include "base/isa.h"
#include "physics/pixel.h"

static void look(struct closed_points *p)
{
    double position[3][ENSEMBLE_LANES];
    for (int i = 0; i < ENSEMBLE_LANES; i++) {
        double at[3];
        pixel_flat_position(p->panel, p->fast + i, p->slow, p->layer, p->sub_fast, p->sub_slow,
                            p->oversample, at);
        for (int k = 0; k < 3; k++)
            position[k][i] = at[k];
    }
    for (int i = 0; i < ENSEMBLE_LANES; i++) {  // vectorised
        const double x = position[0][i], y = position[1][i], z = position[2][i];
        const double distance = sqrt(x * x + y * y + z * z);
        p->d[0][i] = x / distance;
        p->d[1][i] = y / distance;
        p->d[2][i] = z / distance;
        p->d[3][i] = distance;
    }
}

static bool sum(struct closed_points *p, const struct ensemble_spot *spot, const double incident[3],
                const struct ensemble_channel *channels, size_t count)
{
    double g[3][ENSEMBLE_LANES];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < ENSEMBLE_LANES; i++)
            g[k][i] = p->d[k][i] - incident[k];
    return ensemble_sum(spot, (const double(*)[ENSEMBLE_LANES])g, channels, count, p->sums);
}

const struct closed_kernels NAME(closed_kernels_, ISA) = {.look = look, .sum = sum};
