/*
 * Diffuse halos: unit cells move together, rms sigma along the axes a, c* x a and c*, and less
 * alike by exp(-r/gamma) with the distance r (liquid-like motions; Caspar et al. 1988, Nature 332,
 * 659).  Every reflection h then lights its surroundings, in units of F^2 F_latt^2, by
 *
 *     (n/V) F_h^2 sum over m of X^m/m! L_m(s - h),    X = 4 pi^2 |sigma h|^2
 *     L_m(ds) = 8 pi det(gamma/m) / (1 + 4 pi^2 |gamma ds/m|^2)^2
 *
 * for n cells of volume V and a table F that is damped by the motion itself, as that of a refined
 * model is: F^2 = F_0^2 e^-X.  The integral of L_m is 1.
 */
#ifndef BRAGG_PHYSICS_DIFFUSE_H
#define BRAGG_PHYSICS_DIFFUSE_H

#include "model/experiment.h"

/* Largest X that is accepted. A larger X would damp the table by more than e^-20. */
#define DIFFUSE_MOST_X 20.0

/* Computes the symmetric matrix m with h . m h = 4 pi^2 |t g|^2, where g = h a* + k b* + l c* in
 * 1/A, and t is in A along a, c* x a and c*. */
void diffuse_metric(const struct crystal *c, const double t_A[3], double m[9]);

/* h . m h. */
double diffuse_quadratic(const double m[9], const double hkl[3]);

/* Returns the number of orders m that are needed so that less than a thousandth of e^X - 1 is
 * missing, for all X up to this one. */
int diffuse_orders(double X);

/* n/V times 8 pi det(gamma): what the sum over m of X^m/(m-1)! / (m^2 + u)^2 is multiplied by, for
 * u = 4 pi^2 |gamma ds|^2. */
double diffuse_scale(const struct crystal *c);

/* Multiplies the listed F by e^(-X/2): for tables without the motion.  False where there is an X
 * beyond DIFFUSE_MOST_X. */
bool diffuse_damp(struct crystal *c);

#endif
