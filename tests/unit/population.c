/* What the beam meets in a frame: numbers of lattices, crystals, weights and pulses, for a seed,
 * frame and lattice. */
#include "unit.h"

#include <math.h>

#include "base/rng.h"

#include "physics/beam/pulse.h"
#include "physics/crystal/population.h"

enum { FRAMES = 20000, SEED = 5 };

static struct error error;

/* Opened for `ncrystals` crystals that are turned at random. */
static enum status open_population(struct population *p, size_t ncrystals)
{
    error = (struct error){0};
    const enum status s = population_open(p, &error);
    return s ? s : population_begin(p, ncrystals, false, &error);
}

/* |x - mean| within 5 standard deviations. */
static bool plausible(double x, double mean, double variance)
{
    return fabs(x - mean) < 5.0 * sqrt(variance);
}

static void every_frame_holds_one_of_each_by_default(void **state)
{
    (void)state;
    struct population p = {.hit_rate = 1, .mean_lattices = NAN};
    assert_int_equal(open_population(&p, 3), STATUS_OK);
    for (uint64_t k = 0; k < 100; k++)
        assert_int_equal(population_count(&p, SEED, k), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(population_crystal(&p, SEED, 7, i), i);
        assert_true(population_share(&p, SEED, 7, i) == 1.0);
    }
}

/* Hits are binomial, and neighbours independent. */
static void hits_follow_the_rate(void **state)
{
    (void)state;
    const double rates[] = {0.0, 0.02, 0.3, 0.97, 1.0};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        struct population p = {.hit_rate = rates[r], .mean_lattices = NAN};
        assert_int_equal(open_population(&p, 1), STATUS_OK);
        double hits = 0.0, pairs = 0.0;
        for (uint64_t k = 0; k < FRAMES; k++) {
            const size_t now = population_count(&p, SEED, k);
            assert_true(now <= 1);
            hits += (double)now;
            pairs += (double)(now * population_count(&p, SEED, k + 1));
        }
        const double f = rates[r], both = f * f;
        assert_true(plausible(hits, FRAMES * f, FRAMES * f * (1 - f) + 1e-9));
        /* neighbouring pairs overlap, which triples their variance at most */
        assert_true(plausible(pairs, FRAMES * both, 3 * FRAMES * both * (1 - both) + 1e-9));
    }
}

/* Poisson: mean, variance and how many are blank. */
static void counts_are_poisson(void **state)
{
    (void)state;
    const double means[] = {0.1, 1.5, 30.0};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        struct population p = {.hit_rate = NAN, .mean_lattices = means[m]};
        assert_int_equal(open_population(&p, 1), STATUS_OK);
        double sum = 0.0, squares = 0.0, blanks = 0.0;
        for (uint64_t k = 0; k < FRAMES; k++) {
            const double n = (double)population_count(&p, SEED, k);
            sum += n;
            squares += (n - means[m]) * (n - means[m]);
            blanks += n == 0.0;
        }
        const double mean = means[m], none = exp(-mean);
        assert_true(plausible(sum, FRAMES * mean, FRAMES * mean));
        assert_true(plausible(squares, FRAMES * mean, FRAMES * mean * (1 + 2 * mean)));
        assert_true(plausible(blanks, FRAMES * none, FRAMES * none + 0.1));
    }
    struct population crowd = {.hit_rate = NAN, .mean_lattices = 1000};
    assert_int_equal(open_population(&crowd, 1), STATUS_OK);
    assert_int_equal(population_count(&crowd, SEED, 0), LATTICES_MAX);
}

static void crystals_follow_the_mixture(void **state)
{
    (void)state;
    struct population p = {.hit_rate = 1, .mixture = "7,0,3", .mean_lattices = NAN};
    assert_int_equal(open_population(&p, 3), STATUS_OK);
    assert_int_equal(p.lattices, 1);
    double found[3] = {0}, alike = 0.0;
    for (uint64_t k = 0; k < FRAMES; k++) {
        const uint32_t first = population_crystal(&p, SEED, k, 0);
        assert_true(first < 3);
        found[first]++;
        alike += first == population_crystal(&p, SEED, k, 1);
    }
    assert_true(plausible(found[0], 0.7 * FRAMES, 0.21 * FRAMES));
    assert_true(found[1] == 0.0);
    assert_true(plausible(alike, 0.58 * FRAMES, 0.58 * 0.42 * FRAMES));
}

static void shares_are_listed_or_spread(void **state)
{
    (void)state;
    struct population p = {.hit_rate = 1, .shares = "1,0.5,0.25", .asked = 5, .mean_lattices = NAN};
    assert_int_equal(open_population(&p, 1), STATUS_OK);
    assert_true(population_share(&p, SEED, 0, 0) == 1.0);
    assert_true(population_share(&p, SEED, 0, 1) == 0.5);
    assert_true(population_share(&p, SEED, 0, 4) == 0.25);
    p.share_spread = 0.5;
    double sum = 0.0, squares = 0.0;
    for (uint64_t k = 0; k < FRAMES; k++) {
        const double share = population_share(&p, SEED, k, 1);
        assert_true(share > 0.0);
        sum += share;
        squares += (share - 0.5) * (share - 0.5);
    }
    assert_true(plausible(sum, 0.5 * FRAMES, 0.0625 * FRAMES));
    assert_true(fabs(sqrt(squares / FRAMES) / 0.25 - 1) < 0.05);
}

