/* Sums of products of derivatives, compared with a plain loop: any number of items and parameters,
 * excluded data, no data, and every instruction set. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "engine/derivatives/derive.h"

enum { COUNT = 13, FIRST = 3, ITEMS = FIRST + DERIVE_BLOCK };

static derive_add *const ADD[ISA_COUNT] = ISA_TABLE(derive_add_);

static float weights[ITEMS], counts[ITEMS], background[ITEMS];
static double values[1 + COUNT][DERIVE_BLOCK];
static struct parameters set;

/* A number from -1 to 1. */
static double draw(void)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (double)state * 0x1p-31 - 1.0;
}

static void begin(size_t count)
{
    set.count = count;
    for (int i = 0; i < ITEMS; i++) {
        weights[i] = (float)draw();
        counts[i] = i % 5 == 2 ? NAN : (float)(i % 7);
        background[i] = (float)(1.5 + draw());
    }
    for (size_t k = 0; k <= count; k++)
        for (int i = 0; i < DERIVE_BLOCK; i++)
            values[k][i] = k ? draw() : 2.0 + draw();
}

/* Adds to sums of 1, of a copy whose other items are no numbers. */
static bool add(enum isa isa, const struct derive_request *q, int items, double *sums)
{
    double copy[1 + COUNT][DERIVE_BLOCK];
    memcpy(copy, values, sizeof copy);
    for (size_t k = 0; k <= set.count; k++)
        for (int i = items; i < DERIVE_BLOCK; i++)
            copy[k][i] = NAN;
    for (size_t k = 0; k < derive_sums_size(set.count); k++)
        sums[k] = 1.0;
    return ADD[isa](q, FIRST, items, copy, sums);
}

/* The same, term by term. */
static void add_plainly(const struct derive_request *q, int items, double *sums)
{
    const size_t n = set.count;
    const struct derive_data *d = q->data;
    for (size_t k = 0; k < derive_sums_size(n); k++)
        sums[k] = 1.0;
    for (int i = 0; i < items; i++) {
        const int item = FIRST + i;
        const double b = (double)background[item], m = d->scale * values[0][i] + b + d->variance;
        const double seen = d->counts ? (double)counts[item] + d->variance : m;
        const double by_m = isnan(seen) ? 0.0 : 1.0 / m, is = isnan(seen) ? 0.0 : 1.0;
        double *single = sums + derive_at_singles(n), *fisher = sums + derive_at_fisher(n);
        for (size_t k = 0; k < n; k++) {
            const double slope = d->scale * values[1 + k][i];
            sums[k] += (double)weights[item] * values[1 + k][i];
            if (is > 0.0)
                sums[derive_at_gradient(n) + k] += slope * (seen / m - 1.0);
            sums[derive_at_shared(n) + k] += slope * b * by_m;
            for (size_t l = 0; l <= k; l++)
                *fisher++ += slope * d->scale * values[1 + l][i] * by_m;
        }
        single[DERIVE_PIXELS] += is;
        single[DERIVE_PHOTONS] += is * d->scale * values[0][i];
        single[DERIVE_OF_BACKGROUND] += b * b * by_m;
        if (d->counts && is > 0.0)
            single[DERIVE_LIKELIHOOD] += m - seen * log(m);
    }
}

static void compare(int items, bool data)
{
    const struct derive_data d = {data ? counts : NULL, background, 0.8, 0.3};
    const struct derive_request q = {.set = &set, .weights = weights, .data = &d};
    double want[DERIVE_SUMS_MAX], got[ISA_COUNT][DERIVE_SUMS_MAX];
    add_plainly(&q, items, want);
    for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
        if (!isa_present(isa))
            continue;
        assert_true(add(isa, &q, items, got[isa]));
        for (size_t k = 0; k < derive_sums_size(set.count); k++)
            if (!(fabs(got[isa][k] - want[k]) <= 1e-11))
                fail_msg("%s, %zu parameters, %d items: sum %zu is %.17g, not %.17g", isa_name(isa),
                         set.count, items, k, got[isa][k], want[k]);
        if (isa > ISA_AVX2)
            assert_memory_equal(got[isa], got[ISA_AVX2],
                                derive_sums_size(set.count) * sizeof *want);
    }
}

static void test_plain_sums(void **state)
{
    (void)state;
    for (size_t count = 0; count <= COUNT; count++)
        for (int items = 1; items <= DERIVE_BLOCK; items += items < 20 ? 1 : 27) {
            begin(count);
            compare(items, true);
            compare(items, false);
        }
}

/* Refused where there are data, left out where there are none. */
static void test_no_mean(void **state)
{
    (void)state;
    enum { DARK = 4 };
    double sums[DERIVE_SUMS_MAX];
    struct derive_data d = {counts, NULL, 1.0, 0.0};
    const struct derive_request q = {.set = &set, .data = &d};
    begin(2);
    values[0][DARK] = 0.0;
    for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
        if (!isa_present(isa))
            continue;
        counts[FIRST + DARK] = 1.0f;
        d.counts = counts;
        assert_false(add(isa, &q, DERIVE_BLOCK, sums));
        counts[FIRST + DARK] = NAN;
        assert_true(add(isa, &q, DERIVE_BLOCK, sums));
        d.counts = NULL;
        assert_true(add(isa, &q, DERIVE_BLOCK, sums));
        assert_true(sums[derive_at_singles(2) + DERIVE_PIXELS] == DERIVE_BLOCK);  // 1 to begin with
        assert_true(sums[0] == 1.0 && sums[derive_at_gradient(2)] == 1.0);
        assert_true(isfinite(sums[derive_at_fisher(2)]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_sums),
        cmocka_unit_test(test_no_mean),
    };
    return unit_run(tests);
}
