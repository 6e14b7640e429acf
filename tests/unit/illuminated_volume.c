/* Mosaic blocks in the beam: volumes are compared with random points, and each lattice gets its
 * number of blocks. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/vec.h"
#include "near.h"
#include "physics/crystal/cell.h"
#include "physics/crystal/illuminated_volume.h"
#include "physics/setup.h"
#include "physics_request.h"

static struct beam beam_of(double width_m, double height_m)
{
    struct beam b = {.direction = {0.6, 0.0, 0.8},
                     .polarization = {0.64, 0.6, -0.48},
                     .size_m = width_m,
                     .has_height = true,
                     .height_m = height_m};
    return b;
}

/* Edges of a box that lie in the beam as `local` says: across it along E, across that, along it. */
static void box(const struct beam *b, const double local[9], double edges[9])
{
    double v[3];
    vec_cross(b->direction, b->polarization, v);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            edges[3 * i + k] = local[3 * i] * b->polarization[k] + local[3 * i + 1] * v[k] +
                               local[3 * i + 2] * b->direction[k];
}

static void straight_boxes_are_cut_to_the_beam(void **state)
{
    (void)state;
    const struct beam b = beam_of(3e-6, 5e-6);
    double edges[9];
    box(&b, (double[]){10e-6, 0, 0, 0, 20e-6, 0, 0, 0, 40e-6}, edges);
    assert_near(illuminated_share(&b, edges, NULL), 0.3 * 0.25, 1e-12);
    box(&b, (double[]){0, 0, 7e-6, 1e-6, 0, 0, 0, -10e-6, 0}, edges);
    assert_near(illuminated_share(&b, edges, NULL), 0.5, 1e-12);
    box(&b, (double[]){3e-6, 0, 0, 0, 5e-6, 0, 0, 0, 1e-4}, edges);
    assert_near(illuminated_share(&b, edges, NULL), 1.0, 1e-12);
    /* a prism whose corner looks at the side: two of them each way */
    box(&b, (double[]){3e-6, 3e-6, 0, -3e-6, 3e-6, 0, 0, 0, 1e-6}, edges);
    assert_near(illuminated_share(&b, edges, NULL), 1.0 - 2.0 * (1.5 * 1.5 + 0.5 * 0.5) / 18.0,
                1e-12);
    /* 3 x 5 um of beam, and a box of 4 x 4 um whose middle is 2 um and 3 um away */
    double aside[3], v[3];
    box(&b, (double[]){4e-6, 0, 0, 0, 4e-6, 0, 0, 0, 1e-6}, edges);
    vec_cross(b.direction, b.polarization, v);
    for (int k = 0; k < 3; k++)
        aside[k] = 2e-6 * b.polarization[k] - 3e-6 * v[k] + 7e-6 * b.direction[k];
    assert_near(illuminated_share(&b, edges, aside), 1.5 / 4 * 1.5 / 4, 1e-12);
    vec_scale(aside, 2.0, aside);
    assert_true(illuminated_share(&b, edges, aside) == 0.0);
    /* no beam is narrower than a crystal that it has no size against */
    struct beam wide = beam_of(-1.0, 0.0);
    assert_true(illuminated_share(&wide, edges, NULL) == 1.0);
    wide = beam_of(1e-5, 1e-5);
    assert_true(illuminated_share(&wide, edges, NULL) == 1.0);
}

static void skew_boxes_hold_the_points_that_are_lit(void **state)
{
    (void)state;
    enum { POINTS = 100000 };
    struct rng r = rng_stream(5, RNG_FLICKER, 0, 0);
    for (int n = 0; n < 25; n++) {
        const struct beam b =
            beam_of(2e-6 * exp(4 * rng_uniform(&r) - 2), 2e-6 * exp(4 * rng_uniform(&r) - 2));
        double edges[9], v[3], aside[3] = {0};
        for (int i = 0; i < 9; i++)
            edges[i] = 6e-6 * (rng_uniform(&r) - 0.5);
        vec_cross(b.direction, b.polarization, v);
        for (int k = 0; k < 3 && n % 2; k++)
            aside[k] = 4e-6 * (rng_uniform(&r) - 0.5);
        int lit = 0;
        for (int i = 0; i < POINTS; i++) {
            double at[3];
            vec_copy(at, aside);
            for (int k = 0; k < 3; k++) {
                const double u = rng_uniform(&r) - 0.5;
                for (int j = 0; j < 3; j++)
                    at[j] += u * edges[3 * k + j];
            }
            lit += fabs(vec_dot(at, b.polarization)) < b.size_m / 2 &&
                   fabs(vec_dot(at, v)) < b.height_m / 2;
        }
        const double want = (double)lit / POINTS,
                     share = illuminated_share(&b, edges, n % 2 ? aside : NULL);
        assert_near(share, want, 5.0 * sqrt(want * (1.0 - want) / POINTS) + 1e-5);
        assert_true(share >= 0.0 && share <= 1.0);
    }
}

/* Compares with random points, enough for 1 %: a crystal of 300 um in a beam of 100 um, a long one
 * in a slit, and boxes of any shape. */
