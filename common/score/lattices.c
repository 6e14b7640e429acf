#include "score/lattices.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"

static const double METRIC_TOLERANCE = 1e-4, SETTING_TOLERANCE = 0.02;

/* --- matrices -------------------------------------------------------------- */

/* Computes the transposed inverse.  If the columns of m are a*, b*, c*, the result has columns a,
 * b, c.  Returns false if m has no inverse. */
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

/* Sets g[9] to the scalar products of the axes (the metric). */
static void lattices_metric(const double a[9], double g[9])
{
    double t[9];
    transpose(a, t);
    mat_multiply(t, a, g);
}

/* Returns the largest difference between the metric g of another lattice, transformed by operator
 * m, and the metric `own`, relative to the squares of edges.  The search ends early when a
 * difference exceeds `enough`; a result of at most `enough` is therefore the true maximum. */
static double lattices_metric_off(const int m[9], const double g[9], const double own[9],
                                  double enough)
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

/* Sets m to operator number `number`, with items -1, 0 and 1.  Returns false if its determinant is
 * not 1. */
static bool lattices_operator(int number, int m[9])
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

/* Limits below which two lattices are equal: their angle in deg, and the relative difference of the
 * scalar products of their edges. */
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

/* Replaces m, whose determinant must be positive, by the nearest rotation.  The method is
 * Newton's iteration for the polar decomposition (Higham 1986). */
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

/* Returns the angle of a rotation matrix in deg.  The formula is also exact for small angles. */
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

/* Computes the rotation nearest to found * truth^-1.  Returns false for a flat true lattice. */
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

/* Finds the operator with the smallest rotation `turn`: found = turn * truth * operator. */
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

/* Tolerance of the scalar product of two edges, relative to the edges: 2.5 % of an edge, 3 deg. */
static const double BASES_TOLERANCE = 0.05;

/* --- centrings -------------------------------------------------------------- */

/* The columns of each matrix are reflections that generate all reflections which a centring allows.
 * The determinant is the number of lattice points in the cell. */
static const struct {
    bases_centring name;
    int allowed[9];
} centrings[BASES_CENTRINGS] = {
    {'P', {1, 0, 0, 0, 1, 0, 0, 0, 1}},   {'A', {1, 0, 0, 0, 1, -1, 0, 1, 1}},
    {'B', {1, 0, -1, 0, 1, 0, 1, 0, 1}},  {'C', {1, -1, 0, 1, 1, 0, 0, 0, 1}},
    {'I', {0, 1, 1, 1, 0, 1, 1, 1, 0}},   {'R', {1, -1, 0, 0, 1, -1, 1, 1, 1}},
    {'S', {-1, 1, 0, 0, -1, 1, 1, 1, 1}}, {'F', {-1, 1, 1, 1, -1, 1, 1, 1, -1}},
};

static const int *allowed_of(bases_centring centring)
{
    for (int i = 0; i < BASES_CENTRINGS; i++)
        if (centrings[i].name == centring)
            return centrings[i].allowed;
    return centrings[0].allowed;
}

static bool allows(bases_centring centring, const int32_t hkl[3])
{
    const int h = hkl[0] % 6, k = hkl[1] % 6, l = hkl[2] % 6;
    switch (centring) {
    case 'A':
        return (k + l) % 2 == 0;
    case 'B':
        return (h + l) % 2 == 0;
    case 'C':
        return (h + k) % 2 == 0;
    case 'I':
        return (h + k + l) % 2 == 0;
    case 'F':
        return (h + k) % 2 == 0 && (k + l) % 2 == 0;
    case 'R':
        return (-h + k + l) % 3 == 0;
    case 'S':
        return (h - k + l) % 3 == 0;
    default:
        return true;
    }
}

void bases_count(struct bases_count *c, const int32_t hkl[3])
{
    c->all++;
    for (int i = 0; i < BASES_CENTRINGS; i++)
        c->allowed[i] += allows(centrings[i].name, hkl);
}

bases_centring bases_counted(const struct bases_count *c)
{
    bases_centring best = 0;
    for (int i = 0; i < BASES_CENTRINGS && c->all >= BASES_ENOUGH; i++)
        if (c->allowed[i] == c->all)
            best = centrings[i].name;
    return best;
}

bool bases_keep(bases_centring centring, const int operator[9])
{
    const int *q = allowed_of(centring);
    for (int column = 0; column < 3; column++) {
        int32_t hkl[3];
        for (int i = 0; i < 3; i++)
            hkl[i] = operator[3 * i] * q[column] + operator[3 * i + 1] * q[3 + column] +
            operator[3 * i + 2] * q[6 + column];
        if (!allows(centring, hkl))
            return false;
    }
    return true;
}

/* --- reduction -------------------------------------------------------------- */

/* A basis made of integer combinations of the axes of a cell: vectors = axes * columns. */
struct basis {
    double vectors[9], columns[9];
};

static void add_column(double m[9], int to, int from, double times)
{
    for (int i = 0; i < 3; i++)
        m[3 * i + to] += times * m[3 * i + from];
}

static double product(const double m[9], int a, int b)
{
    return m[a] * m[b] + m[3 + a] * m[3 + b] + m[6 + a] * m[6 + b];
}

