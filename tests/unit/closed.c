/* The closed form, compared with sums over domains and wavelengths by the other loops. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "engine_case.h"
#include "near.h"
#include "physics/setup.h"
#include "physics_request.h"

enum { EDGE = 400, HALF = 10, DOMAINS = 1024, WAVES = 5, BEAMS = 25 };

static void build(struct experiment *x, struct recipe *r, int oversample)
{
    struct request q;
    struct crystal_request c;
    struct error e = {0};
    const struct orientation_request o = {.misset_rad = {0.2, 0.35, 0.5}, .phi = NO_STEPS};
    plain_request(&q, &c, PHYSICS_PHYSICAL);
    set_cell(&c, 79, 70, 45, 90, 100, 90);
    set3(c.cells, 20, 22, 30);
    c.shape = SHAPE_GAUSS;
    q.detector.pixels[0] = q.detector.pixels[1] = EDGE;
    q.detector.pixel_m = 1.5e-4;
    q.detector.distance_m = 0.08;
    q.detector.thickness = (struct steps_request){2, 3e-4, 0.0};
    q.detector.absorption_1_m = 3000.0;
    q.oversample = oversample;
    *r = (struct recipe){.nlattices = 1, .lattices = mem_array(1, sizeof(struct lattice))};
    assert_int_equal(setup_experiment(&q, x, &e), STATUS_OK);
    assert_int_equal(setup_lattice(x, 0, &o, r->lattices, &e), STATUS_OK);
}

static float *compute(const struct engine *engine, const struct experiment *x,
                      const struct recipe *r, int threads)
{
    struct plan *plan = NULL;
    struct error e = {0};
    const struct engine_options how = {.threads = threads, .precision = PRECISION_DOUBLE};
    float *image = mem_array((size_t)experiment_pixels(x), sizeof *image);
    if (engine->create(&plan, x, &how, &e) || engine->run(plan, r, image, NULL, &e))
        fail_msg("%s", e.text);
    engine->destroy(&plan);
    return image;
}

static float brightest(const float *image, size_t *at)
{
    float most = 0.0f;
    for (size_t i = 0; i < (size_t)EDGE * EDGE; i++)
        if (image[i] > most) {
            most = image[i];
            *at = i;
        }
    return most;
}

/* WAVES wavelengths about 1 A in one direction, by uneven weights with the mean of 1. */
static void set_waves(struct recipe *r, const struct experiment *x, double step)
{
    static const double weights[WAVES] = {0.4, 1.3, 0.7, 1.9, 0.7};
    r->nsources = WAVES;
    r->sources = mem_array(WAVES, sizeof *r->sources);
    for (int i = 0; i < WAVES; i++) {
        r->sources[i] = x->beam.sources[0];
        r->sources[i].wavelength_m *= 1.0 + step * (i - 2);
        r->sources[i].weight = weights[i];
    }
}

/* Compares images of the GPU and the CPU. A thread of the GPU computes one pixel, without
 * wavelengths that only neighbouring pixels need, which add less than e^-20. */
static void hold_card(const float *card, const float *cpu, size_t count)
{
    float most = 0.0f;
    for (size_t i = 0; i < count; i++)
        most = fmaxf(most, cpu[i]);
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)card[i] - (double)cpu[i]) <=
              1e-8 * (double)most + 1e-6 * (double)cpu[i]))
            fail_msg("pixel %zu: %.9g, not %.9g", i, (double)card[i], (double)cpu[i]);
}

