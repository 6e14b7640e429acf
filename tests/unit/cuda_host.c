/* The CUDA engine without a GPU: the threads of its kernels run on this CPU, and all other code is
 * that of a GPU.  The bytes are those of the CPU engine, with and without fused multiply-add.  For
 * shapes other than SQUARE they are those of cpu_loop.c and cpu_double_loop.c. tests/cli/cuda.t
 * compares the engine with the reference. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include <math.h>
#include <string.h>

#include "engine/cpu/cpu.h"
#include "engine_run.h"
#include "engine_table.h"

/* A frame by these loops, every lattice asked at every pixel. */
static float *run_dense(const struct experiment *x, const struct recipe *r,
                        const struct engine_options *options)
{
    struct error e = {0};
    struct cpu_table table;
    struct cpu_job job;
    const struct cpu_kernels *kernels = cpu_kernels_choose(options->isa, options->precision, &e);
    float *pixels = mem_array((size_t)experiment_pixels(x), sizeof *pixels);
    assert_non_null(kernels);
    assert_int_equal(x->ncrystals, 1);
    assert_int_equal(cpu_table_open(&table, x->crystals, options->precision, &e), STATUS_OK);
    assert_int_equal(cpu_job_open(&job, x, &table, r, &e), STATUS_OK);
    assert_int_equal(cpu_frame(kernels, &job, 2, pixels, NULL, &e), STATUS_OK);
    cpu_job_close(&job);
    cpu_table_free(&table);
    return pixels;
}

/* Whether images are said to be of the class of the cpu engine. */
static bool is_as_cpu(const struct experiment *x, const struct engine_options *options)
{
    const struct cpu_kernels *kernels = cpu_kernels_choose(options->isa, options->precision, NULL);
    struct error e = {0};
    struct plan *plan;
    assert_int_equal(engine_cuda_host.create(&plan, x, options, &e), STATUS_OK);
    const bool same = !strcmp(engine_cuda_host.identity(plan), kernels->identity);
    engine_cuda_host.destroy(&plan);
    return same;
}

static void check_bytes(const struct engine_case *c, const struct engine_options *options)
{
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    assert_int_equal(case_build(c, &x, &r, &e), STATUS_OK);
    const bool same = is_as_cpu(&x, options);
    const bool round = c->shape == SHAPE_ROUND && options->precision == PRECISION_DOUBLE;
    const bool dense = !(c->b_factor_A2 > 0.0 && options->precision == PRECISION_MIXED);
    assert_int_equal(same, (c->shape == SHAPE_SQUARE && dense) || round);
    float *expected =
        same ? run_engine_with(&engine_cpu, &x, &r, options) : run_dense(&x, &r, options);
    float *image = run_engine_with(&engine_cuda_host, &x, &r, options);
    for (int64_t i = 0; i < experiment_pixels(&x); i++)
        if (memcmp(&image[i], &expected[i], sizeof *image) != 0)
            fail_msg("%s, %s: pixel %d is %.9g, the cpu engine has %.9g", c->name, options->isa,
                     (int)i, (double)image[i], (double)expected[i]);
    mem_free(image);
    mem_free(expected);
    recipe_free(&r);
    experiment_free(&x);
}

static void bytes_are_those_of_the_cpu_engine(void **state)
{
    (void)state;
    static const char *const isas[] = {"baseline", "avx2"};
    for (int n = 0; n < 4 * NCASES; n++) {
        const struct engine_options options = {.threads = 2,
                                               .isa = isas[n % 2],
                                               .precision =
                                                   n / 2 % 2 ? PRECISION_DOUBLE : PRECISION_MIXED};
        if (has_isa(options.isa))
            check_bytes(&cases[n / 4], &options);
    }
}

/* Rows in parts, through two panels of different heights, change nothing. */
static void little_memory_cuts_a_frame_into_rows(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {5}, .table = TABLE_BOX, .panels = 2, .pixels = 64};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    struct plan *plan;
    const struct engine_options options = {.threads = 1};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    const size_t first = 64 * 64;
    x.panels[1].slow_pixels = 41;
    x.panels[1].roi.slow_max = 38;
    const size_t count = (size_t)experiment_pixels(&x);
    assert_int_equal(count, first + 64 * 41);
    float *whole = run_engine_with(&engine_cuda_host, &x, &r, &options);
    float *parts = mem_array(count, sizeof *parts);
    atomic_uint_fast64_t rows = 0;
    int small = 0, enough = 0;
    for (gpu_host_memory = 1 << 16; gpu_host_memory < 1 << 21; gpu_host_memory += 1 << 13) {
        e = (struct error){0};
        memset(parts, 0xff, count * sizeof *parts);
        atomic_store(&rows, 0);
        enum status s = engine_cuda_host.create(&plan, &x, &options, &e);
        if (!s)
            s = engine_cuda_host.run(plan, &r, parts, &rows, &e);
        engine_cuda_host.destroy(&plan);
        if (s) {
            small++;
            assert_int_equal(s, STATUS_FAILED);
            assert_non_null(strstr(e.text, "do not fit into the memory of the GPU"));
        } else {
            enough++;
            assert_int_equal(atomic_load(&rows), 64 + 41);
            assert_memory_equal(parts, whole, count * sizeof *parts);
        }
    }
    gpu_host_memory = SIZE_MAX;
    print_message("# %d sizes too small, %d large enough\n", small, enough);
    assert_true(small > 3 && enough > 6);
    mem_free(parts);
    mem_free(whole);
    recipe_free(&r);
    experiment_free(&x);
}

