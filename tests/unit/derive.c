/* Derivatives of the reference engine, compared with sixth-order central differences of its image
 * in double precision.  The test has every parameter and every factor, in experiments that are made
 * from a user's options.  Then it compares sums with derivative images. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "engine/derivatives/derive.h"
#include "engine/engine.h"
#include "near.h"
#include "physics/crystal/shape_slopes.h"

enum { EDGE = 4, PIXELS = EDGE * EDGE };

#include "derive_scene.h"

static void serve(const struct scene *s, const struct derive_request *q, int threads)
{
    struct error e = {0};
    struct plan *plan;
    const struct engine_options options = {.threads = threads};
    if (engine_reference.create(&plan, &s->x, &options, &e) ||
        engine_reference.derive(plan, &s->recipe, q, &e))
        fail_msg("%s", e.text);
    engine_reference.destroy(&plan);
}

/* Photons of the changed scene. */
static void photons_of(const struct variant *v, const struct change *d, double *photons)
{
    static const struct parameters none = {0};
    struct scene s;
    open_scene(&s, v, d);
    serve(&s, &(struct derive_request){.set = &none, .npixels = PIXELS, .photons = photons}, 1);
    close_scene(&s);
}

static float planes[PARAMETERS_MAX * PIXELS];

/* Planes of the unchanged scene. */
static void planes_of(const struct variant *v, const char *names, struct parameters *set)
{
    struct error e = {0};
    struct scene s;
    open_scene(&s, v, &(struct change){"", 0});
    if (parameters_parse(names, &s.x, set, &e))
        fail_msg("%s", e.text);
    serve(&s, &(struct derive_request){.set = set, .npixels = PIXELS, .planes = planes}, 2);
    close_scene(&s);
}

/* Sixth-order central difference. */
static void difference(const struct variant *v, const char *name, double step, double *out)
{
    static const double weight[3] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
    double one[PIXELS];
    memset(out, 0, PIXELS * sizeof *out);
    for (int k = 1; k <= 3; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            photons_of(v, &(struct change){name, sign * k * step}, one);
            for (int i = 0; i < PIXELS; i++)
                out[i] += sign * weight[k - 1] * one[i] / step;
        }
}

/* rms of the error over rms of the plane, of pixels where the two differences agree within
 * `kink` of the rms (in others an index switches); *share: how many these are. */
static double error_of(const float *plane, const double *wide, const double *narrow, double kink,
                       double *share)
{
    double sum = 0, wrong[2] = {0}, counted = 0;
    for (int i = 0; i < PIXELS; i++)
        sum += wide[i] * wide[i];
    const double rms = sqrt(sum / PIXELS);
    assert_true(rms > 0);
    for (int i = 0; i < PIXELS; i++) {
        if (!(fabs(wide[i] - narrow[i]) <= kink * rms))
            continue;
        counted++;
        wrong[0] += pow((double)plane[i] - wide[i], 2);
        wrong[1] += pow((double)plane[i] - narrow[i], 2);
    }
    *share = counted / PIXELS;
    return sqrt(fmin(wrong[0], wrong[1]) / counted) / rms;
}

struct step {
    const char *name;
    double step, tolerance;
};

static const struct step STEPS[] = {
    {"rot_x", 6e-4, 1e-6},
    {"rot_y", 6e-4, 1e-6},
    {"rot_z", 6e-4, 1e-6},
    {"cell_a", 2e-3, 1e-6},
    {"cell_b", 2e-3, 1e-6},
    {"cell_c", 2e-3, 1e-6},
    {"cell_alpha", 2e-3, 1e-6},
    {"cell_beta", 2e-3, 1e-6},
    {"cell_gamma", 2e-3, 1e-6},
    {"ncells_a", 1e-3, 1e-6},
    {"ncells_b", 1e-3, 1e-6},
    {"ncells_c", 1e-3, 1e-6},
    {"mosaic", 1e-2, 1e-5},
    {"scale", 1e-2, 1e-6},
    {"phi0", 1e-3, 1e-6},
    {"osc", 2e-3, 1e-6},
    {"wavelength", 2e-5, 1e-6},
    {"dispersion", 5e-3, 1e-6},
    {"divergence_h", 3e-2, 1e-6},
    {"divergence_v", 3e-2, 1e-6},
    {"polarization", 1e-2, 1e-6},
    {"distance", 2e-3, 1e-6},
    {"beam_x", 1e-3, 1e-6},
    {"beam_y", 1e-3, 1e-6},
    {"thickness", 0.2, 1e-6},
    {"absorption", 0.5, 1e-6},
    {"share.1", 1e-2, 1e-6},
    {"panel.0.shift_f", 1e-3, 1e-6},
    {"panel.0.shift_s", 1e-3, 1e-6},
    {"panel.0.shift_o", 2e-3, 1e-6},
    {"panel.0.tilt_f", 5e-3, 1e-6},
    {"panel.0.tilt_s", 5e-3, 1e-6},
    {"panel.0.tilt_o", 5e-3, 1e-6},
    {"fudge", 1e-4, 1e-6},
    {"cell_ab", 2e-3, 1e-6},
};

