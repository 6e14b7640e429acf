/* Derivatives of the CPU engine, and of the CUDA engine with its threads on this CPU, compared with
 * those of the reference engine: every parameter, both precisions, every factor; lists of pixels,
 * threads and instruction sets. */
#include "../hostgpu/host_engine.h"
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

/* rms of the difference of two planes over that of the first; 0 if they are equal, NaN if one is.
 */
static double apart(const float *a, const float *b)
{
    float wrong[PIXELS];
    for (int i = 0; i < PIXELS; i++)
        wrong[i] = a[i] - b[i];
    return rms(wrong) == 0 ? 0 : rms(wrong) / rms(a);
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

/* Against `want`. */
static void hold(const char *name, const struct engine *engine, enum engine_precision precision,
                 const struct parameters *set, double limit)
{
    const char *how = precision == PRECISION_MIXED ? "mixed" : "double";
    for (int i = 0; i < PIXELS; i++)
        if (!(fabs(got.photons[i] - want.photons[i]) <= 2 * limit * (want.photons[i] + 1e-3)))
            fail_msg("%s, %s, %s: pixel %d has %.17g photons, not %.17g", engine->name, name, how,
                     i, got.photons[i], want.photons[i]);
    for (size_t k = 0; k < set->count; k++) {
        const float *plane = want.planes + k * PIXELS;
        const double error = apart(plane, got.planes + k * PIXELS);
        const double off = fabs(got.product[k] - want.product[k]) / most(plane);
        if (!(error <= fmax(limit, 1e-7)) || !(off <= limit))
            fail_msg("%s, %s, %s: %s is wrong by %.3g, its product by %.3g", engine->name, name,
                     how, set->items[k].name, error, off);
    }
}

/* Against the reference, both precisions. */
static void compare_by(const struct engine *const *engines, int count, const struct variant *v,
                       const char *names, double mixed)
{
    struct scene s;
    struct parameters set;
    begin(v, names, &s, &set);
    ask(&s, &set, &(struct how){&engine_reference, .threads = 2}, NULL, PIXELS, &want);
    for (int i = 0; i < 2 * count; i++) {
        const enum engine_precision precision = i % 2 ? PRECISION_DOUBLE : PRECISION_MIXED;
        const struct how how = {engines[i / 2], NULL, precision, 2};
        ask(&s, &set, &how, NULL, PIXELS, &got);
        hold(v->name, how.engine, precision, &set, precision == PRECISION_MIXED ? mixed : 1e-9);
    }
    close_scene(&s);
}

static void compare(const struct variant *v, const char *names, double mixed)
{
    static const struct engine *const engines[] = {&engine_cpu, &engine_cuda_host};
    compare_by(engines, 2, v, names, mixed);
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
    v.name = "few cells";
    set3(v.cells, 2, 1, 3);
    compare(&v, "rot,cell,ncells,wavelength,distance", 1e-5);
    set3(v.cells, 20, 1, 13);
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
    static const struct engine *const engines[] = {&engine_cpu, &engine_cuda_host};
    begin(&SQUARE, ALL, &s, &set);
    const struct how reference = {&engine_reference, .threads = 2};
    ask(&s, &set, &reference, NULL, PIXELS, &again);
    s.x.dmin_m = 12e-10;
    ask(&s, &set, &reference, NULL, PIXELS, &want);
    int dark = 0, less = 0;
    for (int i = 0; i < PIXELS; i++) {
        dark += want.photons[i] == 0;
        less += want.photons[i] > 0 && want.photons[i] < 0.9 * again.photons[i];
    }
    assert_true(dark > 10 && less > 3);
    for (int i = 0; i < 2; i++) {
        ask(&s, &set, &(struct how){engines[i], NULL, PRECISION_DOUBLE, 2}, NULL, PIXELS, &got);
        hold("culled", engines[i], PRECISION_DOUBLE, &set, 1e-9);
    }
    close_scene(&s);
}

/* What the CUDA engine does not take is refused in one line. */
static void refused(const struct variant *v, const char *names, enum engine_precision precision,
                    bool curved, const char *says)
{
    struct scene s;
    struct parameters set;
    struct error e = {0};
    struct plan *plan;
    const struct engine_options options = {.threads = 1, .precision = precision};
    begin(v, names, &s, &set);
    s.x.panels[0].curved = curved;
    const struct derive_request q = {.set = &set, .npixels = PIXELS, .planes = got.planes};
    assert_int_equal(engine_cuda_host.create(&plan, &s.x, &options, &e), STATUS_OK);
    assert_int_equal(engine_cuda_host.derive(plan, &s.recipe, &q, &e), STATUS_INPUT);
    if (!strstr(e.text, says))
        fail_msg("%s", e.text);
    engine_cuda_host.destroy(&plan);
    close_scene(&s);
}

/* What the fast loop does not take. */
static void test_others(void **state)
{
    (void)state;
    static const struct engine *const cpu = &engine_cpu;
    struct variant v = SQUARE;
    refused(&v, "rot", PRECISION_MIXED, true, "a curved detector: take --engine=cpu");
    v.name = "tricubic";
    v.table = true;
    compare_by(&cpu, 1, &v, "rot_x,cell_b", 1e-9);
    refused(&v, "rot", PRECISION_DOUBLE, false, "interpolated structure factors");
    v.name = "enormous";
    v.table = false;
    set3(v.cells, 20, 3001, 15);
    compare_by(&cpu, 1, &v, "rot_x,ncells_b", 1e-9);
    refused(&v, "rot", PRECISION_MIXED, false, "need --precision=double");
}

static void assert_same(const struct answer *a, struct answer *b)
{
    b->sums.gradient = a->sums.gradient;
    b->sums.fisher = a->sums.fisher;
    assert_memory_equal(a, b, sizeof *a);
}

/* Numbers of pixels in any order, twice the same one among them. */
static void ask_list(const struct scene *s, const struct parameters *set, const struct how *how)
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

/* Structure factors of neighbouring reflections, which are looked up together, and of distant ones,
 * in a table with all, some, or almost none of the reflections. */
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
        ask_list(&s, &set, &how);
        how.isa = "avx2";
        if (!isa_choose(&at, how.isa, &e))
            ask_list(&s, &set, &how);
        else
            print_message("# skipped, by %s: %s\n", how.isa, e.text);
        how.isa = "baseline";
        ask(&s, &set, &how, NULL, PIXELS, &again);
        assert_true(apart(got.planes, again.planes) < 1e-5);
        how = (struct how){&engine_cpu, NULL, PRECISION_DOUBLE, 1};
        ask(&s, &set, &how, NULL, PIXELS, &again);
        assert_true(apart(got.planes, again.planes) < 1e-5);
        close_scene(&s);
    }
}

