/*
 * Compares merged intensities with the F^2 of the ground truth, reflection by reflection:
 *
 *   1. completes the equivalents and Friedel mates of the ground truth where its F^2 allow that,
 *   2. pairs both sets, and fits a scale and a B factor,
 *   3. tests whether the merged set has the symmetry, setting and hand of the ground truth.
 */
#include "score/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/crystfel/geom.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/mtz.h"
#include "score/lattices.h"
#include "score/statistics.h"

enum { BOTH_FEW = 20 };  // minimum number of reflections to judge the symmetry

/* A reflection that is in both sets.  Equivalents and Friedel mates are counted once. */
struct merged_pair {
    double truth, measured, s2;  // F^2, I, and 1 / (2 d)^2 in 1/A^2
};

struct merged_table {
    struct hkl_table truth, measured;  // F^2 and I; NaN: missing
    struct hkl_table mates;            // I of separate Friedel mates, if the file has them besides
                                       // a mean; may be empty
    struct symmetry y;                 // rotations that the cell allows
    const double *a_matrix;            // borrowed: from a lattice of the ground truth
    struct merged_pair *pairs;         // owned
    size_t n, room;
};

/* ==== pairs of true and measured intensities ================================== */

static void both_free(struct merged_table *b)
{
    hkl_free(&b->truth);
    hkl_free(&b->measured);
    hkl_free(&b->mates);
    mem_free(b->pairs);
}

/* --- equivalents ------------------------------------------------------------------------ */

/* Returns the value at these indices; NaN if there is none. */
static double both_value(const struct hkl_table *t, const int hkl[3])
{
    const double *at = hkl_find(t, hkl);
    return at ? *at : NAN;
}

static void opposite(const int hkl[3], int out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = -hkl[i];
}

/* Returns the value at these indices or, if there is none, that of the Friedel mate. */
static double both_either(const struct hkl_table *t, const int hkl[3])
{
    int mate[3];
    opposite(hkl, mate);
    const double here = both_value(t, hkl);
    return isnan(here) ? both_value(t, mate) : here;
}

/* Returns the mean of the values of a reflection and its Friedel mate.  If one is missing, the
 * other is the result. */
static double mean_at(const struct hkl_table *t, const int hkl[3])
{
    int mate[3];
    opposite(hkl, mate);
    return (both_either(t, hkl) + both_either(t, mate)) / 2.0;
}

static void both_turned(const int operator[9], const int hkl[3], int out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = operator[3 * i] * hkl[0] + operator[3 * i + 1] * hkl[1] + operator[3 * i + 2] *
            hkl[2];
}

static bool is_second_mate(const int hkl[3])
{
    return (hkl[0] ? hkl[0] : hkl[1] ? hkl[1] : hkl[2]) < 0;
}

/* Compares two indices.  Returns 0 if they are equal or Friedel mates, and less than 0 if `a` or
 * its mate comes first. */
static int both_order(const int a[3], const int b[3])
{
    const int sign_a = is_second_mate(a) ? -1 : 1, sign_b = is_second_mate(b) ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (sign_a * a[i] != sign_b * b[i])
            return sign_a * a[i] < sign_b * b[i] ? -1 : 1;
    return 0;
}

static bool both_same(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

/* Calls `visit` for each index that has a value in the truth, until `visit` returns false. */
static bool both_each(const struct merged_table *b, bool (*visit)(const int hkl[3], void *of),
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
                good = isnan(*hkl_find(t, hkl)) || visit(hkl, of);
            }
    return good;
}

/* Returns true if a symmetry equivalent comes before these indices and has the same value in the
 * truth and in `t`. */
static bool is_again(const struct merged_table *b, const struct hkl_table *t, const int hkl[3])
{
    for (size_t o = 0; o < b->y.count; o++) {
        int other[3];
        both_turned(b->y.operators[o], hkl, other);
        if (both_order(other, hkl) < 0 &&
            both_same(both_either(&b->truth, other), both_either(&b->truth, hkl), 1e-4) &&
            both_same(both_either(t, other), both_either(t, hkl), 1e-4))
            return true;
    }
    return false;
}

/* Returns (sin theta / wavelength)^2 of a reflection in 1/A^2. */
static double s2_of(const double a_matrix[9], const int hkl[3])
{
    return score_inverse_d2(a_matrix, hkl) / 4.0;
}

/* --- pairs --------------------------------------------------------------------------------- */

