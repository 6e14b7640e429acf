/* Poisson deviates: moments, chi-square and tails over all branches, and fixed seeds.  All
 * instruction sets are compared with each other, and the fast search with a plain one. */
#define FASTMATH_UNFUSED
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/detector/noise_loop.h"
#include "physics/noise/poisson.h"

enum { DRAWS = 500 * NOISE_CHUNK, BINS = 4096 };

static const struct noise_key key = {42, 1, RNG_POISSON};
static double count[DRAWS];

/* DRAWS counts of one mean, for the pixels from `first`. */
static void draw_from(const char *isa, float mean, int64_t first)
{
    const struct noise_kernels *kernels = noise_kernels_choose(isa, NULL);
    float photons[NOISE_CHUNK];
    for (int i = 0; i < NOISE_CHUNK; i++)
        photons[i] = mean;
    for (int i = 0; i < DRAWS; i += NOISE_CHUNK) {
        static struct noise_chunk c;
        c.first = first + i;
        assert_true(kernels->load(&c, photons, NOISE_CHUNK));
        kernels->poisson(&key, &c);
        memcpy(count + i, c.value, sizeof c.value);
    }
}

static void draw(double mean)
{
    draw_from(NULL, (float)mean, 0);
}

/* Moments about the mean m: variance of the k-th sample moment is mu_2k - mu_k^2, less
 * than mu_2k.  mu_6 = 15 m^3 + 25 m^2 + m, mu_3 = m. */
static void mean_variance_and_skewness_are_the_mean(void **state)
{
    (void)state;
    static const double means[] = {0.015625, 0.5, 3,  7.9375, 8,   9.75,   11.984375, 14.5,
                                   63.5,     64,  70, 1000,   1e5, 999936, 2097152};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        const double mean = means[m];
        double sum = 0, sum2 = 0, sum3 = 0;
        draw(mean);
        for (int i = 0; i < DRAWS; i++) {
            const double d = count[i] - mean;
            sum += d;
            sum2 += d * d;
            sum3 += d * d * d;
        }
        const double mu6 = mean * (1 + mean * (25 + 15 * mean));
        assert_true(fabs(sum / DRAWS) < 4.5 * sqrt(mean / DRAWS));
        assert_true(fabs(sum2 / DRAWS - mean) < 4.5 * sqrt((mean + 2 * mean * mean) / DRAWS));
        assert_true(fabs(sum3 / DRAWS - mean) < 4.5 * sqrt(mu6 / DRAWS));
    }
}

/* Counts per value against the Poisson probabilities; values with fewer than
 * ten expected draws go into one rest. */
static double chi_square(double mean, int *freedom)
{
    static int seen[BINS];
    memset(seen, 0, sizeof seen);
    draw(mean);
    for (int i = 0; i < DRAWS; i++) {
        const double k = count[i];
        assert_true(k >= 0 && k < BINS && k == floor(k));
        seen[(int)k]++;
    }
    double chi2 = 0, rest_expected = 0, rest = 0;
    *freedom = 0;
    for (int k = 0; k < BINS; k++) {
        const double expected = DRAWS * exp(k * log(mean) - mean - lgamma(k + 1.0));
        if (expected < 10) {
            rest_expected += expected;
            rest += seen[k];
            continue;
        }
        chi2 += (seen[k] - expected) * (seen[k] - expected) / expected;
        ++*freedom;
    }
    if (rest_expected > 1)
        chi2 += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
    return chi2;
}

static void values_are_distributed_as_poisson(void **state)
{
    (void)state;
    static const double means[] = {0.125, 0.5, 3,    7,  7.9375, 8,   8.25, 12.5,
                                   20,    50,  63.5, 64, 80,     300, 1000, 3000};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        int n;
        const double chi2 = chi_square(means[m], &n);
        /* chi-square is near normal(n, 2n): four and a half standard deviations */
        assert_true(chi2 < n + 4.5 * sqrt(2.0 * n));
        assert_true(chi2 > n - 4.5 * sqrt(2.0 * n));
    }
}

/* Chances of all counts within 12 standard deviations. */
enum { CHANCES = 40000 };
struct chances {
    int first, n;
    double of[CHANCES];
};

static const struct chances *chances_of(double mean)
{
    static struct chances c;
    const double reach = 12 * sqrt(mean) + 12;
    c.first = mean > reach ? (int)(mean - reach) : 0;
    c.n = (int)(mean + reach) - c.first;
    assert_true(c.n <= CHANCES);
    for (int i = 0; i < c.n; i++) {
        const double k = c.first + i;
        c.of[i] = exp(k * log(mean) - mean - lgamma(k + 1.0));
    }
    return &c;
}