/* Blocks alone: the reference engine, whatever the sampling. */
static void test_blocks(void **state)
{
    (void)state;
    for (int each = 0; each < 2; each++) {
        struct experiment x;
        struct recipe r;
        size_t at = 0;
        build(&x, &r, 2);
        set_waves(&r, &x, 3e-4);
        x.sampling.each_polarization = x.sampling.each_solid_angle = each;
        x.sampling.each_thickness = each;
        float *want = compute(&engine_reference, &x, &r, 2);
        x.crystals[0].has_ensemble = true;
        float *got = compute(&engine_cpu, &x, &r, 1), *again = compute(&engine_cpu, &x, &r, 3);
        const double most = (double)brightest(want, &at);
        double sums[2] = {0};
        float *card = compute(&engine_cuda_host, &x, &r, 2);
        assert_memory_equal(got, again, (size_t)EDGE * EDGE * sizeof *got);
        hold_card(card, got, (size_t)EDGE * EDGE);
        mem_free(card);
        for (size_t i = 0; i < (size_t)EDGE * EDGE; i++) {
            sums[0] += (double)got[i];
            sums[1] += (double)want[i];
            assert_near((double)got[i], (double)want[i], 1e-7 * most + 1e-6 * (double)want[i]);
        }
        assert_near(sums[0] / sums[1], 1.0, 1e-6);
        mem_free(want);
        mem_free(got);
        mem_free(again);
        recipe_free(&r);
        experiment_free(&x);
    }
}

static void list(const struct engine *engine, const struct experiment *x, const struct recipe *r,
                 int threads, struct reflection_table *table)
{
    struct plan *plan = NULL;
    struct error e = {0};
    const struct engine_options how = {
        .threads = threads, .precision = PRECISION_DOUBLE, .reflections = true};
    const struct reflections_wanted wanted = {.least_photons = 1e-9, .labels = true};
    float *image = mem_array((size_t)experiment_pixels(x), sizeof *image);
    *table = (struct reflection_table){0};
    if (engine->create(&plan, x, &how, &e) || engine->run(plan, r, image, NULL, &e) ||
        engine->reflections(plan, r, image, &wanted, table, &e))
        fail_msg("%s", e.text);
    engine->destroy(&plan);
    mem_free(image);
}

/* The rows of the reference engine, and the same for any number of threads. */
static void test_reflections(void **state)
{
    (void)state;
    struct experiment x;
    struct recipe r;
    struct reflection_table want, got, again;
    build(&x, &r, 1);
    set_waves(&r, &x, 3e-4);
    x.beam.fluence_ph_m2 *= 1e4;
    list(&engine_reference, &x, &r, 2, &want);
    x.crystals[0].has_ensemble = true;
    list(&engine_cpu, &x, &r, 1, &got);
    list(&engine_cpu, &x, &r, 3, &again);
    assert_int_equal(got.count, again.count);
    assert_memory_equal(got.rows, again.rows, got.count * sizeof *got.rows);
    double most = 0.0;
    size_t compared = 0;
    for (size_t i = 0; i < want.count; i++)
        most = fmax(most, want.rows[i].photons);
    for (size_t i = 0, k = 0; i < want.count; i++) {
        const struct reflection_row *a = &want.rows[i];
        if (a->photons < 1e-4 * most)
            continue;
        while (k < got.count && memcmp(got.rows[k].hkl, a->hkl, sizeof a->hkl) != 0)
            k++;
        assert_true(k < got.count);
        assert_near(got.rows[k].photons / a->photons, 1.0, 1e-4);
        assert_near(got.rows[k].fast, a->fast, 1e-3);
        assert_near(got.rows[k].slow, a->slow, 1e-3);
        compared++;
    }
    print_message("# %zu rows of %zu\n", compared, want.count);
    assert_true(compared > 20);
    reflection_table_free(&want);
    reflection_table_free(&got);
    reflection_table_free(&again);
    recipe_free(&r);
    experiment_free(&x);
}

/* Item i of van der Corput's sequence of a base, as a normal number,
 * by bisection. */
