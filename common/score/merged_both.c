#include "score/merged_both.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "io/hkl.h"
#include "score/shells.h"

void both_free(struct both *b)
{
    hkl_free(&b->truth);
    hkl_free(&b->measured);
    hkl_free(&b->mates);
    mem_free(b->pairs);
}

/* --- equivalents ------------------------------------------------------------------------ */

double both_value(const struct hkl_table *t, const int hkl[3])
{
    const double *at = hkl_find(t, hkl);
    return at ? *at : NAN;
}

static void opposite(const int hkl[3], int out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = -hkl[i];
}

double both_either(const struct hkl_table *t, const int hkl[3])
{
    int mate[3];
    opposite(hkl, mate);
    const double here = both_value(t, hkl);
    return isnan(here) ? both_value(t, mate) : here;
}

/* The mean with the Friedel mate, where both are there. */
static double mean_at(const struct hkl_table *t, const int hkl[3])
{
    int mate[3];
    opposite(hkl, mate);
    return (both_either(t, hkl) + both_either(t, mate)) / 2.0;
}

void both_turned(const int operator[9], const int hkl[3], int out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = operator[3 * i] * hkl[0] + operator[3 * i + 1] * hkl[1] + operator[3 * i + 2] *
            hkl[2];
}

static bool is_second_mate(const int hkl[3])
{
    return (hkl[0] ? hkl[0] : hkl[1] ? hkl[1] : hkl[2]) < 0;
}

int both_order(const int a[3], const int b[3])
{
    const int sign_a = is_second_mate(a) ? -1 : 1, sign_b = is_second_mate(b) ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (sign_a * a[i] != sign_b * b[i])
            return sign_a * a[i] < sign_b * b[i] ? -1 : 1;
    return 0;
}

bool both_same(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

bool both_each(const struct both *b, bool (*visit)(const int hkl[3], void *of), void *of)
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

/* Whether an equivalent of these indices that comes before them says the same of the truth and in
 * `t`. */
static bool is_again(const struct both *b, const struct hkl_table *t, const int hkl[3])
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

/* (sin theta / wavelength)^2 */
static double s2_of(const double a_matrix[9], const int hkl[3])
{
    return score_inverse_d2(a_matrix, hkl) / 4.0;
}

/* --- pairs --------------------------------------------------------------------------------- */

static bool add_pair(const int hkl[3], void *of)
{
    struct both *b = of;
    int mate[3];
    opposite(hkl, mate);
    const bool counted = is_second_mate(hkl) && !isnan(both_value(&b->truth, mate));
    const struct both_pair p = {mean_at(&b->truth, hkl), mean_at(&b->measured, hkl),
                                s2_of(b->a_matrix, hkl)};
    if (counted || isnan(p.measured) || is_again(b, &b->measured, hkl))
        return true;
    struct both_pair *more = mem_grow(b->pairs, b->n, 1, sizeof *more, &b->room);
    if (!more)
        return false;
    b->pairs = more;
    more[b->n++] = p;
    return true;
}

bool both_pairs(struct both *b)
{
    return both_each(b, add_pair, b);
}

/* --- Friedel mates --------------------------------------------------------------------------- */

/* What one visit needs. */
struct mates {
    const struct both *b;
    const struct hkl_table *measured;
    double scale, B_A2;
    bool apart;  // some that were measured differ
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

void both_mates(const struct both *b, double scale, double B_A2, struct merged_mates *m)
{
    struct mates x = {b, b->mates.F ? &b->mates : &b->measured, scale, B_A2, false, m};
    *m = (struct merged_mates){0};
    (void)both_each(b, add_mates, &x);
    if (!x.apart)
        m->all = (struct agreement){0};
}
