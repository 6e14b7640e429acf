/* The reference engine in physical mode: each repaired quirk of nanoBragg, and the reason why the
 * repaired value is right.  Each value is also shown to differ from that of faithful mode. */
#include "unit.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "engine/engine.h"
#include "near.h"
#include "physics/detector/pixel.h"
#include "physics/setup.h"
#include "physics_request.h"

enum { EDGE = 32, PIXELS = EDGE * EDGE };

static void small_request(struct request *r, struct crystal_request *c, int faithful)
{
    plain_request(r, c, faithful ? PHYSICS_FAITHFUL : PHYSICS_PHYSICAL);
    r->detector.pixels[0] = r->detector.pixels[1] = EDGE;
    r->detector.pixel_m = 4e-4;
    r->beam.kahn = 0.9;
}

/* Experiment and recipe for one lattice; freed by close_scene. */
struct scene {
    struct experiment x;
    struct recipe recipe;
};

static void open_scene(struct scene *s, const struct request *r,
                       const struct orientation_request *o)
{
    struct error e = {0};
    s->recipe = (struct recipe){.nlattices = 1, .lattices = mem_array(1, sizeof(struct lattice))};
    if (setup_experiment(r, &s->x, &e) || setup_lattice(&s->x, 0, o, s->recipe.lattices, &e))
        fail_msg("%s", e.text);
}

static void close_scene(struct scene *s)
{
    recipe_free(&s->recipe);
    experiment_free(&s->x);
}

static void run_scene(const struct scene *s, int threads, float *pixels)
{
    struct error e = {0};
    struct plan *plan;
    const struct engine_options options = {.threads = threads};
    if (engine_reference.create(&plan, &s->x, &options, &e) ||
        engine_reference.run(plan, &s->recipe, pixels, NULL, &e))
        fail_msg("%s", e.text);
    engine_reference.destroy(&plan);
    assert_null(plan);
}

static void run(const struct request *r, const struct orientation_request *o, float *pixels)
{
    struct scene s;
    open_scene(&s, r, o);
    run_scene(&s, 1, pixels);
    close_scene(&s);
}

static const struct orientation_request STILL = {.misset_rad = {0.1, 0.2, 0.3}, .phi = NO_STEPS};

/* Largest |a-b| over the mean of b. */
static double worst(const float *a, const float *b, size_t n)
{
    double largest = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)b[i];
        largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
    }
    return largest / (sum / (double)n);
}

static float image[PIXELS], other[PIXELS], fine[4 * PIXELS];

/* Per-term solid angle and polarization at oversample 2: a pixel is the sum of its
 * four quarters, each with its own factors. */
static void test_each_factor(void **state)
{
    (void)state;
    for (int faithful = 0; faithful < 2; faithful++) {
        struct request r;
        struct crystal_request c;
        small_request(&r, &c, faithful);
        r.detector.convention = CONVENTION_DENZO;
        r.detector.beam_m[0] = r.detector.beam_m[1] = 0.03;
        r.oversample = 2;
        r.each_solid_angle = r.each_polarization = true;
        run(&r, &STILL, image);
        r.oversample = 1;
        r.detector.pixel_m /= 2;
        r.detector.pixels[0] = r.detector.pixels[1] = 2 * EDGE;
        run(&r, &STILL, fine);
        for (int s = 0; s < EDGE; s++)
            for (int f = 0; f < EDGE; f++) {
                const float *q = fine + 4 * s * EDGE + 2 * f;
                other[s * EDGE + f] = q[0] + q[1] + q[2 * EDGE] + q[2 * EDGE + 1];
            }
        if (faithful)
            assert_true(worst(image, other, PIXELS) > 0.1);
        else
            assert_true(worst(image, other, PIXELS) < 1e-5);
    }
}

/* Layers: with the same intensity at every depth a pixel is that of a perfect
 * sensor times the fraction that all layers stop, 1 - exp(-mu T / cos). */
