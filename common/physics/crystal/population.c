#include "physics/crystal/population.h"

#include <inttypes.h>
#include <math.h>

#include "base/opt.h"
#include "base/rng.h"
#include "base/text.h"

/* Converts weights to cumulative weights. The last one is 1. */
static enum status normalize_mixture(struct population *p, struct error *e)
{
    double total = 0.0;
    for (int i = 0; i < p->nmixture; i++)
        total += p->up_to[i];
    if (!(total > 0.0))
        return error_set(e, STATUS_USAGE,
                         "--mixture: all weights are 0; expected at least one above 0");
    double sum = 0.0;
    for (int i = 0; i < p->nmixture; i++) {
        sum += p->up_to[i];
        p->up_to[i] = sum / total;
    }
    return STATUS_OK;
}

enum status population_open(struct population *p, struct error *e)
{
    if (!isnan(p->hit_rate) && !isnan(p->mean_lattices))
        return error_set(e, STATUS_USAGE,
                         "--hit-rate and --mean-lattices cannot be used together: "
                         "--mean-lattices=%.4g gives a hit rate of %.4g, and --mean-lattices=%.4g "
                         "one of %.4g",
                         p->mean_lattices, -expm1(-p->mean_lattices),
                         -log1p(-fmin(p->hit_rate, 0.999)), fmin(p->hit_rate, 0.999));
    enum status s = STATUS_OK;
    if (p->shares)
        s = parse_list(p->shares, LATTICES_MAX, 0, 1e9, NULL, "--shares", p->share, &p->nshares, e);
    bool dark = p->shares && !s;
    for (int i = 0; i < p->nshares; i++)
        dark = dark && p->share[i] == 0.0;
    if (dark)
        s = error_set(e, STATUS_USAGE, "--shares: all shares are 0; expected at least one above 0");
    if (!s && p->mixture) {
        s = parse_list(p->mixture, MIXTURE_MAX, 0, 1e9, NULL, "--mixture", p->up_to, &p->nmixture,
                       e);
        if (!s)
            s = normalize_mixture(p, e);
    }
    return s;
}

enum status population_begin(struct population *p, size_t ncrystals, bool turned_alike,
                             struct error *e)
{
    p->ncrystals = ncrystals;
    if (p->mixture && (size_t)p->nmixture != ncrystals)
        return error_set(e, STATUS_USAGE,
                         "--mixture: %d weights; expected %zu, one for each crystal", p->nmixture,
                         ncrystals);
    p->lattices = p->asked ? p->asked : p->mixture ? 1 : (int64_t)ncrystals;
    const bool mean = !isnan(p->mean_lattices);
    if (!p->mixture && ncrystals > 1 && (mean || (uint64_t)p->lattices < ncrystals))
        return error_set(e, STATUS_USAGE,
                         "with %zu crystals and fewer lattices per frame, give --mixture=W,W "
                         "(relative frequency of each crystal)",
                         ncrystals);
    const bool again = mean || p->lattices > (p->mixture ? 1 : (int64_t)ncrystals);
    if (turned_alike && again)
        return error_set(e, STATUS_USAGE,
                         "several lattices of one crystal have the same orientation. Give --random "
                         "or --orientations");
    return STATUS_OK;
}

/* Draws a Poisson number as the number of arrivals at rate 1 before `mean`. It is limited to the
 * number that fits into a frame. */
static size_t arrivals(double mean, struct rng random)
{
    size_t n = 0;
    double time = -portable_log(rng_uniform(&random));
    while (time <= mean && n < LATTICES_MAX) {
        time -= portable_log(rng_uniform(&random));
        n++;
    }
    return n;
}

size_t population_count(const struct population *p, uint64_t seed, uint64_t frame)
{
    if (!isnan(p->mean_lattices))
        return arrivals(p->mean_lattices, rng_stream(seed, RNG_LATTICES, frame, 0));
    struct rng random = rng_stream(seed, RNG_HIT, frame, 0);
    return rng_uniform(&random) >= p->hit_rate ? 0 : (size_t)p->lattices;
}

uint32_t population_crystal(const struct population *p, uint64_t seed, uint64_t frame,
                            uint32_t lattice)
{
    if (!p->mixture)
        return (uint32_t)(lattice % p->ncrystals);
    struct rng random = rng_stream(seed, RNG_CRYSTAL, frame, lattice);
    const double u = rng_uniform(&random);
    uint32_t crystal = 0;
    while (crystal + 1 < p->ncrystals && u >= p->up_to[crystal])
        crystal++;
    return crystal;
}

