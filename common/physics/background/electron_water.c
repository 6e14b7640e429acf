#include "physics/background/electron_water.h"

#include <math.h>

#include "base/units.h"
#include "model/probe.h"
#include "physics/background/amorphous.h"
#include "physics/crystal/structure_factors.h"

static const double BOHR_A = 0.529177211;

static double sinc(double x)
{
    return x == 0.0 ? 1.0 : sin(x) / x;
}

/* Returns f_e of a free atom for electrons at rest, in A.  Z is the sum of the Gaussians at 0, so
 * that the difference keeps its digits at small angles. */
static double factor_A(const struct scatterer *f, double s)
{
    double sum = 0.0;
    for (int i = 0; i < 4; i++)
        sum += s > 0.0 ? -f->a[i] * expm1(-f->b[i] * s * s) / (s * s) : f->a[i] * f->b[i];
    return sum / (8.0 * M_PI * M_PI * BOHR_A);
}

double electron_water_elastic_A2(double wavelength_m, double s)
{
    const double Q = 4.0 * M_PI * s, r_OH = 0.9572, r_HH = 1.5139;  // A
    const double f_O = factor_A(&OXYGEN, s), f_H = factor_A(&HYDROGEN, s);
    const double molecule =
        f_O * f_O + 2.0 * f_H * f_H * (1.0 + sinc(Q * r_HH)) + 4.0 * f_O * f_H * sinc(Q * r_OH);
    const double centred = f_O + 2.0 * f_H * sinc(Q * r_OH), gamma = electron_gamma(wavelength_m);
    return gamma * gamma * (molecule + centred * centred * (water_structure_factor(Q) - 1.0));
}

/* The beam of electrons, as the formula of Lenz describes it. */
struct lenz {
    double gamma, k_1_A;  // wave number
    double q_E_1_A;       // q at the angle 0
};

static struct lenz lenz_of(double wavelength_m)
{
    static const double LOSS_EV = 20.0;
    const double gamma = electron_gamma(wavelength_m);
    const double k_1_A = 2.0 * M_PI / m_to_angstrom(wavelength_m);
    const double theta_E = LOSS_EV * gamma / ((gamma + 1.0) * m_to_volt(wavelength_m));
    return (struct lenz){gamma, k_1_A, k_1_A * theta_E};
}

static double lenz_at(const struct lenz *l, double Z, double Q)
{
    const double q_sqr = Q * Q + l->q_E_1_A * l->q_E_1_A, r = BOHR_A / cbrt(Z);
    const double one = 1.0 + q_sqr * r * r;
    return 4.0 * l->gamma * l->gamma * Z / (BOHR_A * BOHR_A * q_sqr * q_sqr) *
           (1.0 - 1.0 / (one * one));
}

/* Returns the integral of lenz_at over the solid angle of small angles, 2 pi q dq/k^2. */
static double lenz_total(const struct lenz *l, double Z)
{
    const double r = BOHR_A / cbrt(Z), u = l->q_E_1_A * l->q_E_1_A * r * r;
    return 4.0 * l->gamma * l->gamma * Z / (BOHR_A * BOHR_A) * M_PI * r * r /
           (l->k_1_A * l->k_1_A) * (2.0 * log((1.0 + u) / u) - 1.0 / (1.0 + u));
}

/* Returns the cross section of a molecule that gives the mean free path, in A^2. */
static double inelastic_A2(double gamma)
{
    static const double PATH_A = 3000.0, BETA_SQR = 0.6030, MOLECULES_1_A3 = 0.03109;
    const double beta_sqr = 1.0 - 1.0 / (gamma * gamma);
    return BETA_SQR / (PATH_A * beta_sqr * MOLECULES_1_A3);
}

double electron_water_inelastic_A2(double wavelength_m, double s)
{
    const struct lenz l = lenz_of(wavelength_m);
    const double Q = 4.0 * M_PI * s, total = lenz_total(&l, 8.0) + 2.0 * lenz_total(&l, 1.0);
    return inelastic_A2(l.gamma) / total * (lenz_at(&l, 8.0, Q) + 2.0 * lenz_at(&l, 1.0, Q));
}

void electron_water_table(double wavelength_m, double *stol_1_A, double *F)
{
    static const double FIRST_1_A = 1e-4, LAST_1_A = 2.2;
    const double radius_A = 1e10 * sqrt(ELECTRON_RADIUS_SQR_M2);
    const double ratio = pow(LAST_1_A / FIRST_1_A, 1.0 / (ELECTRON_WATER_ROWS - 2));
    for (int i = 0; i < ELECTRON_WATER_ROWS; i++) {
        const double s = i ? FIRST_1_A * pow(ratio, i - 1) : 0.0;
        stol_1_A[i] = s;
        F[i] = sqrt(electron_water_elastic_A2(wavelength_m, s) +
                    electron_water_inelastic_A2(wavelength_m, s)) /
               radius_A;
    }
}
