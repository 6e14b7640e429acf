/* Physical mode: a crystal scatters the same number of photons with every shape.  One reflection
 * that rotates through the Ewald sphere has the intensity of SQUARE. */
#include "unit.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "near.h"
#include "physics/crystal/shape.h"
#include "physics/setup.h"
#include "physics_request.h"

static const char *const names[] = {"square", "round", "gauss", "tophat"};
static const double many_cells[][3] = {{5, 5, 5}, {15, 15, 15}, {30, 30, 30}, {12, 25, 8}};
enum { SIZES = sizeof many_cells / sizeof *many_cells };

/* The mean of F_latt^2 over a cell of indices: about Na Nb Nc. */
static double integral(const struct crystal *c)
{
    int steps[3];
    double sum = 0.0, hkl[3];
    const double reciprocal_A[9] = {0};
    for (int i = 0; i < 3; i++)
        steps[i] = 2 * (int)c->cells[i] + 1;
    for (int i = 0; i < steps[0]; i++)
        for (int j = 0; j < steps[1]; j++)
            for (int k = 0; k < steps[2]; k++) {
                set3(hkl, (double)i / steps[0], (double)j / steps[1], (double)k / steps[2]);
                const double F = shape_factor(c, hkl, reciprocal_A, 0);
                sum += F * F;
            }
    return sum / ((double)steps[0] * steps[1] * steps[2]);
}

/* How much of its intensity a shape has within the cell of indices of the reflection: ROUND,
 * which is cut there, loses the part of its tails that SQUARE gets from all others. */
static double lost(enum crystal_shape shape, const double N[3])
{
    return shape == SHAPE_ROUND ? 0.17 * (1.0 / N[0] + 1.0 / N[1] + 1.0 / N[2]) : 0.0;
}

/* The width goes by the root of `fudge`, the height stays.  TOPHAT is a ball. */
static void test_integral(void **state)
{
    (void)state;
    assert_near(4.0 / 3.0 * M_PI * pow(TOPHAT_RADIUS_SQR, 1.5), pow(0.63 * M_PI / 2.0, 1.5), 1e-12);
    for (int n = 0; n < SIZES; n++)
        for (int shape = SHAPE_SQUARE; shape <= SHAPE_GAUSS; shape++)
            for (double fudge = 1.0; fudge < 1.5; fudge += 0.44) {
                struct crystal c = {.shape = (enum crystal_shape)shape, .fudge = fudge};
                vec_copy(c.cells, many_cells[n]);
                const double cells = c.cells[0] * c.cells[1] * c.cells[2];
                const double width = shape == SHAPE_SQUARE ? 1.0 : pow(fudge, 1.5);
                const double share = integral(&c) * width / cells;
                assert_near(share + lost(c.shape, c.cells) / sqrt(fudge), 1.0, 0.02);
            }
}

/* --- one reflection, through an engine -------------------------------------------------- */

/* Pixels and phi slices that hold all of the reflection's cell of indices, and as much again. */
enum { EDGE = 128, SLICES = 128, SCAN = 20000 };
static const int INDEX[3] = {6, -7, 5};

static void triclinic(struct request *r, struct crystal_request *c, enum crystal_shape shape,
                      const double cells[3])
{
    static double F[1] = {100.0};
    plain_request(r, c, PHYSICS_PHYSICAL);
    set_cell(c, 70, 80, 90, 75, 85, 95);
    vec_copy(c->cells, cells);
    c->shape = shape;
    c->table =
        (struct hkl_table){.min = {INDEX[0], INDEX[1], INDEX[2]}, .count = {1, 1, 1}, .F = F};
    r->detector.pixels[0] = r->detector.pixels[1] = 2400;
    r->detector.pixel_m = 2.3e-5;
}

/* The diffracted beam of the reflection at phi step t, in 1/m. */
static void exit_beam(const struct experiment *x, const struct lattice *l, size_t t, double exit[3])
{
    const double *cell = l->cells_m + 9 * t;
    vec_scale(x->beam.direction, 1.0 / x->beam.wavelength_m, exit);
    for (int i = 0; i < 3; i++) {
        double star[3];
        vec_cross(cell + 3 * ((i + 1) % 3), cell + 3 * ((i + 2) % 3), star);
        for (int k = 0; k < 3; k++)
            exit[k] += INDEX[i] * star[k] / mat_determinant(cell);
    }
}