static bool add_pair(const int hkl[3], void *of)
{
    struct merged_table *b = of;
    int mate[3];
    opposite(hkl, mate);
    const bool counted = is_second_mate(hkl) && !isnan(both_value(&b->truth, mate));
    const struct merged_pair p = {mean_at(&b->truth, hkl), mean_at(&b->measured, hkl),
                                  s2_of(b->a_matrix, hkl)};
    if (counted || isnan(p.measured) || is_again(b, &b->measured, hkl))
        return true;
    struct merged_pair *more = mem_grow(b->pairs, b->n, 1, sizeof *more, &b->room);
    b->pairs = more;
    more[b->n++] = p;
    return true;
}

/* Finds the pairs.  If Friedel mates differ, their mean is used.  Returns false if there is no
 * memory. */
static bool both_pairs(struct merged_table *b)
{
    return both_each(b, add_pair, b);
}

/* --- Friedel mates --------------------------------------------------------------------------- */

/* Arguments of add_mates. */
struct mates {
    const struct merged_table *b;
    const struct hkl_table *measured;
    double scale, B_A2;
    bool apart;  // at least one measured difference is not 0
    struct merged_mates *m;
};

static bool add_mates(const int hkl[3], void *of)
{
    struct mates *x = of;
    int mate[3];
    opposite(hkl, mate);
    const double truth = both_value(&x->b->truth, hkl), other = both_value(&x->b->truth, mate);
    if (is_second_mate(hkl) || isnan(other) || both_same(truth, other, 1e-4))
        return true;
    x->m->true_pairs++;
    const double difference = both_value(x->measured, hkl) - both_value(x->measured, mate);
    if (isnan(difference) || is_again(x->b, x->measured, hkl))
        return true;
    x->apart = x->apart || difference != 0.0;
    const double scale = x->scale * exp(-2.0 * x->B_A2 * s2_of(x->b->a_matrix, hkl));
    agreement_add(&x->m->all, truth - other, difference / scale, 0.0);
    return true;
}

/* Compares the differences of Friedel mates.  `scale` and `B_A2` are those of `struct merged`. */
static void both_mates(const struct merged_table *b, double scale, double B_A2,
                       struct merged_mates *m)
{
    struct mates x = {b, b->mates.F ? &b->mates : &b->measured, scale, B_A2, false, m};
    *m = (struct merged_mates){0};
    (void)both_each(b, add_mates, &x);
    if (!x.apart)
        m->all = (struct agreement){0};
}

/* ==== F^2 of the ground truth ========================================================== */

/* Reads all F^2 that reflections of the ground truth have.  The first pass finds the range of
 * indices, which includes the Friedel mates, and the second pass fills in the values. */
static enum status read_truth(struct truth *truth, struct hkl_table *t, struct error *e)
{
    int min[3], max[3] = {-1, -1, -1};
    enum status s = STATUS_OK;
    for (int fill = 0; fill < 2 && !s; fill++) {
        for (int c = 0; c < 3; c++)
            min[c] = -max[c];
        if (fill && (max[0] < 0 || (s = hkl_reserve(t, min, max, NAN, truth->path, e))))
            return s;
        for (size_t i = 0; i < truth->rows.nframes && !s; i++) {
            struct truth_frame f = {0};
            s = truth_frame(truth, i, 0, &f, e);
            for (size_t r = 0; r < f.nrows && !s; r++) {
                const int32_t *hkl = f.rows[r].hkl;
                for (int c = 0; c < 3; c++)
                    max[c] = abs(hkl[c]) > max[c] ? abs(hkl[c]) : max[c];
                if (fill)
                    *hkl_find(t, (int[]){hkl[0], hkl[1], hkl[2]}) = (double)f.rows[r].F2;
            }
        }
    }
    return s;
}

/* How many reflections of the ground truth an operator relates, and how many of them differ.  If
 * `operator` is NULL, the relation is Friedel's law. */
struct relation {
    struct merged_table *b;
    const int *operator;
    size_t n, differ;  // related reflections that both have a value, and those of them that differ
};

