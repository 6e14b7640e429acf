/* The footprint of the crystal on the detector: all engines agree, whatever frames they computed
 * before. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include <stdlib.h>

#include "engine_gate.h"
#include "engine_run.h"

// clang-format off
static const struct engine_case CASES[] = {
    {.name = "two millimetres", .cells = {10}, .size_um = {2000, 2000, 2000}, .beam_um = {1e4}},
    {.name = "a fraction of a pixel", .cells = {10}, .size_um = {90, 120, 60}, .pixels = 131},
    {.name = "cut by the beam, tilts", .cells = {10}, .size_um = {9000, 6000, 4000}, .beam_um = {500, 1500}, .tilt_deg = {5, 40, 15}, .twotheta_deg = 20},
    {.name = "ROI and mask", .cells = {10}, .size_um = {3000, 1500, 1500}, .beam_um = {1e4}, .roi = true, .mask = true, .phi_steps = 3},
    {.name = "curved", .cells = {10}, .size_um = {1500, 3000, 1500}, .beam_um = {1e4}, .curved = true},
    {.name = "panels and lattices", .cells = {10}, .size_um = {1500, 3000, 5000}, .beam_um = {1e4}, .panels = 2, .lattices = 2, .pixels = 300},
    {.name = "wider than the panel", .cells = {5}, .size_um = {90000, 60000, 40000}, .beam_um = {1e6}, .pixels = 40, .panels = 2},
};
// clang-format on
enum { NCASES = sizeof CASES / sizeof *CASES };

static void engines_agree(void **state)
{
    (void)state;
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    for (int i = 0; i < NCASES; i++) {
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        if (case_build(&CASES[i], &x, &r, &e))
            fail_msg("%s: %s", CASES[i].name, e.text);
        const size_t count = (size_t)experiment_pixels(&x);
        uint8_t *unsteady = mem_array(count, 1);
        float *reference = run_engine(&engine_reference, &x, &r, NULL, 2);
        for (int k = 0; k < 4; k++) {
            if (k < 3 && !has_isa(isas[k]))
                continue;
            float *image = k < 3 ? run_engine(&engine_cpu, &x, &r, isas[k], 1)
                                 : run_engine(&engine_cuda_host, &x, &r, NULL, 2);
            float *again = k < 3 ? run_engine(&engine_cpu, &x, &r, isas[k], 3)
                                 : run_engine(&engine_cuda_host, &x, &r, NULL, 1);
            const struct verdict v = compare(image, reference, unsteady, count);
            print_message("# %-28s %-8s worst %.1e, sums 1%+.0e\n", CASES[i].name,
                          k < 3 ? isas[k] : "cuda", v.worst, v.sum_ratio - 1.0);
            if (gate_says(&v, 1e-5))
                fail_msg("%s: %s", CASES[i].name, gate_says(&v, 1e-5));
            assert_memory_equal(image, again, count * sizeof *image);
            mem_free(image);
            mem_free(again);
        }
        mem_free(unsteady);
        mem_free(reference);
        recipe_free(&r);
        experiment_free(&x);
    }
}

/* One plan computes crystals that turn, blank frames and others in any order. */
static void frames_do_not_depend_on_those_before(void **state)
{
    (void)state;
    const struct engine *const engines[] = {&engine_cpu, &engine_reference, &engine_cuda_host};
    for (int k = 0; k < 3; k++) {
        struct experiment x;
        struct recipe one, two;
        struct error e = {0};
        assert_int_equal(case_build(&CASES[3], &x, &one, &e), STATUS_OK);
        const struct orientation_request turned = {.misset_rad = {1, 2, 3}, .phi = NO_STEPS};
        two = (struct recipe){.nlattices = 1, .lattices = mem_array(1, sizeof *two.lattices)};
        assert_int_equal(setup_lattice(&x, 0, &turned, two.lattices, &e), STATUS_OK);
        const struct recipe blank = {0}, *const order[] = {&one, &blank, &two, &one, &one, &two};
        const struct engine_options options = {.threads = 2};
        const size_t count = (size_t)experiment_pixels(&x);
        struct plan *plan;
        float *pixels = mem_array(count, sizeof *pixels);
        assert_int_equal(engines[k]->create(&plan, &x, &options, &e), STATUS_OK);
        for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
            float *alone = run_engine(engines[k], &x, order[i], NULL, 1);
            assert_int_equal(engines[k]->run(plan, order[i], pixels, NULL, &e), STATUS_OK);
            assert_memory_equal(pixels, alone, count * sizeof *pixels);
            mem_free(alone);
        }
        engines[k]->destroy(&plan);
        mem_free(pixels);
        recipe_free(&one);
        recipe_free(&two);
        experiment_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_agree),
        cmocka_unit_test(frames_do_not_depend_on_those_before),
    };
    return unit_run(tests);
}
