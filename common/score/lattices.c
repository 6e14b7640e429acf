#include "score/lattices.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"

static const double METRIC_TOLERANCE = 1e-4, SETTING_TOLERANCE = 0.02;

/* --- matrices -------------------------------------------------------------- */

/* The transposed inverse: of columns a*, b*, c* it is a, b, c.  False where there is none. */
static bool dual(const double m[9], double out[9])
{
    const double determinant = mat_determinant(m);
    for (int i = 0; i < 3; i++)
        vec_cross(m + 3 * ((i + 1) % 3), m + 3 * ((i + 2) % 3), out + 3 * i);
    for (int i = 0; i < 9; i++)
        out[i] /= determinant;
    return isfinite(1.0 / determinant);
}

static void transpose(const double m[9], double out[9])
{
    for (int i = 0; i < 9; i++)
        out[i] = m[3 * (i % 3) + i / 3];
}

static int determinant_of(const int m[9])
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
           m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/* --- symmetry ---------------------------------------------------------------- */

void lattices_metric(const double a[9], double g[9])
{
    double t[9];
    transpose(a, t);
    mat_multiply(t, a, g);
}

double lattices_metric_off(const int m[9], const double g[9], const double own[9], double enough)
{
    double off = 0.0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k <= i && off <= enough; k++) {
            double turned = 0.0;
            for (int p = 0; p < 3; p++)
                for (int q = 0; q < 3; q++)
                    turned += m[3 * p + i] * m[3 * q + k] * g[3 * p + q];
            off = fmax(off, fabs(turned - own[3 * i + k]) / sqrt(own[4 * i] * own[4 * k]));
        }
    return off;
}

bool lattices_operator(int number, int m[9])
{
    for (int i = 0; i < 9; i++, number /= 3)
        m[i] = number % 3 - 1;
    return determinant_of(m) == 1;
}

void lattices_rotations(const double a_matrix[9], struct symmetry *y)
{
    double g[9];
    lattices_metric(a_matrix, g);
    y->count = 0;
    for (int number = 0; number < LATTICES_OPERATORS; number++) {
        int m[9];
        if (lattices_operator(number, m) &&
            lattices_metric_off(m, g, g, METRIC_TOLERANCE) <= METRIC_TOLERANCE &&
            y->count < SYMMETRY_OPERATORS_MAX)
            memcpy(y->operators[y->count++], m, sizeof m);
    }
}

void lattices_group(const struct symmetry *group, struct symmetry *y)
{
    y->count = 0;
    for (size_t o = 0; o < group->count; o++) {
        const int *from = group->operators[o];
        const int sign = determinant_of(from);
        int m[9];
        bool there = false;
        for (int i = 0; i < 9; i++)
            m[i] = sign * from[3 * (i % 3) + i / 3];
        for (size_t p = 0; p < y->count; p++)
            there = there || memcmp(y->operators[p], m, sizeof m) == 0;
        if (!there)
            memcpy(y->operators[y->count++], m, sizeof m);
    }
}

/* --- comparison ---------------------------------------------------------------- */

bool lattices_cell(const double a_matrix[9], double cell[6])
{
    double direct[9], rows[9];
    if (!dual(a_matrix, direct))
        return false;
    transpose(direct, rows);
    for (int i = 0; i < 3; i++)
        cell[i] = vec_length(rows + 3 * i);
    for (int i = 0; i < 3; i++) {
        const int k = (i + 1) % 3, l = (i + 2) % 3;
        const double along = vec_dot(rows + 3 * k, rows + 3 * l) / (cell[k] * cell[l]);
        cell[3 + i] = rad_to_deg(acos(fmax(-1.0, fmin(1.0, along))));
    }
    return true;
}

/* deg and, of the scalar products of edges, relative: lattices that differ by less are one. */
static const double ONE_DEG = 0.01, ONE_METRIC = 0.02;

bool lattices_are_one(const double a[9], const double b[9])
{
    static const int same[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double own[9], g[9], apart = 0.0, size = 0.0;
    for (int i = 0; i < 9; i++) {
        apart += (a[i] - b[i]) * (a[i] - b[i]);
        size += a[i] * a[i];
    }
    if (!(apart <= ONE_METRIC * ONE_METRIC * size))
        return false;
    lattices_metric(a, own);
    lattices_metric(b, g);
    return lattices_metric_off(same, g, own, ONE_METRIC) <= ONE_METRIC &&
           lattices_angle_deg(a, b) <= ONE_DEG;
}

bool lattices_same_edges(const double a[6], const double b[6], double tolerance)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int o = 0; o < 6; o++) {
        bool same = true;
        for (int i = 0; i < 3; i++)
            same = same && fabs(a[orders[o][i]] / b[i] - 1.0) <= tolerance;
        if (same)
            return true;
    }
    return false;
}

