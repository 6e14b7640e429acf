#include "physics/water.h"

#include <math.h>

/* f(s) = c + sum a exp(-b s^2), s in 1/A. */
struct form_factor {
    double a[4], b[4], c;
};

static const struct form_factor hydrogen = {
    {0.489918, 0.262003, 0.196767, 0.049879}, {20.6593, 7.74039, 49.5519, 2.20159}, 0.001305};
static const struct form_factor nitrogen = {
    {12.2126, 3.1322, 2.0125, 1.1663}, {0.0057, 9.8933, 28.9975, 0.5826}, -11.529};
static const struct form_factor oxygen = {
    {3.0485, 2.2868, 1.5463, 0.867}, {13.2771, 5.7011, 0.3239, 32.9089}, 0.2508};
static const struct form_factor argon = {
    {7.4845, 6.7723, 0.6539, 1.6442}, {0.9072, 14.8407, 43.8983, 33.3929}, 1.4445};

static double atom(const struct form_factor *f, double s)
{
    double sum = f->c;
    for (int i = 0; i < 4; i++)
        sum += f->a[i] * exp(-f->b[i] * s * s);
    return sum;
}

static double sinc(double x)
{
    return x == 0.0 ? 1.0 : sin(x) / x;
}

/* S(Q) at Q = 0, 0.25, ... 9 1/A; 1 beyond. */
static const double structure[] = {
    0.063, 0.065, 0.08, 0.11, 0.15, 0.27, 0.52, 0.98, 1.34, 1.27, 1.14, 1.20, 1.29,
    1.18,  0.97,  0.81, 0.76, 0.82, 0.95, 1.09, 1.15, 1.13, 1.05, 0.97, 0.93, 0.93,
    0.96,  1.00,  1.04, 1.05, 1.04, 1.01, 0.99, 0.98, 0.98, 0.99, 1.00,
};
enum { KNOTS = sizeof structure / sizeof *structure };

static double knot(long i)
{
    return structure[i < 0 ? -i : i < KNOTS ? i : KNOTS - 1];  // even in Q
}

/* Catmull-Rom spline through the knots: smooth slopes, no fitting. */
double water_structure_factor(double Q_1_A)
{
    const double x = Q_1_A / 0.25;
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
    const double f_O = atom(&oxygen, stol_1_A), f_H = atom(&hydrogen, stol_1_A);
    const double molecule =
        f_O * f_O + 2.0 * f_H * f_H * (1.0 + sinc(Q * r_HH)) + 4.0 * f_O * f_H * sinc(Q * r_OH);
    const double centred = f_O + 2.0 * f_H * sinc(Q * r_OH);
    return sqrt(molecule + centred * centred * (water_structure_factor(Q) - 1.0));
}

/* Coherent intensity of a molecule of two equal atoms, r_A apart. */
static double diatomic(const struct form_factor *f, double stol_1_A, double r_A)
{
    const double one = atom(f, stol_1_A);
    return 2.0 * one * one * (1.0 + sinc(4.0 * M_PI * stol_1_A * r_A));
}

double air_F(double stol_1_A)
{
    const double f_Ar = atom(&argon, stol_1_A);
    return sqrt((0.7808 * diatomic(&nitrogen, stol_1_A, 1.098) +
                 0.2095 * diatomic(&oxygen, stol_1_A, 1.208) + 0.0093 * f_Ar * f_Ar) /
                (0.7808 + 0.2095 + 0.0093));
}

void water_table(double (*value)(double stol_1_A), double *stol_1_A, double *F)
{
    for (int i = 0; i < WATER_TABLE_ROWS; i++) {
        stol_1_A[i] = WATER_TABLE_STEP_1_A * i;
        F[i] = value(stol_1_A[i]);
    }
}
