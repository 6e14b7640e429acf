/* Fits of few counts: the errors are as large as the error bars.  Two other likelihoods fail the
 * same tests: weights from the counts are biased, and a Gaussian with the variance of the model
 * gives error bars that are too small. */
#include "unit.h"

#include <math.h>

#include "refine/fit.h"

enum { PIXELS = 600, REPEATS = 300 };

static float counts[PIXELS];

/* Poisson counts of one mean; the same every time. */
static void draw(double mean)
{
    static uint64_t state = 1;
    for (int i = 0; i < PIXELS; i++) {
        double product = 1.0;
        int n = -1;
        for (; product > exp(-mean); n++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            product *= ((double)(state >> 11) + 0.5) * 0x1p-53;
        }
        counts[i] = (float)n;
    }
}

/* A flat mean: its logarithm takes steps.  `noise`: relative error of pixels, other ones
 * everywhere. */
struct flat {
    double here, there, noise;
};

static enum status evaluate(void *model, const double *steps, double *means, float *slopes,
                            struct error *e)
{
    struct flat *f = model;
    (void)e;
    f->there = f->here * exp(steps[0]);
    uint64_t hash = (uint64_t)(f->there * 0x1p40);
    for (int i = 0; i < PIXELS; i++) {
        hash = hash * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        means[i] = f->there * (1.0 + f->noise * ((double)(hash >> 11) * 0x1p-53 - 0.5));
        slopes[i] = (float)f->there;
    }
    return STATUS_OK;
}

static void accept(void *model)
{
    struct flat *f = model;
    f->here = f->there;
}

/* Estimate and error bar of the mean. */
struct estimate {
    double mean, error;
};

static struct estimate fitted(struct fit_room **room, struct flat flat, double prior, double centre)
{
    static const double limit = 0.7;
    struct fit_result result;
    struct error e = {0};
    const struct fit f = {.count = 1,
                          .gain_least = 1e-5,
                          .pixels = PIXELS,
                          .counts = counts,
                          .limit = &limit,
                          .prior = &prior,
                          .centre = &centre,
                          .evaluate = evaluate,
                          .accept = accept,
                          .model = &flat};
    assert_int_equal(fit_run(&f, room, NULL, &result, &e), STATUS_OK);
    assert_true(result.converged && result.told);
    return (struct estimate){flat.here, flat.here * result.error[0]};
}

/* The mean of counts^power. */
static double moment(double power)
{
    double sum = 0.0;
    for (int i = 0; i < PIXELS; i++)
        sum += pow((double)counts[i], power);
    return sum / PIXELS;
}

/* Returns the minimum of the sum of ln V + (n - mean)^2/V with V = mean. There mean^2 + mean is the
 * mean of n^2. The error bar comes from the curvature. */
static struct estimate gaussian(void)
{
    const double mean = 0.5 * (sqrt(1.0 + 4.0 * moment(2.0)) - 1.0);
    return (struct estimate){mean, 1.0 / sqrt(PIXELS * (1.0 / mean + 0.5 / (mean * mean)))};
}

/* Least squares with weights 1/n, 1 for none. */
static struct estimate by_counts(void)
{
    double weights = 0.0, sum = 0.0;
    for (int i = 0; i < PIXELS; i++) {
        const double weight = 1.0 / fmax((double)counts[i], 1.0);
        weights += weight;
        sum += weight * (double)counts[i];
    }
    return (struct estimate){sum / weights, 1.0 / sqrt(weights)};
}

/* What `of` gives over many draws: rms and mean of errors over error bars. */
struct pulls {
    double rms, mean;
};

static void add(struct pulls *p, struct estimate of, double truth)
{
    const double pull = (of.mean - truth) / of.error;
    p->rms += pull * pull;
    p->mean += pull;
}

static bool are_right(struct pulls p)
{
    return fabs(sqrt(p.rms / REPEATS) - 1.0) < 0.15 && fabs(p.mean / REPEATS) < 0.2;
}

