#include "physics/background/amorphous.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "physics/crystal/structure_factors.h"

/* Position of the rows that pad the table. It is far enough for a straight line, but third
 * powers must not overflow. */
static const double NEAR = 1e98, FAR = 1e99;

/* Largest believable sin(theta)/lambda and F: their products stay finite. */
static const double STOL_MAX_1_M = 1e14, F_MAX = 1e9;

static enum status check_rows(const double *stol_1_m, const double *F, size_t rows, struct error *e)
{
    if (rows == 0)
        return error_set(e, STATUS_INPUT, "the table of F against sin(theta)/lambda is empty");
    for (size_t i = 0; i < rows; i++) {
        if (!(fabs(stol_1_m[i]) <= STOL_MAX_1_M) || !(fabs(F[i]) <= F_MAX))
            return error_set(
                e, STATUS_INPUT,
                "row %zu of the table of F: sin(theta)/lambda or F is out of range (got %g %g)",
                i + 1, stol_1_m[i] * 1e-10, F[i]);
        if (i > 0 && !(stol_1_m[i] > stol_1_m[i - 1]))
            return error_set(
                e, STATUS_INPUT,
                "row %zu of the table of F: sin(theta)/lambda does not rise (got %g after %g)",
                i + 1, stol_1_m[i] * 1e-10, stol_1_m[i - 1] * 1e-10);
    }
    return STATUS_OK;
}

enum status amorphous_make(struct amorphous *a, const double *stol_1_m, const double *F,
                           size_t rows, bool hold_ends, struct error *e)
{
    *a = (struct amorphous){.hold_ends = hold_ends};
    enum status status = check_rows(stol_1_m, F, rows, e);
    if (status)
        return status;
    const size_t count = rows + 2 * AMORPHOUS_PADDING;
    a->stol_1_m = mem_array(count, sizeof *a->stol_1_m);
    a->F = mem_array(count, sizeof *a->F);
    a->count = count;
    memcpy(a->stol_1_m + AMORPHOUS_PADDING, stol_1_m, rows * sizeof *stol_1_m);
    memcpy(a->F + AMORPHOUS_PADDING, F, rows * sizeof *F);
    a->stol_1_m[0] = -FAR;
    a->stol_1_m[1] = -NEAR;
    a->stol_1_m[count - 2] = NEAR;
    a->stol_1_m[count - 1] = FAR;
    a->F[0] = a->F[1] = F[0];
    a->F[count - 2] = a->F[count - 1] = F[rows - 1];
    return STATUS_OK;
}

void amorphous_free(struct amorphous *a)
{
    mem_free(a->stol_1_m);
    mem_free(a->F);
    *a = (struct amorphous){0};
}

double amorphous_molecules(const double size_m[3], double density_g_cm3, double mass_g_mol)
{
    const double density_g_m3 = density_g_cm3 * 1e6;
    return size_m[0] * size_m[1] * size_m[2] * density_g_m3 * AVOGADRO_1_MOL / mass_g_mol;
}

/* --- water and air ----------------------------------------------------------- */

static double sinc(double x)
{
    return x == 0.0 ? 1.0 : sin(x) / x;
}

/* S(Q) at Q = 0, 0.1, ... 11 1/A; 1 beyond. */
static const double structure[] = {
    0.0640, 0.0640, 0.0642, 0.0640, 0.0634, 0.0637, 0.0657, 0.0692, 0.0744, 0.0835, 0.0963, 0.112,
    0.141,  0.182,  0.242,  0.334,  0.470,  0.640,  0.862,  1.067,  1.215,  1.271,  1.260,  1.230,
    1.207,  1.204,  1.236,  1.283,  1.348,  1.395,  1.377,  1.292,  1.164,  1.016,  0.911,  0.839,
    0.799,  0.792,  0.808,  0.834,  0.876,  0.914,  0.980,  1.012,  1.063,  1.094,  1.121,  1.137,
    1.155,  1.161,  1.137,  1.119,  1.092,  1.062,  1.028,  1.001,  0.964,  0.940,  0.920,  0.904,
    0.900,  0.903,  0.908,  0.922,  0.939,  0.956,  0.975,  0.990,  1.007,  1.012,  1.020,  1.024,
    1.025,  1.020,  1.014,  1.006,  0.999,  0.989,  0.979,  0.963,  0.956,  0.947,  0.940,  0.937,
    0.948,  0.957,  0.960,  0.975,  0.984,  0.996,  1.009,  1.018,  1.026,  1.029,  1.035,  1.033,
    1.026,  1.029,  1.039,  1.033,  1.006,  0.993,  0.984,  0.983,  0.983,  0.980,  0.978,  0.971,
    0.981,  1.000,  1.000,
};
enum { KNOTS = sizeof structure / sizeof *structure };
static const double KNOT_STEP_1_A = 0.1;

static double knot(long i)
{
    return structure[i < 0 ? -i : i < KNOTS ? i : KNOTS - 1];  // even in Q
}

