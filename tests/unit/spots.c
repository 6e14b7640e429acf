/* Reflections that are computed one by one, compared with the dense loop of the CPU engine: the
 * same pixels are illuminated (exactly for TOPHAT), and the values agree.  Threads and instruction
 * sets of one class give the same bytes.  The faster method is chosen. */
#include "unit.h"

#include <float.h>
#include <math.h>

#include "engine/cpu/cpu.h"
#include "engine/spots/cpu_spots.h"
#include "engine_case.h"

/* A case is a line. */
// clang-format off
static const struct engine_case cases[] = {
    {.name = "gauss", .cells = {20}, .shape = SHAPE_GAUSS},
    {.name = "gauss, wide", .cells = {12}, .shape = SHAPE_GAUSS, .table = TABLE_BOX},
    {.name = "gauss, balls overlap", .cells = {5}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .pixels = 64, .pixel_mm = 1.6},
    {.name = "gauss, fine pixels", .cells = {20}, .shape = SHAPE_GAUSS, .pixel_mm = 0.02, .table = TABLE_TINY},
    {.name = "gauss, unlike axes", .cells = {1, 7, 300}, .shape = SHAPE_GAUSS, .table = TABLE_BOX},
    {.name = "gauss, small box of structure factors", .cells = {15}, .shape = SHAPE_GAUSS, .table = TABLE_TINY},
    {.name = "gauss, mosaic and wavelengths", .cells = {15}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .mosaic_deg = 0.5, .domains = 5, .wavelengths = 3},
    {.name = "gauss, oversample", .cells = {20}, .shape = SHAPE_GAUSS, .oversample = 3},
    {.name = "gauss, factors of each", .cells = {15}, .shape = SHAPE_GAUSS, .oversample = 2, .each = true, .layers = 3},
    {.name = "gauss, layers", .cells = {15}, .shape = SHAPE_GAUSS, .layers = 4, .oversample = 2, .tilt_deg = {0, 20, 10}},
    {.name = "gauss, tilts", .cells = {15}, .shape = SHAPE_GAUSS, .tilt_deg = {5, 10, 15}, .twotheta_deg = 20},
    {.name = "gauss, far off the beam", .cells = {15}, .shape = SHAPE_GAUSS, .twotheta_deg = 70},
    {.name = "gauss, a wide detector", .cells = {12}, .shape = SHAPE_GAUSS, .pixel_mm = 20},
    {.name = "gauss, divergence, weights", .cells = {15}, .shape = SHAPE_GAUSS, .divergence = 3, .wavelengths = 2, .weights = true},
    {.name = "gauss, phi", .cells = {15}, .shape = SHAPE_GAUSS, .phi_steps = 10},
    {.name = "gauss, ROI and mask", .cells = {15}, .shape = SHAPE_GAUSS, .roi = true, .mask = true, .oversample = 2},
    {.name = "gauss, two panels", .cells = {15}, .shape = SHAPE_GAUSS, .panels = 2},
    {.name = "gauss, two lattices", .cells = {15}, .shape = SHAPE_GAUSS, .lattices = 2, .mosaic_deg = 0.3, .domains = 4, .table = TABLE_BOX},
    {.name = "gauss, dmin", .cells = {15}, .shape = SHAPE_GAUSS, .dmin_A = 3, .oversample = 2, .wavelengths = 3},
    {.name = "gauss, water", .cells = {15}, .shape = SHAPE_GAUSS, .water_um = 0.1, .layers = 2, .wavelengths = 2},
    {.name = "gauss, odd width, point pixels", .cells = {15}, .shape = SHAPE_GAUSS, .pixels = 117, .point_pixel = true},
    {.name = "gauss, no polarization", .cells = {15}, .shape = SHAPE_GAUSS, .no_polarization = true},
    {.name = "tophat", .cells = {10}, .shape = SHAPE_TOPHAT},
    {.name = "tophat, structure factors", .cells = {20}, .shape = SHAPE_TOPHAT, .fudge = 0.1, .table = TABLE_BOX},
    {.name = "tophat, oversample", .cells = {10}, .shape = SHAPE_TOPHAT, .oversample = 4, .layers = 2},
    {.name = "tophat, mosaic", .cells = {10}, .shape = SHAPE_TOPHAT, .mosaic_deg = 1, .domains = 50, .wavelengths = 2},
    {.name = "tophat, tilts, each", .cells = {8}, .shape = SHAPE_TOPHAT, .tilt_deg = {5, -10, 15}, .twotheta_deg = -20, .each = true, .oversample = 2},
};
enum { NCASES = sizeof cases / sizeof *cases };
// clang-format on

enum way { DENSE, SPOTS, BY_COST };

/* A frame and how many lattices were scattered. */
struct made {
    float *pixels;
    size_t scattered;
};