/* A tail is wrong if its number of draws differs significantly from its probability. */
static void check_tail(double chance, double least, double most)
{
    int within = 0;
    for (int i = 0; i < DRAWS; i++)
        within += count[i] >= least && count[i] <= most;
    assert_true(fabs(within - DRAWS * chance) < 4.5 * sqrt(DRAWS * chance) + 1);
}

/* Both tails: a count in 100, in 1000 and in 10000, where a short uniform has no values left and
 * a hat or a squeeze that does not fit shows first. */
static void tails_have_their_probability(void **state)
{
    (void)state;
    static const double means[] = {0.0078125, 0.25, 3,    5,   8,    11.5, 12.25,  20,     36,
                                   50,        63.5, 64.5, 100, 1000, 3000, 100000, 999936, 2097152};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        const struct chances *c = chances_of(means[m]);
        draw(means[m]);
        for (double depth = 1e-2; depth > 5e-5; depth /= 10) {
            int lower = 0, upper = c->n;
            double below = 0, above = 0;
            while (below + c->of[lower] <= depth)
                below += c->of[lower++];
            while (above + c->of[upper - 1] <= depth)
                above += c->of[--upper];
            check_tail(below, 0, c->first + lower - 1);
            check_tail(above, c->first + upper, INFINITY);
        }
    }
}

/* Chi-square over an eighth of a standard deviation each, for means of too many counts. */
static void large_values_are_distributed_as_poisson(void **state)
{
    (void)state;
    static const double means[] = {1000, 30000, 999936, 2097152};
    enum { PARTS = 8, REACH = 13 * PARTS };
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        const double scale = PARTS / sqrt(means[m]);
        double expected[2 * REACH] = {0}, seen[2 * REACH] = {0}, chi2 = 0;
        const struct chances *c = chances_of(means[m]);
        for (int i = 0; i < c->n; i++)
            expected[REACH + (int)floor((c->first + i - means[m]) * scale)] += DRAWS * c->of[i];
        draw(means[m]);
        for (int i = 0; i < DRAWS; i++)
            seen[REACH + (int)floor((count[i] - means[m]) * scale)]++;
        int n = 0;
        for (int i = 0; i < 2 * REACH; i++)
            if (expected[i] >= 10) {
                chi2 += (seen[i] - expected[i]) * (seen[i] - expected[i]) / expected[i];
                n++;
            }
        assert_true(n > 6 * PARTS);
        assert_true(fabs(chi2 - n) < 4.5 * sqrt(2.0 * n));
    }
}

/* Chance of a count of `least` and more. */
static double tail(double mean, int least)
{
    double sum = 0;
    for (int k = least; k < least + 200; k++)
        sum += exp(k * log(mean) - mean - lgamma(k + 1.0));
    return sum;
}

/* Chances that 53 bits see and 32 do not. */
static void the_search_reaches_the_far_tail(void **state)
{
    (void)state;
    assert_true(poisson_invert(3, 1 - tail(3, 20) * 1.01) == 19);
    assert_true(poisson_invert(3, 1 - tail(3, 20) * 0.99) == 20);
    assert_true(poisson_invert(7.999, 1 - 0x1p-53) < POISSON_NEAR_END);
}

/* The count of a pixel as the text of the algorithm has it, for small means: of 16 bits that it
 * shares and all further ones. */
static double plainly(float mean, uint32_t pixel)
{
    const uint32_t in_block = pixel % NOISE_BLOCK, half = in_block / 32, place = in_block % 32;
    const uint32_t k[2] = {(uint32_t)key.seed, 0};
    const uint32_t octet = pixel / NOISE_BLOCK * NOISE_OCTETS + place / 4;
    uint32_t counter[4] = {pixel, (uint32_t)key.purpose << 24 | 1, (uint32_t)key.frame, 0};
    uint32_t word[4], more[4], bits[2];
    philox4x32(counter, k, more);
    for (uint32_t draw = 0; draw < 2; draw++) {
        counter[0] = 2 * octet + draw;
        counter[1] = (uint32_t)key.purpose << 24;
        philox4x32(counter, k, word);
        bits[draw] = word[2 * half + place % 4 / 2] >> 16 * (place % 2) & 0xffff;
    }
    const uint64_t low = (uint64_t)more[0] << 32 | more[1];
    const uint64_t digits = (uint64_t)bits[0] << 48 | low >> 16;
    const int whole = mean < 8 ? 0 : (int)floorf(mean);
    const double rest = poisson_invert((double)(mean - (float)whole),
                                       rng_uniform_of((uint32_t)(digits >> 32), (uint32_t)digits));
    if (!whole)
        return rest;
    const uint32_t row = (uint32_t)whole - 7, at = bits[1] / 512;
    const double share = (bits[1] % 512 + rng_uniform_of(more[2], more[3])) / 512;
    const uint32_t entry = poisson_table()->entry[row][at];
    return rest + (share < poisson_table()->chance[row][at] ? entry >> 10 & 255 : entry >> 18);
}

