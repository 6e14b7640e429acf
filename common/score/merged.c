#include "score/merged.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "io/crystfel_hkl.h"
#include "io/hkl.h"
#include "io/mtz.h"
#include "score/lattices.h"

/* A reflection that both have, without its equivalents. */
struct pair {
    double truth, measured, s2;  // F^2, I, and 1 / (2 d)^2 in 1/A^2
};

/* What is compared. */
struct both {
    struct hkl_table truth, measured;  // F^2, I; NaN: not there
    struct symmetry y;                 // what the cell allows
    const double *a_matrix;
    struct pair *pairs;
    size_t n, room;
};

/* --- reading -------------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *ending)
{
    const size_t length = strlen(path), n = strlen(ending);
    return length > n && strcmp(path + length - n, ending) == 0;
}

bool merged_is(const char *path)
{
    return ends_with(path, ".mtz") || ends_with(path, ".hkl");
}

static enum status read_mtz(const char *path, const double truth[6], struct hkl_table *t,
                            struct error *e)
{
    double cell[6], rad[3];
    const enum status s = mtz_read_intensities(path, t, cell, rad, e);
    if (s)
        return s;
    if (!lattices_same_edges(cell, truth, 0.1))
        return error_set(e, STATUS_INPUT,
                         "%s: is of another crystal: edges of %.2f, %.2f, %.2f A, those of the key "
                         "are %.2f, %.2f, %.2f A",
                         path, cell[0], cell[1], cell[2], truth[0], truth[1], truth[2]);
    return STATUS_OK;
}

/* All F^2 that the key's reflections name: the box, then what is in it. */
static enum status read_truth(struct key *k, struct hkl_table *t, struct error *e)
{
    int min[3] = {INT_MAX, INT_MAX, INT_MAX}, max[3] = {INT_MIN, INT_MIN, INT_MIN};
    enum status s = STATUS_OK;
    for (int fill = 0; fill < 2 && !s; fill++) {
        if (fill && (min[0] > max[0] || (s = hkl_reserve(t, min, max, NAN, k->path, e))))
            return s;
        for (size_t i = 0; i < k->rows.nframes && !s; i++) {
            struct key_frame f = {0};
            s = key_frame(k, i, 0, &f, e);
            for (size_t r = 0; r < f.nrows && !s; r++) {
                const int32_t *hkl = f.rows[r].hkl;
                for (int c = 0; c < 3; c++) {
                    min[c] = hkl[c] < min[c] ? hkl[c] : min[c];
                    max[c] = hkl[c] > max[c] ? hkl[c] : max[c];
                }
                if (fill)
                    *hkl_find(t, (int[]){hkl[0], hkl[1], hkl[2]}) = (double)f.rows[r].F2;
            }
        }
    }
    return s;
}

/* --- equivalents ------------------------------------------------------------------------ */

/* The value of these indices or, where there is none, of their Friedel mate. */
static double value_at(const struct hkl_table *t, const int hkl[3])
{
    const double *at = hkl_find(t, hkl);
    if (!at || isnan(*at))
        at = hkl_find(t, (int[]){-hkl[0], -hkl[1], -hkl[2]});
    return at ? *at : NAN;
}

static void turned(const int operator[9], const int hkl[3], int out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = operator[3 * i] * hkl[0] + operator[3 * i + 1] * hkl[1] + operator[3 * i + 2] *
            hkl[2];
}

