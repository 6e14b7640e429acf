/* Operators of space groups and their asymmetric units, compared with lists of gemmi 0.7.5:
 * gemmi.SpaceGroup(name).operations() and gemmi.make_miller_array(cell, group, 2.0). */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "io/structure_factors/mtz.h"
#include "io/structure_factors/symmetry.h"

#define DMIN_A 2.0

static const struct group {
    const char *name;
    int number;
    double cell[6];  // A and degrees
    size_t half;     // reflections to 2 A in half of reciprocal space, without 0 0 0
    size_t absent;   // of these, that the group forbids
    size_t unique;   // of the asymmetric unit, without absent ones
    bool trigonal;
    const char *operators;
} groups[] = {
    {"P -1", 2, {11, 13, 15, 70, 80, 95}, 516, 0, 516, false, "x,y,z;-x,-y,-z"},
    {"P 1 21 1", 4, {11, 13, 15, 90, 97, 90}, 558, 3, 311, false, "x,y,z;-x,y+1/2,-z"},
    {"C 1 2 1",
     5,
     {19, 13, 15, 90, 107, 90},
     930,
     466,
     260,
     false,
     "x,y,z;-x,y,-z;x+1/2,y+1/2,z;-x+1/2,y+1/2,-z"},
    {"P 21 21 21",
     19,
     {11, 13, 15, 90, 90, 90},
     568,
     10,
     186,
     false,
     "x,y,z;-x+1/2,-y,z+1/2;x+1/2,-y+1/2,-z;-x,y+1/2,-z+1/2"},
    {"I 41",
     80,
     {13, 13, 17, 90, 90, 90},
     756,
     380,
     104,
     false,
     "x,y,z;-y,x+1/2,z+1/4;-x+1/2,-y+1/2,z+1/2;y+1/2,-x,z+3/4;x+1/2,y+1/2,z+1/2;-y+1/2,x,z+3/"
     "4;-x,-y,z;y,-x+1/2,z+1/4"},
    {"P 43 21 2",
     96,
     {13, 13, 17, 90, 90, 90},
     756,
     12,
     137,
     false,
     "x,y,z;-y+1/2,x+1/2,z+3/4;-x,-y,z+1/2;y+1/2,-x+1/2,z+1/4;x+1/2,-y+1/2,-z+1/4;-y,-x,-z+1/"
     "2;-x+1/2,y+1/2,-z+3/4;y,x,-z"},
    {"P 31", 144, {13, 13, 17, 90, 90, 120}, 650, 6, 216, true, "x,y,z;-y,x-y,z+1/3;-x+y,-x,z+2/3"},
    {"R 3 :H",
     146,
     {15, 15, 17, 90, 90, 120},
     881,
     588,
     99,
     true,
     "x,y,z;-y,x-y,z;-x+y,-x,z;x+2/3,y+1/3,z+1/3;-y+2/3,x-y+1/3,z+1/3;-x+y+2/3,-x+1/3,z+1/3;x+1/"
     "3,y+2/3,z+2/3;-y+1/3,x-y+2/3,z+2/3;-x+y+1/3,-x+2/3,z+2/3"},
    {"R 3 :R", 146, {11, 11, 11, 80, 80, 80}, 330, 0, 112, true, "x,y,z;z,x,y;y,z,x"},
    {"P 31 2 1",
     152,
     {13, 13, 17, 90, 90, 120},
     650,
     6,
     143,
     true,
     "x,y,z;-y,x-y,z+1/3;-x+y,-x,z+2/3;y,x,-z;x-y,-y,-z+2/3;-x,-x+y,-z+1/3"},
    {"P 31 1 2",
     151,
     {13, 13, 17, 90, 90, 120},
     650,
     6,
     130,
     true,
     "x,y,z;-y,x-y,z+1/3;-x+y,-x,z+2/3;-y,-x,-z+2/3;-x+y,y,-z+1/3;x,x-y,-z"},
    {"R 3 2 :H",
     155,
     {15, 15, 17, 90, 90, 120},
     881,
     588,
     66,
     true,
     "x,y,z;-y,x-y,z;-x+y,-x,z;y,x,-z;x-y,-y,-z;-x,-x+y,-z;x+2/3,y+1/3,z+1/3;-y+2/3,x-y+1/3,z+1/"
     "3;-x+y+2/3,-x+1/3,z+1/3;y+2/3,x+1/3,-z+1/3;x-y+2/3,-y+1/3,-z+1/3;-x+2/3,-x+y+1/3,-z+1/3;x+1/"
     "3,y+2/3,z+2/3;-y+1/3,x-y+2/3,z+2/3;-x+y+1/3,-x+2/3,z+2/3;y+1/3,x+2/3,-z+2/3;x-y+1/3,-y+2/"
     "3,-z+2/3;-x+1/3,-x+y+2/3,-z+2/3"},
    {"P 61",
     169,
     {13, 13, 17, 90, 90, 120},
     650,
     7,
     118,
     false,
     "x,y,z;x-y,x,z+1/6;-y,x-y,z+1/3;-x,-y,z+1/2;-x+y,-x,z+2/3;y,-x+y,z+5/6"},
    {"P 61 2 2",
     178,
     {13, 13, 17, 90, 90, 120},
     650,
     7,
     87,
     false,
     "x,y,z;x-y,x,z+1/6;-y,x-y,z+1/3;-x,-y,z+1/2;-x+y,-x,z+2/3;y,-x+y,z+5/6;-y,-x,-z+5/"
     "6;-x,-x+y,-z+2/3;-x+y,y,-z+1/2;y,x,-z+1/3;x,x-y,-z+1/6;x-y,-y,-z"},
    {"P 21 3",
     198,
     {13, 13, 13, 90, 90, 90},
     594,
     9,
     67,
     false,
     "x,y,z;-x+1/2,-y,z+1/2;x+1/2,-y+1/2,-z;-x,y+1/2,-z+1/2;z,x,y;z+1/2,-x+1/2,-y;-z,x+1/2,-y+1/"
     "2;-z+1/2,-x,y+1/2;y,z,x;-y,z+1/2,-x+1/2;-y+1/2,-z,x+1/2;y+1/2,-z+1/2,-x"},
    {"I 21 3",
     199,
     {17, 17, 17, 90, 90, 90},
     1276,
     632,
     70,
     false,
     "x,y,z;-x,-y+1/2,z;x,-y,-z+1/2;-x,y+1/2,-z+1/2;z,x,y;z,-x,-y+1/2;-z+1/2,x,-y;-z+1/2,-x,y+1/"
     "2;y,z,x;-y+1/2,z,-x;-y,-z+1/2,x;y+1/2,-z+1/2,-x;x+1/2,y+1/2,z+1/2;-x+1/2,-y,z+1/2;x+1/2,-y+1/"
     "2,-z;-x+1/2,y,-z;z+1/2,x+1/2,y+1/2;z+1/2,-x+1/2,-y;-z,x+1/2,-y+1/2;-z,-x+1/2,y;y+1/2,z+1/"
     "2,x+1/2;-y,z+1/2,-x+1/2;-y+1/2,-z,x+1/2;y,-z,-x+1/2"},
    {"P 43 3 2",
     212,
     {13, 13, 13, 90, 90, 90},
     594,
     15,
     44,
     false,
     "x,y,z;-y+3/4,x+1/4,z+3/4;-x+1/2,-y,z+1/2;y+3/4,-x+3/4,z+1/4;x+1/2,-y+1/2,-z;-y+1/4,-x+1/"
     "4,-z+1/4;-x,y+1/2,-z+1/2;y+1/4,x+3/4,-z+3/4;z,x,y;z+3/4,-y+3/4,x+1/4;z+1/2,-x+1/2,-y;z+1/"
     "4,y+3/4,-x+3/4;-z,x+1/2,-y+1/2;-z+1/4,-y+1/4,-x+1/4;-z+1/2,-x,y+1/2;-z+3/4,y+1/4,x+3/4;-x+3/"
     "4,z+1/4,y+3/4;y,z,x;x+1/4,z+3/4,-y+3/4;-y,z+1/2,-x+1/2;-x+1/4,-z+1/4,-y+1/4;y+1/2,-z+1/"
     "2,-x;x+3/4,-z+3/4,y+1/4;-y+1/2,-z,x+1/2"},
    {"P 1 21/c 1",
     14,
     {11, 13, 15, 90, 97, 90},
     558,
     36,
     278,
     false,
     "x,y,z;-x,y+1/2,-z+1/2;-x,-y,-z;x,-y+1/2,z+1/2"},
    {"P b c a",
     61,
     {11, 13, 15, 90, 90, 90},
     568,
     100,
     141,
     false,
     "x,y,z;-x+1/2,-y,z+1/2;x+1/2,-y+1/2,-z;-x,y+1/2,-z+1/2;-x,-y,-z;x+1/2,y,-z+1/2;-x+1/2,y+1/"
     "2,z;x,-y+1/2,z+1/2"}};
