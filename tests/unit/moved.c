/* A detector that moves from frame to frame: every engine computes the image of a fixed detector at
 * that position, whatever frames it computed before. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include "after_case.h"
#include "engine/cpu/threads.h"
#include "engine/derivatives/derive.h"
#include "engine/derivatives/parameter.h"
#include "engine_case.h"
#include "engine_run.h"
#include "model/recipe.h"

// clang-format off
static const struct engine_case CASES[] = {
    {.name = "panels, sensor", .cells = {5}, .pixels = 40, .panels = 2, .layers = 3, .lattices = 2, .mask = true},
    {.name = "tilts, sources", .cells = {5}, .pixels = 40, .tilt_deg = {5, 40, 15}, .twotheta_deg = 20, .wavelengths = 3, .oversample = 2, .water_um = 20},
    {.name = "footprint", .cells = {10}, .pixels = 60, .size_um = {3000, 1500, 5000}, .beam_um = {1e4}},
    {.name = "shapes", .cells = {7}, .pixels = 40, .shape = SHAPE_GAUSS, .roi = true},
};
// clang-format on
enum { NCASES = sizeof CASES / sizeof *CASES, NSHIFTS = 5 };
static const double SHIFTS_M[NSHIFTS][3] = {
    {0}, {0.0125, 0, 0}, {-0.03, 0.0011, -0.0004}, {0}, {0.0125, 0, 0}};
static const struct engine *const ENGINES[] = {&engine_reference, &engine_cpu, &engine_cuda_host};

/* A copy that stands there. */
static void stand(struct experiment *to, const struct experiment *x, const double by_m[3])
{
    experiment_copy(to, x);
    for (size_t i = 0; i < x->npanels; i++)
        panel_shift(to, &to->panels[i], by_m);
}

static void shift(struct recipe *r, int i)
{
    memcpy(r->shift_m, SHIFTS_M[i], sizeof r->shift_m);
    r->has_shift = i != 0 && i != 3;
}

static void same_tables(const struct reflection_table *a, const struct reflection_table *b)
{
    assert_int_equal(a->count, b->count);
    assert_true(a->count > 0);
    assert_memory_equal(a->rows, b->rows, a->count * sizeof *a->rows);
}

static void check_engine(const struct engine *engine, const struct engine_case *c)
{
    struct experiment x, there;
    struct recipe r;
    struct error e = {0};
    struct plan *plan, *other;
    const struct engine_options how = {.threads = 2, .reflections = true};
    const struct reflections_wanted wanted = {.least_photons = 0};
    assert_int_equal(case_build(c, &x, &r, &e), STATUS_OK);
    const size_t count = (size_t)experiment_pixels(&x);
    float *image = mem_array(count, sizeof *image), *first = mem_array(count, sizeof *first);
    assert_int_equal(engine->create(&plan, &x, &how, &e), STATUS_OK);
    for (int i = 0; i < NSHIFTS; i++) {
        struct reflection_table its = {0}, expected = {0};
        r.has_shift = false;
        stand(&there, &x, SHIFTS_M[i]);
        assert_int_equal(engine->create(&other, &there, &how, &e), STATUS_OK);
        float *pixels = run_engine_with(engine, &there, &r, &how);
        assert_int_equal(engine->run(other, &r, image, NULL, &e), STATUS_OK);
        assert_int_equal(engine->reflections(other, &r, image, &wanted, &expected, &e), STATUS_OK);
        shift(&r, i);
        if (engine->run(plan, &r, image, NULL, &e))
            fail_msg("%s: %s", c->name, e.text);
        if (memcmp(image, pixels, count * sizeof *image) != 0)
            fail_msg("%s, %s: shift %d differs", engine->name, c->name, i);
        assert_int_equal(engine->reflections(plan, &r, image, &wanted, &its, &e), STATUS_OK);
        same_tables(&its, &expected);
        if (i == 0)
            memcpy(first, image, count * sizeof *image);
        assert_int_equal(memcmp(first, image, count * sizeof *image) == 0, i % 3 == 0);
        reflection_table_free(&its);
        reflection_table_free(&expected);
        engine->destroy(&other);
        experiment_free(&there);
        mem_free(pixels);
    }
    r.has_shift = true;
    r.shift_m[0] = -1.0;
    assert_int_equal(engine->run(plan, &r, image, NULL, &e), STATUS_INPUT);
    r.shift_m[0] = (double)NAN;
    assert_int_equal(engine->run(plan, &r, image, NULL, &e), STATUS_INPUT);
    engine->destroy(&plan);
    mem_free(first);
    mem_free(image);
    recipe_free(&r);
    experiment_free(&x);
}

static void frames_are_those_of_a_detector_that_stands_there(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < NCASES; i++)
            check_engine(ENGINES[k], &CASES[i]);
}

