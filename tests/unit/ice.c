/* Powder rings of ice, compared with the crystal structure of ice. */
#include "unit.h"

#include <math.h>

#include "base/alloc.h"
#include "physics/background/amorphous.h"

enum { ATOMS = 20, MOST = 9, MOST_L = 10, REFLECTIONS = 20000 };

/* Hexagonal ice: x, y, z, whether it is oxygen. */
static double atoms[ATOMS][4];
static int natoms;

static void add(double x, double y, double z, int oxygen)
{
    const double all[4][3] = {{x, y, z}, {-x, -y, z + 0.5}, {-x, -y, -z}, {x, y, 0.5 - z}};
    for (int i = 0; i < 4; i++, natoms++)
        for (int k = 0; k < 4; k++)
            atoms[natoms][k] = k < 3 ? all[i][k] : oxygen;
}

static double factor(const double a[4], const double b[4], double c, double s)
{
    for (int i = 0; i < 4; i++)
        c += a[i] * exp(-b[i] * s * s / 4);
    return c;
}

/* International Tables for Crystallography C 6.1.1.4, s = 1/d; oxygen, and half of a bonded
 * hydrogen. */
static double scattering(int oxygen, double s)
{
    static const double O[2][4] = {{3.0485, 2.2868, 1.5463, 0.867},
                                   {13.2771, 5.7011, 0.3239, 32.9089}};
    static const double H[2][4] = {{0.493002, 0.322912, 0.140191, 0.040810},
                                   {10.5109, 26.1257, 3.14236, 57.7997}};
    return oxygen ? factor(O[0], O[1], 0.2508, s) * exp(-1.7 * s * s / 4)
                  : 0.5 * factor(H[0], H[1], 0.003038, s) * exp(-2.5 * s * s / 4);
}

static double F_sqr(int h, int k, int l, double s)
{
    double a = 0, b = 0;
    for (int i = 0; i < natoms; i++) {
        const double *at = atoms[i];
        const double phase = 2 * M_PI * (h * at[0] + k * at[1] + l * at[2]);
        const double f = scattering(at[3] > 0, s);
        a += f * cos(phase);
        b += f * sin(phase);
    }
    return a * a + b * b;
}

static double s_of[REFLECTIONS], sqr_of[REFLECTIONS];
static int count;

static void compute(void)
{
    add(1 / 3.0, 2 / 3.0, 0.0623, 1);
    add(1 / 3.0, 2 / 3.0, 0.1963, 0);
    add(0.4551, 0.9102, 0.0183, 0);
    add(-0.9102, -0.4551, 0.0183, 0);
    add(0.4551, -0.4551, 0.0183, 0);
    for (int h = -MOST; h <= MOST; h++)
        for (int k = -MOST; k <= MOST; k++)
            for (int l = -MOST_L; l <= MOST_L; l++) {
                const double sqr =
                    4.0 / 3 * (h * h + h * k + k * k) / (4.497 * 4.497) + l * l / (7.322 * 7.322);
                if (sqr > 0 && sqr < 1.2 * 1.2) {
                    s_of[count] = sqrt(sqr);
                    sqr_of[count++] = F_sqr(h, k, l, sqrt(sqr));
                }
            }
}

/* m F^2 of the structure from s to s. */
static double structure(double from, double to)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += s_of[i] >= from && s_of[i] < to ? sqr_of[i] : 0;
    return sum;
}

/* The same of the table: the integral of F^2 4 pi s^2 V n. */
static double table(const double *stol_1_m, const double *F, size_t rows, double from, double to)
{
    double sum = 0;
    for (size_t i = 1; i < rows; i++) {
        const double s = stol_1_m[i] * 2e-10, step = (stol_1_m[i] - stol_1_m[i - 1]) * 2e-10;
        if (s >= from && s < to)
            sum += step * F[i] * F[i] * 4 * M_PI * s * s * ICE_CELL_A3 * ICE_MOLECULES;
    }
    return sum;
}

/* Every ring that the structure has down to ICE_LEAST_A, where it is, and none besides. */
static void rings_are_those_of_the_structure(void **state)
{
    (void)state;
    const double width = ice_width_1_A(5000);
    const size_t rows = ice_rows(width);
    double *stol_1_m = mem_array(2 * rows, sizeof *stol_1_m), *F = stol_1_m + rows;
    int rings = 0;
    assert_non_null(stol_1_m);
    compute();
    ice_table(width, stol_1_m, F);
    for (int i = 0; i < count; i++) {
        const double from = s_of[i] - 0.0015, to = s_of[i] + 0.0015;
        const double has = structure(from, to), found = table(stol_1_m, F, rows, from, to);
        if (has < 60 || s_of[i] > 1 / ICE_LEAST_A - 0.002)
            continue;
        rings++;
        if (fabs(found / has - 1) > 0.03 && fabs(found - has) > 25)
            fail_msg("d = %.4f: %.0f, the structure has %.0f", 1 / s_of[i], found, has);
    }
    assert_true(rings > 400);
    const double most = 1 / ICE_LEAST_A;
    assert_true(fabs(table(stol_1_m, F, rows, 0, 0.8) / structure(0, 0.8) - 1) < 0.005);
    assert_true(fabs(table(stol_1_m, F, rows, 0.8, most) / structure(0.8, most) - 1) < 0.08);
    mem_free(stol_1_m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rings_are_those_of_the_structure)};
    return unit_run(tests);
}