enum { GROUPS = sizeof groups / sizeof *groups };

static struct operators read_operators(const char *list)
{
    static struct operators o;
    char *copy = strdup(list), *rest = copy;
    o = (struct operators){0};
    for (char *one; (one = strsep(&rest, ";"));)
        assert_true(operators_add(&o, one));
    free(copy);
    return o;
}

/* --- operators -------------------------------------------------------------------------- */

static void operators_have_many_spellings(void **state)
{
    (void)state;
    static const char *const same[][2] = {{"-x+1/2,y,z", "1/2-X, +Y, Z"},
                                          {"-y,x-y,z+1/3", "'-y, x-y, z+0.33333'"},
                                          {"x,y,z-1/4", "x,y,3/4+z"},
                                          {"x+3/2,y,z", "x+.5,y,z"},
                                          {"x-y,-y,-z+2/3", "-y+x,-y,0.6667-z"}};
    static const char *const bad[] = {
        "",        "x,y",   "x,y,z,x", "x,y,w", "x,,z",    "x,y,1/2",   "x,y,z+1/0", "x,y,z+1/n",
        "2*x,y,z", "x;y;z", "x,y,z+",  "hello", "x,y,(z)", "1/2,1/2,0", "x,y,z+inf"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct operators a = {0}, b = {0};
        assert_true(operators_add(&a, same[i][0]) && operators_add(&b, same[i][1]));
        assert_true(operators_are_same(&a, &b));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct operators o = {0};
        if (operators_add(&o, bad[i]) || o.count)
            fail_msg("'%s' is an operator", bad[i]);
    }
}

