/* The crystal: cells, matrices, numbers of cells, misset angles, mosaic domains. */
#include "unit.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "model/recipe.h"
#include "near.h"
#include "physics/crystal/cell.h"
#include "physics/setup.h"
#include "physics_request.h"

static void build(const struct request *r, struct experiment *x)
{
    struct error e = {0};
    if (setup_experiment(r, x, &e))
        fail_msg("%s", e.text);
}

/* Angles in degrees between the rows of `direct`. */
static void measure(const double direct[9], double angles[3])
{
    for (int i = 0; i < 3; i++) {
        const double *u = direct + 3 * ((i + 1) % 3), *v = direct + 3 * ((i + 2) % 3);
        angles[i] = rad_to_deg(acos(vec_dot(u, v) / vec_length(u) / vec_length(v)));
    }
}

/* Sets up one lattice for the cell and measures it. */
static void measure_cell(enum physics physics, const double cell[6], double lengths[3],
                         double angles[3])
{
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, physics);
    set_cell(&c, cell[0], cell[1], cell[2], cell[3], cell[4], cell[5]);
    struct experiment x;
    build(&r, &x);
    const struct orientation_request o = {.misset_rad = {0.3, 0.2, 0.1}, .phi = NO_STEPS};
    struct recipe recipe = {.nlattices = 1, .lattices = mem_array(1, sizeof(struct lattice))};
    assert_int_equal(setup_lattice(&x, 0, &o, recipe.lattices, NULL), STATUS_OK);
    for (int i = 0; i < 3; i++)
        lengths[i] = vec_length(recipe.lattices[0].cells_m + 3 * i) * 1e10;
    measure(recipe.lattices[0].cells_m, angles);
    recipe_free(&recipe);
    experiment_free(&x);
}

/* nanoBragg's triclinic cells have other angles than asked for; ours do not. */
static void test_triclinic(void **state)
{
    (void)state;
    const double triclinic[6] = {70, 80, 90, 75, 85, 95}, rhombic[6] = {60, 60, 60, 60, 60, 60};
    const double *cells[2] = {triclinic, rhombic};
    const double quirk[2][3] = {{75.039, 85.014, 95.008}, {57.85, 57.85, 58.53}};
    for (int k = 0; k < 2; k++) {
        double lengths[3], angles[3];
        measure_cell(PHYSICS_PHYSICAL, cells[k], lengths, angles);
        for (int i = 0; i < 3; i++) {
            assert_near(lengths[i], cells[k][i], 1e-10);
            assert_near(angles[i], cells[k][3 + i], 1e-10);
        }
        measure_cell(PHYSICS_FAITHFUL, cells[k], lengths, angles);
        for (int i = 0; i < 3; i++) {
            assert_near(lengths[i], cells[k][i], 1e-10);
            assert_near(angles[i], quirk[k][i], k ? 0.005 : 0.0005);
        }
    }
}

static void test_volume(void **state)
{
    (void)state;
    const double edges[3] = {10, 20, 30}, right[3] = {M_PI / 2, M_PI / 2, M_PI / 2};
    const double hexagonal[3] = {M_PI / 2, M_PI / 2, 2 * M_PI / 3};
    assert_near(cell_volume(edges, right), 6000, 1e-9);
    assert_near(cell_volume(edges, hexagonal), 6000 * sqrt(0.75), 1e-9);
}

/* A MOSFLM matrix: columns a*, b*, c*, times the wavelength.  Physical mode derives
 * the cell from it. */
static void test_matrix(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_PHYSICAL);
    c.has_cell = false;
    c.has_matrix = true;
    r.beam.wavelength_m = 1.5e-10;
    const double m[9] = {0, 0, 1.5 / 90, 1.5 / 70, 0, 0, 0, 1.5 / 80, 0};
    memcpy(c.matrix, m, sizeof m);
    struct experiment x;
    build(&r, &x);
    const struct crystal *k = x.crystals;
    assert_near(k->reciprocal_A[1], 1.0 / 70, 1e-16);
    assert_near(k->reciprocal_A[5], 1.0 / 80, 1e-16);
    assert_near(k->reciprocal_A[6], 1.0 / 90, 1e-16);
    assert_true(k->has_cell);
    assert_near(k->cell_A[0], 70, 1e-10);
    assert_near(k->cell_A[2], 90, 1e-10);
    assert_near(k->cell_rad[1], M_PI / 2, 1e-12);
    experiment_free(&x);
}

/* Sizes become counts; the beam clips b and c; interpolation looks at the counts
 * before (faithful) or after (physical). */
