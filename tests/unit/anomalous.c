/* f', f'' and their contributions to F(h) and F(-h).  The expected numbers are those of PDB entry
 * 1AKI with selenium instead of the sulphur of both methionines.  Another program summed F0 of all
 * 1001 atoms with the scattering factors of the International Tables, without solvent. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "io/structure_factors/anomalous.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/mtz.h"
#include "near.h"
#include "physics/crystal/structure_factors.h"
#include "scratch.h"

static const struct symmetry_operator p212121[4] = {
    {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}},
    {{-1, 0, 0, 0, -1, 0, 0, 0, 1}, {0.5, 0, 0.5}},
    {{-1, 0, 0, 0, 1, 0, 0, 0, -1}, {0, 0.5, 0.5}},
    {{1, 0, 0, 0, -1, 0, 0, 0, -1}, {0.5, 0.5, 0}},
};

static struct anomalous_cell lysozyme(void)
{
    return (struct anomalous_cell){
        {59.062, 68.451, 30.517}, {M_PI / 2, M_PI / 2, M_PI / 2}, 4, p212121};
}

static void amplitudes_are_those_of_another_program(void **state)
{
    static const double f[2][2] = {{-10.8745, 3.8440}, {-6.1042, 0.5004}};  // at 12658, 12640 eV
    static const struct {
        int hkl[3];
        double F0, phase_deg, F[2][2];
    } known[] = {
        {{1, 1, 1}, 1530.7041, 319.446, {{1516.6877, 1515.4398}, {1522.5618, 1522.4000}}},
        {{2, 3, 4}, 466.3153, 236.083, {{482.3397, 466.9650}, {471.8724, 469.8548}}},
        {{10, 5, 3}, 372.8450, 285.995, {{393.3652, 370.1953}, {379.0170, 375.9665}}},
        {{4, 7, 2}, 313.6545, 193.460, {{280.5811, 266.3700}, {291.6229, 289.8828}}},
        {{6, 1, 8}, 177.9177, 61.082, {{179.9202, 155.1817}, {172.8292, 169.6785}}},
        {{3, 0, 5}, 55.6770, 270.000, {{32.2576, 32.2576}, {41.8751, 41.8751}}},
    };
    enum { N = sizeof known / sizeof *known };
    int hkl[N][3];
    (void)state;
    for (int i = 0; i < N; i++)
        memcpy(hkl[i], known[i].hkl, sizeof hkl[i]);
    for (int energy = 0; energy < 2; energy++) {
        struct atom selenium[2] = {
            {34, {0.55254, 0.29198, 0.07324}, 1.0, 17.81, {f[energy][0], f[energy][1]}},
            {34, {0.42970, 0.31643, 0.24547}, 1.0, 20.27, {f[energy][0], f[energy][1]}},
        };
        const struct atoms atoms = {2, 0, selenium};
        const struct anomalous_cell cell = lysozyme();
        struct friedel_pair pairs[N];
        for (int i = 0; i < N; i++)
            pairs[i] = friedel_pair_of(known[i].F0, deg_to_rad(known[i].phase_deg));
        assert_int_equal(anomalous_add(&atoms, &cell, (const int(*)[3])hkl, N, pairs, NULL),
                         STATUS_OK);
        for (int i = 0; i < N; i++) {
            const double F[2] = {hypot(pairs[i].plus[0], pairs[i].plus[1]),
                                 hypot(pairs[i].minus[0], pairs[i].minus[1])};
            for (int hand = 0; hand < 2; hand++)
                assert_true(fabs(F[hand] - known[i].F[energy][hand]) < 0.012);
        }
    }
}

/* Against the sum as it stands in the header, in a cell without right angles. */
static void sums_are_those_of_the_formula(void **state)
{
    static const struct symmetry_operator operators[2] = {
        {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}},
        {{-1, 0, 0, 0, -1, 0, 0, 0, -1}, {0.25, 0, 0.5}},
    };
    const struct anomalous_cell cell = {{20, 31, 43}, {1.3, 1.7, 1.9}, 2, operators};
    struct atom list[2] = {{26, {0.1, -0.7, 3.3}, 0.5, 12.0, {-1.5, 3.25}},
                           {16, {0.9, 0.2, 0.4}, 1.0, 40.0, {0.25, 0.5}}};
    const struct atoms atoms = {2, 0, list};
    const int hkl[3][3] = {{0, 0, 0}, {5, -4, 2}, {-3, 7, 1}};
    const double ca = cos(1.3), cb = cos(1.7), cg = cos(1.9);
    const double volume = 20 * 31 * 43 * sqrt(1 - ca * ca - cb * cb - cg * cg + 2 * ca * cb * cg);
    struct friedel_pair sums[3] = {0};
    (void)state;
    assert_int_equal(anomalous_add(&atoms, &cell, hkl, 3, sums, NULL), STATUS_OK);
    for (int r = 0; r < 3; r++) {
        const double h = hkl[r][0], k = hkl[r][1], l = hkl[r][2];
        const double S11 = pow(31 * 43 * sin(1.3), 2), S22 = pow(20 * 43 * sin(1.7), 2);
        const double S33 = pow(20 * 31 * sin(1.9), 2), S12 = 20 * 31 * 43 * 43 * (ca * cb - cg);
        const double S23 = 20 * 20 * 31 * 43 * (cb * cg - ca);
        const double S13 = 20 * 31 * 31 * 43 * (cg * ca - cb);
        const double s_sqr = (S11 * h * h + S22 * k * k + S33 * l * l + 2 * S12 * h * k +
                              2 * S23 * k * l + 2 * S13 * h * l) /
                             (volume * volume);
        for (int hand = 0; hand < 2; hand++) {
            const double sign = hand ? -1 : 1;
            double real = 0, imaginary = 0;
            for (int a = 0; a < 2; a++)
                for (int o = 0; o < 2; o++) {
                    double turns = 0;
                    for (int i = 0; i < 3; i++)
                        turns += sign * hkl[r][i] *
                                 (operators[o].R[4 * i] * list[a].x[i] + operators[o].t[i]);
                    const double part = list[a].occupancy * exp(-list[a].B_A2 * s_sqr / 4);
                    const double c = part * cos(2 * M_PI * turns), s = part * sin(2 * M_PI * turns);
                    real += list[a].f[0] * c - list[a].f[1] * s;
                    imaginary += list[a].f[0] * s + list[a].f[1] * c;
                }
            const double *sum = hand ? sums[r].minus : sums[r].plus;
            assert_true(fabs(sum[0] - real) < 1e-9 && fabs(sum[1] - imaginary) < 1e-9);
        }
    }
}

