/*
 * The footprint of the crystal: spots have the moments that the geometry says, the images are
 * those of many shifted point crystals, and all engines agree.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine_gate.h"
#include "engine_run.h"
#include "gpu/gpu.h"
#include "physics/footprint.h"
#include "physics/panels.h"

/* ---- arithmetic ------------------------------------------------------------------- */

static void kernels_keep_photons_and_variance(void **state)
{
    (void)state;
    for (double variance = 1e-7; variance < 1.01e4; variance *= 1.07) {
        static float weight[1000];
        const int reach = footprint_reach(variance);
        assert_in_range(reach, 1, 999);
        footprint_kernel(variance, reach, weight);
        double sum = (double)weight[0], second = 0.0;
        for (int n = 1; n <= reach; n++) {
            sum += 2.0 * (double)weight[n];
            second += 2.0 * (double)weight[n] * n * n;
            assert_true(weight[n] >= 0.0f && weight[n] <= weight[n - 1]);
        }
        if (!(fabs(sum - 1.0) < 1e-7 && fabs(second / variance - 1.0) < 1e-6))
            fail_msg("variance %g: sum %.9g, variance %.9g", variance, sum, second);
    }
    float alone = 0.0f;
    footprint_kernel(0.0, 0, &alone);
    assert_true(alone == 1.0f);
}

static void directions_add_up_to_the_covariance(void **state)
{
    (void)state;
    struct rng r = rng_stream(3, RNG_FLICKER, 0, 0);
    for (int i = 0; i < 20000; i++) {
        const double major = exp(12.0 * rng_uniform(&r) - 6.0), ratio = exp(-7.0 * rng_uniform(&r));
        const double angle = 7.0 * rng_uniform(&r), minor = major * ratio;
        const double c = cos(angle), s = sin(angle);
        const double on[3] = {major * c * c + minor * s * s, (major - minor) * c * s,
                              major * s * s + minor * c * c};
        int v[3][2];
        double variance[3], sum[3] = {0, 0, 0};
        footprint_directions(on, v, variance);
        for (int k = 0; k < 3; k++) {
            assert_true(variance[k] >= 0.0);
            assert_true(v[k][1] > 0 || (v[k][1] == 0 && v[k][0] > 0));
            sum[0] += variance[k] * v[k][0] * v[k][0];
            sum[1] += variance[k] * v[k][0] * v[k][1];
            sum[2] += variance[k] * v[k][1] * v[k][1];
        }
        for (int k = 0; k < 3; k++)
            if (!(fabs(sum[k] - on[k]) < 1e-9 * major))
                fail_msg("%g %g %g gives %g %g %g", on[0], on[1], on[2], sum[0], sum[1], sum[2]);
    }
}

/* ---- one spot ----------------------------------------------------------------------- */

/* A cubic crystal that reflects (order,0,0) to the middle of a panel. */
struct spot {
    double twotheta_deg, azimuth_deg;  // where it goes
    double facing_deg;                 // from the beam towards the spot: the panel's normal
    double size_m[3];                  // of the crystal; 0: a point
    double beam_m[2];                  // along E, across it
    int order;                         // the reflection is (order,0,0); 0: 34
    double divergence_rad;             // full, both ways, in 9 steps and with its corners
    enum physics physics;
};

enum { EDGE = 160, COUNT = EDGE * EDGE };
static const double PIXEL_M = 20e-6, DISTANCE_M = 0.1, CELL_M = 50e-10;

/* Unit vector at an angle to the beam, which is x, and an azimuth from y to z. */
static void direction(double angle_deg, double azimuth_deg, double out[3])
{
    const double t = deg_to_rad(angle_deg), a = deg_to_rad(azimuth_deg);
    vec_set(out, cos(t), sin(t) * cos(a), sin(t) * sin(a));
}

/* The panel's middle pixel is where the spot goes; its axes are turned by 20 deg. */
static void place(const struct spot *spot, struct panel *p)
{
    double s[3], up[3];
    direction(spot->twotheta_deg, spot->azimuth_deg, s);
    direction(spot->facing_deg, spot->azimuth_deg, p->normal);
    vec_set(up, 0.0, -sin(0.35), cos(0.35));
    vec_cross(up, p->normal, p->fast);
    vec_unit(p->fast, p->fast);
    vec_cross(p->normal, p->fast, p->slow);
    const double away = DISTANCE_M / vec_dot(s, p->normal), half = PIXEL_M * (EDGE / 2 + 0.5);
    for (int i = 0; i < 3; i++)
        p->origin_m[i] = away * s[i] - half * (p->fast[i] + p->slow[i]);
    p->distance_m = p->close_distance_m = DISTANCE_M;
}