static void test_sizes(void **state)
{
    (void)state;
    for (int physical = 0; physical < 2; physical++) {
        struct request r;
        struct crystal_request c;
        plain_request(&r, &c, physical ? PHYSICS_PHYSICAL : PHYSICS_FAITHFUL);
        set3(c.cells, 1, 0, -4);
        set3(c.size_m, 505e-9, 505e-9, 0);
        r.beam.size_m = 301e-9;
        const int min[3] = {0, 0, 0}, count[3] = {1, 1, 1};
        memcpy(c.table.min, min, sizeof min);
        memcpy(c.table.count, count, sizeof count);
        c.table.F = mem_array(1, sizeof(double));
        struct experiment x;
        build(&r, &x);
        assert_true(x.crystals[0].cells[0] == 51 && x.crystals[0].cells[1] == 31 &&
                    x.crystals[0].cells[2] == 1);
        assert_true(x.crystals[0].interpolate);
        experiment_free(&x);
        plain_request(&r, &c, r.physics);
        set3(c.cells, 1, 1, 1);
        set3(c.size_m, 505e-9, 505e-9, 505e-9);
        memcpy(c.table.count, count, sizeof count);
        c.table.F = mem_array(1, sizeof(double));
        build(&r, &x);
        assert_int_equal(x.crystals[0].interpolate, !physical);
        experiment_free(&x);
    }
}

/* Three subpixels across the sharpest spot: 13 for golden case 32. */
static void test_oversample(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_PHYSICAL);
    set_cell(&c, 180, 180, 180, 90, 90, 90);
    set3(c.cells, 12, 12, 12);
    r.oversample = 0;
    r.beam.wavelength_m = ev_to_m(9500);
    r.detector.distance_m = 0.08;
    r.detector.pixel_m = 2e-4;
    struct experiment x;
    build(&r, &x);
    assert_int_equal(x.sampling.oversample, 13);
    experiment_free(&x);
}

static void test_mosaic_values(void **state)
{
    (void)state;
    const double want[9] = {0.99997738057729257,   -0.0039554903419944023, -0.0054398924558366219,
                            0.0039457433801941867, 0.99999059312805305,    -0.0018013230088754619,
                            0.0054469663992292947, 0.0017798178443423345,  0.99998358126795595};
    double domains[27];
    struct ran1 random = {0};
    mosaic_domains(&random, -12345, deg_to_rad(1.0), 3, domains);
    for (int i = 0; i < 9; i++) {
        assert_true(domains[i] == (i % 4 == 0));
        assert_true(domains[9 + i] == want[i]);
    }
    /* no domain is farther away than the spread */
    const double trace = domains[18] + domains[22] + domains[26];
    assert_true(acos((trace - 1) / 2) <= deg_to_rad(1.0) * 1.0001);
}

static void test_misset_values(void **state)
{
    (void)state;
    double angles[3];
    struct ran1 random = {0};
    misset_random(&random, -4242, angles);
    assert_near(rad_to_deg(angles[0]), -163.713095474, 1e-9);
    assert_near(rad_to_deg(angles[1]), -27.840486585, 1e-9);
    assert_near(rad_to_deg(angles[2]), -175.580920986, 1e-9);
    /* angles to matrix and back */
    const double misset[3] = {0.4, -0.7, 2.1};
    double rotation[9], again[3];
    misset_to_rotation(misset, rotation);
    rotation_to_misset(rotation, again);
    for (int i = 0; i < 3; i++)
        assert_near(again[i], misset[i], 1e-14);
    assert_near(mat_determinant(rotation), 1, 1e-15);
}

/* Mean of the trace over many random missets: 0 when uniform on SO(3); nanoBragg's
 * rotation angles, all but uniform on the circle, give about 1. */
static void test_random_misset(void **state)
{
    (void)state;
    enum { SAMPLES = 4000 };
    for (int physical = 0; physical < 2; physical++) {
        struct request r;
        struct crystal_request c;
        plain_request(&r, &c, physical ? PHYSICS_PHYSICAL : PHYSICS_FAITHFUL);
        struct experiment x;
        build(&r, &x);
        double mean = 0, square = 0;
        for (int i = 0; i < SAMPLES; i++) {
            const struct orientation_request o = {
                .random_misset = true, .misset_seed = -1 - i, .phi = NO_STEPS};
            struct recipe recipe = {.nlattices = 1,
                                    .lattices = mem_array(1, sizeof(struct lattice))};
            assert_int_equal(setup_lattice(&x, 0, &o, recipe.lattices, NULL), STATUS_OK);
            const double *u = recipe.lattices[0].rotation;
            mean += (u[0] + u[4] + u[8]) / SAMPLES;
            square += (u[0] + u[4] + u[8]) * (u[0] + u[4] + u[8]) / SAMPLES;
            recipe_free(&recipe);
        }
        /* the trace has mean 0 and variance 1 under the uniform measure */
        if (physical) {
            assert_near(mean, 0, 4 / sqrt(SAMPLES));
            assert_near(square, 1, 0.1);
        } else {
            assert_true(mean > 0.5);
        }
        experiment_free(&x);
    }
}

