#include "score/merged.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "io/crystfel_hkl.h"
#include "io/hkl.h"
#include "io/mtz.h"
#include "score/lattices.h"
#include "score/merged_both.h"

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

static enum status read_mtz(const char *path, const double truth[6], struct both *b,
                            struct error *e)
{
    double cell[6], rad[3];
    const enum status s = mtz_read_intensities(path, &b->measured, &b->mates, cell, rad, e);
    if (s)
        return s;
    if (!lattices_same_edges(cell, truth, 0.1))
        return error_set(e, STATUS_INPUT,
                         "%s: is of another crystal: edges of %.2f, %.2f, %.2f A, those of the key "
                         "are %.2f, %.2f, %.2f A",
                         path, cell[0], cell[1], cell[2], truth[0], truth[1], truth[2]);
    return STATUS_OK;
}

/* --- scale and figures ------------------------------------------------------------------- */

/* Logarithms of those above 0 begin, weighted by F^2; Gauss-Newton's steps on I end. */
static void fit(struct merged *m, const struct both *b)
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct both_pair *p = &b->pairs[i];
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
            const struct both_pair *p = &b->pairs[i];
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
        const struct both_pair *p = &b->pairs[i];
        const double scaled = p->measured / (m->scale * exp(-2.0 * m->B_A2 * p->s2));
        add_to(&m->all, p->truth, scaled);
        add_to(&m->shells[score_shell(4.0 * p->s2)], p->truth, scaled);
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
    enum status s = ends_with(path, ".mtz") ? read_mtz(path, cell, &b, e)
                                            : crystfel_hkl_read(path, &b.measured, e);
    s = s ? s : both_truth(&b, k, e);
    if (!s && !both_pairs(&b))
        s = error_memory(e, path);
    if (!s && b.n < 3)
        s = error_set(e, STATUS_INPUT, "%s: has %zu reflections of %s, must have 3 or more", path,
                      b.n, k->path);
    if (!s) {
        m->path = path;
        compare(m, &b);
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
    figures_add(f, name, agreement_cc(&x->all), x->all.n ? "all are the same" : why);
    (void)snprintf(name, sizeof name, "%s.r", group);
    figures_add(f, name, x->all.n ? x->differences / x->truth : NAN, why);
    (void)snprintf(name, sizeof name, "%s.n", group);
    figures_add(f, name, (double)x->all.n, NULL);
}

static void add_mates(const struct merged *m, struct figures *f)
{
    const struct agreement *x = &m->mates.all;
    const char *why = !m->path ? "no merged result was given"
                      : !m->mates.true_pairs
                          ? "Friedel mates of the key are alike, or it names one of each"
                      : !x->n ? "the merged result has Friedel mates as one"
                              : "all are the same";
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
    add_mates(m, f);
    for (int i = 0; i < MERGED_SHELLS; i++) {
        char group[FIGURE_NAME / 2];
        (void)snprintf(group, sizeof group, "merged.by_d_A.from_%d", score_shells_A[i]);
        if (m->shells[i].all.n)
            add_shell(&m->shells[i], f, group, "");
    }
    if (m->note[0])
        figures_note(f, "%s", m->note);
}