static int order_of(const struct spot *spot)
{
    return spot->order ? spot->order : 34;
}

static void build(const struct spot *spot, struct experiment *x, struct recipe *r)
{
    struct error e = {0};
    struct crystal_request crystal = {.has_cell = true,
                                      .cells = {12, 12, 12},
                                      .has_cells = true,
                                      .shape = SHAPE_GAUSS,
                                      .fudge = 1,
                                      .interpolate = INTERPOLATE_OFF,
                                      .table = {.min = {order_of(spot)}, .count = {1, 1, 1}}};
    const double theta = deg_to_rad(spot->twotheta_deg) / 2.0;
    crystal.table.F = mem_array(1, sizeof *crystal.table.F);
    *crystal.table.F = 100.0;
    for (int i = 0; i < 3; i++) {
        crystal.cell_A[i] = CELL_M * 1e10;
        crystal.cell_rad[i] = M_PI / 2.0;
        crystal.size_m[i] = spot->size_m[i];
    }
    struct request q = {.physics = spot->physics, .ncrystals = 1, .crystals = &crystal};
    q.oversample = 1;
    q.detector = (struct detector_request){.convention = CONVENTION_MOSFLM,
                                           .pixel_m = PIXEL_M,
                                           .pixels = {EDGE, EDGE},
                                           .has_distance = true,
                                           .distance_m = DISTANCE_M};
    q.beam = (struct beam_request){.wavelength_m = 2.0 * CELL_M * sin(theta) / order_of(spot),
                                   .fluence_ph_m2 = 1e28,
                                   .no_polarization = true,
                                   .size_m = spot->beam_m[0],
                                   .height_m = spot->beam_m[1]};
    if (spot->divergence_rad > 0.0)
        q.beam.horizontal = q.beam.vertical = (struct steps_request){
            .has_range = true, .has_count = true, .count = 9, .range = spot->divergence_rad};
    q.beam.square_divergence = true;
    if (setup_experiment(&q, x, &e))
        fail_msg("%s", e.text);
    place(spot, &x->panels[0]);
    double s[3], axis[3][3], rotation[9];
    direction(spot->twotheta_deg, spot->azimuth_deg, s);
    vec_set(axis[0], s[0] - 1.0, s[1], s[2]);
    vec_unit(axis[0], axis[0]);
    vec_cross((double[3]){0.6, 0.0, 0.8}, axis[0], axis[1]);
    vec_unit(axis[1], axis[1]);
    vec_cross(axis[0], axis[1], axis[2]);
    for (int i = 0; i < 9; i++)
        rotation[i] = axis[i % 3][i / 3];
    const struct orientation_request still = {0};
    *r = (struct recipe){.nlattices = 1, .lattices = mem_array(1, sizeof *r->lattices)};
    if (setup_lattice_rotated(x, 0, rotation, &still, r->lattices, &e))
        fail_msg("%s", e.text);
    r->lattices->weight = 1.0;  // as much as a point
}

static float *image_of(const struct spot *spot, const struct engine *engine)
{
    struct experiment x;
    struct recipe r;
    build(spot, &x, &r);
    float *image = run_engine(engine, &x, &r, NULL, 2);
    recipe_free(&r);
    experiment_free(&x);
    return image;
}

/* Sum, centre and second moments of an image. */
struct moments {
    double sum, at[2], second[3];
};

static struct moments moments_of(const float *image)
{
    struct moments m = {0};
    double f = 0.0, s = 0.0, ff = 0.0, fs = 0.0, ss = 0.0;
    for (int i = 0; i < COUNT; i++) {
        const double v = (double)image[i], x = i % EDGE - EDGE / 2, y = i / EDGE - EDGE / 2;
        m.sum += v;
        f += v * x;
        s += v * y;
        ff += v * x * x;
        fs += v * x * y;
        ss += v * y * y;
    }
    m.at[0] = f / m.sum;
    m.at[1] = s / m.sum;
    m.second[0] = ff / m.sum - m.at[0] * m.at[0];
    m.second[1] = fs / m.sum - m.at[0] * m.at[1];
    m.second[2] = ss / m.sum - m.at[1] * m.at[1];
    return m;
}