static void lists_of_gemmi_are_groups(void **state)
{
    (void)state;
    for (size_t g = 0; g < GROUPS; g++) {
        struct operators o = read_operators(groups[g].operators), less = o, twice = o, other = o;
        double rad[3];
        for (int i = 0; i < 3; i++)
            rad[i] = deg_to_rad(groups[g].cell[3 + i]);
        assert_true(operators_are_group(&o));
        assert_true(operators_fit(&o, groups[g].cell, rad));
        assert_int_equal(operators_are_trigonal(&o), groups[g].trigonal);
        less.count--;  // two operators without one are a group again
        assert_true(less.count == 1 || !operators_are_group(&less));
        assert_false(operators_are_same(&o, &less));
        twice.list[0] = twice.list[1];
        assert_false(operators_are_group(&twice));
        other.list[o.count - 1].t[0] += 0.37;
        assert_true(o.count == 2 || !operators_are_group(&other));
        assert_false(operators_are_same(&o, &other));
        for (size_t i = 0; i < o.count; i++)  // the order does not matter
            other.list[i] = o.list[o.count - 1 - i];
        assert_true(operators_are_same(&o, &other));
        for (size_t h = 0; h < GROUPS; h++) {
            const struct operators second = read_operators(groups[h].operators);
            assert_int_equal(operators_are_same(&o, &second), g == h);
        }
    }
}

/* Names and numbers that gemmi gives to the lists are those of libccp4's tables. */
static void groups_have_their_numbers_and_names(void **state)
{
    (void)state;
    struct error e = {0};
    for (size_t g = 0; g < GROUPS; g++) {
        const struct operators o = read_operators(groups[g].operators);
        for (size_t i = 0; i < 2; i++) {  // its own, and those of another group
            const size_t h = (g + i) % GROUPS;
            const bool same = groups[g].number == groups[h].number;
            assert_int_equal(symmetry_compare(o.list, o.count, groups[h].number, "", "a.mtz", &e),
                             same ? STATUS_OK : STATUS_INPUT);
            assert_int_equal(symmetry_compare(o.list, o.count, 0, groups[h].name, "a.mtz", &e),
                             same ? STATUS_OK : STATUS_INPUT);
        }
    }
}

