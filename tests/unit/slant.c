/* The path of a slanted ray through a thick sensor, computed with plane trigonometry: the fraction
 * that stops at each depth, and the pixel where it is recorded. */
#include "unit.h"

#include <math.h>

#include "near.h"
#include "physics/background/background.h"
#include "physics/detector/pixel.h"

enum { LAYERS = 5 };

/* 450 um of silicon at 12.4 keV, 100 mm behind the sample, turned by `tilt` about its slow axis. */
static struct panel sensor(double tilt)
{
    const double away_m = 0.1;
    struct panel p = {.fast_pixels = 2000,
                      .slow_pixels = 2000,
                      .pixel_m = 1e-4,
                      .fast = {cos(tilt), 0, sin(tilt)},
                      .slow = {0, 1, 0},
                      .normal = {-sin(tilt), 0, cos(tilt)},
                      .distance_m = away_m,
                      .close_distance_m = away_m,
                      .layers = LAYERS,
                      .thickness_m = 450e-6,
                      .layer_m = 450e-6 / LAYERS,
                      .layer_depth_m = 450e-6 / LAYERS / 2,
                      .absorption_1_m = 4208};
    for (int i = 0; i < 3; i++)
        p.origin_m[i] = away_m * p.normal[i];  // its first corner is nearest to the sample
    return p;
}

/* If a beam has the angle `slant` to the normal, exp(-mu z / cos slant) of it is left at depth z.
 */
static void a_slanted_ray_loses_more(void **state)
{
    (void)state;
    for (double tilt = -0.5; tilt < 0.6; tilt += 0.25)
        for (double slant = 0; slant < 1.2; slant += 0.1) {
            const struct panel p = sensor(tilt);
            const double ray[3] = {sin(slant - tilt), 0, cos(slant - tilt)};
            const double path_m = p.thickness_m / cos(slant);
            double caught = 0;
            for (int layer = 0; layer < LAYERS; layer++) {
                const double before = exp(-4208 * path_m * layer / LAYERS);
                const double behind = exp(-4208 * path_m * (layer + 1) / LAYERS);
                assert_near(pixel_capture(&p, ray, layer), before - behind, 1e-12);
                caught += before - behind;
            }
            assert_near(background_capture(&p, ray, 1.0), caught, 1e-12);
        }
}

/* A ray that meets the front at a distance r from the foot of the normal goes on outwards: at
 * depth z it is at r (D + z) / D. */
static void a_slanted_ray_is_recorded_farther_out(void **state)
{
    (void)state;
    const double beam[3] = {0, 0, 1};
    for (double tilt = -0.3; tilt < 0.4; tilt += 0.3)
        for (int layer = 0; layer < LAYERS; layer++) {
            const struct panel p = sensor(tilt);
            const double depth_m = (layer + 0.5) * 450e-6 / LAYERS;
            double at[3];
            pixel_position(&p, PHYSICS_PHYSICAL, beam, 700, 900, layer, 0, 0, 1, at);
            /* where the line from the sample to there passes through the front */
            const double front = 0.1 / vec_dot(at, p.normal);
            const double fast_m = front * vec_dot(at, p.fast), slow_m = front * at[1];
            assert_near(700.5e-4, fast_m * (0.1 + depth_m) / 0.1, 1e-15);
            assert_near(900.5e-4, slow_m * (0.1 + depth_m) / 0.1, 1e-15);
            assert_true(fast_m < 700.5e-4 && slow_m < 900.5e-4);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slanted_ray_loses_more),
        cmocka_unit_test(a_slanted_ray_is_recorded_farther_out),
    };
    return unit_run(tests);
}