/* `kink`: infinite where no index can switch within a step. */
static void compare(const struct variant *v, const char *name, double kink, double least_share)
{
    const struct step *s = STEPS;
    double wide[PIXELS], narrow[PIXELS], share;
    struct parameters set;
    while (strcmp(s->name, name) != 0)
        s++;
    planes_of(v, name, &set);
    const double step = kink < HUGE_VAL ? s->step / 30 : s->step;  // few switches on the way
    difference(v, name, step, wide);
    memcpy(narrow, wide, sizeof wide);
    if (kink < HUGE_VAL)
        difference(v, name, step / 3, narrow);
    const double error = error_of(planes, wide, narrow, kink, &share);
    if (!(error < s->tolerance) || !(share >= least_share))
        fail_msg("%s: %s is wrong by %.3g, %.3f of the pixels", v->name, name, error, share);
}

static void test_square(void **state)
{
    (void)state;
    for (size_t i = 0; i + 2 < sizeof STEPS / sizeof *STEPS; i++)
        compare(&SQUARE, STEPS[i].name, HUGE_VAL, 1.0);
}

static void compare_all(const struct variant *v, const char *const *names, double kink,
                        double least_share)
{
    for (; *names; names++)
        compare(v, *names, kink, least_share);
}

/* Factors of every term instead of every pixel, and water. */
static void test_each(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    v.name = "each";
    v.each = v.water = true;
    v.convention = CONVENTION_ADXV;
    compare_all(&v,
                (const char *[]){"rot_x", "cell_beta", "divergence_h", "polarization", "distance",
                                 "beam_x", "beam_y", "thickness", "absorption", "panel.0.tilt_f",
                                 "share.1", NULL},
                HUGE_VAL, 1.0);
}

static void test_point_pixels(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    v.name = "point";
    v.point_pixel = true;
    compare_all(&v, (const char *[]){"distance", "beam_y", "panel.0.tilt_s", NULL}, HUGE_VAL, 1.0);
}

/* Tails of these have kinks where the nearest index switches. */
static void test_smooth_shapes(void **state)
{
    (void)state;
    const char *const names[] = {"rot_y", "cell_b",     "cell_gamma",      "ncells_b",
                                 "fudge", "wavelength", "panel.0.shift_s", NULL};
    struct variant v = SQUARE;
    v.name = "round";
    v.shape = SHAPE_ROUND;
    v.fudge = 1.3;
    compare_all(&v, names, 1e-6, 0.75);
    v.name = "gauss";
    v.shape = SHAPE_GAUSS;
    v.fudge = 0.7;
    compare_all(&v, names, 1e-6, 0.75);
}

static void test_interpolated(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    v.name = "tricubic";
    v.table = true;
    set3(v.cells, 2, 3, 2);
    compare_all(&v, (const char *[]){"rot_z", "cell_a", "wavelength", "ncells_c", NULL}, 1e-6,
                0.75);
}

/* F of the nearest index jumps, so that only pixels count in which no index switches. */
static void test_table(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    v.name = "table";
    v.table = v.nearest = true;
    compare_all(&v, (const char *[]){"rot_z", "cell_a", "ncells_b", "distance", NULL}, 1e-6, 0.75);
}