/* Where a ray of the spot that leaves the sample at r[3] in m meets the panel, in pixels from
 * where it does from the origin. */
static void hit(const struct spot *spot, const double r[3], double at[2])
{
    struct panel p;
    double s[3], off[3];
    place(spot, &p);
    direction(spot->twotheta_deg, spot->azimuth_deg, s);
    const double along = vec_dot(r, p.normal) / vec_dot(s, p.normal);
    for (int i = 0; i < 3; i++)
        off[i] = r[i] - along * s[i];
    at[0] = vec_dot(off, p.fast) / PIXEL_M;
    at[1] = vec_dot(off, p.slow) / PIXEL_M;
}

/* The second moments of the spot less those of a point's: a lit part with variances along the
 * orthogonal axes[3][3]. */
static void expect(const struct spot *spot, double axes[3][3], const double variance[3],
                   const struct engine *engine)
{
    double want[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        double at[2];
        hit(spot, axes[i], at);
        want[0] += variance[i] * at[0] * at[0];
        want[1] += variance[i] * at[0] * at[1];
        want[2] += variance[i] * at[1] * at[1];
    }
    struct spot point = *spot;
    vec_set(point.size_m, 0.0, 0.0, 0.0);
    float *narrow = image_of(&point, engine), *wide = image_of(spot, engine);
    const struct moments from = moments_of(narrow), to = moments_of(wide);
    const double most = fmax(want[0], want[2]);
    print_message("# %s, 2theta %g, facing %g: want %.4f %.4f %.4f, off by %.1e %.1e %.1e of it, "
                  "sum 1%+.0e, moved %.0e %.0e\n",
                  engine->name, spot->twotheta_deg, spot->facing_deg, want[0], want[1], want[2],
                  (to.second[0] - from.second[0] - want[0]) / most,
                  (to.second[1] - from.second[1] - want[1]) / most,
                  (to.second[2] - from.second[2] - want[2]) / most, to.sum / from.sum - 1.0,
                  to.at[0] - from.at[0], to.at[1] - from.at[1]);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(to.second[i] - from.second[i] - want[i]) < 5e-3 * most);
    assert_true(fabs(to.sum / from.sum - 1.0) < 1e-6);
    assert_true(fabs(to.at[0] - from.at[0]) < 2e-3 && fabs(to.at[1] - from.at[1]) < 2e-3);
    mem_free(narrow);
    mem_free(wide);
}

static const struct spot SPOTS[] = {
    {.twotheta_deg = 20, .azimuth_deg = 70},
    {.twotheta_deg = 40, .azimuth_deg = 70},
    {.twotheta_deg = 40, .azimuth_deg = 70, .facing_deg = 40},
    {.twotheta_deg = 40, .azimuth_deg = -20, .facing_deg = -20},
};
enum { NSPOTS = sizeof SPOTS / sizeof *SPOTS };
static double LAB[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

static void a_spot_has_the_size_of_the_crystal(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * NSPOTS; i++) {
        struct spot spot = SPOTS[i / 2];
        const double variance = 200e-6 * 200e-6 / 12.0;
        vec_set(spot.size_m, 200e-6, 200e-6, 200e-6);
        spot.beam_m[0] = 1e-3;
        expect(&spot, LAB, (double[3]){variance, variance, variance},
               i % 2 ? &engine_cpu : &engine_reference);
    }
}

/* In a fraction of a pixel, too: a fifth of one, rms. */
static void small_footprints_count(void **state)
{
    (void)state;
    for (int i = 0; i < NSPOTS; i++) {
        struct spot spot = SPOTS[i];
        const double variance = 14e-6 * 14e-6 / 12.0;
        vec_set(spot.size_m, 14e-6, 14e-6, 14e-6);
        spot.beam_m[0] = 1e-3;
        expect(&spot, LAB, (double[3]){variance, variance, variance}, &engine_cpu);
    }
}