/* The chance of each count from its places, against that of the whole mean; and the first digits,
 * of which a wrong one would be found by counting only after 1e5 draws and more. */
static void the_table_holds_the_chances(void **state)
{
    (void)state;
    const struct poisson_table *t = poisson_table();
    double worst = 0, left_out = 0;
    for (int row = 1; row <= POISSON_WHOLES; row++) {
        double of[256] = {0}, sum = 0;
        for (int i = 0; i < POISSON_PLACES; i++) {
            const uint32_t entry = t->entry[row][i];
            const double chance = t->chance[row][i];
            assert_true(chance >= 0 && chance <= 1);
            assert_true((entry & 1023) == (uint32_t)(chance * 512));
            of[entry >> 10 & 255] += chance / POISSON_PLACES;
            of[entry >> 18 & 255] += (1 - chance) / POISSON_PLACES;
        }
        for (int k = 0; k < 256; k++) {
            const double mean = row + 7, want = exp(k * log(mean) - mean - lgamma(k + 1.0));
            if (of[k] > 0)
                worst = fmax(worst, fabs(of[k] - want));
            sum += of[k] > 0 ? 0 : want;
        }
        left_out = fmax(left_out, sum);
    }
    print_message("# off by %.2g, left out %.2g\n", worst, left_out);
    assert_true(worst < 1e-14 && left_out < 5e-16);
    for (int i = 0; i < POISSON_PLACES; i++)
        assert_true(t->entry[0][i] == POISSON_DIGITS);
}

static void the_search_is_the_plain_one(void **state)
{
    (void)state;
    static const float means[] = {0,      1e-30f, 1e-7f, 1e-3f,   0.3f, 1.7f,  3,      6.3f,
                                  7.999f, 8,      9,     11.999f, 12,   29.5f, 63.75f, 63.999f};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        draw_from(NULL, means[m], 64000);
        for (uint32_t i = 0; i < DRAWS; i++)
            assert_true(count[i] == plainly(means[m], 64000 + i));
    }
}

/* Pixels that share a block, or follow one another, draw on their own. */
static void neighbours_are_independent(void **state)
{
    (void)state;
    static const int apart[] = {1, 2, 3, 4, 31, 32, 33, 64};
    static const double means[] = {0.5, 3, 8.5, 40.5};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        draw(means[m]);
        for (size_t a = 0; a < sizeof apart / sizeof *apart; a++) {
            double product = 0;
            for (int i = 0; i + apart[a] < DRAWS; i++)
                product += (count[i] - means[m]) * (count[i + apart[a]] - means[m]);
            assert_true(fabs(product / means[m] / DRAWS) < 4.5 / sqrt(DRAWS));
        }
    }
}

/* Neighbours of unequal means, none of which is large: groups with and without whole parts. */
static void unequal_neighbours_have_plain_counts(void **state)
{
    (void)state;
    static const float least[] = {16, 16, 30, 7, 2, 2, 0},
                       most[] = {20, 63.99f, 63.99f, 9, 20, 5, 63};
    static struct noise_chunk c;
    float photons[NOISE_CHUNK];
    for (size_t m = 0; m < sizeof least / sizeof *least; m++)
        for (int i = 0; i < 60; i++) {
            for (int k = 0; k < NOISE_CHUNK; k++)
                photons[k] = least[m] + (most[m] - least[m]) * (float)(k * 37 % 101) / 100.0f;
            if (m == 5)
                photons[i] = photons[2 * i + 200] = 40;
            c.first = i * NOISE_CHUNK;
            assert_true(noise_kernels_choose(NULL, NULL)->load(&c, photons, NOISE_CHUNK - i));
            noise_kernels_choose(NULL, NULL)->poisson(&key, &c);
            for (int k = 0; k < NOISE_CHUNK - i; k++)
                assert_true(c.value[k] == plainly(photons[k], (uint32_t)(c.first + k)));
        }
}