static void test_layers(void **state)
{
    (void)state;
    for (int faithful = 0; faithful < 2; faithful++) {
        struct request r;
        struct crystal_request c;
        small_request(&r, &c, faithful);
        set3(c.cells, 1, 1, 1);
        run(&r, &STILL, image);
        r.detector.thickness = (struct steps_request){.count = 5, .range = 4e-6};
        r.detector.absorption_1_m = 2e5;
        run(&r, &STILL, other);
        struct scene s;
        open_scene(&s, &r, &STILL);
        for (int i = 0; i < PIXELS; i++) {
            double at[3];
            pixel_flat_position(s.x.panels, i % EDGE, i / EDGE, 0, 0, 0, 1, at);
            image[i] *= (float)(1 - exp(-0.8 * vec_length(at) / at[0]));
        }
        close_scene(&s);
        if (faithful)
            assert_true(worst(other, image, PIXELS) > 0.1);
        else
            assert_true(worst(other, image, PIXELS) < 1e-4);  // the layers lie up to 4 um deeper
    }
}

/* A rotation with a step at phi 0 is the mean of stills: at the middle of each step,
 * faithful at its start. */
static void test_no_carry_over(void **state)
{
    (void)state;
    for (int faithful = 0; faithful < 2; faithful++) {
        struct request r;
        struct crystal_request c;
        small_request(&r, &c, faithful);
        struct orientation_request o = STILL;
        float mean[PIXELS] = {0};
        for (int t = 0; t < 3; t++) {
            o.phi_rad = t * 0.02;
            run(&r, &o, image);
            for (int i = 0; i < PIXELS; i++)
                mean[i] += image[i] / 3;
        }
        o.phi_rad = faithful ? 0 : -0.01;
        o.phi = (struct steps_request){.count = 3, .range = 0.06, .step = 0.02};
        run(&r, &o, image);
        if (faithful)
            assert_true(worst(image, mean, PIXELS) > 0.1);
        else
            assert_true(worst(image, mean, PIXELS) < 1e-5);
    }
}

/* Interpolation: a pixel does not depend on those before it. */
static void test_fallback(void **state)
{
    (void)state;
    for (int faithful = 0; faithful < 2; faithful++) {
        struct request r;
        struct crystal_request c;
        struct scene s;
        for (int part = 0; part < 2; part++) {
            small_request(&r, &c, faithful);
            set3(c.cells, 1, 1, 1);
            set_cell(&c, 40, 40, 40, 90, 90, 90);
            const int count[3] = {8, 9, 10};
            for (int i = 0; i < 3; i++) {
                c.table.min[i] = -count[i] / 2;
                c.table.count[i] = count[i];
            }
            c.table.F = mem_array(720, sizeof(double));
            for (int i = 0; i < 720; i++)
                c.table.F[i] = 50 + (i * 7919) % 101;
            if (part)
                r.detector.roi = (struct roi){16, 17, 16, 17};
            open_scene(&s, &r, &STILL);
            assert_true(s.x.crystals[0].interpolate);
            run_scene(&s, 1, part ? other : image);
            close_scene(&s);
        }
        for (int i = 0; i < PIXELS; i++) {
            const int inside =
                (i % EDGE == 16 || i % EDGE == 17) && (i / EDGE == 16 || i / EDGE == 17);
            if (!inside)
                assert_true(other[i] == 0.0f);
            else
                assert_int_equal(image[i] == other[i], !faithful);
        }
    }
}

/* Water alone: r_e^2 fluence, times 2.57^2 for each molecule, times solid angle and
 * polarization (1 in the centre).  20 um are 2.6765e14 molecules; so 14037.8
 * photons at 1e24 photons/m^2 and 1e-6 sr, whatever is summed over. */
