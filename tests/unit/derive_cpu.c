/*
 * Derivatives of the CPU engine against those of the reference engine: every parameter, both
 * precisions, with every factor at work; lists, threads and instruction sets.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 21, PIXELS = EDGE * EDGE };

#include "base/isa.h"
#include "derive_scene.h"
#include "engine/engine.h"

#define ALL                                                                                  \
    "rot,cell_a,cell_b,cell_c,cell_alpha,cell_beta,cell_gamma,ncells,mosaic,scale,phi0,osc," \
    "wavelength,dispersion,divergence_h,divergence_v,polarization,distance,beam_x,beam_y,"   \
    "thickness,absorption,share.1,panel.0.shift_f,panel.0.shift_s,panel.0.shift_o,"          \
    "panel.0.tilt_f,panel.0.tilt_s,panel.0.tilt_o"

/* What is compared: all in double precision but the planes. */
struct answer {
    double photons[PIXELS], product[PARAMETERS_MAX], gradient[PARAMETERS_MAX];
    double fisher[PARAMETERS_MAX * PARAMETERS_MAX];
    struct derive_sums sums;
    float planes[PARAMETERS_MAX * PIXELS];
};

static struct answer want, got, again;
static float weights[PIXELS], counts[PIXELS];

struct how {
    const struct engine *engine;
    const char *isa;
    enum engine_precision precision;
    int threads;
};

static void ask(const struct scene *s, const struct parameters *set, const struct how *how,
                const int64_t *listed, size_t npixels, struct answer *a)
{
    struct error e = {0};
    struct plan *plan;
    const struct engine_options options = {
        .threads = how->threads, .isa = how->isa, .precision = how->precision};
    const struct derive_data data = {.counts = counts, .scale = 0.8, .variance = 1.5};
    memset(a, 0, sizeof *a);
    a->sums = (struct derive_sums){.gradient = a->gradient, .fisher = a->fisher};
    const struct derive_request q = {.set = set,
                                     .listed = listed,
                                     .npixels = npixels,
                                     .photons = a->photons,
                                     .planes = a->planes,
                                     .weights = weights,
                                     .product = a->product,
                                     .data = &data,
                                     .sums = &a->sums};
    if (how->engine->create(&plan, &s->x, &options, &e) ||
        how->engine->derive(plan, &s->recipe, &q, &e))
        fail_msg("%s", e.text);
    how->engine->destroy(&plan);
}

static double rms(const float *a)
{
    double sum = 0;
    for (int i = 0; i < PIXELS; i++)
        sum += (double)a[i] * (double)a[i];
    return sqrt(sum / PIXELS);
}

/* rms of the difference of two planes over that of the first; 0 if they are equal. */
static double apart(const float *a, const float *b)
{
    float wrong[PIXELS];
    for (int i = 0; i < PIXELS; i++)
        wrong[i] = a[i] - b[i];
    return rms(wrong) > 0 ? rms(wrong) / rms(a) : 0;
}

/* Largest sum that a product can have, of which it may be off by a part. */
static double most(const float *plane)
{
    double sum = 0;
    for (int i = 0; i < PIXELS; i++)
        sum += fabs((double)plane[i] * (double)weights[i]);
    return fmax(sum, 1e-300);
}

