/* The F^2 of a key, in all reflections that must have them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/hkl.h"
#include "score/merged_both.h"

/* All F^2 that the key's reflections name: the box, which holds their mates, too, then what is in
 * it. */
static enum status read_truth(struct key *k, struct hkl_table *t, struct error *e)
{
    int min[3], max[3] = {-1, -1, -1};
    enum status s = STATUS_OK;
    for (int fill = 0; fill < 2 && !s; fill++) {
        for (int c = 0; c < 3; c++)
            min[c] = -max[c];
        if (fill && (max[0] < 0 || (s = hkl_reserve(t, min, max, NAN, k->path, e))))
            return s;
        for (size_t i = 0; i < k->rows.nframes && !s; i++) {
            struct key_frame f = {0};
            s = key_frame(k, i, 0, &f, e);
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

/* What an operator, NULL for Friedel's law, does to the truth. */
struct relation {
    struct both *b;
    const int *operator;
    size_t n, differ;  // of reflections that both have
};

static void related(const struct relation *x, const int hkl[3], int out[3])
{
    static const int opposite[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
    both_turned(x->operator ? x->operator : opposite, hkl, out);
}

static bool compare(const int hkl[3], void *of)
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

static bool complete(const int hkl[3], void *of)
{
    const struct relation *x = of;
    int other[3];
    related(x, hkl, other);
    double *there = hkl_find(&x->b->truth, other);
    if (there && isnan(*there))
        *there = both_value(&x->b->truth, hkl);
    return true;
}

enum status both_truth(struct both *b, struct key *k, struct error *e)
{
    const enum status s = read_truth(k, &b->truth, e);
    if (s)
        return s;
    struct relation law = {.b = b};
    (void)both_each(b, compare, &law);
    if (!law.differ)
        (void)both_each(b, complete, &law);
    for (size_t o = 0; o < b->y.count; o++) {
        struct relation x = {.b = b, .operator= b->y.operators[o] };
        (void)both_each(b, compare, &x);
        if (x.n >= BOTH_FEW && !x.differ)
            (void)both_each(b, complete, &x);
    }
    return STATUS_OK;
}