/* Edges that are equal by symmetry change together. */
static void test_tied_cell(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    struct parameters set;
    v.name = "tetragonal";
    v.tetragonal = true;
    planes_of(&v, "cell", &set);
    assert_int_equal(set.count, 2);
    assert_string_equal(set.items[0].name, "cell_ab");
    assert_string_equal(set.items[1].name, "cell_c");
    double wide[PIXELS], share;
    difference(&v, "cell_ab", 2e-3, wide);
    assert_true(error_of(planes, wide, wide, HUGE_VAL, &share) < 1e-6);
}

/* Against long double, at spots and far from them. */
static void test_sincg(void **state)
{
    (void)state;
    static const double N[] = {1, 2, 3, 20, 1000};
    static const double d[] = {0,    1e-12, 1e-9, 1e-7, 1e-5,   1e-4,
                               1e-3, 0.01,  0.1,  0.31, 0.4999, 0.5};
    for (size_t i = 0; i < sizeof N / sizeof *N; i++)
        for (size_t k = 0; k < sizeof d / sizeof *d; k++) {
            double s, by_d, by_N;
            const long double pi = 3.14159265358979323846264338327950288L;
            const long double n = (long double)N[i], x = pi * (long double)d[k];
            sincg_slopes(d[k], N[i], &s, &by_d, &by_N);
            if (d[k] == 0) {
                assert_near(s, N[i], 0);
                assert_near(by_d, 0, 0);
                continue;
            }
            const long double want = sinl(n * x) / sinl(x);
            const long double by_N_want = pi * (long double)d[k] * cosl(n * x) / sinl(x);
            /* by its series where the difference of products has no digits left */
            const long double by_x =
                n * x < 1e-4L
                    ? -n * (n * n - 1) * x / 3 * (1 - x * x * (3 * n * n - 7) / 30)
                    : (n * cosl(n * x) * sinl(x) - sinl(n * x) * cosl(x)) / (sinl(x) * sinl(x));
            assert_near(s, (double)want, 1e-12 * N[i]);
            assert_near(by_N, (double)by_N_want, 1e-12 * N[i]);
            assert_near(by_d, (double)(pi * by_x),
                        1e-9 * fabs((double)(pi * by_x)) + 1e-12 * N[i] * N[i]);
        }
}

/* Sums are those of the planes, lists are parts of images, the image is that of run; with the
 * footprint of a crystal, too; on any number of threads. */
static void test_sums(void **state)
{
    (void)state;
    enum { COUNT = 3, LISTED = 9 };
    for (int extended = 0; extended < 2; extended++) {
        struct variant v = SQUARE;
        v.extended = extended;
        struct scene s;
        struct error e = {0};
        struct parameters set;
        open_scene(&s, &v, &(struct change){"", 0});
        if (parameters_parse("rot_x,scale,ncells_b", &s.x, &set, &e))
            fail_msg("%s", e.text);
        double photons[PIXELS], product[COUNT], gradient[COUNT], fisher[COUNT * COUNT];
        float image[PIXELS], weights[PIXELS], counts[PIXELS], background[PIXELS];
        struct plan *plan;
        const struct engine_options one = {.threads = 1};
        if (engine_reference.create(&plan, &s.x, &one, &e) ||
            engine_reference.run(plan, &s.recipe, image, NULL, &e))
            fail_msg("%s", e.text);
        engine_reference.destroy(&plan);
        for (int i = 0; i < PIXELS; i++) {
            weights[i] = (float)(i % 7 - 3);
            background[i] = (float)(1 + i % 3);
            counts[i] = i % 11 == 5 ? NAN : roundf(0.7f * image[i] + background[i]);
        }
        struct derive_sums sums = {.gradient = gradient, .fisher = fisher};
        const struct derive_data data = {counts, background, 0.8, 1.5};
        struct derive_request q = {.set = &set,
                                   .npixels = PIXELS,
                                   .photons = photons,
                                   .planes = planes,
                                   .weights = weights,
                                   .product = product,
                                   .data = &data,
                                   .sums = &sums};
        serve(&s, &q, 3);
        double likelihood = 0, want[COUNT] = {0}, want_g[COUNT] = {0}, want_f = 0;
        int64_t pixels = 0;
        for (int i = 0; i < PIXELS; i++) {
            assert_true((float)photons[i] == image[i]);
            const double m = 0.8 * photons[i] + (double)background[i] + 1.5;
            for (int k = 0; k < COUNT; k++)
                want[k] += (double)weights[i] * (double)planes[k * PIXELS + i];
            if (isnan(counts[i]))
                continue;
            pixels++;
            likelihood += m - ((double)counts[i] + 1.5) * log(m);
            for (int k = 0; k < COUNT; k++)
                want_g[k] +=
                    0.8 * (double)planes[k * PIXELS + i] * (((double)counts[i] + 1.5) / m - 1);
            want_f += 0.64 * (double)planes[i] * (double)planes[2 * PIXELS + i] / m;
        }
        assert_int_equal(sums.pixels, pixels);
        assert_near(sums.likelihood, likelihood, 1e-9 * fabs(likelihood));
        for (int k = 0; k < COUNT; k++) {
            assert_near(product[k], want[k], 1e-5 * fabs(want[k]));
            assert_near(gradient[k], want_g[k], 1e-5 * fabs(want_g[k]));
        }
        assert_near(fisher[2], want_f, 1e-5 * fabs(want_f));
        assert_true(fisher[2] == fisher[2 * COUNT]);
        /* fewer pixels, another number of threads, no planes */
        int64_t listed[LISTED];
        double some[LISTED], again[COUNT];
        for (int i = 0; i < LISTED; i++)
            listed[i] = (i * 29 + 3) % PIXELS;
        serve(&s,
              &(struct derive_request){
                  .set = &set, .listed = listed, .npixels = LISTED, .photons = some},
              1);
        for (int i = 0; i < LISTED; i++)
            assert_true(some[i] == photons[listed[i]]);
        q.planes = NULL;
        q.product = again;
        serve(&s, &q, 1);
        assert_memory_equal(again, product, sizeof again);
        close_scene(&s);
    }
}