/* E is along z. */
static void the_beam_cuts_the_crystal(void **state)
{
    (void)state;
    for (int i = 0; i < NSPOTS; i++) {
        struct spot spot = SPOTS[i];
        vec_set(spot.size_m, 200e-6, 200e-6, 200e-6);
        spot.beam_m[0] = 150e-6;
        spot.beam_m[1] = 60e-6;
        expect(&spot, LAB,
               (double[3]){200e-6 * 200e-6 / 12.0, 60e-6 * 60e-6 / 12.0, 150e-6 * 150e-6 / 12.0},
               &engine_cpu);
    }
}

/* Edges lie along a, b, c. */
static void a_long_crystal_makes_a_long_spot(void **state)
{
    (void)state;
    for (int i = 0; i < NSPOTS; i++) {
        struct spot spot = SPOTS[i];
        struct experiment x;
        struct recipe r;
        double axes[3][3];
        vec_set(spot.size_m, 60e-6, 250e-6, 100e-6);
        spot.beam_m[0] = 1e-3;
        build(&spot, &x, &r);
        for (int k = 0; k < 3; k++)
            vec_unit(r.lattices[0].cells_m + 3 * k, axes[k]);
        recipe_free(&r);
        experiment_free(&x);
        expect(&spot, axes,
               (double[3]){60e-6 * 60e-6 / 12.0, 250e-6 * 250e-6 / 12.0, 100e-6 * 100e-6 / 12.0},
               &engine_cpu);
    }
}

/* Not by a convolution but by sources: each moves the spot by distance times angle, and excites
 * it as it does. */
static void divergence_moves_spots_by_distance_times_angle(void **state)
{
    (void)state;
    struct spot spot = {.twotheta_deg = 5, .azimuth_deg = 70, .order = 4, .beam_m = {1e-3}};
    float *narrow = image_of(&spot, &engine_cpu);
    spot.divergence_rad = 2e-3;
    float *wide = image_of(&spot, &engine_cpu);
    const struct moments from = moments_of(narrow), to = moments_of(wide);
    const double range_px = 2e-3 * DISTANCE_M / PIXEL_M;
    const double want = range_px * range_px / 12.0 * 10.0 / 8.0;  // of nine steps, ends included
    const double more[3] = {to.second[0] - from.second[0], to.second[1] - from.second[1],
                            to.second[2] - from.second[2]};
    print_message("# want %.3f 0 %.3f, have %.3f %.3f %.3f\n", want, want, more[0], more[1],
                  more[2]);
    assert_true(fabs(more[0] / want - 1.0) < 0.03 && fabs(more[2] / want - 1.0) < 0.03);
    assert_true(fabs(more[1]) < 0.03 * want && fabs(to.sum / from.sum - 1.0) < 0.03);
    mem_free(narrow);
    mem_free(wide);
}

/* ---- many points --------------------------------------------------------------------- */

/* The sum of point crystals all over the lit part, each with the detector moved the other way:
 * the geometry of the product, without a footprint. */
static void the_image_is_that_of_many_points(void **state)
{
    (void)state;
    enum { STEPS = 11 };
    for (int i = 0; i < NSPOTS; i++) {
        struct spot spot = SPOTS[i];
        static double sum[COUNT];
        const double rms = 200e-6 / sqrt(12.0), step = 0.7;
        double weights = 0.0, most = 0.0, worst = 0.0;
        struct experiment x;
        struct recipe r;
        spot.beam_m[0] = 1e-3;
        build(&spot, &x, &r);
        memset(sum, 0, sizeof sum);
        for (int k = 0; k < STEPS * STEPS * STEPS; k++) {
            const double at[3] = {step * (k % STEPS - STEPS / 2),
                                  step * (k / STEPS % STEPS - STEPS / 2),
                                  step * (k / STEPS / STEPS - STEPS / 2)};
            const double weight = exp(-0.5 * vec_dot(at, at));
            if (weight < 1e-4)
                continue;
            place(&spot, &x.panels[0]);
            for (int m = 0; m < 3; m++)
                x.panels[0].origin_m[m] -= rms * at[m];
            float *point = run_engine(&engine_cpu, &x, &r, NULL, 2);
            for (int m = 0; m < COUNT; m++)
                sum[m] += weight * (double)point[m];
            weights += weight;
            mem_free(point);
        }
        recipe_free(&r);
        experiment_free(&x);
        vec_set(spot.size_m, 200e-6, 200e-6, 200e-6);
        float *image = image_of(&spot, &engine_cpu);
        for (int k = 0; k < COUNT; k++) {
            most = fmax(most, sum[k] / weights);
            worst = fmax(worst, fabs(sum[k] / weights - (double)image[k]));
        }
        print_message("# 2theta %g, facing %g: worst pixel off by %.1e of the brightest\n",
                      spot.twotheta_deg, spot.facing_deg, worst / most);
        assert_true(worst < 2e-3 * most);
        mem_free(image);
    }
}

