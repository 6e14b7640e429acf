/* Derivatives that can be tested without differences: sums of derivative images that vanish in
 * every pixel, for every engine.  Such a sum does not vanish if one factor or sign is wrong. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 12, PIXELS = EDGE * EDGE };

#include "derive_scene.h"
#include "engine/engine.h"
#include "near.h"
#include "physics/crystal/shape_slopes.h"

enum { TERMS_MAX = 6 };

/* sum of factor[k] times the plane of name k = `image` times the image. */
struct identity {
    const char *names;
    double factor[TERMS_MAX], image;
};

static const struct {
    const struct engine *engine;
    enum engine_precision precision;
    double tolerance;  // planes are float32
} ENGINES[] = {{&engine_reference, PRECISION_DOUBLE, 3e-7},
               {&engine_cpu, PRECISION_DOUBLE, 3e-7},
               {&engine_cpu, PRECISION_MIXED, 1e-6},
               {&engine_cuda_host, PRECISION_DOUBLE, 3e-7},
               {&engine_cuda_host, PRECISION_MIXED, 1e-6}};
enum { NENGINES = sizeof ENGINES / sizeof *ENGINES };

static float planes[TERMS_MAX * PIXELS];
static double photons[PIXELS];

static size_t derive(const struct variant *v, const struct identity *id, int engine)
{
    struct scene s;
    struct parameters set;
    struct plan *plan = NULL;
    struct error e = {0};
    const struct engine_options options = {.threads = 1, .precision = ENGINES[engine].precision};
    open_scene(&s, v, &(struct change){"", 0});
    if (parameters_parse(id->names, &s.x, &set, &e) ||
        ENGINES[engine].engine->create(&plan, &s.x, &options, &e))
        fail_msg("%s", e.text);
    const struct derive_request q = {
        .set = &set, .npixels = PIXELS, .photons = photons, .planes = planes};
    if (ENGINES[engine].engine->derive(plan, &s.recipe, &q, &e))
        fail_msg("%s", e.text);
    ENGINES[engine].engine->destroy(&plan);
    close_scene(&s);
    return set.count;
}

/* rms of what is left over that of the largest term. */
static double left(const struct variant *v, const struct identity *id, int engine)
{
    double sums[TERMS_MAX + 1] = {0}, rest = 0, most = 0;
    const size_t count = derive(v, id, engine);
    for (int i = 0; i < PIXELS; i++) {
        double sum = -id->image * photons[i];
        sums[count] += sum * sum;
        for (size_t k = 0; k < count; k++) {
            const double term = id->factor[k] * (double)planes[k * PIXELS + (size_t)i];
            sums[k] += term * term;
            sum += term;
        }
        rest += sum * sum;
    }
    for (size_t k = 0; k <= count; k++)
        most = fmax(most, sums[k]);
    return sqrt(rest / most);
}

static void hold(const struct variant *v, const struct identity *id)
{
    for (int i = 0; i < NENGINES; i++) {
        const double rest = left(v, id, i);
        if (!(rest < ENGINES[i].tolerance))
            fail_msg("%s, %s, %s: %s: %.3g is left", ENGINES[i].engine->name,
                     ENGINES[i].precision == PRECISION_MIXED ? "mixed" : "double", v->name,
                     id->names, rest);
    }
}

static struct variant of_shape(enum crystal_shape shape, double fudge, const char *name)
{
    struct variant v = SQUARE;
    v.shape = shape;
    v.fudge = fudge;
    v.name = name;
    return v;
}

static void test_scale(void **state)
{
    (void)state;
    hold(&SQUARE, &(struct identity){"scale", {1}, 1});
}

/* Indices stay when the cell and the wavelength grow alike. */
static void test_lengths(void **state)
{
    (void)state;
    const struct identity id = {"cell_a,cell_b,cell_c,wavelength", {70, 80, 90, 1}, 0};
    const struct variant round = of_shape(SHAPE_ROUND, 1.3, "round"),
                         gauss = of_shape(SHAPE_GAUSS, 0.7, "gauss");
    hold(&SQUARE, &id);
    hold(&round, &id);
    hold(&gauss, &id);
}