/* Mixed means, so that every list is partly filled. */
static void every_instruction_set_gives_the_same(void **state)
{
    (void)state;
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    static struct noise_chunk chunk[3];
    float photons[NOISE_CHUNK];
    for (int i = 0; i < NOISE_CHUNK; i++)
        photons[i] = i % 7 ? 3.0f + 0.04f * (float)i : i % 5 ? 3e3f : i % 3 ? 12.5f : 4e6f;
    for (int k = 0; k < 3; k++) {
        const struct noise_kernels *kernels = noise_kernels_choose(isas[k], NULL);
        if (!kernels) {
            print_message("# %s: not on this machine\n", isas[k]);
            continue;
        }
        for (int64_t first = 0; first < 50 * NOISE_CHUNK; first += NOISE_CHUNK) {
            chunk[k].first = chunk[0].first = first;
            (void)noise_kernels_choose("baseline", NULL)->load(&chunk[0], photons, NOISE_CHUNK);
            noise_kernels_choose("baseline", NULL)->poisson(&key, &chunk[0]);
            noise_kernels_choose("baseline", NULL)->normals(&key, &chunk[0]);
            (void)kernels->load(&chunk[k], photons, NOISE_CHUNK);
            kernels->poisson(&key, &chunk[k]);
            kernels->normals(&key, &chunk[k]);
            assert_memory_equal(chunk[k].value, chunk[0].value, sizeof chunk[0].value);
            assert_memory_equal(chunk[k].deviate, chunk[0].deviate, sizeof chunk[0].deviate);
        }
    }
}

/* The two sides of the switch to a normal differ in nothing one can see. */
static void branches_meet_at_one_million(void **state)
{
    (void)state;
    static const double z[] = {-3, -2, -1, 0, 1, 2, 3};
    for (size_t j = 0; j < sizeof z / sizeof *z; j++) {
        int below[2] = {0, 0};
        for (int side = 0; side < 2; side++) {
            const double mean = side ? 1000001 : 1000000;
            draw_from(NULL, (float)mean, side * (int64_t)DRAWS);
            for (int i = 0; i < DRAWS; i++)
                below[side] += count[i] < mean + 1e3 * z[j];
        }
        const double p = 0.5 * erfc(-z[j] / sqrt(2.0));
        assert_true(abs(below[0] - below[1]) < 4.5 * sqrt(2 * p * (1 - p) * DRAWS));
    }
}

/* The stated error: of the distribution function at its worst place, a mean of one
 * million.  A count is at most k when mean + root z + (z^2 - 1)/6 + 1/2 < k + 1. */
static void the_normal_is_off_by_less_than_1e_7(void **state)
{
    (void)state;
    const double mean = POISSON_LARGE_MEAN, root = sqrt(mean);
    double sum = 0, worst = 0;
    for (double k = mean - 9 * root; k < mean + 9 * root; k++) {
        sum += exp(k * log(mean) - mean - lgamma(k + 1));
        double z = (k + 0.5 - mean) / root;
        for (int i = 0; i < 5; i++)
            z = (k + 0.5 - mean - (z * z - 1) / 6) / root;
        worst = fmax(worst, fabs(sum - 0.5 * erfc(-z / sqrt(2.0))));
    }
    print_message("# %.2g\n", worst);
    assert_true(worst < 1e-7);
}

static void normals_have_their_moments_and_tails(void **state)
{
    (void)state;
    double sum = 0, sum2 = 0, sum3 = 0, sum4 = 0, product = 0;
    int beyond = 0;
    for (int64_t first = 0; first < DRAWS; first += NOISE_CHUNK) {
        static struct noise_chunk c;
        c.first = first;
        c.blocks = NOISE_CHUNK / NOISE_BLOCK;
        noise_kernels_choose(NULL, NULL)->normals(&key, &c);
        for (int i = 0; i < NOISE_CHUNK; i++) {
            const double z = c.deviate[i];
            sum += z;
            sum2 += z * z;
            sum3 += z * z * z;
            sum4 += z * z * z * z;
            beyond += fabs(z) > 3.0;
            product += i % NOISE_BLOCK < NOISE_PAIRS ? z * c.deviate[i + NOISE_PAIRS] : 0.0;
        }
    }
    const double p = erfc(3.0 / sqrt(2.0));
    assert_true(fabs(sum / DRAWS) < 4.5 / sqrt(DRAWS));
    assert_true(fabs(sum2 / DRAWS - 1) < 4.5 * sqrt(2.0 / DRAWS));
    assert_true(fabs(sum3 / DRAWS) < 4.5 * sqrt(15.0 / DRAWS));
    assert_true(fabs(sum4 / DRAWS - 3) < 4.5 * sqrt(96.0 / DRAWS));
    assert_true(fabs(beyond - p * DRAWS) < 4.5 * sqrt(p * DRAWS));
    assert_true(fabs(product / DRAWS) < 4.5 * sqrt(0.5 / DRAWS));
}

