#include "physics/background/ice.h"

#include <math.h>

/* d in A and m F^2 in electrons^2 of all rings above 2 % of the strongest; oxygen and half
 * hydrogens where ice.h says, B = 1.7 and 2.5 A^2. */
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
