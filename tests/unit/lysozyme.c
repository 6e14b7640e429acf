/* The lysozyme crystal that ships with the programs. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "io/structure_factors/hkl.h"

static double at(const struct hkl_table *t, int h, int k, int l)
{
    return *hkl_find(t, (int[]){h, k, l});
}

static void table_is_complete_and_symmetric(void **state)
{
    (void)state;
    double cell_A[3], cell_rad[3];
    struct hkl_table t;
    struct error e = {0};
    assert_int_equal(lysozyme_table(cell_A, cell_rad, &t, &e), STATUS_OK);
    assert_true(cell_A[0] == 59.062 && cell_A[1] == 68.451 && cell_A[2] == 30.517);
    assert_true(cell_rad[0] == M_PI / 2);
    assert_true(fabs(at(&t, 0, 0, -2) - 836.9596) < 1e-4);
    assert_true(fabs(at(&t, -2, 3, -4) - 395.5658) < 1e-4);  // as gemmi has them
    assert_true(fabs(at(&t, 17, 5, 3) - 162.4359) < 1e-4);
    assert_true(at(&t, 0, 0, 1) == 0.0);  // absent by the screw axis
    size_t missing = 0, beyond = 0;
    for (int h = t.min[0]; h <= -t.min[0]; h++)
        for (int k = t.min[1]; k <= -t.min[1]; k++)
            for (int l = t.min[2]; l <= -t.min[2]; l++) {
                const double F = at(&t, h, k, l);
                assert_true(F == at(&t, abs(h), abs(k), abs(l)));
                const double q =
                    sqrt(pow(h / cell_A[0], 2) + pow(k / cell_A[1], 2) + pow(l / cell_A[2], 2));
                const int absent = ((k == 0 && l == 0 && h % 2) || (h == 0 && l == 0 && k % 2) ||
                                    (h == 0 && k == 0 && l % 2));
                missing += q < 1 / 1.40001 && q > 0 && !absent && F == 0.0;
                beyond += q > 1 / 1.39999 && F != 0.0;
            }
    assert_int_equal(missing, 0);
    assert_int_equal(beyond, 0);
    hkl_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(table_is_complete_and_symmetric)};
    return unit_run(tests);
}