/* phi steps turn about the spindle; rotated and missetted lattices agree. */
static void test_lattice(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    plain_request(&r, &c, PHYSICS_PHYSICAL);
    set_cell(&c, 70, 80, 90, 75, 85, 95);
    struct experiment x;
    build(&r, &x);
    struct orientation_request o = {.misset_rad = {0.3, 0.2, 0.1}, .phi_rad = 0.5};
    o.phi = (struct steps_request){.count = 3, .range = 0.3};
    o.mosaic_rad = 0.01;
    o.mosaic_seed = -7;
    struct recipe recipe = {.nlattices = 2, .lattices = mem_array(2, sizeof(struct lattice))};
    struct lattice *l = recipe.lattices;
    assert_int_equal(setup_lattice(&x, 0, &o, &l[0], NULL), STATUS_OK);
    assert_int_equal(setup_lattice_rotated(&x, 0, l[0].rotation, &o, &l[1], NULL), STATUS_OK);
    assert_true(l[0].nphi == 3 && l[0].ndomains == 10 && l[0].mosaic);
    assert_near(l[0].phi_rad[2], 0.75, 1e-15);  // the middle of a third
    for (int i = 0; i < 27; i++)
        assert_near(l[1].cells_m[i], l[0].cells_m[i], 1e-22);
    /* a . a* = 1, a . b* = 0 at phi 0; at phi the same about the spindle */
    for (int i = 0; i < 3; i++) {
        double a[3];
        vec_copy(a, l[0].cells_m + 3 * i);
        vec_rotate_axis(a, x.spindle, -0.55);
        for (int j = 0; j < 3; j++)
            assert_near(vec_dot(a, l[0].reciprocal_A + 3 * j) * 1e10, i == j, 1e-12);
    }
    const double skewed[9] = {1, 0, 0, 0, 1, 0, 0, 0.1, 1},
                 mirror[9] = {1, 0, 0, 0, 1, 0, 0, 0, -1};
    struct lattice bad;
    assert_int_equal(setup_lattice_rotated(&x, 0, skewed, &o, &bad, NULL), STATUS_INPUT);
    assert_int_equal(setup_lattice_rotated(&x, 0, mirror, &o, &bad, NULL), STATUS_INPUT);
    assert_int_equal(setup_lattice(&x, 1, &o, &bad, NULL), STATUS_INPUT);
    o.mosaic_rad = NAN;
    assert_int_equal(setup_lattice(&x, 0, &o, &bad, NULL), STATUS_INPUT);
    recipe_free(&recipe);
    experiment_free(&x);
}

static void refuse(const struct request *r)
{
    struct experiment x;
    struct error e = {0};
    assert_int_equal(setup_experiment(r, &x, &e), STATUS_INPUT);
    assert_true(e.text[0] != 0);
    experiment_free(&x);
}

static void test_refusals(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    const double bad[][6] = {
        {0, 1, 1, 90, 90, 90},     {NAN, 1, 1, 90, 90, 90},  {10, 10, 10, 0, 90, 90},
        {10, 10, 10, 90, 90, 180}, {10, 10, 10, 30, 30, 90}, {10, 10, 10, 150, 130, 100},
        {1e9, 10, 10, 90, 90, 90}, {10, 10, 10, 40, 50, 90},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        plain_request(&r, &c, PHYSICS_PHYSICAL);
        set_cell(&c, bad[i][0], bad[i][1], bad[i][2], bad[i][3], bad[i][4], bad[i][5]);
        refuse(&r);
    }
    const double singular[9] = {1, 2, 3, 2, 4, 6, 1, 0, 1};
    plain_request(&r, &c, PHYSICS_PHYSICAL);
    c.has_matrix = true;
    memcpy(c.matrix, singular, sizeof singular);
    refuse(&r);
#define BAD(change)                          \
    plain_request(&r, &c, PHYSICS_PHYSICAL); \
    change;                                  \
    refuse(&r)
    BAD(c.has_cell = false);
    BAD(c.cells[1] = 2e6);
    BAD(c.cells[1] = NAN);
    BAD(c.fudge = -1);
    BAD(c.table.default_F = INFINITY);
    BAD(r.ncrystals = 0);
    BAD(r.oversample = 100000);
    BAD(r.dmin_m = -1);
    BAD(r.water_m = NAN);
#undef BAD
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triclinic),     cmocka_unit_test(test_volume),
        cmocka_unit_test(test_matrix),        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_oversample),    cmocka_unit_test(test_mosaic_values),
        cmocka_unit_test(test_misset_values), cmocka_unit_test(test_random_misset),
        cmocka_unit_test(test_lattice),       cmocka_unit_test(test_refusals),
    };
    return unit_run(tests);
}