double population_share(const struct population *p, uint64_t seed, uint64_t frame, uint32_t lattice)
{
    const int last = p->nshares - 1;
    double share = p->shares ? p->share[(int)lattice < last ? (int)lattice : last] : 1.0;
    if (p->share_beam > 0.0) {
        /* The crystals are anywhere in the plane, so r^2 is uniform up to the r^2 of the
         * smallest weight, and the weight is exp(-r^2/2). */
        struct rng place = rng_stream(seed, RNG_PLACE, frame, lattice);
        share *= portable_exp(portable_log(p->share_beam) * rng_uniform(&place));
    }
    if (!(p->share_spread > 0.0))
        return share;
    struct rng random = rng_stream(seed, RNG_SHARE, frame, lattice);
    return share * rng_lognormal(&random, p->share_spread);
}

bool population_strain(const struct population *p, const double cell_A[3], uint64_t seed,
                       uint64_t frame, uint32_t lattice, double strain[3])
{
    static const double SAME = 1e-6;
    const double *spread = p->cell_spread;
    if (!(spread[0] > 0.0 || spread[1] > 0.0 || spread[2] > 0.0))
        return false;
    struct rng random = rng_stream(seed, RNG_CELL, frame, lattice);
    const double together = rng_normal(&random);
    for (int i = 0; i < 3; i++) {
        const double alone = rng_normal(&random), c = p->cell_correlation;
        strain[i] = spread[i] * (__builtin_sqrt(c) * together + __builtin_sqrt(1.0 - c) * alone);
        for (int k = 0; k < i; k++)
            if (__builtin_fabs(cell_A[k] / cell_A[i] - 1.0) < SAME)
                strain[i] = strain[k];
    }
    return true;
}

/* --- pump and probe -------------------------------------------------------------- */

enum { STATE_DARK, STATE_LIGHT };
static const intmax_t FRAMES_MAX = 1000000;

enum status pump_open(struct pump *p, struct error *e)
{
    const char *at = p->pattern;
    intmax_t count[2] = {0, 0};
    if (!at)
        return STATUS_OK;
    for (int i = 0; i < 2 && at; i++) {
        const char *end;
        count[i] = number_whole(at, &end);
        const bool good =
            end != at && *end == (i ? '\0' : ':') && count[i] >= 0 && count[i] <= FRAMES_MAX;
        at = good ? end + 1 : NULL;
    }
    if (!at || count[0] + count[1] == 0)
        return error_set(e, STATUS_USAGE,
                         "--pump: '%s' is not a pattern; expected LIGHT:DARK, two numbers of "
                         "frames up to %" PRIdMAX " and not both 0",
                         p->pattern, FRAMES_MAX);
    p->light = (uint64_t)count[0];
    p->dark = (uint64_t)count[1];
    return STATUS_OK;
}

enum status pump_check(const struct pump *p, size_t ncrystals, int64_t lattices, double mean,
                       struct error *e)
{
    if (!pump_excites(p))
        return STATUS_OK;
    if (ncrystals != 2)
        return error_set(e, STATUS_USAGE,
                         "--pumped needs two crystals, the dark and the light state; there %s %zu",
                         ncrystals == 1 ? "is" : "are", ncrystals);
    if (lattices > LATTICES_MAX / 2 || mean > LATTICES_MAX / 4)
        return error_set(e, STATUS_USAGE,
                         "--pumped: too many lattices; expected at most %d, or %d on average",
                         LATTICES_MAX / 2, LATTICES_MAX / 4);
    return STATUS_OK;
}

static double light_share(const struct pump *p, uint64_t seed, uint64_t id)
{
    struct rng random = rng_stream(seed, RNG_PUMP, id, 0);
    const double share = p->share + p->spread * rng_normal(&random);
    return share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
}

size_t pump_states(const struct pump *p, const struct pulse_ids *ids, uint64_t seed, uint64_t id,
                   uint32_t crystal, struct pump_state states[2])
{
    const double light = pump_excites(p) && pulse_lit(ids, id) ? light_share(p, seed, id) : 0.0;
    const struct pump_state both[2] = {{pump_excites(p) ? STATE_DARK : crystal, 1.0 - light},
                                       {STATE_LIGHT, light}};
    size_t n = 0;
    for (int i = 0; i < 2; i++)
        if (both[i].share > 0.0)
            states[n++] = both[i];
    return n;
}