/* A turn of the crystal about the spindle, which is z here, is phi: of one step and of several,
 * of domains, too. */
static void test_spindle(void **state)
{
    (void)state;
    struct variant v = SQUARE;
    const struct identity id = {"rot_z,phi0", {1, -1}, 0};
    hold(&v, &id);
    v.perfect = true;
    v.name = "one domain";
    hold(&v, &id);
}

/* A panel moved along the beam is one at another distance. */
static void test_distance(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s, &SQUARE, &(struct change){"", 0});
    const struct panel *p = s.x.panels;
    const double *beam = s.x.beam.direction;
    const struct identity id = {
        "distance,panel.0.shift_f,panel.0.shift_s,panel.0.shift_o",
        {-1, vec_dot(p->fast, beam), vec_dot(p->slow, beam), vec_dot(p->normal, beam)},
        0};
    close_scene(&s);
    hold(&SQUARE, &id);
}

/* GAUSS and ROUND are (Na Nb Nc)^2 times a function of fudge (Na^2 da^2 + Nb^2 db^2 + Nc^2 dc^2):
 * more cells along all edges, and less fudge, leave it. */
static void test_cells(void **state)
{
    (void)state;
    const struct variant round = of_shape(SHAPE_ROUND, 1.3, "round"),
                         gauss = of_shape(SHAPE_GAUSS, 0.7, "gauss");
    hold(&round, &(struct identity){"ncells,fudge", {7, 6, 8, -2 * 1.3}, 6});
    hold(&gauss, &(struct identity){"ncells,fudge", {7, 6, 8, -2 * 0.7}, 6});
}

/* nanoBragg's GAUSS depends only on the product of the cells, so that Na dI/dNa = Nb dI/dNb. GAUSS
 * of physical mode depends on each of the three numbers. */
static void test_cells_apart(void **state)
{
    (void)state;
    const struct variant gauss = of_shape(SHAPE_GAUSS, 0.7, "gauss");
    for (int i = 0; i < NENGINES; i++) {
        assert_true(left(&gauss, &(struct identity){"ncells_a,ncells_b", {7, -6}, 0}, i) > 0.1);
        assert_true(left(&gauss, &(struct identity){"ncells_b,ncells_c", {6, -8}, 0}, i) > 0.1);
    }
}

/* For one term and each edge, N dS/dN = 2 S + d dS/dd if S is N^2 times a function of N d. SQUARE
 * has another summand, because of its sin(pi d). */
static void test_each_edge(void **state)
{
    (void)state;
    const double d[][3] = {{0.01, -0.02, 0.03}, {0.2, 0.0, -0.1}, {-0.07, 0.31, 0.49}};
    const double N[3] = {7, 6, 8};
    for (size_t i = 0; i < sizeof d / sizeof *d; i++) {
        struct shape_slopes square, round, gauss;
        shape_slopes_square(d[i], N, &square);
        shape_slopes_round(d[i], N, 1.3, &round);
        shape_slopes_gauss(d[i], N, 0.7, &gauss);
        for (int k = 0; k < 3; k++) {
            const double x = M_PI * d[i][k], more = x == 0 ? 1 : x * cos(x) / sin(x);
            assert_near(N[k] * round.by_cells[k], 2 * round.value + d[i][k] * round.by_index[k],
                        1e-9 * 336 * 336);
            assert_near(N[k] * gauss.by_cells[k], 2 * gauss.value + d[i][k] * gauss.by_index[k],
                        1e-12 * 336 * 336);
            assert_near(N[k] * square.by_cells[k],
                        2 * more * square.value + d[i][k] * square.by_index[k], 1e-12 * 336 * 336);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale),     cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_spindle),   cmocka_unit_test(test_distance),
        cmocka_unit_test(test_cells),     cmocka_unit_test(test_cells_apart),
        cmocka_unit_test(test_each_edge),
    };
    return unit_run(tests);
}