static struct made compute(const struct experiment *x, const struct recipe *r, const char *isa,
                           int threads, enum way way)
{
    struct error e = {0};
    struct cpu_table table;
    struct cpu_job job;
    struct made made = {mem_array((size_t)experiment_pixels(x), sizeof(float)), 0};
    assert_int_equal(cpu_table_open(&table, x->crystals, PRECISION_MIXED, &e), STATUS_OK);
    assert_int_equal(cpu_job_open(&job, x, &table, r, &e), STATUS_OK);
    if (way != DENSE)
        cpu_spots_choose(&job, way == SPOTS ? HUGE_VAL : SPOTS_DENSE_NS);
    for (size_t i = 0; i < job.nlattices; i++)
        made.scattered += job.lattices[i].scattered;
    const struct cpu_kernels *kernels = cpu_kernels_choose(isa, PRECISION_MIXED, &e);
    assert_int_equal(cpu_frame(kernels, &job, threads, made.pixels, NULL, &e), STATUS_OK);
    cpu_job_close(&job);
    cpu_table_free(&table);
    return made;
}

static void check_case(const struct engine_case *c, const char *isa)
{
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    assert_int_equal(case_build(c, &x, &r, &e), STATUS_OK);
    const size_t count = (size_t)experiment_pixels(&x);
    const struct made dense = compute(&x, &r, isa, 2, DENSE);
    const struct made spots = compute(&x, &r, isa, 2, SPOTS);
    assert_int_equal(spots.scattered, r.nlattices);
    double worst = 0.0;
    size_t lit = 0;
    for (size_t i = 0; i < count; i++) {
        const double a = (double)spots.pixels[i], b = (double)dense.pixels[i];
        if ((a == 0.0) != (b == 0.0))
            fail_msg("%s, %s: pixel %zu is %g, dense %g", c->name, isa, i, a, b);
        lit += b > 0.0;
        worst = b > 0.0 ? fmax(worst, fabs(a - b) / fmax(b, (double)FLT_MIN)) : worst;
    }
    print_message("# %-40s %-8s worst %.1e of %zu illuminated pixels\n", c->name, isa, worst, lit);
    assert_true(lit > 5 && worst < 2e-6);
    mem_free(dense.pixels);
    mem_free(spots.pixels);
    recipe_free(&r);
    experiment_free(&x);
}

static bool present(const char *isa)
{
    return cpu_kernels_choose(isa, PRECISION_MIXED, NULL) != NULL;
}

static void spots_are_what_the_dense_loop_finds(void **state)
{
    (void)state;
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    for (int i = 0; i < NCASES; i++)
        for (int j = 0; j < 3; j++)
            if (present(isas[j]))
                check_case(&cases[i], isas[j]);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    for (int i = 0; i < NCASES; i++) {
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        assert_int_equal(case_build(&cases[i], &x, &r, &e), STATUS_OK);
        const size_t bytes = (size_t)experiment_pixels(&x) * sizeof(float);
        const char *isa = present("avx2") ? "avx2" : "baseline";
        const char *other = present("avx512") ? "avx512" : isa;
        const struct made one = compute(&x, &r, isa, 1, SPOTS);
        for (int threads = 2; threads < 6; threads++) {
            const struct made more = compute(&x, &r, other, threads, SPOTS);
            assert_memory_equal(one.pixels, more.pixels, bytes);
            mem_free(more.pixels);
        }
        mem_free(one.pixels);
        recipe_free(&r);
        experiment_free(&x);
    }
}

/* How many of the lattices of a case are scattered by choice. */
static size_t chosen(const struct engine_case *c, enum way way)
{
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    assert_int_equal(case_build(c, &x, &r, &e), STATUS_OK);
    const struct made made = compute(&x, &r, NULL, 2, way);
    mem_free(made.pixels);
    recipe_free(&r);
    experiment_free(&x);
    return made.scattered;
}

static void the_choice_is_by_cost(void **state)
{
    (void)state;
    struct engine_case c = {.cells = {40}, .shape = SHAPE_GAUSS, .pixels = 512, .pixel_mm = 0.2};
    assert_int_equal(chosen(&c, BY_COST), 1);
    c.shape = SHAPE_TOPHAT;
    assert_int_equal(chosen(&c, BY_COST), 1);
    c.cells[0] = 3;
    assert_int_equal(chosen(&c, BY_COST), 0);
    c.cells[0] = 20;
    c.shape = SHAPE_SQUARE;
    assert_int_equal(chosen(&c, SPOTS), 0);
    c.shape = SHAPE_ROUND;
    assert_int_equal(chosen(&c, SPOTS), 0);
    c.shape = SHAPE_GAUSS;
    c.curved = true;
    assert_int_equal(chosen(&c, SPOTS), 0);
    c.curved = false;
    c.interpolate = true;
    c.table = TABLE_BOX;
    assert_int_equal(chosen(&c, SPOTS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spots_are_what_the_dense_loop_finds),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(the_choice_is_by_cost),
    };
    return unit_run(tests);
}