static void test_error_bars(void **state)
{
    (void)state;
    static const double MEANS[] = {0.3, 5.0};
    struct fit_room *room = NULL;
    for (size_t m = 0; m < sizeof MEANS / sizeof *MEANS; m++) {
        struct pulls ours = {0}, gauss = {0}, counted = {0};
        for (int i = 0; i < REPEATS; i++) {
            draw(MEANS[m]);
            add(&ours, fitted(&room, (struct flat){.here = 2.0 * MEANS[m]}, 0.0, 0.0), MEANS[m]);
            add(&gauss, gaussian(), MEANS[m]);
            add(&counted, by_counts(), MEANS[m]);
        }
        if (!are_right(ours))
            fail_msg("mean %g: errors are %.3g error bars", MEANS[m], sqrt(ours.rms / REPEATS));
        assert_false(are_right(counted));
        assert_true(m == 0 || counted.mean / REPEATS < -2.0);
        assert_true(m > 0 || !are_right(gauss));
        assert_true(m > 0 || fabs(sqrt(gauss.rms / REPEATS) - 1.81) < 0.2);
    }
    fit_room_free(&room);
}

/* A narrow prior holds the mean at its centre, a wide one does not matter; between, weights add. */
static void test_prior(void **state)
{
    (void)state;
    struct fit_room *room = NULL;
    draw(5.0);
    const struct flat start = {.here = 6.0};
    const double at = log(4.0 / start.here);
    const struct estimate free = fitted(&room, start, 0.0, 0.0);
    assert_true(fabs(free.mean - moment(1.0)) < 1e-3);
    assert_true(fabs(fitted(&room, start, 1e12, at).mean - 4.0) < 1e-4);
    assert_true(fabs(fitted(&room, start, 1e-9, at).mean - free.mean) < 1e-3);
    const double weight = pow(free.mean / free.error, 2.0);
    const double half = fitted(&room, start, weight, at).mean;
    assert_true(half > 4.3 && half < free.mean - 0.3);
    fit_room_free(&room);
}

/* Means of mixed precision, and counts that are far from them: the likelihood is no better known
 * than to what steps gain near its end. */
static void poor_fits_end(void **state)
{
    (void)state;
    struct fit_room *room = NULL;
    for (int i = 0; i < PIXELS; i++)
        counts[i] = i % 2 ? 10.0f : 3000.0f;
    for (int i = 0; i < 100; i++) {
        const struct flat start = {.here = 1000.0 + i, .noise = 1e-6};
        const struct estimate found = fitted(&room, start, 0.0, 0.0);
        assert_true(fabs(found.mean - 1505.0) < 0.1 * found.error);
    }
    fit_room_free(&room);
}

/* A mean that grows along the pixels: level and slope, of which the second stays where it is. */
static enum status lean(void *model, const double *steps, double *means, float *slopes,
                        struct error *e)
{
    double *const at = model;
    (void)e;
    at[2] = at[0] + steps[0];
    at[3] = at[1] + steps[1];
    for (int i = 0; i < PIXELS; i++) {
        const double along = (double)i / PIXELS;
        means[i] = at[2] + at[3] * along;
        slopes[i] = 1.0f;
        slopes[PIXELS + i] = (float)along;
    }
    return STATUS_OK;
}

static void go_there(void *model)
{
    double *const at = model;
    at[0] = at[2];
    at[1] = at[3];
}

static void what_is_held_stays(void **state)
{
    (void)state;
    static const double limit[2] = {100.0, 100.0}, prior[2] = {0.0, 4.0}, centre[2] = {0.0, 0.0};
    double at[4] = {10.0, 0.5};
    struct fit_room *room = NULL;
    struct fit_result r;
    struct error e = {0};
    draw(20.0);
    const struct fit f = {.count = 2,
                          .gain_least = 1e-5,
                          .held = 1,
                          .pixels = PIXELS,
                          .counts = counts,
                          .limit = limit,
                          .prior = prior,
                          .centre = centre,
                          .evaluate = lean,
                          .accept = go_there,
                          .model = at};
    assert_int_equal(fit_run(&f, &room, NULL, &r, &e), STATUS_OK);
    assert_true(r.converged && r.told && at[1] == 0.5 && r.total[1] == 0.0);
    assert_true(fabs(at[0] + 0.25 - moment(1.0)) < 0.01);
    assert_true(fabs(r.error[0] / sqrt(20.0 / PIXELS) - 1.0) < 0.1 && r.error[1] == 0.0);
    /* information about the other parameter: the slope from the counts is 0 */
    assert_true(fabs(r.sums->gradient[0]) < 1.0 && r.sums->gradient[1] < 0.0);
    assert_true(fabs(r.sums->fisher[3] / (PIXELS / 20.0 / 3.0 + 4.0) - 1.0) < 0.1);
    fit_room_free(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_stays),
        cmocka_unit_test(test_error_bars),
        cmocka_unit_test(test_prior),
        cmocka_unit_test(poor_fits_end),
    };
    return unit_run(tests);
}
