/* The footprint of the crystal on the detector: images equal sums over many shifted point crystals.
 * Points stay points, and a footprint that is too wide is refused. */
#include "../hostgpu/host_engine.h"
#include "footprint_spot.h"

/* The image equals the sum over point crystals in the illuminated volume. A point crystal is moved
 * by moving the detector the other way, so the sum uses the geometry without a footprint. */
static void the_image_is_that_of_many_points(void **state)
{
    (void)state;
    enum { STEPS = 9 };
    for (int i = 0; i < NSPOTS; i++) {
        struct spot spot = SPOTS[i];
        static double sum[COUNT];
        const double rms = 200e-6 / sqrt(12.0), step = 0.85;
        double weights = 0.0, most = 0.0, worst = 0.0;
        struct experiment x;
        struct recipe r;
        spot.beam_m[0] = 1e-3;
        build(&spot, &x, &r);
        memset(sum, 0, sizeof sum);
        for (int k = 0; k < STEPS * STEPS * STEPS; k++) {
            const double at[3] = {step * (k % STEPS - STEPS / 2),
                                  step * (k / STEPS % STEPS - STEPS / 2),
                                  step * (k / STEPS / STEPS - STEPS / 2)};
            const double weight = exp(-0.5 * vec_dot(at, at));
            if (weight < 1e-4)
                continue;
            place(&spot, &x.panels[0]);
            for (int m = 0; m < 3; m++)
                x.panels[0].origin_m[m] -= rms * at[m];
            float *point = run_engine(&engine_cpu, &x, &r, NULL, 2);
            for (int m = 0; m < COUNT; m++)
                sum[m] += weight * (double)point[m];
            weights += weight;
            mem_free(point);
        }
        recipe_free(&r);
        experiment_free(&x);
        vec_set(spot.size_m, 200e-6, 200e-6, 200e-6);
        float *image = image_of(&spot, &engine_cpu);
        for (int k = 0; k < COUNT; k++) {
            most = fmax(most, sum[k] / weights);
            worst = fmax(worst, fabs(sum[k] / weights - (double)image[k]));
        }
        print_message("# 2theta %g, facing %g: worst pixel off by %.1e of the brightest\n",
                      spot.twotheta_deg, spot.facing_deg, worst / most);
        assert_true(worst < 2e-3 * most);
        mem_free(image);
    }
}

/* Crystals of a thousandth of a pixel, and all of faithful mode, are points. */
static void points_keep_their_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct spot spot = SPOTS[1];
        spot.beam_m[0] = 1e-3;
        spot.physics = i ? PHYSICS_FAITHFUL : PHYSICS_PHYSICAL;
        float *point = image_of(&spot, &engine_reference);
        const double size_m = 12 * CELL_M;
        vec_set(spot.size_m, size_m, size_m, size_m);
        float *small = image_of(&spot, &engine_reference);
        assert_memory_equal(point, small, COUNT * sizeof *point);
        mem_free(point);
        mem_free(small);
    }
}

/* What comes behind the footprint is left to the stages. */
static void a_card_leaves_what_comes_behind(void **state)
{
    (void)state;
    struct spot spot = SPOTS[1];
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    struct plan *plan;
    vec_set(spot.size_m, 200e-6, 200e-6, 200e-6);
    build(&spot, &x, &r);
    const struct engine_options options = {.threads = 1};
    const struct background_material *const none = NULL;
    struct engine_after after = {.materials = none, .nmaterials = 1, .type = PIXEL_F32};
    assert_int_equal(engine_cuda_host.create(&plan, &x, &options, &e), STATUS_OK);
    assert_int_equal(engine_cuda_host.prepare(plan, &after, &e), STATUS_OK);
    assert_int_equal(after.nmaterials, 1);
    engine_cuda_host.destroy(&plan);
    recipe_free(&r);
    experiment_free(&x);
}

static void too_wide_a_footprint_is_refused(void **state)
{
    (void)state;
    struct spot spot = SPOTS[1];
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    struct plan *plan;
    spot.beam_m[0] = 1.0;
    vec_set(spot.size_m, 200e-6, 200e-6, 200e-6);
    build(&spot, &x, &r);
    const struct engine_options options = {.threads = 1};
    static float pixels[COUNT];
    const double sizes_m[] = {0.1, -0.1, 1e160};  // as a stranger may send them
    for (int i = 0; i < 6; i++) {
        const struct engine *engine = i % 2 ? &engine_cpu : &engine_reference;
        x.crystals[0].size_m[1] = sizes_m[i / 2];
        e.text[0] = 0;
        assert_int_equal(engine->create(&plan, &x, &options, &e), STATUS_OK);
        assert_int_equal(engine->run(plan, &r, pixels, NULL, &e), STATUS_INPUT);
        assert_true(e.text[0] && !strchr(e.text, '\n'));
        engine->destroy(&plan);
    }
    recipe_free(&r);
    experiment_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_image_is_that_of_many_points),
        cmocka_unit_test(points_keep_their_bytes),
        cmocka_unit_test(a_card_leaves_what_comes_behind),
        cmocka_unit_test(too_wide_a_footprint_is_refused),
    };
    return unit_run(tests);
}