/* Region and rotation about where the reflection crosses the Ewald sphere within half a turn. */
static void aim(struct request *r, struct orientation_request *o)
{
    struct experiment x;
    struct recipe recipe = {.nlattices = 1, .lattices = mem_array(1, sizeof(struct lattice))};
    struct error e = {0};
    double gap = 0.0, step = 0.0, exit[3], point[3];
    size_t t = 0;
    o->phi = (struct steps_request){SCAN, M_PI, 0.0};
    assert_int_equal(setup_experiment(r, &x, &e), STATUS_OK);
    assert_int_equal(setup_lattice(&x, 0, o, recipe.lattices, &e), STATUS_OK);
    do {
        const double before = gap;
        exit_beam(&x, recipe.lattices, t, exit);
        gap = vec_length(exit) - 1.0 / x.beam.wavelength_m;
        step = gap - before;
    } while (++t < SCAN && (t == 1 || gap * (gap - step) > 0.0));
    assert_true(t < SCAN);
    const struct panel *p = x.panels;
    const double half_rad = 1.0 / 70e-10 / fabs(step) * M_PI / SCAN;
    o->phi_rad = recipe.lattices->phi_rad[t - 1] - half_rad;
    o->phi = (struct steps_request){SLICES, 2.0 * half_rad, 0.0};
    vec_scale(exit, vec_dot(p->origin_m, p->normal) / vec_dot(exit, p->normal), point);
    for (int k = 0; k < 3; k++)
        point[k] -= p->origin_m[k];
    const int64_t fast = (int64_t)(vec_dot(point, p->fast) / p->pixel_m);
    const int64_t slow = (int64_t)(vec_dot(point, p->slow) / p->pixel_m);
    const int64_t half = EDGE / 2;
    r->detector.roi = (struct roi){fast - half, fast + half - 1, slow - half, slow + half - 1};
    recipe_free(&recipe);
    x.crystals[0].table.F = NULL;  // not its own
    experiment_free(&x);
}

/* Photons of the reflection. */
static double photons(const struct request *r, const struct orientation_request *o)
{
    struct experiment x;
    struct recipe recipe = {.nlattices = 1, .lattices = mem_array(1, sizeof(struct lattice))};
    struct error e = {0};
    struct plan *plan = NULL;
    const struct engine_options options = {.threads = 1};
    double sum = 0.0;
    if (setup_experiment(r, &x, &e) || setup_lattice(&x, 0, o, recipe.lattices, &e) ||
        engine_cpu.create(&plan, &x, &options, &e))
        fail_msg("%s", e.text);
    const int64_t count = experiment_pixels(&x);
    float *pixels = mem_array((size_t)count, sizeof *pixels);
    if (engine_cpu.run(plan, &recipe, pixels, NULL, &e))
        fail_msg("%s", e.text);
    for (int64_t i = 0; i < count; i++)
        sum += (double)pixels[i];
    mem_free(pixels);
    engine_cpu.destroy(&plan);
    recipe_free(&recipe);
    x.crystals[0].table.F = NULL;
    experiment_free(&x);
    return sum;
}

static void test_rotation(void **state)
{
    (void)state;
    for (int n = 0; n < SIZES; n++) {
        double sums[SHAPE_TOPHAT + 1];
        for (int shape = SHAPE_SQUARE; shape <= SHAPE_TOPHAT; shape++) {
            struct request r;
            struct crystal_request c;
            struct orientation_request o = {.misset_rad = {0.4, 0.1, 0.3}, .phi = NO_STEPS};
            triclinic(&r, &c, (enum crystal_shape)shape, many_cells[n]);
            aim(&r, &o);
            if (shape == SHAPE_TOPHAT) {  // its edge is sharp
                r.oversample = 6;
                o.phi.count *= 6;
            }
            sums[shape] = photons(&r, &o);
            print_message("# %g x %g x %g cells, %s: %.4g photons, %.4f of square\n", c.cells[0],
                          c.cells[1], c.cells[2], names[shape], sums[shape],
                          sums[shape] / sums[SHAPE_SQUARE]);
            assert_near(sums[shape] / sums[SHAPE_SQUARE] + lost(c.shape, c.cells), 1.0, 0.02);
        }
    }
}

