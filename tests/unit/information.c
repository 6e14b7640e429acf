/* Small matrices, and the information of several frames about parameters. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "refine/fit.h"
#include "refine/information.h"

static double work[36];  // for matrices of up to four rows

/* Hilbert's matrix, whose inverse has whole numbers. */
static void an_inverse(void **state)
{
    (void)state;
    assert_int_equal(symmetric_work(4), sizeof work / sizeof *work);
    double a[16], inverse[16], weakest[4];
    static const double known[16] = {16,  -120,  240,  -140,  -120, 1200, -2700, 1680,
                                     240, -2700, 6480, -4200, -140, 1680, -4200, 2800};
    for (int i = 0; i < 16; i++)
        a[i] = 1.0 / (i / 4 + i % 4 + 1);
    assert_true(symmetric_invert(4, a, inverse, work, weakest));
    for (int i = 0; i < 16; i++)
        assert_true(fabs(inverse[i] / known[i] - 1) < 1e-9);
    assert_true(symmetric_invert(0, NULL, NULL, NULL, NULL));
}

static void units_do_not_matter(void **state)
{
    (void)state;
    const double unit[2] = {1e-12, 1e9};
    double a[4], inverse[4], weakest[2];
    for (int i = 0; i < 4; i++)
        a[i] = (i % 3 ? 0.5 : 1.0) / unit[i / 2] / unit[i % 2];
    assert_true(symmetric_invert(2, a, inverse, work, weakest));
    for (int i = 0; i < 4; i++)
        assert_true(fabs(inverse[i] / unit[i / 2] / unit[i % 2] - (i % 3 ? -2.0 : 4.0) / 3.0) <
                    1e-12);
}

static void what_is_not_told_is_named(void **state)
{
    (void)state;
    const double same[9] = {1, 0, -2, 0, 5, 0, -2, 0, 4}, none[4] = {1, 0, 0, 0};
    double inverse[9], weakest[3];
    assert_false(symmetric_invert(3, same, inverse, work, weakest));
    assert_true(fabs(weakest[1]) < 1e-12 && fabs(weakest[0] - weakest[2]) < 1e-12);
    assert_false(symmetric_invert(2, none, inverse, work, weakest));
    assert_true(weakest[0] == 0 && weakest[1] == 1);
}

/* Two frames, each with a parameter of its own and one that they share: against the inverse of the
 * whole matrix. */
static void frames_that_share(void **state)
{
    (void)state;
    const double prior[2] = {0.5, 2};
    const struct information_layout layout = {.count = 2, .local = 1, .prior = prior};
    const double one[4] = {4, 1, 1, 3}, two[4] = {9, -2, -2, 5};
    const double whole[9] = {4.5, 0, 1, 0, 9.5, -2, 1, -2, 3 + 5 + 2};
    double inverse[9], weakest[3];
    struct information all = {0};
    struct information_bounds b;
    struct error e = {0};
    assert_true(symmetric_invert(3, whole, inverse, work, weakest));
    information_add(&all, &layout, 7, 1, 10, two);
    information_add(&all, &layout, 5, 0, 0, NULL);
    information_add(&all, &layout, 3, 1, 10, one);
    assert_int_equal(information_solve(&all, &layout, &b, weakest, &e), 0);
    assert_true(all.frames[0].id == 3 && all.frames[2].id == 7 && !all.frames[1].error);
    assert_true(fabs(all.frames[0].error[0] - sqrt(inverse[0])) < 1e-12);
    assert_true(fabs(all.frames[2].error[0] - sqrt(inverse[4])) < 1e-12);
    assert_true(fabs(b.all[1] - sqrt(inverse[8])) < 1e-12);
    assert_true(b.good == 2 && b.one[1] > b.all[1] && b.alone[0] < b.one[0]);
    assert_true(fabs(b.correlation[1]) < 1 && b.correlation[0] > 1 - 1e-12);
    information_bounds_free(&b);
    information_free(&all);
}

/* The same two frames, each fitted by itself: where they agree is the solution of the whole system,
 * and the prior of what they share counts once. */
