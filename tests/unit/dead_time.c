/* Counters that miss photons, compared with a simulation of single photons. */
#include "unit.h"

#include <math.h>

#include "base/rng.h"
#include "engine/detector/readout.h"

enum { EXPOSURE = 1000, FRAMES = 4000 };  // an exposure in dead times

/* Photons of a Poisson beam of `rate` in a dead time, and what a counter sees of them. */
static void count_photons(double rate, bool paralysable, struct rng *random, double *photons,
                          double *counts)
{
    double seen_until = -1.0;
    *photons = *counts = 0.0;
    for (double t = -log(rng_uniform(random)) / rate; t < EXPOSURE;
         t -= log(rng_uniform(random)) / rate) {
        const bool seen = t >= seen_until;
        *photons += 1.0;
        *counts += seen;
        seen_until = seen || paralysable ? t + 1.0 : seen_until;
    }
}

struct moments {
    double sum, squares;
};

static void add(struct moments *m, double x)
{
    m->sum += x;
    m->squares += x * x;
}

static double mean(const struct moments *m)
{
    return m->sum / FRAMES;
}

static double variance(const struct moments *m)
{
    return m->squares / FRAMES - mean(m) * mean(m);
}

static const struct noise_kernels *kernels(void)
{
    return noise_kernels_choose(NULL, NULL);
}

static void compare(enum counter counter, double rate)
{
    const struct dead_time d = {counter, 1.0 / EXPOSURE};
    static struct dead_time_table table;
    dead_time_tabulate(&d, &table);
    struct rng random = rng_stream(1, RNG_FAULT, 0, 0);
    struct moments events = {0, 0}, drawn = {0, 0};
    static struct noise_chunk c = {.blocks = 1};
    for (int i = 0; i < FRAMES; i++) {
        double counts;
        count_photons(rate, counter == COUNTER_PARALYSABLE, &random, &c.value[0], &counts);
        add(&events, counts);
        dead_time_count(&d, &table, kernels(), false, 5, (uint64_t)i, &c, 1);
        assert_true(c.value[0] == floor(c.value[0]));
        add(&drawn, c.value[0]);
    }
    /* what the ends of the exposure do, too: part of a count */
    const double error = sqrt(2.0 * variance(&events) / FRAMES);
    print_message("# rate %.2g: mean %.3f, %.3f; variance %.2f, %.2f\n", rate, mean(&events),
                  mean(&drawn), variance(&events), variance(&drawn));
    assert_true(fabs(mean(&events) - mean(&drawn)) < error + 0.2);
    assert_true(fabs(variance(&drawn) / variance(&events) - 1.0) < 0.13);
}

static void as_events_are_counted(void **state)
{
    (void)state;
    static const double rates[] = {0.02, 0.2, 0.5, 1.0};
    for (int i = 0; i < 4; i++) {
        compare(COUNTER_NONPARALYSABLE, rates[i]);
        compare(COUNTER_PARALYSABLE, rates[i]);
    }
}

static void what_is_expected_stays_a_mean(void **state)
{
    (void)state;
    static struct noise_chunk c = {.blocks = 1};
    const struct {
        enum counter counter;
        double counts;
    } want[] = {{COUNTER_NONPARALYSABLE, 100.0 / 1.1},
                {COUNTER_PARALYSABLE, 100.0 * exp(-0.1)},
                {COUNTER_PULSE, 1.0 - exp(-100.0)}};
    for (int i = 0; i < 3; i++) {
        const struct dead_time d = {want[i].counter, 1e-3};
        c.value[0] = 100.0;
        c.value[1] = 0.0;
        dead_time_count(&d, NULL, kernels(), true, 5, 0, &c, 2);
        assert_true(fabs(c.value[0] / want[i].counts - 1.0) < 1e-12);
        assert_true(c.value[1] == 0.0);
    }
}

static void a_pulse_is_one_photon(void **state)
{
    (void)state;
    static struct dead_time_table table;
    static struct noise_chunk c = {.blocks = 1};
    const struct dead_time d = {.counter = COUNTER_PULSE};
    for (int i = 0; i < 4; i++)
        c.value[i] = i;
    dead_time_tabulate(&d, &table);
    dead_time_count(&d, &table, kernels(), false, 5, 0, &c, 4);
    for (int i = 0; i < 4; i++)
        assert_true(c.value[i] == (i > 0));
}

/* Photons of a chunk: many numbers, beyond the table, too, and some that are not whole. */
static void fill(struct noise_chunk *c)
{
    c->first = 6 * NOISE_CHUNK;
    c->blocks = NOISE_CHUNK / NOISE_BLOCK;
    for (int i = 0; i < NOISE_CHUNK; i++)
        c->value[i] = i % 5 ? i * 13 % 97 : i % 2 ? i * 0.7 : i;
}

static void tables_change_nothing(void **state)
{
    (void)state;
    static const struct dead_time_table none;
    static struct dead_time_table table;
    static struct noise_chunk slow, fast;
    for (int i = 0; i < 6; i++) {
        const struct dead_time d = {i % 2 ? COUNTER_PARALYSABLE : COUNTER_NONPARALYSABLE,
                                    i < 2   ? 1e-3
                                    : i < 4 ? 1e-4
                                            : 1e-6};
        dead_time_tabulate(&d, &table);
        assert_true(table.rows > (i < 2 ? 90 : 300));
        fill(&slow);
        fill(&fast);
        dead_time_count(&d, &none, kernels(), false, 7, 3, &slow, NOISE_CHUNK);
        dead_time_count(&d, &table, kernels(), false, 7, 3, &fast, NOISE_CHUNK);
        assert_memory_equal(slow.value, fast.value, sizeof slow.value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_events_are_counted),
        cmocka_unit_test(what_is_expected_stays_a_mean),
        cmocka_unit_test(a_pulse_is_one_photon),
        cmocka_unit_test(tables_change_nothing),
    };
    return unit_run(tests);
}