/* Makes vector `i` shorter, if possible, by adding integer multiples of the two other vectors.
 * Returns true if the vector changed. */
static bool shorten(struct basis *b, int i)
{
    static const double LESS = 1.0 - 1e-9;
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    double best = product(b->vectors, i, i) * LESS, times[2] = {0};
    const double along[2] = {
        rint(product(b->vectors, i, j) / product(b->vectors, j, j)),
        rint(product(b->vectors, i, k) / product(b->vectors, k, k)),
    };
    for (int n = 0; n < 15; n++) {
        const double x = n < 9         ? n % 3 - 1.0
                         : (n - 9) % 2 ? -along[0]
                                       : 0.0,
                     y = n < 9         ? n / 3 - 1.0
                         : (n - 9) % 2 ? 0.0
                                       : -along[1];
        double v[3];
        for (int m = 0; m < 3; m++)
            v[m] = b->vectors[3 * m + i] + x * b->vectors[3 * m + j] + y * b->vectors[3 * m + k];
        if (vec_dot(v, v) < best) {
            best = vec_dot(v, v);
            times[0] = x;
            times[1] = y;
        }
    }
    add_column(b->vectors, i, j, times[0]);
    add_column(b->vectors, i, k, times[1]);
    add_column(b->columns, i, j, times[0]);
    add_column(b->columns, i, k, times[1]);
    return times[0] != 0.0 || times[1] != 0.0;
}

/* Finds the three shortest vectors of the lattice (Minkowski's conditions).  Returns false if the
 * lattice is not valid: flat, left-handed or not finite. */
static bool reduce(const double axes[9], bases_centring centring, struct basis *b)
{
    enum { STEPS_MAX = 1000 };
    const int *q = allowed_of(centring);
    for (int i = 0; i < 9; i++)
        b->columns[i] = q[i];
    mat_multiply(axes, b->columns, b->vectors);
    for (int quiet = 0, step = 0; quiet < 3; step++) {
        if (step == STEPS_MAX || !isfinite(product(b->vectors, step % 3, step % 3)))
            return false;
        quiet = shorten(b, step % 3) ? 0 : quiet + 1;
    }
    return mat_determinant(b->vectors) > 0.0;
}

/* --- matching ---------------------------------------------------------------- */

/* Changes of basis between reduced cells: matrices with items -1, 0 and 1 and determinant 1. */
struct changes {
    size_t count;
    int change[3500][9];
};

static const struct changes *all_changes(void)
{
    static struct changes all;
    enum { ROOM = sizeof all.change / sizeof *all.change };
    if (all.count)
        return &all;
    for (int number = 0; number < LATTICES_OPERATORS; number++)
        if (lattices_operator(number, all.change[all.count]) && all.count + 1 < ROOM)
            all.count++;
    return &all;
}

/* Finds the change of basis `best` for which found->vectors * best is rotated least from the true
 * basis.  The metrics must agree to BASES_TOLERANCE.  Returns false if there is no such change. */
static bool match_reduced(const struct basis *truth, const struct basis *found, double best[9],
                          double *angle_deg)
{
    const struct changes *all = all_changes();
    double own[9], g[9];
    lattices_metric(truth->vectors, own);
    lattices_metric(found->vectors, g);
    *angle_deg = INFINITY;
    for (size_t n = 0; n < all->count; n++) {
        const int *m = all->change[n];
        double w[9], set[9];
        if (!(lattices_metric_off(m, g, own, BASES_TOLERANCE) <= BASES_TOLERANCE))
            continue;
        for (int i = 0; i < 9; i++)
            w[i] = m[i];
        mat_multiply(found->vectors, w, set);
        const double angle = lattices_angle_deg(truth->vectors, set);
        if (angle < *angle_deg) {
            *angle_deg = angle;
            memcpy(best, w, sizeof w);
        }
    }
    return isfinite(*angle_deg);
}

static void match_cells(const double truth[9], bases_centring truth_centring, const double found[9],
                        bases_centring found_centring, struct bases_match *best)
{
    struct basis t, f;
    double w[9] = {0}, angle_deg, own[9], inverse[9], change[9];
    if (!reduce(truth, truth_centring, &t) || !reduce(found, found_centring, &f) ||
        !match_reduced(&t, &f, w, &angle_deg) || !(angle_deg < best->angle_deg))
        return;
    mat_multiply(f.columns, w, own);
    mat_invert(t.columns, inverse);
    mat_multiply(own, inverse, change);
    mat_invert(change, best->index);
    mat_multiply(found, change, best->found);
    best->angle_deg = angle_deg;
}

static bool is_centred(bases_centring centring)
{
    return centring && centring != 'P';
}

bool bases_match(const double truth[9], bases_centring truth_centring, const double found[9],
                 bases_centring found_centring, struct bases_match *m)
{
    m->angle_deg = INFINITY;
    /* If both cells are known to be centred, equal cells may belong to different lattices, such as
     * twins of R.  Then the cells are compared only with their centrings. */
    if (!is_centred(truth_centring) || !is_centred(found_centring))
        match_cells(truth, 'P', found, 'P', m);
    if (is_centred(truth_centring) || is_centred(found_centring))
        match_cells(truth, truth_centring, found, found_centring, m);
    return isfinite(m->angle_deg);
}