static void refuse(const struct experiment *x, const char *names, const char *why)
{
    struct parameters set;
    struct error e = {0};
    assert_true(parameters_parse(names, x, &set, &e) != STATUS_OK);
    if (!strstr(e.text, why))
        fail_msg("'%s' was expected to say '%s'", e.text, why);
}

static void test_refusals(void **state)
{
    (void)state;
    struct scene s;
    struct parameters set;
    struct error e = {0};
    open_scene(&s, &SQUARE, &(struct change){"", 0});
    refuse(&s.x, "rot_w", "unknown parameter 'rot_w'");
    refuse(&s.x, "rot,,cell", "unknown parameter ''");
    refuse(&s.x, "rot,rot_x", "twice");
    refuse(&s.x, "panel.1.tilt_f", "no panel 1");
    refuse(&s.x, "panel.99999999999.tilt_f", "no panel");
    refuse(&s.x, "fudge", "square");
    s.x.panels[0].curved = true;
    refuse(&s.x, "distance", "curved");
    s.x.panels[0].curved = false;
    s.x.crystals[0].shape = SHAPE_TOPHAT;
    refuse(&s.x, "rot", "gauss");
    s.x.crystals[0].shape = SHAPE_SQUARE;
    s.x.physics = PHYSICS_FAITHFUL;
    refuse(&s.x, "rot", "--physics=physical");
    s.x.physics = PHYSICS_PHYSICAL;
    assert_int_equal(parameters_parse("share.2", &s.x, &set, &e), STATUS_OK);
    const struct derive_request q = {.set = &set, .npixels = PIXELS, .planes = planes};
    assert_int_equal(derive_check(&s.x, &s.recipe, &q, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "no lattice 2"));
    assert_int_equal(parameters_parse("mosaic", &s.x, &set, &e), STATUS_OK);
    assert_int_equal(derive_check(&s.x, &s.recipe, &q, &e), STATUS_OK);
    s.recipe.lattices[1].ndomains = 1;
    assert_int_equal(derive_check(&s.x, &s.recipe, &q, &e), STATUS_INPUT);
    assert_int_equal(parameters_parse("dispersion", &s.x, &set, &e), STATUS_OK);
    s.x.beam.nsources = 1;
    assert_int_equal(derive_check(&s.x, &s.recipe, &q, &e), STATUS_INPUT);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_sincg),
        cmocka_unit_test(test_sums),          cmocka_unit_test(test_square),
        cmocka_unit_test(test_each),          cmocka_unit_test(test_point_pixels),
        cmocka_unit_test(test_smooth_shapes), cmocka_unit_test(test_interpolated),
        cmocka_unit_test(test_tied_cell),     cmocka_unit_test(test_table),
    };
    return unit_run(tests);
}
