/* Space groups by name, the cells that have their symmetry, and the expansion of unique
 * reflections. */
#include "unit.h"

#include <math.h>

#include "base/units.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/symmetry.h"
#include "scratch.h"

static struct symmetry y;
static struct error e;

static void names_of_all_kinds_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t count;
    } known[] = {{"P 21 21 21", 4}, {"P212121", 4}, {"p212121", 4},    {"19", 4},   {"P21", 2},
                 {"P 43 21 2", 8},  {"C2", 4},      {"R 3 :H", 9},     {"R3:R", 3}, {"H3", 9},
                 {"146", 9},        {"I213", 24},   {"F m -3 m", 192}, {"P1", 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(symmetry_find(known[i].name, &y, &e), STATUS_OK);
        assert_int_equal(y.count, known[i].count);
    }
}

static void what_is_no_space_group_is_refused(void **state)
{
    (void)state;
    static const char *const none[] = {"P 7", "0",
                                       "231", "-1",
                                       "",    "99999999999999999999",
                                       "P%s", "P 21 21 21 P 21 21 21 P 21 21 21"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(symmetry_find(none[i], &y, &e), STATUS_USAGE);
        assert_non_null(
            strstr(e.text, "is not a space group; expected a symbol or number such as"));
    }
}

static bool fits(const char *name, double a, double b, double c, double alpha, double beta,
                 double gamma)
{
    assert_int_equal(symmetry_find(name, &y, &e), STATUS_OK);
    return symmetry_fits(&y, (double[]){a, b, c},
                         (double[]){deg_to_rad(alpha), deg_to_rad(beta), deg_to_rad(gamma)});
}

static void cells_must_have_the_symmetry(void **state)
{
    (void)state;
    assert_true(fits("P1", 40, 50, 60, 70, 80, 95));
    assert_true(fits("P 1 21 1", 40, 50, 60, 90, 100, 90));
    assert_false(fits("P 1 21 1", 40, 50, 60, 90, 90, 100));
    assert_true(fits("P 1 1 21", 40, 50, 60, 90, 90, 100));
    assert_true(fits("P 43 21 2", 79, 79, 38, 90, 90, 90));
    assert_false(fits("P 43 21 2", 79, 38, 79, 90, 90, 90));
    assert_false(fits("P 43 21 2", 79, 77, 38, 90, 90, 90));
    assert_true(fits("P 43 21 2", 79, 79.1, 38, 90, 90.1, 90));
    assert_true(fits("P 31 2 1", 79, 79, 38, 90, 90, 120));
    assert_false(fits("P 31 2 1", 79, 79, 38, 90, 90, 60));
    assert_true(fits("R 3 :H", 79, 79, 38, 90, 90, 120));
    assert_false(fits("R 3 :R", 79, 79, 38, 90, 90, 120));
    assert_true(fits("R 3 :R", 50, 50, 50, 75, 75, 75));
    assert_false(fits("P 2 3", 50, 50, 52, 90, 90, 90));
}

/* The length of h, squared, in a cell with a = b = c and 120 degrees between a and b, times a^2:
 * what no operator of a trigonal or hexagonal group can change. */
static int length(const int hkl[3])
{
    return 4 * (hkl[0] * hkl[0] + hkl[0] * hkl[1] + hkl[1] * hkl[1]) + 3 * hkl[2] * hkl[2];
}

static void a_list_is_expanded(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t mates;
    } groups[] = {{"P 31", 6}, {"P 31 2 1", 12}, {"P 6", 12}, {"P 6 2 2", 24}, {"P1", 2}};
    const char *path = scratch_text(scratch_path("one.hkl"), "1 2 3 7\n");
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        struct hkl_table t;
        size_t found = 0;
        assert_int_equal(symmetry_find(groups[g].name, &y, &e), STATUS_OK);
        assert_int_equal(hkl_read(path, PHYSICS_PHYSICAL, &y, HKL_MATES_ALIKE, 0.0, &t, &e),
                         STATUS_OK);
        for (int h = -9; h <= 9; h++)
            for (int k = -9; k <= 9; k++)
                for (int l = -9; l <= 9; l++) {
                    const double *F = hkl_find(&t, (int[]){h, k, l});
                    if (!F || *F == 0.0)
                        continue;
                    assert_true(*F == 7.0);
                    assert_int_equal(length((int[]){h, k, l}), length((int[]){1, 2, 3}));
                    found++;
                }
        assert_int_equal(found, groups[g].mates);
        hkl_free(&t);
    }
}

static void mates_with_another_F_are_refused(void **state)
{
    (void)state;
    struct hkl_table t;
    assert_int_equal(symmetry_find("P 2 2 2", &y, &e), STATUS_OK);
    const char *path = scratch_text(scratch_path("two.hkl"), "1 2 3 7\n-1 2 3 8\n");
    assert_int_equal(hkl_read(path, PHYSICS_PHYSICAL, &y, HKL_MATES_ALIKE, 0.0, &t, &e),
                     STATUS_INPUT);
    assert_non_null(strstr(e.text, "two.hkl:1: F of 1 2 3 is 7 in this line and 8 in a later one"));
    path = scratch_text(scratch_path("two.hkl"), "1 2 3 7\n-1 2 3 7\n");
    assert_int_equal(hkl_read(path, PHYSICS_PHYSICAL, &y, HKL_MATES_ALIKE, 0.0, &t, &e), STATUS_OK);
    hkl_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_all_kinds_are_found),
        cmocka_unit_test(what_is_no_space_group_is_refused),
        cmocka_unit_test(cells_must_have_the_symmetry),
        cmocka_unit_test(a_list_is_expanded),
        cmocka_unit_test(mates_with_another_F_are_refused),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