/* A plan outlives recipes of all sizes, none and one that is refused among them. */
static void a_plan_takes_recipe_after_recipe(void **state)
{
    (void)state;
    struct experiment x;
    struct recipe r, other;
    struct error e = {0};
    struct plan *plan;
    const struct engine_options options = {.threads = 1};
    const struct engine_case small = {.cells = {5}, .pixels = 32};
    const struct engine_case large = {
        .cells = {5}, .pixels = 32, .lattices = 2, .mosaic_deg = 1, .domains = 40};
    assert_int_equal(case_build(&large, &x, &other, &e), STATUS_OK);
    experiment_free(&x);
    assert_int_equal(case_build(&small, &x, &r, &e), STATUS_OK);
    const struct recipe *const recipes[] = {&r, &other, &(struct recipe){0}, &r};
    float *expected[4], pixels[32 * 32];
    for (int i = 0; i < 4; i++)
        expected[i] = run_engine_with(&engine_cuda_host, &x, recipes[i], &options);
    assert_int_equal(engine_cuda_host.create(&plan, &x, &options, &e), STATUS_OK);
    assert_memory_equal(engine_cuda_host.identity(plan), "cpu-", 4);
    for (int i = 0; i < 4; i++) {
        const double before = r.lattices[0].cells_m[0];
        r.lattices[0].cells_m[0] = (double)NAN;
        assert_int_equal(engine_cuda_host.run(plan, &r, pixels, NULL, &e), STATUS_INPUT);
        r.lattices[0].cells_m[0] = before;
        assert_int_equal(engine_cuda_host.run(plan, recipes[i], pixels, NULL, &e), STATUS_OK);
        assert_memory_equal(pixels, expected[i], sizeof pixels);
        mem_free(expected[i]);
    }
    engine_cuda_host.destroy(&plan);
    recipe_free(&other);
    recipe_free(&r);
    experiment_free(&x);
}

static void keep_photons(void *context, const char *name, int count, const double *values,
                         const char *unit)
{
    (void)count;
    (void)unit;
    if (!strcmp(name, "photons"))
        *(double *)context = *values;
}

static void a_trace_says_what_the_image_holds(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {5}, .pixels = 32, .table = TABLE_BOX};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    struct plan *plan;
    double photons = -1.0;
    const struct engine_options options = {.threads = 1};
    const struct pixel_trace trace = {7, 21, keep_photons, &photons};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    float *image = run_engine_with(&engine_cuda_host, &x, &r, &options);
    assert_int_equal(engine_cuda_host.create(&plan, &x, &options, &e), STATUS_OK);
    assert_int_equal(engine_cuda_host.trace(plan, &r, &trace, &e), STATUS_OK);
    assert_true(photons > 0.0 && photons == (double)image[21 * 32 + 7]);
    engine_cuda_host.destroy(&plan);
    mem_free(image);
    recipe_free(&r);
    experiment_free(&x);
}

/* Here a card can be there or not: then create says why in one line. */
static void a_missing_card_is_one_line(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {5}, .pixels = 32};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    struct plan *plan;
    const struct engine_options options = {.threads = 1};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    const enum status s = engine_cuda.create(&plan, &x, &options, &e);
    print_message("# %s\n", s ? e.text : engine_cuda.describe(plan));
    if (s) {
        assert_int_equal(s, STATUS_USAGE);
        assert_null(plan);
        assert_ptr_equal(strstr(e.text, "--engine=cuda: "), e.text);
    } else {
        engine_cuda.destroy(&plan);
    }
    recipe_free(&r);
    experiment_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_cpu_engine),
        cmocka_unit_test(little_memory_cuts_a_frame_into_rows),
        cmocka_unit_test(a_plan_takes_recipe_after_recipe),
        cmocka_unit_test(a_trace_says_what_the_image_holds),
        cmocka_unit_test(a_missing_card_is_one_line),
    };
    return unit_run(tests);
}