/* The rotation nearest to m, whose determinant is positive: Newton's iteration for the polar
 * decomposition (Higham 1986). */
static void nearest_rotation(double m[9])
{
    double inverse[9];
    for (int step = 0; step < 40 && dual(m, inverse); step++) {
        double change = 0.0;
        for (int i = 0; i < 9; i++) {
            const double next = 0.5 * (m[i] + inverse[i]);
            change = fmax(change, fabs(next - m[i]));
            m[i] = next;
        }
        if (change < 1e-15)
            return;
    }
}

/* Exact for small angles, too. */
static double angle_deg(const double r[9])
{
    double squares = 0.0;
    for (int i = 0; i < 9; i++) {
        const double off = r[i] - (i % 4 == 0);
        squares += off * off;
    }
    return rad_to_deg(2.0 * asin(fmin(1.0, sqrt(squares / 8.0))));
}

static void vector_deg(const double r[9], double angle, double out[3])
{
    vec_set(out, r[7] - r[5], r[2] - r[6], r[3] - r[1]);
    vec_unit(out, out);
    vec_scale(out, angle, out);
}

/* The rotation nearest to found * truth^-1; false for a flat truth. */
static bool turn_between(const double truth[9], const double found[9], double r[9])
{
    double transposed[9], inverse[9];
    if (!dual(truth, transposed))
        return false;
    transpose(transposed, inverse);
    mat_multiply(found, inverse, r);
    nearest_rotation(r);
    return true;
}

double lattices_angle_deg(const double truth[9], const double found[9])
{
    double r[9];
    return turn_between(truth, found, r) ? angle_deg(r) : INFINITY;
}

double lattices_setting(const double truth[9], const double found[9], double rotation[9])
{
    static const int same[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double own[9], g[9], set[9], as_true[9];
    int m[9], chosen[9];
    if (!(mat_determinant(found) > 0.0) || !(mat_determinant(truth) > 0.0))
        return INFINITY;
    lattices_metric(truth, own);
    lattices_metric(found, g);
    memcpy(chosen, same, sizeof chosen);
    double off = lattices_metric_off(same, g, own, INFINITY);
    const int operators = off > SETTING_TOLERANCE ? LATTICES_OPERATORS : 0;
    for (int number = 0; number < operators; number++) {
        const double its =
            lattices_operator(number, m) ? lattices_metric_off(m, g, own, off) : INFINITY;
        if (its < off) {
            off = its;
            memcpy(chosen, m, sizeof chosen);
        }
    }
    for (int i = 0; i < 9; i++)
        as_true[i] = chosen[i];
    mat_multiply(found, as_true, set);
    return turn_between(truth, set, rotation) ? off : INFINITY;
}

/* The setting that turns least: found = turn * truth * operator. */
bool lattices_compare(const double truth[9], const double found[9], const struct symmetry *y,
                      struct lattices_turn *turn)
{
    turn->angle_deg = INFINITY;
    if (!(mat_determinant(found) > 0.0) || !(mat_determinant(truth) > 0.0))
        return false;
    for (size_t o = 0; o < y->count; o++) {
        double m[9], set[9], r[9];
        for (int i = 0; i < 9; i++)
            m[i] = y->operators[o][i];
        mat_multiply(truth, m, set);
        if (!turn_between(set, found, r))
            return false;
        const double angle = angle_deg(r);
        if (!(angle < turn->angle_deg))
            continue;
        turn->angle_deg = angle;
        vector_deg(r, angle, turn->vector_deg);
        memcpy(turn->operator, y->operators[o], sizeof turn->operator);
    }
    double m[9], transposed[9], inverse[9], back[9];
    for (int i = 0; i < 9; i++)
        m[i] = turn->operator[i];
    if (!isfinite(turn->angle_deg) || !dual(m, transposed))
        return false;
    transpose(transposed, inverse);
    mat_multiply(found, inverse, back);
    return lattices_cell(back, turn->cell);
}