static double normal(int i, int base)
{
    double u = 0.0, scale = 1.0, low = -6.0, high = 6.0;
    for (i++; i > 0; i /= base)
        u += (scale /= base) * (i % base);
    for (int k = 0; k < 50; k++) {
        const double middle = 0.5 * (low + high);
        if (0.5 * (1.0 + erf(middle / sqrt(2.0))) < u)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The matrix that takes cell vectors to those of one domain: strained, then turned. */
static void domain_matrix(const struct crystal *c, const double cell[9], int i, double m[9])
{
    static const int bases[6] = {2, 3, 5, 7, 11, 13};
    double axes[9], star[9], turn[3] = {0}, bent[9];
    vec_unit(cell, axes);
    vec_cross(cell, cell + 3, axes + 6);
    vec_unit(axes + 6, axes + 6);
    vec_cross(axes + 6, axes, axes + 3);
    for (int k = 0; k < 3; k++) {
        vec_cross(cell + 3 * ((k + 1) % 3), cell + 3 * ((k + 2) % 3), star + 3 * k);
        for (int j = 0; j < 3; j++)
            turn[j] += normal(i, bases[k]) * c->mosaic_rms_rad[k] * axes[3 * k + j];
    }
    const double volume = mat_determinant(cell), angle = vec_unit(turn, turn);
    for (int j = 0; j < 9; j++)
        bent[j] = j % 4 == 0;
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 9; j++)
            bent[j] += normal(i, bases[3 + k]) * c->strain_rms[k] * cell[3 * k + j / 3] *
                       star[3 * k + j % 3] / volume;
    for (int column = 0; column < 3; column++) {
        double v[3] = {bent[column], bent[3 + column], bent[6 + column]};
        vec_rotate_axis(v, turn, angle);
        for (int j = 0; j < 3; j++)
            m[3 * j + column] = v[j];
    }
}

/* The same recipe as DOMAINS domains in BEAMS directions. */
static void spread(struct recipe *r, const struct experiment *x)
{
    struct lattice *l = r->lattices, many = *l;
    struct source *sources = mem_array(WAVES * BEAMS, sizeof *sources);
    assert_true(lattice_reserve(&many, 1, DOMAINS));
    many.mosaic = true;
    many.phi_rad[0] = l->phi_rad[0];
    memcpy(many.cells_m, l->cells_m, 9 * sizeof(double));
    for (int i = 0; i < DOMAINS; i++)
        domain_matrix(x->crystals, l->cells_m, i, many.domains + 9 * i);
    /* five points stand for a normal distribution, to its ninth moment */
    static const double place[5] = {-2.856970013872806, -1.355626179974266, 0, 1.355626179974266,
                                    2.856970013872806};
    static const double share[5] = {0.0112574113277207, 0.222075922005613, 0.533333333333333,
                                    0.222075922005613, 0.0112574113277207};
    double e[3], b[3];
    vec_cross(x->beam.direction, x->beam.polarization, b);
    vec_cross(b, x->beam.direction, e);
    for (int i = 0; i < WAVES * BEAMS; i++) {
        const int s = i / WAVES;
        sources[i] = r->sources[i % WAVES];
        sources[i].weight *= BEAMS * share[s / 5] * share[s % 5];
        for (int k = 0; k < 3; k++)
            sources[i].direction[k] +=
                x->crystals->divergence_rms_rad * (place[s / 5] * e[k] + place[s % 5] * b[k]);
        vec_unit(sources[i].direction, sources[i].direction);
    }
    mem_free(r->sources);
    r->sources = sources;
    r->nsources = WAVES * BEAMS;
    struct recipe old = {.nlattices = 1, .lattices = mem_array(1, sizeof *l)};
    old.lattices[0] = *l;
    *l = many;
    recipe_free(&old);
}

static void test_spread(void **state)
{
    (void)state;
    struct experiment x;
    struct recipe r;
    size_t at = 0;
    double sums[2] = {0}, worst = 0.0, most = 0.0;
    build(&x, &r, 1);
    set_waves(&r, &x, 1e-3);
    struct crystal *c = x.crystals;
    c->has_ensemble = true;
    set3(c->mosaic_rms_rad, deg_to_rad(0.08), deg_to_rad(0.14), deg_to_rad(0.1));
    set3(c->strain_rms, 2e-3, 1e-3, 1.5e-3);
    c->divergence_rms_rad = 3e-4;
    float *got = compute(&engine_cpu, &x, &r, 2);
    for (size_t i = 0; i < (size_t)EDGE * EDGE; i++)  // reflections of low order are almost points
        if (hypot((double)(i % EDGE) - EDGE / 2, (double)(i / EDGE) - EDGE / 2) < 120)
            got[i] = 0.0f;
    (void)brightest(got, &at);
    const int64_t fast = (int64_t)at % EDGE, slow = (int64_t)at / EDGE;
    x.panels[0].roi = (struct roi){fast - HALF, fast + HALF, slow - HALF, slow + HALF};
    c->has_ensemble = false;
    spread(&r, &x);
    float *want = compute(&engine_cpu, &x, &r, 2);
    for (int64_t s = slow - HALF; s <= slow + HALF; s++)
        for (int64_t f = fast - HALF; f <= fast + HALF; f++) {
            const double a = (double)got[s * EDGE + f], b = (double)want[s * EDGE + f];
            sums[0] += a;
            sums[1] += b;
            worst = fmax(worst, fabs(a - b));
            most = fmax(most, b);
        }
    print_message("# at %d,%d: sum %g, worst %g of the brightest\n", (int)fast, (int)slow,
                  sums[0] / sums[1], worst / most);
    assert_near(sums[0] / sums[1], 1.0, 0.01);
    assert_true(worst < 0.02 * most);
    mem_free(want);
    mem_free(got);
    recipe_free(&r);
    experiment_free(&x);
}

/* The threads of a card see rows of panels, whatever their order, columns that reflections reach,
 * masks and culled sources as the rows of the cpu engine do. */
static void test_card(void **state)
{
    (void)state;
    const struct engine_case c = {.pixels = 200,
                                  .pixel_mm = 0.4,
                                  .cells = {20},
                                  .shape = SHAPE_GAUSS,
                                  .table = TABLE_BOX,
                                  .panels = 2,
                                  .lattices = 2,
                                  .phi_steps = 3,
                                  .wavelengths = 5,
                                  .divergence = 2,
                                  .oversample = 2,
                                  .roi = true,
                                  .mask = true};
    for (int swapped = 0; swapped < 2; swapped++) {
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        size_t lit = 0;
        assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
        for (size_t i = 0; i < x.ncrystals; i++)
            x.crystals[i].has_ensemble = true;
        const struct panel first = x.panels[0];
        x.panels[0] = x.panels[swapped];
        x.panels[swapped] = first;
        const size_t pixels = (size_t)experiment_pixels(&x);
        float *want = compute(&engine_cpu, &x, &r, 2), *got = compute(&engine_cuda_host, &x, &r, 2);
        hold_card(got, want, pixels);
        for (size_t i = 0; i < pixels; i++)
            lit += got[i] > 0.0f;
        assert_true(lit > pixels / 50 && lit < pixels);
        mem_free(want);
        mem_free(got);
        recipe_free(&r);
        experiment_free(&x);
    }
}

static void expect_refusal(const struct engine *engine, const struct experiment *x, const char *why)
{
    struct plan *plan = NULL;
    struct error e = {0};
    const struct engine_options how = {.threads = 1};
    assert_int_equal(engine->create(&plan, x, &how, &e), STATUS_INPUT);
    assert_null(plan);
    if (!strstr(e.text, why))
        fail_msg("'%s' does not say '%s'", e.text, why);
}

static void test_refusals(void **state)
{
    (void)state;
    struct experiment x;
    struct recipe r;
    build(&x, &r, 1);
    struct crystal *c = x.crystals;
    c->has_ensemble = true;
    expect_refusal(&engine_reference, &x, "--engine=cpu");
    c->shape = SHAPE_SQUARE;
    expect_refusal(&engine_cpu, &x, "--shape=gauss");
    c->shape = SHAPE_GAUSS;
    c->interpolate = true;
    expect_refusal(&engine_cpu, &x, "tricubic");
    c->interpolate = false;
    c->cells_across[0] = 21.0;
    expect_refusal(&engine_cpu, &x, "positive definite");
    c->cells_across[0] = 0.0;
    x.panels[0].curved = true;
    expect_refusal(&engine_cpu, &x, "flat");
    expect_refusal(&engine_cuda_host, &x, "flat");
    x.panels[0].curved = false;
    x.water_m = 1e-6;
    expect_refusal(&engine_cpu, &x, "water");
    x.water_m = 0.0;
    x.physics = PHYSICS_FAITHFUL;
    expect_refusal(&engine_cpu, &x, "physical");
    recipe_free(&r);
    experiment_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks),
                                       cmocka_unit_test(test_reflections),
                                       cmocka_unit_test(test_spread), cmocka_unit_test(test_card),
                                       cmocka_unit_test(test_refusals)};
    return unit_run(tests);
}