static void test_water(void **state)
{
    (void)state;
    for (int faithful = 0; faithful < 2; faithful++) {
        struct request r;
        struct crystal_request c;
        small_request(&r, &c, faithful);
        r.detector.pixel_m = 1e-4;
        r.beam.kahn = 0;
        r.beam.fluence_ph_m2 = 1e24;
        r.water_m = 20e-6;
        r.oversample = 2;
        c.table.default_F = 0;
        struct orientation_request o = STILL;
        o.phi = (struct steps_request){.count = 3, .range = (double)NAN};
        o.phi_rad = 0.1;
        run(&r, &o, image);
        const double want =
            7.94079248018965e-30 * 1e24 * 2.57 * 2.57 * (8e-15 * 1e6 * 6.02214179e23 / 18) * 1e-6;
        assert_near(want, 14037.8, 0.1);
        if (faithful)
            assert_true(fabs((double)image[16 * EDGE + 16] - want) > 0.5 * want);
        else
            assert_near((double)image[16 * EDGE + 16], want, 1e-5 * want);
    }
}

/* Unequal sources: the image is the weighted mean of those of single sources. */
static void test_weights(void **state)
{
    (void)state;
    struct source list[3] = {
        {{-1, 0, 0}, 1e-10, 1}, {{-1, 0.02, 0}, 1.02e-10, 5}, {{-1, 0, 0.03}, 0.98e-10, 0}};
    struct request r;
    struct crystal_request c;
    float mean[PIXELS] = {0};
    for (int i = 0; i < 3; i++) {
        small_request(&r, &c, 0);
        r.beam.listed = &list[i];
        r.beam.nlisted = 1;
        run(&r, &STILL, image);
        for (int k = 0; k < PIXELS; k++)
            mean[k] += image[k] * (float)list[i].weight / 6;
    }
    small_request(&r, &c, 0);
    r.beam.listed = list;
    r.beam.nlisted = 3;
    r.beam.weights = WEIGHTS_APPLY;
    /* the polarization is that of the first source for the whole pixel */
    r.each_polarization = true;
    run(&r, &STILL, image);
    assert_true(worst(image, mean, PIXELS) < 1e-5);
    r.beam.weights = WEIGHTS_IGNORE;
    run(&r, &STILL, image);
    assert_true(worst(image, mean, PIXELS) > 0.1);
}

