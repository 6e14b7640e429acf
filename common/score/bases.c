#include "score/bases.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "score/lattices.h"

/* Of the scalar products of two edges, relative to the edges: 2.5 % of an edge, 3 deg. */
static const double METRIC_TOLERANCE = 0.05;

/* --- centrings -------------------------------------------------------------- */

/* Columns are reflections that generate all those which a centring allows; the determinant is the
 * number of lattice points in the cell. */
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

/* A basis as whole combinations of the axes of a cell: axes * columns. */
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

/* Adds multiples of the others to vector `i` where that makes it shorter. */
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

/* Three shortest vectors of the lattice (Minkowski's conditions); false for a lattice that is none.
 */
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

/* Changes of basis between reduced cells: items -1, 0 and 1, determinant 1. */
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

/* found = vectors of the found basis * operator, as close to those of the true one as can be. */
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
        if (!(lattices_metric_off(m, g, own, METRIC_TOLERANCE) <= METRIC_TOLERANCE))
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
    /* Where both are known to be centred, equal cells may be of different lattices: twins of R. */
    if (!is_centred(truth_centring) || !is_centred(found_centring))
        match_cells(truth, 'P', found, 'P', m);
    if (is_centred(truth_centring) || is_centred(found_centring))
        match_cells(truth, truth_centring, found, found_centring, m);
    return isfinite(m->angle_deg);
}
