#include "engine/crystal/direct.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"

void direct_rows(const double cell[6], double rows[9], double by[6][9])
{
    const double a = cell[0], b = cell[1];
    double co[3], si[3], dw[3];
    for (int i = 0; i < 3; i++) {
        co[i] = cos(cell[3 + i]);
        si[i] = sin(cell[3 + i]);
    }
    const double w =
        sqrt(1.0 - co[0] * co[0] - co[1] * co[1] - co[2] * co[2] + 2.0 * co[0] * co[1] * co[2]);
    for (int i = 0; i < 3; i++)
        dw[i] = si[i] * (co[i] - co[(i + 1) % 3] * co[(i + 2) % 3]) / w;
    const double along[9] = {
        w / si[0], (co[2] - co[0] * co[1]) / si[0], co[1], 0.0, si[0], co[0], 0.0, 0.0, 1.0};
    memset(by, 0, 6 * sizeof *by);
    for (int i = 0; i < 9; i++) {
        rows[i] = along[i] * cell[i / 3];
        by[i / 3][i] = along[i];
    }
    vec_set(by[3], a * (dw[0] - along[0] * co[0]) / si[0], a * (co[1] - along[1] * co[0] / si[0]),
            0.0);
    vec_set(by[3] + 3, 0.0, b * co[0], -b * si[0]);
    vec_set(by[4], a * dw[1] / si[0], a * co[0] * si[1] / si[0], -a * si[1]);
    vec_set(by[5], a * dw[2] / si[0], -a * si[2] / si[0], 0.0);
}

/* Edges and angles of direct vectors. */
static void cell_of(const double direct[9], double cell[6])
{
    for (int i = 0; i < 3; i++)
        cell[i] = vec_length(direct + 3 * i);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        cell[3 + i] = acos(vec_dot(direct + 3 * j, direct + 3 * k) / (cell[j] * cell[k]));
    }
}

void direct_split(const double direct[9], double cell[6], double turn[9])
{
    double rows[9], by[6][9], back[9];
    cell_of(direct, cell);
    direct_rows(cell, rows, by);
    mat_invert(rows, back);
    mat_multiply(back, direct, turn);
}

void rotation_vector(const double m[9], double out[3])
{
    vec_set(out, 0.5 * (m[7] - m[5]), 0.5 * (m[2] - m[6]), 0.5 * (m[3] - m[1]));
    const double sine = vec_length(out), cosine = 0.5 * (m[0] + m[4] + m[8] - 1.0);
    if (sine > 0.0)
        vec_scale(out, atan2(sine, cosine) / sine, out);
}

void rotation_matrix(const double vector[3], double m[9])
{
    double axis[3];
    const double angle = vec_unit(vector, axis);
    for (int j = 0; j < 3; j++) {
        double v[3] = {j == 0, j == 1, j == 2};
        vec_rotate_axis(v, axis, angle);
        for (int i = 0; i < 3; i++)
            m[3 * i + j] = v[i];
    }
}
