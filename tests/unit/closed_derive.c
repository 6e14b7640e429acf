/* Derivatives in closed form.  Without any spread they equal those of the reference engine. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/derivatives/derive.h"
#include "engine/engine.h"
#include "near.h"
#include "physics/setup.h"
#include "physics_request.h"

enum { EDGE = 60, PIXELS = EDGE * EDGE, WAVES = 5 };

static const char NAMES[] = "rot,cell,ncells,fudge,scale,share.0,wavelength,distance,beam_x,beam_y,"
                            "panel.0.shift_s,phi0,osc";

static void build(struct experiment *x, struct recipe *r)
{
    struct request q;
    struct crystal_request c;
    struct error e = {0};
    const struct orientation_request o = {.misset_rad = {0.2, 0.35, 0.5},
                                          .phi = {.range = 0.01, .count = 3}};
    plain_request(&q, &c, PHYSICS_PHYSICAL);
    set_cell(&c, 39, 45, 52, 90, 100, 90);
    set3(c.cells, 7, 8, 9);
    c.shape = SHAPE_GAUSS;
    q.detector.pixels[0] = q.detector.pixels[1] = EDGE;
    q.detector.pixel_m = 1.6e-3;
    q.detector.distance_m = 0.08;
    q.detector.thickness = (struct steps_request){2, 3e-4, 0.0};
    q.detector.absorption_1_m = 3000.0;
    q.oversample = 1;
    *r = (struct recipe){
        .nlattices = 1, .lattices = mem_array(1, sizeof(struct lattice)), .osc_rad = 0.01};
    assert_int_equal(setup_experiment(&q, x, &e), STATUS_OK);
    assert_int_equal(setup_lattice(x, 0, &o, r->lattices, &e), STATUS_OK);
    r->nsources = WAVES;
    r->sources = mem_array(WAVES, sizeof *r->sources);
    for (int i = 0; i < WAVES; i++) {
        r->sources[i] = x->beam.sources[0];
        r->sources[i].wavelength_m *= 1.0 + 7e-4 * (i - 2);
        r->sources[i].weight = 0.5 + 0.1 * i;
    }
}

/* Photons as the first plane, then the derivatives. */
static float *derive(const struct engine *engine, const struct experiment *x,
                     const struct recipe *r, const struct parameters *set, int threads)
{
    struct plan *plan;
    struct error e = {0};
    const struct engine_options how = {.threads = threads, .precision = PRECISION_DOUBLE};
    float *planes = mem_array((set->count + 1) * PIXELS, sizeof *planes);
    double *photons = mem_array(PIXELS, sizeof *photons);
    const struct derive_request q = {
        .set = set, .npixels = PIXELS, .photons = photons, .planes = planes + PIXELS};
    if (engine->create(&plan, x, &how, &e) || engine->derive(plan, r, &q, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < PIXELS; i++)
        planes[i] = (float)photons[i];
    engine->destroy(&plan);
    mem_free(photons);
    return planes;
}

static void test_planes(void **state)
{
    (void)state;
    struct experiment x;
    struct recipe r;
    struct parameters set;
    struct error e = {0};
    build(&x, &r);
    assert_int_equal(parameters_parse(NAMES, &x, &set, &e), STATUS_OK);
    float *want = derive(&engine_reference, &x, &r, &set, 2);
    x.crystals[0].has_ensemble = true;
    float *got = derive(&engine_cpu, &x, &r, &set, 1),
          *again = derive(&engine_cpu, &x, &r, &set, 3);
    assert_memory_equal(got, again, (set.count + 1) * PIXELS * sizeof *got);
    for (size_t k = 0; k <= set.count; k++) {
        double off = 0.0, sum = 0.0;
        for (size_t i = k * PIXELS; i < (k + 1) * PIXELS; i++) {
            off += pow((double)(got[i] - want[i]), 2);
            sum += pow((double)want[i], 2);
        }
        print_message("# %s: off by %.1e\n", k ? set.items[k - 1].name : "photons",
                      sqrt(off / sum));
        assert_true(sum > 0.0 && off < pow(k ? 2e-5 : 1e-7, 2) * sum);
    }
    mem_free(want);
    mem_free(got);
    mem_free(again);
    recipe_free(&r);
    experiment_free(&x);
}

/* Derivatives of listed pixels, and sums over them, equal those of the derivative images. */
static void test_listed(void **state)
{
    (void)state;
    enum { LISTED = 500 };
    struct experiment x;
    struct recipe r;
    struct parameters set;
    struct error e = {0};
    struct plan *plan;
    const struct engine_options how = {.threads = 2};
    int64_t listed[LISTED];
    float weights[LISTED], planes[2 * LISTED];
    double product[2], sums[2] = {0};
    build(&x, &r);
    x.crystals[0].has_ensemble = true;
    x.crystals[0].mosaic_rms_rad[1] = 2e-3;
    assert_int_equal(parameters_parse("rot_y,cell_b", &x, &set, &e), STATUS_OK);
    float *all = derive(&engine_cpu, &x, &r, &set, 1);
    for (int i = 0; i < LISTED; i++) {
        listed[i] = (7919 * i + 40) % PIXELS;
        weights[i] = (float)(i % 5);
    }
    const struct derive_request q = {.set = &set,
                                     .listed = listed,
                                     .npixels = LISTED,
                                     .planes = planes,
                                     .weights = weights,
                                     .product = product};
    assert_int_equal(engine_cpu.create(&plan, &x, &how, &e), STATUS_OK);
    assert_int_equal(engine_cpu.derive(plan, &r, &q, &e), STATUS_OK);
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < LISTED; i++) {
            const float plane = all[(k + 1) * PIXELS + (size_t)listed[i]];
            assert_true(plane == planes[k * LISTED + i]);
            sums[k] += (double)(weights[i] * plane);
        }
        assert_near(product[k] / sums[k], 1.0, 1e-5);
    }
    engine_cpu.destroy(&plan);
    mem_free(all);
    recipe_free(&r);
    experiment_free(&x);
}