/* Several lattices, with weights and unequal numbers of domains, simply add. */
static void test_lattices(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    struct orientation_request o[2] = {STILL, STILL};
    set3(o[1].misset_rad, 1, 2, 3);
    o[1].mosaic_rad = 0.02;
    small_request(&r, &c, 0);
    float sum[PIXELS] = {0};
    for (int i = 0; i < 2; i++) {
        run(&r, &o[i], image);
        for (int k = 0; k < PIXELS; k++)
            sum[k] += image[k] * (i ? 0.25f : 2.0f);
    }
    struct scene s = {.recipe = {.nlattices = 2, .lattices = mem_array(2, sizeof(struct lattice))}};
    assert_int_equal(setup_experiment(&r, &s.x, NULL), STATUS_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(setup_lattice(&s.x, 0, &o[i], &s.recipe.lattices[i], NULL), STATUS_OK);
    s.recipe.lattices[0].weight = 2;
    s.recipe.lattices[1].weight = 0.25;
    run_scene(&s, 1, image);
    assert_true(worst(image, sum, PIXELS) < 1e-5);
    close_scene(&s);
}

/* The same bytes on any number of threads, faithful or not. */
static void test_threads(void **state)
{
    (void)state;
    for (int faithful = 0; faithful < 2; faithful++) {
        struct request r;
        struct crystal_request c;
        small_request(&r, &c, faithful);
        struct orientation_request o = STILL;
        o.phi = (struct steps_request){.count = 3, .range = (double)NAN};
        struct scene s;
        open_scene(&s, &r, &o);
        run_scene(&s, 1, image);
        run_scene(&s, 3, other);
        assert_memory_equal(image, other, sizeof image);
        close_scene(&s);
    }
}

/* Faithful: a dark term (F_latt = 0) does not multiply the running sum.  The last of k illuminated
 * terms remains with one factor. A dark term after it would change the sum by 1e-5. */
static void test_dark_terms(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    small_request(&r, &c, 1);
    c.shape = SHAPE_TOPHAT;
    c.fudge = 16;  // light within 0.00126 1/A of a lattice point
    r.beam.kahn = 0;
    r.oversample = 3;
    r.each_solid_angle = true;
    run(&r, &STILL, image);
    int lit = 0;
    for (int i = 0; i < PIXELS; i++) {
        /* F^2 N^6 omega / 9, with omega within 2 % of 1.6e-5 sr, and polarization within 1 % of 1
         */
        const double one = 1e4 * 15625 * 1.6e-5 / 9;
        if (image[i] != 0.0f) {
            assert_near((double)image[i], one, 0.03 * one);
            lit++;
        }
    }
    assert_true(lit > 20 && lit < PIXELS / 2);
}

static double traced_photons;
static int traced_hkl;

static void remember(void *context, const char *name, int count, const double *values,
                     const char *unit)
{
    (void)context;
    assert_non_null(unit);
    if (strcmp(name, "photons") == 0)
        traced_photons = values[0];
    if (strcmp(name, "hkl") == 0) {
        assert_int_equal(count, 3);
        traced_hkl++;
    }
}

/* A trace ends in the very pixel of the image, also where faithful pixels depend on
 * those before. */
static void test_trace(void **state)
{
    (void)state;
    for (int faithful = 0; faithful < 2; faithful++) {
        struct request r;
        struct crystal_request c;
        small_request(&r, &c, faithful);
        struct orientation_request o = STILL;
        o.phi = (struct steps_request){.count = 3, .range = (double)NAN};
        struct scene s;
        open_scene(&s, &r, &o);
        run_scene(&s, 1, image);
        struct plan *plan;
        const struct engine_options options = {.threads = 1};
        assert_int_equal(engine_reference.create(&plan, &s.x, &options, NULL), STATUS_OK);
        struct pixel_trace t = {19, 20, remember, NULL};
        traced_hkl = 0;
        assert_int_equal(engine_reference.trace(plan, &s.recipe, &t, NULL), STATUS_OK);
        assert_true((float)traced_photons == image[20 * EDGE + 19]);
        assert_int_equal(traced_hkl, 3);
        t.fast = EDGE;
        assert_int_equal(engine_reference.trace(plan, &s.recipe, &t, NULL), STATUS_INPUT);
        s.recipe.lattices[0].cells_m[4] = NAN;
        assert_int_equal(engine_reference.run(plan, &s.recipe, image, NULL, NULL), STATUS_INPUT);
        s.recipe.lattices[0].crystal = 1;
        assert_int_equal(engine_reference.run(plan, &s.recipe, image, NULL, NULL), STATUS_INPUT);
        engine_reference.destroy(&plan);
        close_scene(&s);
    }
}

/* Mask, ROI and resolution limit leave zeros. */
static void test_dark_pixels(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    small_request(&r, &c, 0);
    r.detector.mask = mem_array(PIXELS, 1);
    for (int i = 0; i < PIXELS; i++)
        r.detector.mask[i] = i % 3 != 0;
    r.detector.roi = (struct roi){4, 30, 5, 29};
    r.dmin_m = 18e-10;
    run(&r, &STILL, image);
    int lit = 0;
    for (int i = 0; i < PIXELS; i++) {
        const int f = i % EDGE, s = i / EDGE;
        const double radius = hypot((f - 16.0) * 4e-4, (s - 16.0) * 4e-4);  // 18 A is 5.56 mm away
        if (f < 4 || f > 30 || s < 5 || s > 29 || i % 3 == 0 || radius > 5.8e-3)
            assert_true(image[i] == 0.0f);
        lit += image[i] > 0.0f;
    }
    assert_true(lit > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_factor),   cmocka_unit_test(test_layers),
        cmocka_unit_test(test_no_carry_over), cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_water),         cmocka_unit_test(test_weights),
        cmocka_unit_test(test_lattices),      cmocka_unit_test(test_threads),
        cmocka_unit_test(test_trace),         cmocka_unit_test(test_dark_pixels),
        cmocka_unit_test(test_dark_terms),
    };
    return unit_run(tests);
}
