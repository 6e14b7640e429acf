/* The dense loop of the CPU engine at the limits of its fixed-point indices: indices up to 2000,
 * cells of 1000 A, whole and half indices exactly on a pixel, tables smaller and larger than the
 * frame.  Also tests which frames the loop accepts. */
#include "unit.h"

#include <math.h>

#include "engine/cpu/cpu.h"
#include "engine_gate.h"
#include "engine_run.h"

static const char *const isas[] = {"baseline", "avx2", "avx512"};

/* Whether the dense loop takes a frame. */
static bool is_dense(const struct experiment *x, const struct recipe *r)
{
    struct error e = {0};
    struct cpu_table *tables;
    struct cpu_job job;
    struct dense_table *padded = mem_array(x->ncrystals, sizeof *padded);
    assert_int_equal(cpu_tables_open(&tables, x, PRECISION_MIXED, &e), STATUS_OK);
    assert_int_equal(cpu_job_open(&job, x, tables, r, &e), STATUS_OK);
    cpu_dense_choose(&job, padded);
    const bool dense = job.ndense > 0;
    cpu_job_close(&job);
    cpu_tables_free(tables, x);
    cpu_dense_tables_free(padded, x->ncrystals);
    return dense;
}

static bool case_is_dense(const struct engine_case *c)
{
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    assert_int_equal(case_build(c, &x, &r, &e), STATUS_OK);
    const bool dense = is_dense(&x, &r);
    recipe_free(&r);
    experiment_free(&x);
    return dense;
}

static void what_it_takes(void **state)
{
    (void)state;
    struct engine_case c = {.pixels = 32, .table = TABLE_BOX, .oversample = 2, .layers = 2};
    assert_true(case_is_dense(&c));
    c.cells[0] = 3000;
    assert_true(case_is_dense(&c));
    c.cells[0] = 3001;
    assert_false(case_is_dense(&c));
    c.cells[0] = 5;
    c.interpolate = true;
    assert_false(case_is_dense(&c));
    c.interpolate = false;
    c.curved = true;
    assert_false(case_is_dense(&c));
    c.curved = false;
    for (c.shape = SHAPE_SQUARE; c.shape <= SHAPE_TOPHAT; c.shape++)
        assert_true(case_is_dense(&c));
}

/* Holds all instruction sets against the reference; those of one class against each other. */
static void check(const struct experiment *x, const struct recipe *r, double limit)
{
    const size_t count = (size_t)experiment_pixels(x);
    float *reference = run_engine(&engine_reference, x, r, NULL, 2), *images[3] = {0};
    uint8_t *unsteady = mem_array(count, 1);
    double mean = 0.0;
    for (size_t i = 0; i < count; i++)
        mean += (double)reference[i] / (double)count;
    mark_unsteady(x, r, reference, 1e-3 * mean, 1e-6, unsteady);
    for (int i = 0; i < 3; i++) {
        if (!has_isa(isas[i]))
            continue;
        images[i] = run_engine(&engine_cpu, x, r, isas[i], 1 + i);
        const struct verdict v = compare(images[i], reference, unsteady, count);
        const double left_out = (double)v.unsteady / (double)count;
        print_message("# %-8s worst %.1e, sums 1%+.0e, left out %.1e\n", isas[i], v.worst,
                      v.sum_ratio - 1.0, left_out);
        assert_true(v.worst <= limit && fabs(v.sum_ratio - 1.0) <= 1e-6 && left_out < 0.02);
    }
    if (images[1] && images[2])
        assert_memory_equal(images[1], images[2], count * sizeof(float));
    for (int i = 0; i < 3; i++)
        mem_free(images[i]);
    mem_free(unsteady);
    mem_free(reference);
}

/* Cells of 1000 A and, at a shorter wavelength, indices up to 2000; padded tables of more than 2^15
 * items a plane. */
