#include "physics/ice.h"

#include <math.h>

/* d in A and m F^2 in electrons^2 of the rings that matter; oxygen and half hydrogens, B = 1.7 and
 * 2.5 A^2. */
static const struct {
    double d_A, m_F2;
} rings[] = {{3.894, 1464}, {3.661, 922},  {3.438, 1113}, {2.667, 872},
             {2.248, 2378}, {2.068, 2404}, {1.947, 316},  {1.916, 1441},
             {1.882, 420},  {1.719, 172},  {1.522, 1136}, {1.472, 490},
             {1.443, 391},  {1.371, 912},  {1.366, 354},  {1.260, 1230}};

#define FWHM_PER_RMS 2.354820045030949

/* The table in 1/A of s, and rows in a full width: the interpolation adds less than 1e-5. */
static const double FIRST_1_A = 0.2, LAST_1_A = 0.85, ROWS_A_WIDTH = 10.0;

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