static void related(const struct relation *x, const int hkl[3], int out[3])
{
    static const int opposite[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
    both_turned(x->operator ? x->operator : opposite, hkl, out);
}

static bool count_differences(const int hkl[3], void *of)
{
    struct relation *x = of;
    int other[3];
    related(x, hkl, other);
    const double here = both_value(&x->b->truth, hkl), there = both_value(&x->b->truth, other);
    if (!isnan(there) && memcmp(hkl, other, sizeof other) != 0) {
        x->n++;
        x->differ += !both_same(here, there, 1e-4);
    }
    return true;
}

static bool fill_equivalent(const int hkl[3], void *of)
{
    const struct relation *x = of;
    int other[3];
    related(x, hkl, other);
    double *there = hkl_find(&x->b->truth, other);
    if (there && isnan(*there))
        *there = both_value(&x->b->truth, hkl);
    return true;
}

/* Reads all F^2 of the ground truth and completes them.  Friedel mates are added by Friedel's law
 * unless the ground truth shows that it does not hold.  Equivalents are added for each operator of
 * the cell under which the F^2 are symmetric. */
static enum status both_truth(struct merged_table *b, struct truth *truth, struct error *e)
{
    const enum status s = read_truth(truth, &b->truth, e);
    if (s)
        return s;
    struct relation law = {.b = b};
    (void)both_each(b, count_differences, &law);
    if (!law.differ)
        (void)both_each(b, fill_equivalent, &law);
    for (size_t o = 0; o < b->y.count; o++) {
        struct relation x = {.b = b, .operator= b->y.operators[o] };
        (void)both_each(b, count_differences, &x);
        if (x.n >= BOTH_FEW && !x.differ)
            (void)both_each(b, fill_equivalent, &x);
    }
    return STATUS_OK;
}

/* ==== symmetry and setting ==================================================== */

/* The effect of an operator of the cell on the truth and on the measured set: numbers and
 * agreement of related reflections. */
struct effect {
    const struct merged_table *b;
    const int *operator;
    size_t n, measured_same, truth_differ;  // pairs that are in both sets
    struct agreement turned, straight;      // truth against measured values
};

static bool add_effect(const int hkl[3], void *of)
{
    struct effect *x = of;
    const struct merged_table *b = x->b;
    int other[3];
    both_turned(x->operator, hkl, other);
    const double t = both_value(&b->truth, hkl), t_other = both_value(&b->truth, other),
                 m = both_either(&b->measured, hkl), m_other = both_either(&b->measured, other);
    if (isnan(m) || isnan(m_other))
        return true;
    agreement_add(&x->straight, t, m, 0.0);
    agreement_add(&x->turned, t, m_other, 0.0);
    if (isnan(t_other) || !both_order(hkl, other))
        return true;
    x->n++;
    x->measured_same += both_same(m, m_other, 1e-6);
    x->truth_differ += !both_same(t, t_other, 0.01);
    return true;
}

/* Writes an operator as "k,h,-l". */
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

/* Writes the first problem of the symmetry of the measured set to `note`, which has `size` bytes.
 * Further problems follow from the first one. */
static void both_symmetry(const struct merged_table *b, char *note, size_t size)
{
    for (size_t o = 0; o < b->y.count && !note[0]; o++) {
        struct effect x = {.b = b, .operator= b->y.operators[o] };
        char text[40];
        (void)both_each(b, add_effect, &x);
        write_operator(x.operator, text);
        if (x.n >= BOTH_FEW && x.measured_same == x.n && x.truth_differ * 10 > x.n)
            (void)snprintf(note, size,
                           "wrong symmetry: the merged set has equal intensities for h,k,l and %s, "
                           "but the structure factors of the ground truth differ",
                           text);
        else if (x.n >= BOTH_FEW && agreement_cc(&x.turned) > agreement_cc(&x.straight) + 0.1)
            (void)snprintf(note, size,
                           "wrong setting: the merged set agrees better if indexed as %s (CC %.3f "
                           "instead of %.3f)",
                           text, agreement_cc(&x.turned), agreement_cc(&x.straight));
    }
}

/* ==== merged results ========================================================== */

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

static enum status read_mtz(const char *path, const double truth[6], struct merged_table *b,
                            struct error *e)
{
    double cell[6], rad[3];
    const enum status s = mtz_read_intensities(path, &b->measured, &b->mates, cell, rad, e);
    if (s)
        return s;
    if (!lattices_same_edges(cell, truth, 0.1))
        return error_set(e, STATUS_INPUT,
                         "%s: another crystal (cell edges %.2f, %.2f, %.2f A); expected that of "
                         "the ground truth (%.2f, %.2f, %.2f A)",
                         path, cell[0], cell[1], cell[2], truth[0], truth[1], truth[2]);
    return STATUS_OK;
}

/* --- scale and metrics ------------------------------------------------------------------- */

/* Fits scale and B.  The start is a fit to the logarithms of positive values, weighted by F^2.
 * Gauss-Newton steps on I follow. */
static void fit(struct merged *m, const struct merged_table *b)
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct merged_pair *p = &b->pairs[i];
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
            const struct merged_pair *p = &b->pairs[i];
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

static void compare_pairs(struct merged *m, const struct merged_table *b)
{
    fit(m, b);
    for (size_t i = 0; i < b->n; i++) {
        const struct merged_pair *p = &b->pairs[i];
        const double scaled = p->measured / (m->scale * exp(-2.0 * m->B_A2 * p->s2));
        add_to(&m->all, p->truth, scaled);
        add_to(&m->shells[score_shell(4.0 * p->s2)], p->truth, scaled);
    }
}

enum status merged_take(struct merged *m, const char *path, struct truth *truth, struct error *e)
{
    struct merged_table b = {.a_matrix =
                                 truth->rows.nlattices ? truth->rows.lattices->a_matrix : NULL};
    double cell[6];
    if (m->path)
        return error_set(e, STATUS_INPUT, "%s: this is a second merged result; expected one", path);
    if (truth->facts.no_F2)
        return error_set(e, STATUS_INPUT,
                         "%s: not usable for merged results, because tables contain no structure "
                         "factors; expected an NXmx file or a recording",
                         truth->path);
    if (!b.a_matrix || !lattices_cell(b.a_matrix, cell))
        return error_set(e, STATUS_INPUT, "%s: holds no lattice", truth->path);
    for (size_t i = 0; i < truth->rows.nlattices; i++)
        if (truth->rows.lattices[i].crystal)
            return error_set(e, STATUS_INPUT,
                             "%s: has several crystals, but merged results are of one",
                             truth->path);
    lattices_rotations(b.a_matrix, &b.y);
    enum status s = ends_with(path, ".mtz") ? read_mtz(path, cell, &b, e)
                                            : crystfel_hkl_read(path, &b.measured, e);
    s = s ? s : both_truth(&b, truth, e);
    if (!s && !both_pairs(&b))
        s = error_memory(e, path);
    if (!s && b.n < 3)
        s = error_set(e, STATUS_INPUT, "%s: has %zu reflections of %s; expected 3 or more", path,
                      b.n, truth->path);
    if (!s) {
        m->path = path;
        compare_pairs(m, &b);
        both_mates(&b, m->scale, m->B_A2, &m->mates);
        both_symmetry(&b, m->note, sizeof m->note);
        if (!m->note[0] && m->mates.all.n >= BOTH_FEW && agreement_cc(&m->mates.all) < -0.3)
            (void)snprintf(m->note, sizeof m->note,
                           "wrong hand: the merged set agrees with Friedel mates swapped (CC of "
                           "their differences %.3f)",
                           agreement_cc(&m->mates.all));
    }
    both_free(&b);
    return s;
}

static void add_shell(const struct merged_shell *x, struct figures *f, const char *group,
                      const char *why)
{
    char name[FIGURE_NAME];
    (void)snprintf(name, sizeof name, "%s.cc", group);
    figures_add(f, name, agreement_cc(&x->all), x->all.n ? "all values are equal" : why);
    (void)snprintf(name, sizeof name, "%s.r", group);
    figures_add(f, name, x->all.n ? x->differences / x->truth : NAN, why);
    (void)snprintf(name, sizeof name, "%s.n", group);
    figures_add(f, name, (double)x->all.n, NULL);
}

static void add_mate_figures(const struct merged *m, struct figures *f)
{
    const struct agreement *x = &m->mates.all;
    const char *why =
        !m->path ? "no merged result was given"
        : !m->mates.true_pairs
            ? "Friedel mates of the ground truth are equal, or it has only one of each pair"
        : !x->n ? "the merged result has averaged Friedel mates"
                : "all values are equal";
    figures_add(f, "merged.mates.cc", agreement_cc(x), why);
    figures_add(f, "merged.mates.slope", x->xx > 0.0 ? x->xy / x->xx : NAN, why);
    figures_add(f, "merged.mates.n", (double)x->n, NULL);
}

void merged_figures(const struct merged *m, struct figures *f)
{
    const char *why = "no merged result was given";
    add_shell(&m->all, f, "merged", why);
    figures_add(f, "merged.scale", m->path ? m->scale : NAN, why);
    figures_add(f, "merged.B_A2", m->path ? m->B_A2 : NAN, why);
    add_mate_figures(m, f);
    for (int i = 0; i < MERGED_SHELLS; i++) {
        char group[FIGURE_NAME / 2];
        (void)snprintf(group, sizeof group, "merged.by_d_A.from_%d", score_shells_A[i]);
        if (m->shells[i].all.n)
            add_shell(&m->shells[i], f, group, "");
    }
    if (m->note[0])
        figures_note(f, "%s", m->note);
}