/* 0: the same or its Friedel mate; below 0: `a`, or its mate, comes first. */
static int order(const int a[3], const int b[3])
{
    int x[3], y[3];
    const int sign_a = a[0] ? a[0] : a[1] ? a[1] : a[2], sign_b = b[0] ? b[0] : b[1] ? b[1] : b[2];
    for (int i = 0; i < 3; i++) {
        x[i] = sign_a < 0 ? -a[i] : a[i];
        y[i] = sign_b < 0 ? -b[i] : b[i];
    }
    for (int i = 0; i < 3; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static bool same(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

/* Whether an equivalent of these indices that comes before them says the same. */
static bool is_again(const struct both *b, const int hkl[3])
{
    const double truth = value_at(&b->truth, hkl), measured = value_at(&b->measured, hkl);
    const int opposite[3] = {-hkl[0], -hkl[1], -hkl[2]};
    const double *mate = hkl_find(&b->truth, opposite);
    if (mate && !isnan(*mate) && (hkl[0] ? hkl[0] : hkl[1] ? hkl[1] : hkl[2]) < 0)
        return true;
    for (size_t o = 0; o < b->y.count; o++) {
        int other[3];
        turned(b->y.operators[o], hkl, other);
        if (order(other, hkl) < 0 && same(value_at(&b->truth, other), truth, 1e-4) &&
            same(value_at(&b->measured, other), measured, 1e-4))
            return true;
    }
    return false;
}

static double s2_of(const double a_matrix[9], const int hkl[3])
{
    double squares = 0.0;
    for (int i = 0; i < 3; i++) {
        const double q =
            a_matrix[3 * i] * hkl[0] + a_matrix[3 * i + 1] * hkl[1] + a_matrix[3 * i + 2] * hkl[2];
        squares += q * q;
    }
    return squares / 4.0;
}

/* Calls `visit` with all indices of the truth. */
static bool each(struct both *b, bool (*visit)(struct both *b, const int hkl[3], void *of),
                 void *of)
{
    const struct hkl_table *t = &b->truth;
    int hkl[3];
    bool good = true;
    for (int h = 0; h < t->count[0]; h++)
        for (int k = 0; k < t->count[1]; k++)
            for (int l = 0; l < t->count[2] && good; l++) {
                hkl[0] = h + t->min[0];
                hkl[1] = k + t->min[1];
                hkl[2] = l + t->min[2];
                good = isnan(*hkl_find(t, hkl)) || visit(b, hkl, of);
            }
    return good;
}

static bool add_pair(struct both *b, const int hkl[3], void *unused)
{
    (void)unused;
    const struct pair p = {value_at(&b->truth, hkl), value_at(&b->measured, hkl),
                           s2_of(b->a_matrix, hkl)};
    if (isnan(p.measured) || is_again(b, hkl))
        return true;
    struct pair *more = mem_grow(b->pairs, b->n, 1, sizeof *more, &b->room);
    if (!more)
        return false;
    b->pairs = more;
    more[b->n++] = p;
    return true;
}

/* --- symmetry ---------------------------------------------------------------------------- */

/* What an operator of the cell does to both. */
struct effect {
    const int *operator;
    size_t n, measured_same, truth_differ;  // of pairs that both have
    struct agreement turned, straight;      // truth against what is measured
};

static bool add_effect(struct both *b, const int hkl[3], void *of)
{
    struct effect *x = of;
    int other[3];
    turned(x->operator, hkl, other);
    const double t = value_at(&b->truth, hkl), m = value_at(&b->measured, hkl),
                 t_other = value_at(&b->truth, other), m_other = value_at(&b->measured, other);
    if (isnan(m) || isnan(m_other))
        return true;
    agreement_add(&x->straight, t, m, 0.0);
    agreement_add(&x->turned, t, m_other, 0.0);
    if (isnan(t_other) || !order(hkl, other))
        return true;
    x->n++;
    x->measured_same += same(m, m_other, 1e-6);
    x->truth_differ += !same(t, t_other, 0.01);
    return true;
}

/* "k,h,-l" */
static void write_operator(const int operator[9], char text[40])
{
    size_t n = 0;
    for (int i = 0; i < 9; i++) {
        if (i == 3 || i == 6)
            text[n++] = ',';
        if (operator[i]<0)
            text[n++] = '-';
        else if (operator[i] && n && text[n - 1] != ',')
            text[n++] = '+';
        if (operator[i])
            text[n++] = "hkl"[i % 3];
    }
    text[n] = 0;
}

/* Says the first that is wrong; the others follow from it. */
static void note_symmetry(struct merged *m, struct both *b)
{
    enum { FEW = 20 };
    for (size_t o = 0; o < b->y.count && !m->note[0]; o++) {
        struct effect x = {.operator= b->y.operators[o] };
        char text[40];
        (void)each(b, add_effect, &x);
        write_operator(x.operator, text);
        if (x.n >= FEW && x.measured_same == x.n && x.truth_differ * 10 > x.n)
            (void)snprintf(m->note, sizeof m->note,
                           "wrong symmetry: the merged set makes h,k,l and %s the same, the "
                           "structure factors of the key do not",
                           text);
        else if (x.n >= FEW && agreement_cc(&x.turned) > agreement_cc(&x.straight) + 0.1)
            (void)snprintf(m->note, sizeof m->note,
                           "wrong setting: the merged set agrees better as %s (CC %.3f, not %.3f)",
                           text, agreement_cc(&x.turned), agreement_cc(&x.straight));
    }
}

/* --- scale and figures ------------------------------------------------------------------- */

/* Logarithms of those above 0 begin, weighted by F^2; Gauss-Newton's steps on I end. */
static void fit(struct merged *m, const struct both *b)
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct pair *p = &b->pairs[i];
        if (!(p->measured > 0.0 && p->truth > 0.0))
            continue;
        const double y = log(p->measured / p->truth);
        w += p->truth;
        wx += p->truth * p->s2;
        wy += p->truth * y;
        wxx += p->truth * p->s2 * p->s2;
        wxy += p->truth * p->s2 * y;
    }
    const double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    double a = (wy - slope * wx) / w, c = slope;
    for (int step = 0; step < 20; step++) {
        double aa = 0, ac = 0, cc = 0, ra = 0, rc = 0;
        for (size_t i = 0; i < b->n; i++) {
            const struct pair *p = &b->pairs[i];
            const double model = exp(a + c * p->s2) * p->truth, rest = p->measured - model;
            aa += model * model;
            ac += model * model * p->s2;
            cc += model * model * p->s2 * p->s2;
            ra += model * rest;
            rc += model * p->s2 * rest;
        }
        const double det = aa * cc - ac * ac;
        const double da = (ra * cc - rc * ac) / det, dc = (rc * aa - ra * ac) / det;
        if (!isfinite(da + dc))
            break;
        a += fmin(fmax(da, -1.0), 1.0);
        c += dc;
    }
    m->scale = exp(a);
    m->B_A2 = -c / 2.0;
}

static void add_to(struct merged_shell *shell, double truth, double scaled)
{
    agreement_add(&shell->all, truth, scaled, 0.0);
    shell->differences += fabs(scaled - truth);
    shell->truth += truth;
}

static void compare(struct merged *m, const struct both *b)
{
    fit(m, b);
    for (size_t i = 0; i < b->n; i++) {
        const struct pair *p = &b->pairs[i];
        const double scaled = p->measured / (m->scale * exp(-2.0 * m->B_A2 * p->s2));
        int shell = MERGED_SHELLS - 1;
        while (shell && 4.0 * p->s2 * score_shells_A[shell] * score_shells_A[shell] > 1.0)
            shell--;
        add_to(&m->all, p->truth, scaled);
        add_to(&m->shells[shell], p->truth, scaled);
    }
}

enum status merged_take(struct merged *m, const char *path, struct key *k, struct error *e)
{
    struct both b = {.a_matrix = k->rows.nlattices ? k->rows.lattices->a_matrix : NULL};
    double cell[6];
    if (m->path)
        return error_set(e, STATUS_INPUT, "%s: is a second merged result, must be one", path);
    if (k->tells.no_F2)
        return error_set(e, STATUS_INPUT,
                         "%s: tables tell no structure factors: merged results are scored against "
                         "an NXmx file or a recording",
                         k->path);
    if (!b.a_matrix || !lattices_cell(b.a_matrix, cell))
        return error_set(e, STATUS_INPUT, "%s: holds no lattice", k->path);
    for (size_t i = 0; i < k->rows.nlattices; i++)
        if (k->rows.lattices[i].crystal)
            return error_set(e, STATUS_INPUT,
                             "%s: has several crystals, merged results must be of one", k->path);
    lattices_rotations(b.a_matrix, &b.y);
    enum status s = ends_with(path, ".mtz") ? read_mtz(path, cell, &b.measured, e)
                                            : crystfel_hkl_read(path, &b.measured, e);
    s = s ? s : read_truth(k, &b.truth, e);
    if (!s && !each(&b, add_pair, NULL))
        s = error_memory(e, path);
    if (!s && b.n < 3)
        s = error_set(e, STATUS_INPUT, "%s: has %zu reflections of %s, must have 3 or more", path,
                      b.n, k->path);
    if (!s) {
        m->path = path;
        compare(m, &b);
        note_symmetry(m, &b);
    }
    hkl_free(&b.truth);
    hkl_free(&b.measured);
    mem_free(b.pairs);
    return s;
}

static void add_shell(const struct merged_shell *x, struct figures *f, const char *group,
                      const char *why)
{
    char name[FIGURE_NAME];
    (void)snprintf(name, sizeof name, "%s.cc", group);
    figures_add(f, name, agreement_cc(&x->all), x->all.n ? "all are the same" : why);
    (void)snprintf(name, sizeof name, "%s.r", group);
    figures_add(f, name, x->all.n ? x->differences / x->truth : NAN, why);
    (void)snprintf(name, sizeof name, "%s.n", group);
    figures_add(f, name, (double)x->all.n, NULL);
}

void merged_figures(const struct merged *m, struct figures *f)
{
    const char *why = "no merged result was given";
    add_shell(&m->all, f, "merged", why);
    figures_add(f, "merged.scale", m->path ? m->scale : NAN, why);
    figures_add(f, "merged.B_A2", m->path ? m->B_A2 : NAN, why);
    for (int i = 0; i < MERGED_SHELLS; i++) {
        char group[FIGURE_NAME / 2];
        (void)snprintf(group, sizeof group, "merged.by_d_A.from_%d", score_shells_A[i]);
        if (m->shells[i].all.n)
            add_shell(&m->shells[i], f, group, "");
    }
    if (m->note[0])
        figures_note(f, "%s", m->note);
}