/* ---- engines ------------------------------------------------------------------------- */

// clang-format off
static const struct engine_case CASES[] = {
    {.name = "two millimetres", .cells = {10}, .size_um = {2000, 2000, 2000}, .beam_um = {1e4}},
    {.name = "a fraction of a pixel", .cells = {10}, .size_um = {90, 120, 60}, .pixels = 131},
    {.name = "cut by the beam, tilts", .cells = {10}, .size_um = {9000, 6000, 4000}, .beam_um = {500, 1500}, .tilt_deg = {5, 40, 15}, .twotheta_deg = 20},
    {.name = "ROI and mask", .cells = {10}, .size_um = {3000, 1500, 1500}, .beam_um = {1e4}, .roi = true, .mask = true, .phi_steps = 3},
    {.name = "curved", .cells = {10}, .size_um = {1500, 3000, 1500}, .beam_um = {1e4}, .curved = true},
    {.name = "panels and lattices", .cells = {10}, .size_um = {1500, 3000, 5000}, .beam_um = {1e4}, .panels = 2, .lattices = 2, .pixels = 300},
    {.name = "wider than the panel", .cells = {5}, .size_um = {90000, 60000, 40000}, .beam_um = {1e6}, .pixels = 40, .panels = 2},
};
// clang-format on
enum { NCASES = sizeof CASES / sizeof *CASES };

static void engines_agree(void **state)
{
    (void)state;
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    for (int i = 0; i < NCASES; i++) {
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        if (case_build(&CASES[i], &x, &r, &e))
            fail_msg("%s: %s", CASES[i].name, e.text);
        const size_t count = (size_t)experiment_pixels(&x);
        uint8_t *unsteady = mem_array(count, 1);
        float *reference = run_engine(&engine_reference, &x, &r, NULL, 2);
        for (int k = 0; k < 4; k++) {
            if (k < 3 && !isa_present(isas[k]))
                continue;
            float *image = k < 3 ? run_engine(&engine_cpu, &x, &r, isas[k], 1)
                                 : run_engine(&engine_cuda_host, &x, &r, NULL, 2);
            float *again = k < 3 ? run_engine(&engine_cpu, &x, &r, isas[k], 3)
                                 : run_engine(&engine_cuda_host, &x, &r, NULL, 1);
            const struct verdict v = compare(image, reference, unsteady, count);
            print_message("# %-28s %-8s worst %.1e, sums 1%+.0e\n", CASES[i].name,
                          k < 3 ? isas[k] : "cuda", v.worst, v.sum_ratio - 1.0);
            if (gate_says(&v, 1e-5))
                fail_msg("%s: %s", CASES[i].name, gate_says(&v, 1e-5));
            assert_memory_equal(image, again, count * sizeof *image);
            mem_free(image);
            mem_free(again);
        }
        mem_free(unsteady);
        mem_free(reference);
        recipe_free(&r);
        experiment_free(&x);
    }
}