/* The relative change of the spread, which the reference engine does not have. */
static void test_mosaic(void **state)
{
    (void)state;
    struct experiment x;
    struct recipe r;
    struct parameters set;
    struct error e = {0};
    build(&x, &r);
    struct crystal *c = x.crystals;
    c->has_ensemble = true;
    assert_int_equal(parameters_parse("mosaic", &x, &set, &e), STATUS_OK);
    const struct derive_request q = {.set = &set};
    assert_int_equal(derive_check(&x, &r, &q, &e), STATUS_INPUT);
    const double step = 1e-2, rms[3] = {2e-3, 1e-3, 3e-3};
    float *at[3];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            c->mosaic_rms_rad[k] = rms[k] * (1.0 + step * (i - 1));
        at[i] = derive(&engine_cpu, &x, &r, &set, 2);
    }
    double off = 0.0, sum = 0.0;
    for (int i = 0; i < PIXELS; i++) {
        const double want = (double)(at[2][i] - at[0][i]) / (2.0 * step);
        off += pow((double)at[1][PIXELS + i] - want, 2);
        sum += pow(want, 2);
    }
    print_message("# off by %.1e\n", sqrt(off / sum));
    assert_true(sum > 0.0 && off < 1e-6 * sum);
    for (int i = 0; i < 3; i++)
        mem_free(at[i]);
    recipe_free(&r);
    experiment_free(&x);
}

static void test_refusals(void **state)
{
    (void)state;
    static const char *const names[] = {"polarization", "dispersion", "panel.0.tilt_f", "thickness",
                                        "absorption"};
    struct experiment x;
    struct recipe r;
    struct parameters set;
    struct error e = {0};
    struct plan *plan;
    double product[1];
    const struct derive_request q = {.set = &set, .product = product};
    build(&x, &r);
    x.crystals[0].has_ensemble = true;
    assert_int_equal(engine_cpu.create(&plan, &x, &(struct engine_options){.threads = 1}, &e),
                     STATUS_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char why[100];
        (void)snprintf(why, sizeof why,
                       "--mosaic-model=gauss does not support the derivative by '%s'", names[i]);
        assert_int_equal(parameters_parse(names[i], &x, &set, &e), STATUS_OK);
        assert_int_equal(engine_cpu.derive(plan, &r, &q, &e), STATUS_INPUT);
        assert_string_equal(e.text, why);
    }
    engine_cpu.destroy(&plan);
    recipe_free(&r);
    experiment_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_planes), cmocka_unit_test(test_listed),
                                       cmocka_unit_test(test_mosaic),
                                       cmocka_unit_test(test_refusals)};
    return unit_run(tests);
}
