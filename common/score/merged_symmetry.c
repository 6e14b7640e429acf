/* Whether a merged set has the symmetry and the setting of the truth. */
#include <math.h>
#include <stdio.h>

#include "score/merged_both.h"

/* What an operator of the cell does to both. */
struct effect {
    const struct both *b;
    const int *operator;
    size_t n, measured_same, truth_differ;  // of pairs that both have
    struct agreement turned, straight;      // truth against what is measured
};

static bool add_effect(const int hkl[3], void *of)
{
    struct effect *x = of;
    const struct both *b = x->b;
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

void both_symmetry(const struct both *b, char *note, size_t size)
{
    for (size_t o = 0; o < b->y.count && !note[0]; o++) {
        struct effect x = {.b = b, .operator= b->y.operators[o] };
        char text[40];
        (void)both_each(b, add_effect, &x);
        write_operator(x.operator, text);
        if (x.n >= BOTH_FEW && x.measured_same == x.n && x.truth_differ * 10 > x.n)
            (void)snprintf(note, size,
                           "wrong symmetry: the merged set makes h,k,l and %s the same, the "
                           "structure factors of the key do not",
                           text);
        else if (x.n >= BOTH_FEW && agreement_cc(&x.turned) > agreement_cc(&x.straight) + 0.1)
            (void)snprintf(note, size,
                           "wrong setting: the merged set agrees better as %s (CC %.3f, not %.3f)",
                           text, agreement_cc(&x.turned), agreement_cc(&x.straight));
    }
}