static void stirlings_series_is_what_lgamma_needs(void **state)
{
    (void)state;
    static const double ks[] = {10, 11, 25, 100, 1e4, 1e6, 1.5e6};
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
        const double k = ks[i], value = k * log(k) - k + 0.5 * log(2 * 3.14159265358979323846 * k) +
                                        poisson_stirling(k);
        assert_true(fabs(value - lgamma(k + 1)) <= 1e-12 + 1e-14 * lgamma(k + 1));
    }
}

/* The chance of a candidate that is accepted, from its limits: the test of an attempt against the
 * logarithms of libm. */
static void the_whole_test_is_the_chance(void **state)
{
    (void)state;
    static const double means[] = {64, 100, 3000, 1e6};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++)
        for (double z = -7; z <= 7; z += 0.25) {
            struct poisson_try t = {.k = floor(means[m] + z * sqrt(means[m]))};
            if (t.k < POISSON_LEAST_COUNT)
                continue;
            const double log_chance = t.k * log(means[m]) - means[m] - lgamma(t.k + 1);
            t.log_of = exp(log_chance) * (1 - 1e-8);
            assert_true(poisson_accepts(&t, means[m]));
            t.log_of = exp(log_chance) * (1 + 1e-8);
            assert_false(poisson_accepts(&t, means[m]));
        }
}

/* What the squeeze lets through, the whole test lets through. */
static void the_squeeze_is_inside(void **state)
{
    (void)state;
    static const double means[] = {64, 64.5, 70, 81, 100, 300, 1000, 30000, 1e6};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        double v = 1;
        while (!poisson_attempt(means[m], 0.5, v).sure)
            v -= 0x1p-12;  // the largest that is sure, to 1 part in 4096
        for (double u = 0.07; u <= 0.93; u += 0x1p-12) {
            struct poisson_try t = poisson_attempt(means[m], u, v);
            t.sure = false;
            assert_true(poisson_accepts(&t, means[m]));
        }
    }
}

/* What the doubt of the search allows for. */
static void the_short_exponential_is_close(void **state)
{
    (void)state;
    for (int i = 0; i <= 120000; i++) {
        const float x = (float)i * 1e-4f;
        assert_true(fabs((double)poisson_exp_f(x) / exp(-(double)x) - 1) < 3e-7);
    }
}

static void zero_mean_gives_zero(void **state)
{
    (void)state;
    draw(0);
    for (int i = 0; i < DRAWS; i++)
        assert_true(count[i] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_variance_and_skewness_are_the_mean),
        cmocka_unit_test(values_are_distributed_as_poisson),
        cmocka_unit_test(tails_have_their_probability),
        cmocka_unit_test(large_values_are_distributed_as_poisson),
        cmocka_unit_test(the_search_reaches_the_far_tail),
        cmocka_unit_test(the_table_holds_the_chances),
        cmocka_unit_test(the_search_is_the_plain_one),
        cmocka_unit_test(neighbours_are_independent),
        cmocka_unit_test(unequal_neighbours_have_plain_counts),
        cmocka_unit_test(every_instruction_set_gives_the_same),
        cmocka_unit_test(branches_meet_at_one_million),
        cmocka_unit_test(the_normal_is_off_by_less_than_1e_7),
        cmocka_unit_test(normals_have_their_moments_and_tails),
        cmocka_unit_test(stirlings_series_is_what_lgamma_needs),
        cmocka_unit_test(the_whole_test_is_the_chance),
        cmocka_unit_test(the_squeeze_is_inside),
        cmocka_unit_test(the_short_exponential_is_close),
        cmocka_unit_test(zero_mean_gives_zero),
    };
    return unit_run(tests);
}