static void moments_are_those_of_the_lit_points(void **state)
{
    (void)state;
    enum { POINTS = 200000 };
    struct rng r = rng_stream(6, RNG_FLICKER, 0, 0);
    for (int n = 0; n < 12; n++) {
        const struct beam b = n == 0   ? beam_of(100e-6, 100e-6)
                              : n == 1 ? beam_of(50e-6, 300e-6)
                                       : beam_of(30e-6, 30e-6 * exp(2 * rng_uniform(&r) - 1));
        static const double cube[3] = {300e-6, 300e-6, 300e-6}, rod[3] = {400e-6, 200e-6, 300e-6};
        double edges[9], v[3], sums[9] = {0}, found[9], turned[9];
        double aside[3] = {0}, mean[3] = {0};
        for (int i = 0; i < 9; i++)
            edges[i] = 100e-6 * (rng_uniform(&r) - 0.5);
        random_rotation(&r, turned);
        for (int i = 0; i < 9 && n < 2; i++)
            edges[i] = (n ? rod : cube)[i / 3] * turned[i];
        vec_cross(b.direction, b.polarization, v);
        for (int k = 0; k < 3 && n % 2; k++)
            aside[k] = 60e-6 * (rng_uniform(&r) - 0.5);
        int lit = 0;
        for (int tries = 0; lit < POINTS && tries < 100 * POINTS; tries++) {
            double at[3];
            vec_copy(at, aside);
            for (int k = 0; k < 3; k++) {
                const double u = rng_uniform(&r) - 0.5;
                for (int j = 0; j < 3; j++)
                    at[j] += u * edges[3 * k + j];
            }
            if (fabs(vec_dot(at, b.polarization)) >= b.size_m / 2 ||
                fabs(vec_dot(at, v)) >= b.height_m / 2)
                continue;
            lit++;
            for (int k = 0; k < 3; k++)
                mean[k] += at[k];
            for (int i = 0; i < 9; i++)
                sums[i] += at[i / 3] * at[i % 3];
        }
        for (int i = 0; i < 9; i++)
            sums[i] -= mean[i / 3] * mean[i % 3] / lit;
        if (lit < POINTS || !illuminated_moments(&b, edges, n % 2 ? aside : NULL, found)) {
            assert_true(n >= 2);
            continue;
        }
        const double trace = found[0] + found[4] + found[8];
        for (int i = 0; i < 9; i++)
            assert_near(found[i] / trace, sums[i] / lit / trace, 0.005);
        assert_near(trace / ((sums[0] + sums[4] + sums[8]) / lit), 1.0, 0.01);
    }
}

/* A crystal of 40 x 40 x 40 um in blocks of 4 x 5 x 10 cells of a monoclinic cell. */
static void blocks_of(struct request *r, struct crystal_request *c, double beam_m,
                      enum physics physics)
{
    plain_request(r, c, physics);
    set_cell(c, 50, 80, 100, 90, 110, 90);
    set3(c->cells, 4, 5, 10);
    set3(c->size_m, 40e-6, 40e-6, 40e-6);
    c->blocks = true;
    r->beam.size_m = beam_m;
}

static double weight_of(const struct request *r, double phi_rad, int64_t steps, double osc_rad)
{
    struct experiment x;
    struct error e = {0};
    struct recipe recipe = {.nlattices = 1, .lattices = mem_array(1, sizeof(struct lattice))};
    const struct orientation_request o = {.phi_rad = phi_rad,
                                          .phi = {.count = steps, .range = osc_rad}};
    if (setup_experiment(r, &x, &e) || setup_lattice(&x, 0, &o, recipe.lattices, &e))
        fail_msg("%s", e.text);
    const double weight = recipe.lattices[0].weight;
    recipe_free(&recipe);
    experiment_free(&x);
    return weight;
}

static void a_lattice_weighs_its_blocks_in_the_beam(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    const double all = 40e-6 / 200e-10 * 40e-6 / 400e-10 * 40e-6 / 1000e-10;
    blocks_of(&r, &c, 1e-3, PHYSICS_PHYSICAL);
    assert_near(weight_of(&r, 0.3, 1, 0.0) / all, 1.0, 1e-9);
    /* a flat beam in which the crystal turns */
    blocks_of(&r, &c, 1e-3, PHYSICS_PHYSICAL);
    r.beam.height_m = 20e-6;
    const double one = weight_of(&r, 0.0, 1, 0.0), two = weight_of(&r, 0.5, 1, 0.0);
    assert_true(one < 0.7 * all && one > 0.3 * all && fabs(two - one) > 0.01 * one);
    /* over a rotation it is the mean of the slices */
    double sum = 0.0;
    for (int i = 0; i < 8; i++)
        sum += weight_of(&r, (i + 0.5) / 8.0, 1, 0.0) / 8.0;
    assert_near(weight_of(&r, 0.0, 8, 1.0) / sum, 1.0, 1e-12);
    /* one block is one block: without cells that were asked for, and of nanoBragg */
    blocks_of(&r, &c, 1e-3, PHYSICS_PHYSICAL);
    c.blocks = false;
    assert_true(weight_of(&r, 0.0, 1, 0.0) == 1.0);
    blocks_of(&r, &c, 1e-3, PHYSICS_FAITHFUL);
    assert_true(weight_of(&r, 0.0, 1, 0.0) == 1.0);
}

static void a_block_must_fit(void **state)
{
    (void)state;
    struct request r;
    struct crystal_request c;
    struct experiment x;
    struct error e = {0};
    blocks_of(&r, &c, 1e-3, PHYSICS_PHYSICAL);
    c.size_m[1] = 33e-9;  // 4.1 cells of 80 A
    assert_true(weight_of(&r, 0.0, 1, 0.0) >= 1.0);
    c.cells[1] = 6;
    assert_int_equal(setup_experiment(&r, &x, &e), STATUS_INPUT);
    assert_string_equal(e.text, "a crystal of 3.3e-05 mm along b is too small for blocks of 6 "
                                "cells; expected at most 5");
    experiment_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_boxes_are_cut_to_the_beam),
        cmocka_unit_test(skew_boxes_hold_the_points_that_are_lit),
        cmocka_unit_test(moments_are_those_of_the_lit_points),
        cmocka_unit_test(a_lattice_weighs_its_blocks_in_the_beam),
        cmocka_unit_test(a_block_must_fit),
    };
    return unit_run(tests);
}