/* --- absolute scale --------------------------------------------------------------------- */

/* Points of the crystal, a box with edges in m along a, b, c, within half a beam of its axis. */
static double lit_volume(const struct request *r, const struct experiment *x,
                         const struct lattice *l)
{
    enum { POINTS = 400000 };
    const struct crystal_request *c = r->crystals;
    struct rng random = rng_stream(9, RNG_FLICKER, 0, 0);
    double edges[9], v[3];
    for (int i = 0; i < 3; i++) {
        vec_unit(l->cells_m + 9 * (SLICES / 2) + 3 * i, edges + 3 * i);
        vec_scale(edges + 3 * i, c->size_m[i], edges + 3 * i);
    }
    vec_cross(x->beam.direction, x->beam.polarization, v);
    int lit = 0;
    for (int n = 0; n < POINTS; n++) {
        double at[3] = {0.0, 0.0, 0.0};
        for (int i = 0; i < 3; i++) {
            const double u = rng_uniform(&random) - 0.5;
            for (int k = 0; k < 3; k++)
                at[k] += u * edges[3 * i + k];
        }
        lit += fabs(vec_dot(at, x->beam.polarization)) < r->beam.size_m / 2 &&
               fabs(vec_dot(at, v)) < r->beam.size_m / 2;
    }
    return fabs(mat_determinant(edges)) * lit / POINTS;
}

/* Darwin's formula (C. G. Darwin, Phil. Mag. 27, 315, 1914) for a rotation by `turned_rad` about
 * u: fluence r_e^2 F^2 lambda^3 volume / (V^2 turned |u . (s0 x s)|), unit vectors s0 and s. */
static double darwin(const struct request *r, const struct orientation_request *o)
{
    struct experiment x;
    struct recipe recipe = {.nlattices = 1, .lattices = mem_array(1, sizeof(struct lattice))};
    struct error e = {0};
    double s[3], across[3];
    if (setup_experiment(r, &x, &e) || setup_lattice(&x, 0, o, recipe.lattices, &e))
        fail_msg("%s", e.text);
    const size_t middle = SLICES / 2;
    exit_beam(&x, recipe.lattices, middle, s);
    vec_unit(s, s);
    vec_cross(x.beam.direction, s, across);
    const double wave_m = x.beam.wavelength_m, F = *r->crystals->table.F;
    const double cell_m3 = fabs(mat_determinant(recipe.lattices->cells_m + 9 * middle));
    const double volume_m3 = lit_volume(r, &x, recipe.lattices);
    const double sum = x.beam.fluence_ph_m2 * 7.94079248e-30 * F * F * pow(wave_m, 3) * volume_m3 /
                       (cell_m3 * cell_m3 * o->phi.range * fabs(vec_dot(x.spindle, across)));
    recipe_free(&recipe);
    x.crystals[0].table.F = NULL;
    experiment_free(&x);
    return sum;
}

/* A crystal of 4 x 3 x 2 um in blocks of some 20 cells, in beams wider and narrower than it.
 * Gaussian spots have 0.984 of the photons. */
static void test_blocks(void **state)
{
    static const double beams_m[] = {20e-6, 1.5e-6};
    static const double cells[][3] = {{20, 17, 15}, {40, 35, 30}};
    (void)state;
    for (int n = 0; n < 4; n++) {
        struct request r;
        struct crystal_request c;
        struct orientation_request o = {.misset_rad = {0.4, 0.1, 0.3}, .phi = NO_STEPS};
        triclinic(&r, &c, SHAPE_GAUSS, cells[n / 2]);
        r.beam.no_polarization = true;
        aim(&r, &o);
        c.blocks = true;
        set3(c.size_m, 4e-6, 3e-6, 2e-6);
        r.beam.size_m = beams_m[n % 2];
        const double got = photons(&r, &o), want = darwin(&r, &o);
        print_message("# blocks of %g x %g x %g cells, beam %g um: %.4g photons, %.4f of Darwin\n",
                      c.cells[0], c.cells[1], c.cells[2], r.beam.size_m * 1e6, got, got / want);
        assert_near(got / want, 0.984, 0.006);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integral),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_blocks),
    };
    return unit_run(tests);
}