static void same_bytes(const struct engine *engine, bool extended, enum engine_precision precision)
{
    struct variant v = SQUARE;
    struct scene s;
    struct parameters set;
    struct error e = {0};
    enum isa at;
    v.extended = extended;
    begin(&v, "rot,ncells_a,mosaic,distance,dispersion", &s, &set);
    s.x.panels[0].roi.fast_min = 3;
    struct how how = {engine, NULL, precision, 1};
    ask(&s, &set, &how, NULL, PIXELS, &got);
    assert_true(got.photons[2] == 0 || extended);
    how.threads = 3;
    ask(&s, &set, &how, NULL, PIXELS, &again);
    assert_same(&got, &again);
    ask_list(&s, &set, &how);
    if (!isa_choose(&at, "avx512", &e)) {
        how.isa = "avx2";
        ask(&s, &set, &how, NULL, PIXELS, &again);
        assert_same(&got, &again);
    } else {
        print_message("# skipped, avx512 against avx2: %s\n", e.text);
    }
    how.isa = "baseline";
    ask(&s, &set, &how, NULL, PIXELS, &again);
    assert_true(apart(got.planes, again.planes) < 1e-5);
    close_scene(&s);
}

/* Lists; any number of threads; footprint of a crystal; instruction sets with fused operations: all
 * the same bytes. */
static void test_same_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        same_bytes(i & 1 ? &engine_cuda_host : &engine_cpu, i & 2,
                   i & 4 ? PRECISION_DOUBLE : PRECISION_MIXED);
}

/* More pixels than a card is asked for at a time: sums and planes go on from batch to batch. */
static void test_batches(void **state)
{
    (void)state;
    enum { LISTED = 2 * DERIVE_BATCH + 3 * DERIVE_BLOCK + 7 };
    struct variant v = SQUARE;
    struct scene s;
    struct parameters set;
    struct error e = {0};
    struct plan *plan;
    v.perfect = v.still = true;
    begin(&v, "rot_x,distance", &s, &set);
    s.x.sampling.oversample = 1;
    s.x.beam.nsources = 1;
    ask(&s, &set, &(struct how){&engine_cuda_host, .threads = 2}, NULL, PIXELS, &got);
    int64_t *listed = mem_array(LISTED, sizeof *listed);
    float *planes = mem_array(2 * LISTED, sizeof *planes), *ones = mem_array(LISTED, sizeof *ones);
    double product[2], sum[2] = {0.0};
    for (int i = 0; i < LISTED; i++) {
        listed[i] = i % PIXELS;
        ones[i] = 1.0f;
    }
    struct derive_request q = {.set = &set,
                               .listed = listed,
                               .npixels = LISTED,
                               .planes = planes,
                               .weights = ones,
                               .product = product};
    const struct engine_options options = {.threads = 2};
    assert_int_equal(engine_cuda_host.create(&plan, &s.x, &options, &e), STATUS_OK);
    for (int only = 0; only < 2; only++) {  // planes of numbers, then as they come
        memset(planes, 0xff, 2 * LISTED * sizeof *planes);
        q.weights = only ? NULL : ones;
        assert_int_equal(engine_cuda_host.derive(plan, &s.recipe, &q, &e), STATUS_OK);
        for (int i = 0; i < 2 * LISTED; i++)
            assert_true(planes[i] == got.planes[i / LISTED * PIXELS + i % LISTED % PIXELS]);
    }
    engine_cuda_host.destroy(&plan);
    for (int i = 0; i < 2 * LISTED; i++)
        sum[i / LISTED] += (double)planes[i];
    for (int k = 0; k < 2; k++)
        assert_true(fabs(product[k] - sum[k]) < 1e-5 * fabs(sum[k]));
    mem_free(listed);
    mem_free(planes);
    mem_free(ones);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_square),  cmocka_unit_test(test_gauss),
        cmocka_unit_test(test_culled),  cmocka_unit_test(test_others),
        cmocka_unit_test(test_round),   cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_batches), cmocka_unit_test(test_look_ups),
    };
    return unit_run(tests);
}