/* Returns the value of the Catmull-Rom spline through the knots. */
double water_structure_factor(double Q_1_A)
{
    const double x = Q_1_A / KNOT_STEP_1_A;
    if (x >= KNOTS - 1)
        return 1.0;
    const long i = (long)x;
    const double t = x - (double)i;
    const double p0 = knot(i - 1), p1 = knot(i), p2 = knot(i + 1), p3 = knot(i + 2);
    return p1 + 0.5 * t *
                    (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)));
}

double water_F(double stol_1_A)
{
    const double Q = 4.0 * M_PI * stol_1_A;
    const double r_OH = 0.9572, r_HH = 1.5139;  // A; 2 r_OH sin(104.52 deg / 2)
    const double f_O = form_factor(&OXYGEN, stol_1_A), f_H = form_factor(&HYDROGEN, stol_1_A);
    const double molecule =
        f_O * f_O + 2.0 * f_H * f_H * (1.0 + sinc(Q * r_HH)) + 4.0 * f_O * f_H * sinc(Q * r_OH);
    const double centred = f_O + 2.0 * f_H * sinc(Q * r_OH);
    return sqrt(molecule + centred * centred * (water_structure_factor(Q) - 1.0));
}

/* Returns the coherent intensity of a molecule of two equal atoms at the distance r_A. */
static double diatomic(const struct scatterer *f, double stol_1_A, double r_A)
{
    const double one = form_factor(f, stol_1_A);
    return 2.0 * one * one * (1.0 + sinc(4.0 * M_PI * stol_1_A * r_A));
}

double air_F(double stol_1_A)
{
    const double f_Ar = form_factor(&ARGON, stol_1_A);
    return sqrt((0.7808 * diatomic(&NITROGEN, stol_1_A, 1.098) +
                 0.2095 * diatomic(&OXYGEN, stol_1_A, 1.208) + 0.0093 * f_Ar * f_Ar) /
                (0.7808 + 0.2095 + 0.0093));
}

void water_table(double (*value)(double stol_1_A), double *stol_1_A, double *F)
{
    for (int i = 0; i < WATER_TABLE_ROWS; i++) {
        stol_1_A[i] = WATER_TABLE_STEP_1_A * i;
        F[i] = value(stol_1_A[i]);
    }
}

/* --- ice ----------------------------------------------------------------------- */

/* d in A and m F^2 in electrons^2 of all rings above 2 % of the strongest; oxygen and half
 * hydrogens where amorphous.h says, B = 1.7 and 2.5 A^2. */
static const struct {
    double d_A, m_F2;
} rings[] = {
    {3.8945, 1464}, {3.6610, 922},  {3.4384, 1113}, {2.6675, 872}, {2.2485, 2378}, {2.0681, 2404},
    {1.9473, 316},  {1.9160, 1441}, {1.8818, 420},  {1.7192, 172}, {1.5222, 1136}, {1.4720, 490},
    {1.4431, 391},  {1.3707, 912},  {1.3657, 354},  {1.2982, 556}, {1.2605, 1230}, {1.2235, 398},
    {1.2203, 61},   {1.1704, 516},  {1.1645, 84},   {1.1242, 376}, {1.0801, 143},  {1.0747, 295},
    {1.0726, 285},  {1.0686, 140},  {1.0382, 635},  {1.0360, 109}, {1.0341, 73},   {1.0102, 62},
    {0.9877, 538},  {0.9736, 52},   {0.9395, 81},   {0.9152, 51},  {0.9043, 186},  {0.8935, 78},
    {0.8910, 70},   {0.8892, 142},  {0.8869, 66},   {0.8693, 330}, {0.8680, 67},   {0.8526, 52}};

#define FWHM_PER_RMS 2.354820045030949

/* The table in 1/A of s, and rows in a full width: the interpolation adds less than 1e-5. */
static const double FIRST_1_A = 0.2, LAST_1_A = 1.25, ROWS_A_WIDTH = 10.0;

double ice_width_1_A(double crystal_A)
{
    return 0.9 / crystal_A;
}

size_t ice_rows(double width_1_A)
{
    return (size_t)ceil((LAST_1_A - FIRST_1_A) / width_1_A * ROWS_A_WIDTH) + 1;
}

static double F2_of(double s, double rms)
{
    double sum = 0.0;
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
        const double x = (s - 1.0 / rings[i].d_A) / rms;
        sum += rings[i].m_F2 * exp(-0.5 * x * x);
    }
    return sum / (sqrt(2.0 * M_PI) * rms * 4.0 * M_PI * s * s * ICE_CELL_A3 * ICE_MOLECULES);
}

void ice_table(double width_1_A, double *stol_1_m, double *F)
{
    const size_t rows = ice_rows(width_1_A);
    for (size_t i = 0; i < rows; i++) {
        const double s = FIRST_1_A + (LAST_1_A - FIRST_1_A) * (double)i / (double)(rows - 1);
        stol_1_m[i] = 0.5e10 * s;
        F[i] = sqrt(F2_of(s, width_1_A / FWHM_PER_RMS));
    }
    F[0] = F[rows - 1] = 0.0;  // also beyond the table
}
