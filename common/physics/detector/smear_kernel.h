/* For smear.c: the loops that compute kernels, compiled once per instruction set. */
#ifndef BRAGG_PHYSICS_SMEAR_KERNEL_H
#define BRAGG_PHYSICS_SMEAR_KERNEL_H

#include "base/isa.h"
#include "physics/detector/smear.h"

/* Largest number of parts into which the sensor is divided. */
enum { SMEAR_PARTS_MOST = SMEAR_PARTS_STEP * SMEAR_WIDEST };

/* A panel as the rays see it, and a factor on the weights of its kernel. */
struct smear_kernel_ray {
    const struct smear *view;
    double factor;
};

/* Computes the sum of the kernels of one or two rays to a place, whose sensors are divided into
 * `parts` parts.  k->row and k->weight have room for it. */
typedef void smear_kernel_loop(const struct smear_kernel_ray *rays, int count, const double at[2],
                               int parts, struct smear_kernel *k);

extern smear_kernel_loop smear_kernel_loop_baseline, smear_kernel_loop_avx2,
    smear_kernel_loop_avx512;

#endif