/* p = p_min^u: mean (1 - p_min)/ln(1/p_min), second moment (1 - p_min^2)/(2 ln(1/p_min)). */
static void shares_in_a_gaussian_beam(void **state)
{
    (void)state;
    struct population p = {.share_beam = 0.01, .mean_lattices = NAN};
    assert_int_equal(open_population(&p, 1), STATUS_OK);
    double sum = 0.0, squares = 0.0;
    for (uint64_t k = 0; k < FRAMES; k++) {
        const double share = population_share(&p, SEED, k, 0);
        assert_true(share > 0.01 && share < 1.0);
        sum += share;
        squares += share * share;
    }
    const double mean = 0.99 / log(100), variance = (1 - 1e-4) / (2 * log(100)) - mean * mean;
    assert_true(fabs(sum / FRAMES - mean) < 4 * sqrt(variance / FRAMES));
    assert_true(fabs((squares / FRAMES - mean * mean) / variance - 1) < 0.1);
}

static void cells_vary_as_their_edges_allow(void **state)
{
    (void)state;
    static const double cell_A[3] = {79, 79 * (1 + 1e-9), 38};
    struct population p = {.hit_rate = 1, .cell_correlation = 0.8};
    double strain[3], squares[3] = {0}, product = 0;
    assert_false(population_strain(&p, cell_A, SEED, 0, 0, strain));
    p.cell_spread[0] = p.cell_spread[1] = 0.002;
    p.cell_spread[2] = 0.004;
    for (uint64_t k = 0; k < FRAMES; k++) {
        assert_true(population_strain(&p, cell_A, SEED, k, 1, strain));
        assert_true(strain[0] == strain[1]);  // tetragonal
        for (int i = 0; i < 3; i++)
            squares[i] += strain[i] * strain[i];
        product += strain[0] * strain[2];
    }
    assert_true(fabs(sqrt(squares[0] / FRAMES) / 0.002 - 1) < 0.06);
    assert_true(fabs(sqrt(squares[2] / FRAMES) / 0.004 - 1) < 0.06);
    assert_true(fabs(product / FRAMES / (0.002 * 0.004) - 0.8) < 0.1);
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    struct population p = {.mixture = "1,2", .mean_lattices = NAN};
    assert_int_equal(open_population(&p, 3), STATUS_USAGE);
    assert_string_equal(error.text, "--mixture: 2 weights; expected 3, one for each crystal");
    p = (struct population){.mixture = "0,0", .mean_lattices = NAN};
    assert_int_equal(open_population(&p, 2), STATUS_USAGE);
    p = (struct population){.shares = "0,0", .mean_lattices = NAN};
    assert_int_equal(open_population(&p, 1), STATUS_USAGE);
    assert_string_equal(error.text, "--shares: all shares are 0; expected at least one above 0");
    p = (struct population){.asked = 3, .mean_lattices = NAN};
    assert_int_equal(population_begin(&p, 2, true, &error), STATUS_USAGE);
    assert_int_equal(population_begin(&p, 3, true, &error), STATUS_OK);
    assert_int_equal(population_begin(&p, 1, false, &error), STATUS_OK);
    assert_int_equal(population_begin(&p, 4, false, &error), STATUS_USAGE);
    p = (struct population){.hit_rate = NAN, .mean_lattices = 9};
    assert_int_equal(population_begin(&p, 2, false, &error), STATUS_USAGE);
}

static void pulses_keep_the_means_of_the_beam(void **state)
{
    (void)state;
    struct source list[2] = {{.wavelength_m = 1e-10, .weight = 0.5},
                             {.wavelength_m = 2e-10, .weight = 1.5}};
    const struct beam beam = {.nsources = 2, .sources = list};
    const struct pulse steady = {0};
    struct recipe r = {.seed = SEED};
    pulse_make(&steady, &beam, &r);
    assert_true(!r.nsources && !r.sources);
    const struct pulse p = {.fluence_jitter = 0.8, .wavelength_jitter = 0.005};
    double sum = 0.0, waves = 0.0;
    for (uint64_t k = 0; k < FRAMES; k++) {
        r = (struct recipe){.id = k, .seed = SEED};
        pulse_make(&p, &beam, &r);
        assert_int_equal(r.nsources, 2);
        assert_true(fabs(r.sources[1].weight - 3 * r.sources[0].weight) < 1e-12);
        assert_true(fabs(r.sources[1].wavelength_m - 2 * r.sources[0].wavelength_m) < 1e-24);
        sum += r.sources[0].weight / 0.5;
        waves += r.sources[0].wavelength_m / 1e-10;
        recipe_free(&r);
    }
    assert_true(plausible(sum, FRAMES, 0.64 * FRAMES));
    assert_true(plausible(waves, FRAMES, 0.25e-4 * FRAMES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_frame_holds_one_of_each_by_default),
        cmocka_unit_test(hits_follow_the_rate),
        cmocka_unit_test(counts_are_poisson),
        cmocka_unit_test(crystals_follow_the_mixture),
        cmocka_unit_test(shares_are_listed_or_spread),
        cmocka_unit_test(shares_in_a_gaussian_beam),
        cmocka_unit_test(cells_vary_as_their_edges_allow),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(pulses_keep_the_means_of_the_beam),
    };
    return unit_run(tests);
}