/* One plan computes crystals that turn, blank frames and others in any order. */
static void frames_do_not_depend_on_those_before(void **state)
{
    (void)state;
    const struct engine *const engines[] = {&engine_cpu, &engine_reference, &engine_cuda_host};
    for (int k = 0; k < 3; k++) {
        struct experiment x;
        struct recipe one, two;
        struct error e = {0};
        assert_int_equal(case_build(&CASES[3], &x, &one, &e), STATUS_OK);
        const struct orientation_request turned = {.has_misset = true, .misset_rad = {1, 2, 3}};
        two = (struct recipe){.nlattices = 1, .lattices = mem_array(1, sizeof *two.lattices)};
        assert_int_equal(setup_lattice(&x, 0, &turned, two.lattices, &e), STATUS_OK);
        const struct recipe blank = {0}, *const order[] = {&one, &blank, &two, &one, &one, &two};
        const struct engine_options options = {.threads = 2};
        const size_t count = (size_t)experiment_pixels(&x);
        struct plan *plan;
        float *pixels = mem_array(count, sizeof *pixels);
        assert_int_equal(engines[k]->create(&plan, &x, &options, &e), STATUS_OK);
        for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
            float *alone = run_engine(engines[k], &x, order[i], NULL, 1);
            assert_int_equal(engines[k]->run(plan, order[i], pixels, NULL, &e), STATUS_OK);
            assert_memory_equal(pixels, alone, count * sizeof *pixels);
            mem_free(alone);
        }
        engines[k]->destroy(&plan);
        mem_free(pixels);
        recipe_free(&one);
        recipe_free(&two);
        experiment_free(&x);
    }
}

/* Crystals of a thousandth of a pixel, and all of faithful mode, are points. */
static void points_keep_their_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct spot spot = SPOTS[1];
        spot.beam_m[0] = 1e-3;
        spot.physics = i ? PHYSICS_FAITHFUL : PHYSICS_PHYSICAL;
        float *point = image_of(&spot, &engine_reference);
        const double size_m = 12 * CELL_M;
        vec_set(spot.size_m, size_m, size_m, size_m);
        float *small = image_of(&spot, &engine_reference);
        assert_memory_equal(point, small, COUNT * sizeof *point);
        mem_free(point);
        mem_free(small);
    }
}

/* What comes behind the footprint is left to the stages. */
static void a_card_leaves_what_comes_behind(void **state)
{
    (void)state;
    struct spot spot = SPOTS[1];
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    struct plan *plan;
    vec_set(spot.size_m, 200e-6, 200e-6, 200e-6);
    build(&spot, &x, &r);
    const struct engine_options options = {.threads = 1};
    const struct background_material *const none = NULL;
    struct engine_after after = {.materials = none, .nmaterials = 1, .type = PIXEL_F32};
    assert_int_equal(engine_cuda_host.create(&plan, &x, &options, &e), STATUS_OK);
    assert_int_equal(engine_cuda_host.prepare(plan, &after, &e), STATUS_OK);
    assert_int_equal(after.nmaterials, 1);
    engine_cuda_host.destroy(&plan);
    recipe_free(&r);
    experiment_free(&x);
}

static void too_wide_a_footprint_is_refused(void **state)
{
    (void)state;
    struct spot spot = SPOTS[1];
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    struct plan *plan;
    spot.beam_m[0] = 1.0;
    vec_set(spot.size_m, 200e-6, 200e-6, 200e-6);
    build(&spot, &x, &r);
    const struct engine_options options = {.threads = 1};
    static float pixels[COUNT];
    const double sizes_m[] = {0.1, -0.1, 1e160};  // as a stranger may send them
    for (int i = 0; i < 6; i++) {
        const struct engine *engine = i % 2 ? &engine_cpu : &engine_reference;
        x.crystals[0].size_m[1] = sizes_m[i / 2];
        e.text[0] = 0;
        assert_int_equal(engine->create(&plan, &x, &options, &e), STATUS_OK);
        assert_int_equal(engine->run(plan, &r, pixels, NULL, &e), STATUS_INPUT);
        assert_true(e.text[0] && !strchr(e.text, '\n'));
        engine->destroy(&plan);
    }
    recipe_free(&r);
    experiment_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_keep_photons_and_variance),
        cmocka_unit_test(directions_add_up_to_the_covariance),
        cmocka_unit_test(a_spot_has_the_size_of_the_crystal),
        cmocka_unit_test(small_footprints_count),
        cmocka_unit_test(the_beam_cuts_the_crystal),
        cmocka_unit_test(a_long_crystal_makes_a_long_spot),
        cmocka_unit_test(divergence_moves_spots_by_distance_times_angle),
        cmocka_unit_test(the_image_is_that_of_many_points),
        cmocka_unit_test(engines_agree),
        cmocka_unit_test(frames_do_not_depend_on_those_before),
        cmocka_unit_test(points_keep_their_bytes),
        cmocka_unit_test(a_card_leaves_what_comes_behind),
        cmocka_unit_test(too_wide_a_footprint_is_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