static void frames_that_meet(void **state)
{
    (void)state;
    const double prior = 2.0, away = -0.7;  // its middle is 0.7 from where they began
    const double one[4] = {4.5, 1, 1, 3}, two[4] = {9.5, -2, -2, 5};
    const double totals[4] = {0.1, 0.4, -0.3, 0.9};
    const double whole[9] = {4.5, 0, 1, 0, 9.5, -2, 1, -2, 3 + 5 + 2};
    double pull[4] = {0, 0.2, 0, -0.3};  // what holds each where it is besides the counts
    double inverse[9], weakest[3], steps[4], right[3] = {0, 0, -prior * away}, want[3] = {0};
    for (int f = 0; f < 2; f++) {  // gradients where all began, own parameters as they are
        const double *fisher = f ? two : one, common = totals[2 * f + 1];
        right[f] += fisher[1] * common;
        right[2] += pull[2 * f + 1] + fisher[3] * common;
    }
    assert_true(symmetric_invert(3, whole, inverse, work, weakest));
    for (int i = 0; i < 9; i++)
        want[i / 3] += inverse[i] * right[i % 3];
    double fisher[8];
    memcpy(fisher, one, sizeof one);
    memcpy(fisher + 4, two, sizeof two);
    struct fit_sums sums[2] = {{.gradient = pull, .fisher = fisher},
                               {.gradient = pull + 2, .fisher = fisher + 4}};
    const struct joint j = {.frames = 2, .count = 2, .local = 1, .prior = &prior, .away = &away};
    struct error e = {0};
    assert_int_equal(joint_meet(&j, sums, totals, steps, &e), STATUS_OK);
    assert_true(fabs(steps[0] - want[0]) < 1e-12 && fabs(steps[2] - want[1]) < 1e-12);
    assert_true(fabs(steps[1] - want[2]) < 1e-12 && steps[3] == steps[1]);
}

/* Two frames that say nothing of what they share. */
static void frames_that_never_meet(void **state)
{
    (void)state;
    const double prior = 0.0, away = 0.0, totals[4] = {0};
    double pull[4] = {0}, fisher[8] = {4, 0, 0, 0, 9, 0, 0, 0}, steps[4];
    struct fit_sums sums[2] = {{.gradient = pull, .fisher = fisher},
                               {.gradient = pull + 2, .fisher = fisher + 4}};
    const struct joint j = {.frames = 2, .count = 2, .local = 1, .prior = &prior, .away = &away};
    struct error e = {0};
    assert_int_equal(joint_meet(&j, sums, totals, steps, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "cannot determine the shared parameters"));
}

static void frames_that_cannot_tell(void **state)
{
    (void)state;
    const double prior[2] = {0}, vague[4] = {1, 1, 1, 1};
    const struct information_layout local = {2, 2, prior}, shared = {2, 0, prior};
    double weakest[2];
    struct information all = {0};
    struct information_bounds b;
    struct error e = {0};
    information_add(&all, &local, 0, 1, 10, vague);
    assert_int_equal(information_solve(&all, &local, &b, weakest, &e), STATUS_INPUT);
    assert_true(fabs(weakest[0] + weakest[1]) < 1e-12 && weakest[0] != 0);
    information_bounds_free(&b);
    assert_int_equal(information_solve(&all, &shared, &b, weakest, &e), STATUS_INPUT);
    information_bounds_free(&b);
    information_add(&all, &shared, 1, 1, 10, (double[]){2, 0, 0, 1});
    assert_int_equal(information_solve(&all, &shared, &b, weakest, &e), 0);
    assert_true(fabs(b.all[0] - sqrt(2.0 / 5)) < 1e-12);
    information_bounds_free(&b);
    information_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inverse),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(what_is_not_told_is_named),
        cmocka_unit_test(frames_that_share),
        cmocka_unit_test(frames_that_meet),
        cmocka_unit_test(frames_that_never_meet),
        cmocka_unit_test(frames_that_cannot_tell),
    };
    return unit_run(tests);
}