static void begin(const struct variant *v, const char *names, struct scene *s,
                  struct parameters *set)
{
    struct error e = {0};
    open_scene(s, v, &(struct change){"", 0});
    if (parameters_parse(names, &s->x, set, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < PIXELS; i++) {
        weights[i] = (float)(i % 7 - 3);
        counts[i] = (float)(i % 11 * 20);
    }
}

/* Against the reference, both precisions. */
static void compare(const struct variant *v, const char *names, double mixed)
{
    struct scene s;
    struct parameters set;
    begin(v, names, &s, &set);
    ask(&s, &set, &(struct how){&engine_reference, .threads = 2}, NULL, PIXELS, &want);
    for (int precision = PRECISION_MIXED; precision <= PRECISION_DOUBLE; precision++) {
        const double limit = precision == PRECISION_MIXED ? mixed : 1e-9;
        const struct how how = {&engine_cpu, NULL, (enum engine_precision)precision, 2};
        ask(&s, &set, &how, NULL, PIXELS, &got);
        for (int i = 0; i < PIXELS; i++)
            if (!(fabs(got.photons[i] - want.photons[i]) <= 2 * limit * (want.photons[i] + 1e-3)))
                fail_msg("%s: pixel %d has %.17g photons, not %.17g", v->name, i, got.photons[i],
                         want.photons[i]);
        for (size_t k = 0; k < set.count; k++) {
            const float *plane = want.planes + k * PIXELS;
            const double error = apart(plane, got.planes + k * PIXELS);
            const double off = fabs(got.product[k] - want.product[k]) / most(plane);
            if (!(error <= fmax(limit, 1e-7)) || !(off <= limit))
                fail_msg("%s, %s: %s is wrong by %.3g, its product by %.3g", v->name,
                         precision == PRECISION_MIXED ? "mixed" : "double", set.items[k].name,
                         error, off);
        }
    }
    close_scene(&s);
}

static void test_square(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    compare(&v, ALL, 1e-5);
    v.name = "factors of each term, water";
    v.each = v.water = true;
    compare(&v, ALL, 1e-5);
    v.each = false;
    v.name = "table, point pixels";
    v.table = v.nearest = v.point_pixel = true;
    compare(&v, ALL, 1e-5);
    v.name = "one domain, large";
    v.perfect = true;
    set3(v.cells, 20, 1, 13);
    compare(&v, "rot,cell,ncells,wavelength,distance", 1e-5);
    v.still = true;
    v.name = "neither phi nor domains";
    compare(&v, "rot,cell,ncells,wavelength,distance", 1e-5);
    v.perfect = false;
    v.name = "domains alone";
    compare(&v, "rot,cell,ncells,mosaic", 1e-5);
    v.name = "very large";
    set3(v.cells, 200, 150, 180);
    compare(&v, "rot,cell,ncells", 1e-4);
}

/* A smooth shape, whose width has a factor: one structure factor, then a table. */
static void compare_shape(enum crystal_shape shape, double fudge, const char *name)
{
    struct variant v = SQUARE;
    v.name = name;
    v.shape = shape;
    v.fudge = fudge;
    compare(&v, ALL ",fudge", 1e-5);
    v.table = v.nearest = true;
    set3(v.cells, 20, 15, 18);
    compare(&v, "rot,cell,ncells,mosaic,fudge", 1e-5);
}

static void test_gauss(void **state)
{
    (void)state;
    compare_shape(SHAPE_GAUSS, 0.7, "gauss");
}

static void test_round(void **state)
{
    (void)state;
    compare_shape(SHAPE_ROUND, 1.3, "round");
}

/* dmin culls some sources of some pixels: what a source does not see does not change. */
static void test_culled(void **state)
{
    (void)state;
    struct scene s;
    struct parameters set;
    begin(&SQUARE, ALL, &s, &set);
    const struct how reference = {&engine_reference, .threads = 2};
    const struct how cpu = {&engine_cpu, NULL, PRECISION_DOUBLE, 2};
    ask(&s, &set, &reference, NULL, PIXELS, &again);
    s.x.dmin_m = 12e-10;
    ask(&s, &set, &reference, NULL, PIXELS, &want);
    ask(&s, &set, &cpu, NULL, PIXELS, &got);
    int dark = 0, less = 0;
    for (int i = 0; i < PIXELS; i++) {
        dark += want.photons[i] == 0;
        less += want.photons[i] > 0 && want.photons[i] < 0.9 * again.photons[i];
    }
    assert_true(dark > 10 && less > 3);
    for (size_t k = 0; k < set.count; k++)
        if (!(apart(want.planes + k * PIXELS, got.planes + k * PIXELS) < 1e-7))
            fail_msg("%s", set.items[k].name);
    close_scene(&s);
}

/* What the fast loop does not take. */
static void test_others(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    v.name = "tricubic";
    v.table = true;
    compare(&v, "rot_x,cell_b", 1e-9);
    v.name = "enormous";
    v.table = false;
    set3(v.cells, 20, 3001, 15);
    compare(&v, "rot_x,ncells_b", 1e-9);
}

/* What `got` has, of pixels that are no neighbours. */
static void same_scattered(const struct scene *s, const struct parameters *set,
                           const struct how *how)
{
    enum { LISTED = 100 };
    int64_t listed[LISTED];
    for (int i = 0; i < LISTED; i++)
        listed[i] = (i * 137 + 5) % (PIXELS - 30);
    ask(s, set, how, listed, LISTED, &again);
    for (int i = 0; i < LISTED; i++) {
        assert_true(again.photons[i] == got.photons[listed[i]]);
        for (size_t k = 0; k < set->count; k++)
            assert_true(again.planes[k * LISTED + (size_t)i] ==
                        got.planes[k * PIXELS + (size_t)listed[i]]);
    }
}

/* Structure factors of neighbours, which are looked up together, and of others; of a table that
 * holds all, some, or next to none of the reflections. */
static void test_look_ups(void **state)
{
    (void)state;
    for (int reach = 1; reach < 40; reach += reach < 16 ? 1 : 23) {
        struct variant v = SQUARE;
        struct scene s;
        struct parameters set;
        struct error e = {0};
        enum isa at;
        v.table = v.nearest = true;
        begin(&v, "rot,cell_b,ncells_a", &s, &set);
        for (int k = 0; k < 3; k++) {
            s.x.crystals[0].table.min[k] = -reach;
            s.x.crystals[0].table.count[k] = 2 * reach + 1;
        }
        s.x.panels[0].pixel_m *= 0.3;  // reflections are a few pixels apart
        struct how how = {&engine_cpu, NULL, PRECISION_MIXED, 1};
        ask(&s, &set, &how, NULL, PIXELS, &got);
        same_scattered(&s, &set, &how);
        how.isa = "avx2";
        if (!isa_choose(&at, how.isa, &e))
            same_scattered(&s, &set, &how);
        how.isa = "baseline";
        ask(&s, &set, &how, NULL, PIXELS, &again);
        assert_true(apart(got.planes, again.planes) < 1e-5);
        how = (struct how){&engine_cpu, NULL, PRECISION_DOUBLE, 1};
        ask(&s, &set, &how, NULL, PIXELS, &again);
        assert_true(apart(got.planes, again.planes) < 1e-5);
        close_scene(&s);
    }
}

/* Numbers of pixels in any order, twice the same one among them; any number of threads; footprint
 * of a crystal; instruction sets with fused operations: all the same bytes. */
static void test_same_bytes(void **state)
{
    (void)state;
    for (int extended = 0; extended < 2; extended++)
        for (int precision = PRECISION_MIXED; precision <= PRECISION_DOUBLE; precision++) {
            struct variant v = SQUARE;
            struct scene s;
            struct parameters set;
            v.extended = extended;
            begin(&v, "rot,ncells_a,mosaic,distance,dispersion", &s, &set);
            s.x.panels[0].roi.fast_min = 3;
            struct how how = {&engine_cpu, NULL, (enum engine_precision)precision, 1};
            ask(&s, &set, &how, NULL, PIXELS, &got);
            assert_true(got.photons[2] == 0 || extended);
            how.threads = 3;
            ask(&s, &set, &how, NULL, PIXELS, &again);
            again.sums.gradient = got.sums.gradient;
            again.sums.fisher = got.sums.fisher;
            assert_memory_equal(&got, &again, sizeof got);
            same_scattered(&s, &set, &how);
            struct error e = {0};
            enum isa at;
            if (!isa_choose(&at, "avx512", &e)) {
                how.isa = "avx2";
                ask(&s, &set, &how, NULL, PIXELS, &again);
                again.sums.gradient = got.sums.gradient;
                again.sums.fisher = got.sums.fisher;
                assert_memory_equal(&got, &again, sizeof got);
            }
            how.isa = "baseline";
            ask(&s, &set, &how, NULL, PIXELS, &again);
            assert_true(apart(got.planes, again.planes) < 1e-5);
            close_scene(&s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_look_ups),   cmocka_unit_test(test_square),
        cmocka_unit_test(test_gauss),      cmocka_unit_test(test_culled),
        cmocka_unit_test(test_others),     cmocka_unit_test(test_round),
        cmocka_unit_test(test_same_bytes),
    };
    return unit_run(tests);
}