/* --- asymmetric units --------------------------------------------------------------------- */

/* Half of reciprocal space, beyond 2 A; the phase of a reflection is h + 2 k + 3 l degrees. */
static struct mtz_rows make_rows(const struct group *g)
{
    struct mtz_rows rows = {0};
    int max[3];
    for (int i = 0; i < 3; i++) {
        rows.cell_A[i] = g->cell[i];
        rows.cell_rad[i] = deg_to_rad(g->cell[3 + i]);
        max[i] = (int)(g->cell[i] / DMIN_A) + 1;
    }
    rows.list = malloc(sizeof *rows.list * (size_t)(max[0] + 1) * (size_t)(2 * max[1] + 1) *
                       (size_t)(2 * max[2] + 1));
    for (int h = 0; h <= max[0]; h++)
        for (int k = -max[1]; k <= max[1]; k++)
            for (int l = -max[2]; l <= max[2]; l++)
                if (h > 0 || k > 0 || (k == 0 && l > 0)) {
                    const int sign = (h + k + l) % 3 ? 1 : -1;  // either half will do
                    rows.list[rows.count++] =
                        (struct mtz_row){.hkl = {sign * h, sign * k, sign * l},
                                         .value = {100.0, sign * (h + 2 * k + 3 * l)}};
                }
    unique_limit(&rows, DMIN_A);
    return rows;
}

/* Whether two reflections are mates by an operator, perhaps with the sign of both. */
static bool are_mates(const struct operators *o, const int a[3], const int b[3])
{
    for (size_t i = 0; i < o->count; i++) {
        int to[3];
        for (int j = 0; j < 3; j++)
            to[j] =
                a[0] * o->list[i].R[j] + a[1] * o->list[i].R[3 + j] + a[2] * o->list[i].R[6 + j];
        if (memcmp(to, b, sizeof to) == 0 || (to[0] == -b[0] && to[1] == -b[1] && to[2] == -b[2]))
            return true;
    }
    return false;
}

static void asymmetric_units_are_those_of_gemmi(void **state)
{
    (void)state;
    for (size_t g = 0; g < GROUPS; g++) {
        const struct operators o = read_operators(groups[g].operators);
        struct mtz_rows rows = make_rows(&groups[g]);
        struct error e = {0};
        size_t absent = 0;
        assert_int_equal(rows.count, groups[g].half);
        for (size_t i = 0; i < rows.count; i++)
            absent += unique_is_absent(rows.list[i].hkl, o.list, o.count) ? 1 : 0;
        assert_int_equal(absent, groups[g].absent);
        unique_reduce(&rows, &o);
        assert_int_equal(rows.count, groups[g].unique);
        assert_int_equal(rows.noperators, o.count);
        for (size_t i = 0; i < rows.count; i++) {
            const int *hkl = rows.list[i].hkl;
            assert_true(rows.list[i].value[1] == hkl[0] + 2 * hkl[1] + 3 * hkl[2]);
            for (size_t k = 0; k < i; k++)
                assert_false(are_mates(&o, hkl, rows.list[k].hkl));
        }
        assert_int_equal(unique_check(&rows, DMIN_A, "a.pdb", &e), STATUS_OK);
        const size_t middle = rows.count / 2;
        const struct mtz_row taken = rows.list[middle];
        rows.list[middle] = rows.list[--rows.count];
        assert_int_equal(unique_check(&rows, DMIN_A, "a.pdb", &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, "a.pdb: gemmi sfcalc left out "));
        rows.list[rows.count++] = taken;
        for (int k = 0; k < 3; k++)  // its mate will do
            rows.list[rows.count - 1].hkl[k] = -taken.hkl[k];
        assert_int_equal(unique_check(&rows, DMIN_A, "a.pdb", &e), STATUS_OK);
        mtz_rows_free(&rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_have_many_spellings),
        cmocka_unit_test(lists_of_gemmi_are_groups),
        cmocka_unit_test(groups_have_their_numbers_and_names),
        cmocka_unit_test(asymmetric_units_are_those_of_gemmi),
    };
    return unit_run(tests);
}