/* Photons, water and noise of the card, where both are kept from frame to frame. */
static void what_the_card_adds_moves_too(void **state)
{
    (void)state;
    struct experiment x, there;
    struct recipe r;
    struct error e = {0};
    struct plan *plan, *other;
    struct background_material water;
    assert_int_equal(case_build(&CASES[0], &x, &r, &e), STATUS_OK);
    assert_int_equal(after_water(&water, &e), STATUS_OK);
    const size_t count = (size_t)experiment_pixels(&x);
    float *image = mem_array(count, sizeof *image), *expected = mem_array(count, sizeof *image);
    after_set_brightest(&x, &water, 100.0, image);
    const struct engine_after after = {.materials = &water, .nmaterials = 1, .type = PIXEL_F32};
    const struct engine_options how = {.threads = 1};
    struct engine_after left = after;
    assert_int_equal(engine_cuda_host.create(&plan, &x, &how, &e), STATUS_OK);
    assert_int_equal(engine_cuda_host.prepare(plan, &left, &e), STATUS_OK);
    for (int i = 0; i < NSHIFTS; i++) {
        left = after;
        r.has_shift = false;
        stand(&there, &x, SHIFTS_M[i]);
        assert_int_equal(engine_cuda_host.create(&other, &there, &how, &e), STATUS_OK);
        assert_int_equal(engine_cuda_host.prepare(other, &left, &e), STATUS_OK);
        assert_int_equal(engine_cuda_host.develop(other, &r, 1, expected, NULL, &e), STATUS_OK);
        shift(&r, i);
        assert_int_equal(engine_cuda_host.develop(plan, &r, 1, image, NULL, &e), STATUS_OK);
        assert_memory_equal(image, expected, count * sizeof *image);
        engine_cuda_host.destroy(&other);
        experiment_free(&there);
    }
    engine_cuda_host.destroy(&plan);
    amorphous_free(&water.table);
    mem_free(image);
    mem_free(expected);
    recipe_free(&r);
    experiment_free(&x);
}

static void derive(struct plan *plan, const struct engine *engine, const struct recipe *r,
                   const struct parameters *set, size_t count, float *planes, double *photons)
{
    struct error e = {0};
    const struct derive_request q = {
        .set = set, .npixels = count, .photons = photons, .planes = planes};
    if (engine->derive(plan, r, &q, &e))
        fail_msg("%s", e.text);
}

static void derivatives_are_taken_there(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) {
            struct experiment x, there;
            struct recipe r;
            struct error e = {0};
            struct plan *plan, *other;
            struct parameters set;
            const struct engine_options how = {.threads = 2};
            assert_int_equal(case_build(&CASES[i], &x, &r, &e), STATUS_OK);
            if (parameters_parse("rot,distance", &x, &set, &e))
                fail_msg("%s", e.text);
            const size_t count = (size_t)experiment_pixels(&x);
            float *a = mem_array(set.count * count, sizeof *a),
                  *b = mem_array(set.count * count, sizeof *b);
            double *p = mem_array(count, sizeof *p), *q = mem_array(count, sizeof *q);
            stand(&there, &x, SHIFTS_M[2]);
            assert_int_equal(ENGINES[k]->create(&other, &there, &how, &e), STATUS_OK);
            assert_int_equal(ENGINES[k]->create(&plan, &x, &how, &e), STATUS_OK);
            derive(other, ENGINES[k], &r, &set, count, a, p);
            shift(&r, 2);
            derive(plan, ENGINES[k], &r, &set, count, b, q);
            assert_memory_equal(a, b, set.count * count * sizeof *a);
            assert_memory_equal(p, q, count * sizeof *p);
            ENGINES[k]->destroy(&plan);
            ENGINES[k]->destroy(&other);
            mem_free(a);
            mem_free(b);
            mem_free(p);
            mem_free(q);
            recipe_free(&r);
            experiment_free(&there);
            experiment_free(&x);
        }
}

static void what_cannot_move_is_refused(void **state)
{
    (void)state;
    const struct engine_case curved = {.cells = {5}, .pixels = 20, .curved = true};
    for (int faithful = 0; faithful < 2; faithful++) {
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        struct plan *plan;
        float image[20 * 20];
        const struct engine_options how = {.threads = 1};
        assert_int_equal(case_build(&curved, &x, &r, &e), STATUS_OK);
        x.panels->curved = !faithful;
        x.physics = faithful ? PHYSICS_FAITHFUL : PHYSICS_PHYSICAL;
        for (int k = 0; k < 3; k++) {
            assert_int_equal(ENGINES[k]->create(&plan, &x, &how, &e), STATUS_OK);
            shift(&r, 1);
            assert_int_equal(ENGINES[k]->run(plan, &r, image, NULL, &e), STATUS_INPUT);
            assert_non_null(strstr(e.text, "from frame to frame"));
            ENGINES[k]->destroy(&plan);
        }
        recipe_free(&r);
        experiment_free(&x);
    }
}

int main(void)
{
    threads_set_wake_ns(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_those_of_a_detector_that_stands_there),
        cmocka_unit_test(what_the_card_adds_moves_too),
        cmocka_unit_test(derivatives_are_taken_there),
        cmocka_unit_test(what_cannot_move_is_refused),
    };
    return unit_run(tests);
}