static void large_cells_and_indices(void **state)
{
    (void)state;
    static const double cells[] = {1, 20, 21, 300, 3000};
    for (int i = 0; i < 20; i++) {
        const struct engine_case c = {.cells = {cells[i % 5]},
                                      .shape = i < 10 ? SHAPE_SQUARE : SHAPE_ROUND,
                                      .pixels = 64,
                                      .pixel_mm = 2.5,
                                      .table = i % 10 < 5 ? TABLE_NONE : TABLE_TINY,
                                      .twotheta_deg = 25.0};
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
        for (int k = 0; k < 9; k++)
            r.lattices[0].cells_m[k] *= i % 10 < 5 ? 11.0 : 1.2;
        if (i % 10 < 5)
            x.beam.sources[0].wavelength_m *= 0.6;
        print_message("# %g cells\n", c.cells[0]);
        assert_true(is_dense(&x, &r));
        check(&x, &r, 1e-5);
        for (int k = 0; k < 9; k++)
            r.lattices[0].cells_m[k] *= 4.0;
        assert_true(is_dense(&x, &r) == (i % 10 == 0 || i % 10 == 1));
        recipe_free(&r);
        experiment_free(&x);
    }
}

/* A detector at 90 deg whose pixel 8,8 is on the z axis, a beam along x, and a cell along the axes:
 * there h = -a/wavelength, l = c/wavelength and k = 0, to the last bit. */
static void set_exact(struct experiment *x, struct recipe *r, const double index[3])
{
    struct panel *p = x->panels;
    const double pixel = 0x1p-13, wavelength = 0x1p-33;
    const double fast[3] = {1, 0, 0}, slow[3] = {0, 1, 0}, normal[3] = {0, 0, 1};
    for (int i = 0; i < 3; i++) {
        p->fast[i] = fast[i];
        p->slow[i] = slow[i];
        p->normal[i] = normal[i];
        p->origin_m[i] = i < 2 ? -8.5 * pixel : 0.125;
        x->beam.direction[i] = fast[i];
        x->beam.sources[0].direction[i] = -fast[i];
        for (int k = 0; k < 3; k++)
            r->lattices[0].cells_m[3 * i + k] = 0.0;
        r->lattices[0].cells_m[4 * i] = fabs(index[i]) * wavelength;
    }
    p->pixel_m = pixel;
    p->close_distance_m = p->distance_m = 0.125;
    x->beam.sources[0].wavelength_m = wavelength;
}

static void whole_and_half_indices(void **state)
{
    (void)state;
    static const double h[] = {3.0, 3.5, 2.5, 7.5, 8.0}, cells[] = {1, 5, 20, 21, 999, 3000};
    for (int i = 0; i < 120; i++) {
        const double N = cells[i % 6], at = h[i / 6 % 5], index[3] = {at, 6.25, 11.0 - at};
        const struct engine_case c = {
            .cells = {N}, .shape = (enum crystal_shape)(i / 30), .pixels = 17, .table = TABLE_BOX};
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
        set_exact(&x, &r, index);
        assert_true(is_dense(&x, &r));
        float *reference = run_engine(&engine_reference, &x, &r, NULL, 1);
        const double expected = (double)reference[8 * 17 + 8];
        for (int k = 0; k < 3; k++) {
            if (!has_isa(isas[k]))
                continue;
            float *image = run_engine(&engine_cpu, &x, &r, isas[k], 1);
            const double photons = (double)image[8 * 17 + 8];
            if (!(fabs(photons - expected) <= 1e-5 * expected + 1e-6))
                fail_msg("%s: N %g, h %g: %.9g, reference %.9g", isas[k], N, at, photons, expected);
            mem_free(image);
        }
        mem_free(reference);
        recipe_free(&r);
        experiment_free(&x);
    }
}

/* Tables grow from frame to frame, and no pixel sees it. */
static void a_plan_takes_larger_cells(void **state)
{
    (void)state;
    const struct engine_case c = {.pixels = 48, .table = TABLE_BOX};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    struct plan *plan;
    float pixels[48 * 48];
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    assert_int_equal(engine_cpu.create(&plan, &x, &(struct engine_options){.threads = 1}, &e),
                     STATUS_OK);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 9; k++)
            r.lattices[0].cells_m[k] *= i == 2 ? 0.25 : 1.5;
        float *alone = run_engine(&engine_cpu, &x, &r, NULL, 1);
        assert_int_equal(engine_cpu.run(plan, &r, pixels, NULL, &e), STATUS_OK);
        assert_memory_equal(pixels, alone, sizeof pixels);
        mem_free(alone);
    }
    engine_cpu.destroy(&plan);
    recipe_free(&r);
    experiment_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_takes),
        cmocka_unit_test(large_cells_and_indices),
        cmocka_unit_test(whole_and_half_indices),
        cmocka_unit_test(a_plan_takes_larger_cells),
    };
    return unit_run(tests);
}
