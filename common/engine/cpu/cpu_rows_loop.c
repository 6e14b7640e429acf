/*
 * Where rows of lattice points pass near the Ewald sphere, see cpu_spots.h.  Compiled
 * once per instruction set; what is found has no part in the value of a pixel.  What
 * bounds it: two roots a row.
 */
#include "engine/cpu/cpu_point.h"
#include "engine/spots/cpu_spots.h"

/* In doubles: cheaper than branches.  An empty range is begin 1, end 0. */
void NAME(cpu_rows_, ISA)(const struct cpu_view_step *s, const double start[3], int count,
                          struct cpu_rows *rows)
{
    const double *side = s->reciprocal + 3 * s->outer[1], *step = s->reciprocal + 3 * s->inner;
    const double x = start[0], y = start[1], z = start[2];
    const double sx = side[0], sy = side[1], sz = side[2];
    const double tx = step[0], ty = step[1], tz = step[2];
    const double inverse = s->inverse_sqr[s->inner];
    const double outer_sqr = s->outer_sqr, inner_sqr = s->inner_sqr;
    const double min = s->min[s->inner], max = s->max[s->inner];
    const int n = (count + CPU_LANES - 1) / CPU_LANES;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double kx = x + i * sx, ky = y + i * sy, kz = z + i * sz;
        const double kt = (kx * tx + ky * ty + kz * tz) * inverse;
        const double kk = kx * kx + ky * ky + kz * kz;
        /* the row start + t step is between two spheres about the origin */
        const double out = kt * kt - (kk - outer_sqr) * inverse;
        const double in = kt * kt - (kk - inner_sqr) * inverse;
        const double far = sqrt(out > 0.0 ? out : 0.0), near = sqrt(in > 0.0 ? in : 0.0);
        const double enter = -kt - far, leave = -kt + far;
        double first_end = floor_fast(-kt - near);
        double second_begin = -floor_fast(kt - near);
        /* without a hollow, or where its edges fall on one point: one range */
        second_begin = second_begin > first_end ? second_begin : first_end + 1.0;
        double first_begin = -floor_fast(-enter), second_end = floor_fast(leave);
        first_begin = first_begin > min ? first_begin : min;
        first_end = first_end < max ? first_end : max;
        second_begin = second_begin > min ? second_begin : min;
        second_end = second_end < max ? second_end : max;
        const int dark = !(out >= 0.0);
        rows->begin[0][i] = dark ? 1 : (int32_t)first_begin;
        rows->end[0][i] = dark ? 0 : (int32_t)first_end;
        rows->begin[1][i] = dark ? 1 : (int32_t)second_begin;
        rows->end[1][i] = dark ? 0 : (int32_t)second_end;
    }
}