/* What gemmi says; energies within 0.1 eV of an edge are not among them. */
static void table_is_that_of_cromer_and_liberman(void **state)
{
    static const struct {
        const char *symbol;
        double energy_eV, f[2];
    } known[] = {
        {"S", 6000, {0.3917, 0.9507}},      {"S", 9000, {0.3005, 0.4516}},
        {"S", 12398.42, {0.2073, 0.2438}},  {"Fe", 7100, {-6.1930, 0.4692}},
        {"FE", 7120, {-6.6172, 3.9427}},    {"se", 12600, {-4.8792, 0.5033}},
        {"Se", 12640, {-6.1042, 0.5004}},   {"Se", 12658, {-10.8745, 3.8440}},
        {"Se", 12670, {-6.4862, 3.8362}},   {"Se", 13000, {-2.8029, 3.6336}},
        {"Zn", 9650, {-6.6954, 0.4872}},    {"Zn", 9670, {-6.4390, 3.8878}},
        {"Gd", 7230, {-16.3208, 3.6416}},   {"Gd", 7250, {-17.5742, 10.5870}},
        {"Gd", 9000, {-4.1158, 11.5933}},   {"Yb", 8930, {-16.0434, 3.7467}},
        {"Yb", 8960, {-15.5979, 10.5090}},  {"I", 9000, {-0.0328, 5.6813}},
        {"Hg", 12300, {-15.2851, 10.1623}}, {"Br", 13500, {-5.6928, 3.8076}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double f[2];
        const int element = element_number(known[i].symbol);
        assert_int_equal(fprime_at(NULL, element, known[i].energy_eV, f, NULL), STATUS_OK);
        for (int k = 0; k < 2; k++)
            assert_true(fabs(f[k] - known[i].f[k]) < fmax(0.011, 0.0055 * fabs(known[i].f[k])));
    }
}

static void every_element_has_all_energies(void **state)
{
    (void)state;
    for (int element = 11; element <= ELEMENTS_MAX; element++)
        for (double energy_eV = 3250; energy_eV <= 30000; energy_eV += 250) {
            double f[2];
            assert_int_equal(fprime_at(NULL, element, energy_eV, f, NULL), STATUS_OK);
            assert_true(f[1] > 0.0 && f[1] < 40.0 && fabs(f[0]) < 40.0);
        }
    struct error e;
    double f[2];
    assert_int_equal(fprime_at(NULL, 8, 9000, f, &e), STATUS_USAGE);
    assert_non_null(strstr(e.text, "f' and f'' of O at 9000 eV are not known"));
    assert_int_equal(fprime_at(NULL, 34, 2999, f, &e), STATUS_USAGE);
    assert_int_equal(fprime_at(NULL, 34, 30001, f, &e), STATUS_USAGE);
}

static const char *text(const char *content)
{
    return scratch_put(scratch_path("a.txt"), content, strlen(content));
}

static void measured_values_come_first(void **state)
{
    struct fprime_curves c;
    double f[2];
    (void)state;
    assert_int_equal(
        fprime_read(text("Se 12660 -8 5 # white line\nBr 17000 2 3\nse 12650 -9 1\n"), &c, NULL),
        STATUS_OK);
    assert_int_equal(fprime_at(&c, 34, 12652.5, f, NULL), STATUS_OK);
    assert_near(f[0], -8.75, 1e-12);
    assert_near(f[1], 2.0, 1e-12);
    assert_int_equal(fprime_at(&c, 34, 12600, f, NULL), STATUS_OK);  // of the table
    assert_true(fabs(f[0] + 4.8792) < 0.02);
    assert_int_equal(fprime_at(&c, 35, 17100, f, NULL), STATUS_OK);  // a single row, within 1 %
    assert_near(f[0], 2.0, 1e-12);
    assert_near(f[1], 3.0, 1e-12);
    assert_int_equal(fprime_at(&c, 35, 17200, f, NULL), STATUS_USAGE);
    fprime_free(&c);
}

static void lines_that_make_no_sense(void **state)
{
    static const struct {
        const char *text, *says;
    } curves[] = {
        {"", "no f' and f'' found; expected lines of element"},
        {"Se 12660 -8\n", ":1: 3 columns; expected four"},
        {"Se 12660 -8 1\nXx 1 2 3\n", ":2: 'Xx' is not an element"},
        {"Se 12660 -8 nan\n", ":1: "},
        {"Se 12660 -8 -1\n", ":1: f''"},
        {"Se 12660 -8 1\nSE 12660 -8 2\n", "Se at 12660 eV is listed twice"},
    };
    static const struct {
        const char *text, *says;
    } sites[] = {
        {"# none\n", "no atoms found; expected lines of element"},
        {"Se 1 2\n", ":1: 3 columns; expected four to six"},
        {"Se 1 2 3 4 5 6\n", ":1: 7 columns"},
        {"Q 1 2 3\n", ":1: 'Q' is not an element"},
        {"Se 0.1 inf 0.3\n", ":1: x, y and z"},
        {"Se 0.1 0.2 0.3 -1\n", ":1: occupancy"},
        {"Se 0.1 0.2 0.3 1 -1\n", ":1: B in A^2"},
    };
    struct fprime_curves c;
    struct atoms a;
    struct error e;
    (void)state;
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        assert_int_equal(fprime_read(text(curves[i].text), &c, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, curves[i].says));
        fprime_free(&c);
    }
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        assert_int_equal(sites_read(text(sites[i].text), &a, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, sites[i].says));
        atoms_free(&a);
    }
}

static void a_list_of_atoms(void **state)
{
    struct atoms a;
    (void)state;
    assert_int_equal(sites_read(text("# x y z\nSe .1 -0.2 3e-1\nHG 0 0 0 0.5 20\n"), &a, NULL),
                     STATUS_OK);
    assert_int_equal(a.count, 2);
    assert_int_equal(a.list[0].element, 34);
    assert_int_equal(a.list[1].element, 80);
    assert_near(a.list[0].x[1], -0.2, 1e-12);
    assert_near(a.list[0].occupancy, 1.0, 1e-12);
    assert_near(a.list[1].occupancy, 0.5, 1e-12);
    assert_near(a.list[1].B_A2, 20.0, 1e-12);
    atoms_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amplitudes_are_those_of_another_program),
        cmocka_unit_test(sums_are_those_of_the_formula),
        cmocka_unit_test(table_is_that_of_cromer_and_liberman),
        cmocka_unit_test(every_element_has_all_energies),
        cmocka_unit_test(measured_values_come_first),
        cmocka_unit_test(lines_that_make_no_sense),
        cmocka_unit_test(a_list_of_atoms),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
