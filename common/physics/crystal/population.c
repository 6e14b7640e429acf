#include "physics/crystal/population.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/opt.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/units.h"

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

/* --- quantities that each lattice draws between limits --------------------------------------- */

static bool has_spread(const struct population *p)
{
    return p->cell_spread[0] > 0.0 || p->cell_spread[1] > 0.0 || p->cell_spread[2] > 0.0;
}

enum status population_list(struct population *p, enum vary_name name, const double *values,
                            size_t count, struct error *e)
{
    const bool edge = name == VARY_A || name == VARY_B || name == VARY_C;
    if (edge && has_spread(p))
        return error_set(e, STATUS_USAGE,
                         "--cell-spread and the column %s of --vary-file cannot be used together",
                         vary_quantities[name].name);
    return vary_list(p->varied, name, values, count, e);
}

/* Returns the B factor of a crystal that diffracts to the resolution d.  Rule of thumb of J.
 * Holton: B = 4 d^2 + 12. */
static double b_factor_of(double d_A)
{
    return 4.0 * d_A * d_A + 12.0;
}

/* Returns how many cells with an edge of edge_A fit into a size; a rounding error does not count.
 */
static double cells_in(double size_m, double edge_A)
{
    static const double ROUNDING = 1e-9;
    const double cells = __builtin_floor(size_m / angstrom_to_m(edge_A) * (1.0 + ROUNDING));
    return cells < 1.0 ? 1.0 : cells;
}

bool population_cells(const struct population *p, const double cell_A[3], uint64_t seed,
                      uint64_t frame, uint32_t lattice, double cells[3])
{
    if (!p->varied[VARY_SIZE].kind)
        return false;
    const double size_m = vary_draw(p->varied, VARY_SIZE, seed, frame, lattice);
    if (isnan(size_m))
        return false;
    for (int i = 0; i < 3; i++)
        cells[i] = cells_in(size_m, cell_A[i]);
    return true;
}

bool population_spread(const struct population *p, uint64_t seed, uint64_t frame, uint32_t lattice,
                       double *spread_rad)
{
    const enum vary_name name = p->varied[VARY_MOSAIC].kind ? VARY_MOSAIC : VARY_MOSAIC_RMS;
    if (!p->varied[name].kind)
        return false;
    const double drawn_rad = vary_draw(p->varied, name, seed, frame, lattice);
    *spread_rad = isnan(drawn_rad) ? *spread_rad : drawn_rad;
    return !isnan(drawn_rad);
}

bool population_b_factor(const struct population *p, uint64_t seed, uint64_t frame,
                         uint32_t lattice, double *b_factor_A2)
{
    const bool resolution = p->varied[VARY_RESOLUTION].kind;
    if (!resolution && !p->varied[VARY_B_FACTOR].kind)
        return false;
    const double drawn =
        vary_draw(p->varied, resolution ? VARY_RESOLUTION : VARY_B_FACTOR, seed, frame, lattice);
    *b_factor_A2 = isnan(drawn) ? 0.0 : resolution ? b_factor_of(drawn) : drawn;
    return true;
}

/* Returns the first edge that has the length of edge `edge`. */
static int edge_like(const double cell_A[3], int edge)
{
    static const double SAME = 1e-6;
    int first = 0;
    while (first < edge && !(__builtin_fabs(cell_A[first] / cell_A[edge] - 1.0) < SAME))
        first++;
    return first;
}

/* Refuses sizes for a crystal that is not one block, or that is smaller than the largest size:
 * the numbers of subpixels and steps are chosen for the crystal of bragg-geometry. */
static enum status check_vary_size(const struct crystal *c, double largest_m, struct error *e)
{
    const char *option =
        c->has_size      ? "--crystal-size"
        : c->has_diffuse ? "--diffuse-sigma"
        : c->cells_across[0] != 0.0 || c->cells_across[1] != 0.0 || c->cells_across[2] != 0.0
            ? "--ncells-across, or --shape=star of such a cell"
            : NULL;
    double needed[3];
    bool small = false;
    if (option)
        return error_set(e, STATUS_USAGE,
                         "--vary=size does not support bragg-geometry %s; expected crystals that "
                         "are one block of --ncells",
                         option);
    for (int i = 0; i < 3; i++) {
        needed[i] = cells_in(largest_m, c->cell_A[i]);
        small = small || needed[i] > c->cells[i];
    }
    return small ? error_set(e, STATUS_USAGE,
                             "--vary=size: a crystal of %.6g nm has %.0f x %.0f x %.0f cells; "
                             "expected at most the %.0f x %.0f x %.0f of bragg-geometry. Give "
                             "bragg-geometry --ncells=%.0f,%.0f,%.0f, the largest crystal",
                             1e9 * largest_m, needed[0], needed[1], needed[2], c->cells[0],
                             c->cells[1], c->cells[2], needed[0], needed[1], needed[2])
                 : STATUS_OK;
}

/* Refuses lengths of an edge that is as long as another edge, or far from its limits. */
static enum status check_vary_edge(const struct crystal *c, int edge, const double limits_m[2],
                                   struct error *e)
{
    static const double APART = 0.1;
    const char *name = vary_quantities[VARY_A + edge].name, *like;
    const int first = edge_like(c->cell_A, edge);
    like = vary_quantities[VARY_A + first].name;
    if (first != edge)
        return error_set(e, STATUS_USAGE,
                         "--vary=%s: edges %s and %s have the same length, and vary alike. Give "
                         "--vary=%s",
                         name, like, name, like);
    const double edge_m = angstrom_to_m(c->cell_A[edge]);
    for (int i = 0; i < 2; i++)
        if (!(__builtin_fabs(limits_m[i] / edge_m - 1.0) <= APART))
            return error_set(e, STATUS_USAGE,
                             "--vary=%s: %.8g A is out of range; expected a length within 10 %% of "
                             "the crystal's %.8g A",
                             name, 1e10 * limits_m[i], c->cell_A[edge]);
    return STATUS_OK;
}

/* Refuses a mosaic spread in the form that the crystal does not have, and spreads below that of the
 * crystal in closed form: the numbers of subpixels and steps are chosen for the crystal of
 * bragg-geometry. */
static enum status check_vary_mosaic(const struct crystal *c, enum vary_name name, bool gaps,
                                     double smallest_rad, struct error *e)
{
    static const double ROUNDING = 1e-9;
    const bool closed = name == VARY_MOSAIC_RMS;
    const double *rms = c->mosaic_rms_rad, largest = fmax(rms[0], fmax(rms[1], rms[2]));
    if (c->has_ensemble != closed)
        return error_set(e, STATUS_USAGE,
                         closed ? "--vary=mosaic-rms needs bragg-geometry --mosaic-model=gauss. "
                                  "Give --vary=mosaic for mosaic domains"
                                : "--vary=mosaic does not support bragg-geometry "
                                  "--mosaic-model=gauss. Give --vary=mosaic-rms");
    if (closed && gaps && (rms[0] != rms[1] || rms[0] != rms[2]))
        return error_set(e, STATUS_USAGE,
                         "--vary-file: frames have the mosaic-rms of their crystal ('-'), which "
                         "differs along the axes (got --mosaic-rms=%.6g,%.6g,%.6g); expected one "
                         "number",
                         rad_to_deg(rms[0]), rad_to_deg(rms[1]), rad_to_deg(rms[2]));
    return closed && largest > smallest_rad * (1.0 + ROUNDING)
               ? error_set(e, STATUS_USAGE,
                           "--vary=mosaic-rms: the smallest spread is %.6g deg, and that of "
                           "bragg-geometry %.6g deg; expected at least as much. Give "
                           "bragg-geometry --mosaic-rms=%.6g, the smallest spread",
                           rad_to_deg(smallest_rad), rad_to_deg(largest), rad_to_deg(smallest_rad))
               : STATUS_OK;
}

/* Refuses B factors where the engines have none. */
static enum status check_vary_b_factor(const struct crystal *c, struct error *e)
{
    return c->has_diffuse
               ? error_set(e, STATUS_USAGE,
                           "--vary of b-factor or resolution does not support bragg-geometry "
                           "--diffuse-sigma. Remove one of them")
               : STATUS_OK;
}

enum status population_check(const struct population *p, const struct experiment *x,
                             struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < x->ncrystals && !s; i++) {
        double limits_m[2], limits_rad[2];
        for (int k = VARY_MOSAIC; k <= VARY_MOSAIC_RMS && !s; k++)
            if (vary_limits(p->varied, (enum vary_name)k, limits_rad))
                s = check_vary_mosaic(&x->crystals[i], (enum vary_name)k, p->varied[k].gaps,
                                      limits_rad[0], e);
        if (!s && (p->varied[VARY_B_FACTOR].kind || p->varied[VARY_RESOLUTION].kind))
            s = check_vary_b_factor(&x->crystals[i], e);
        if (s)
            return s;
        if (vary_limits(p->varied, VARY_SIZE, limits_m))
            s = check_vary_size(&x->crystals[i], limits_m[1], e);
        for (int k = 0; k < 3 && !s; k++)
            if (vary_limits(p->varied, (enum vary_name)(VARY_A + k), limits_m))
                s = check_vary_edge(&x->crystals[i], k, limits_m, e);
    }
    return s;
}

/* Sets strain[] to the relative changes of the edges to the lengths that a lattice draws.  Returns
 * false if no length varies. */
static bool vary_strain(const struct population *p, const double cell_A[3], uint64_t seed,
                        uint64_t frame, uint32_t lattice, double strain[3])
{
    bool any = false;
    for (int i = 0; i < 3; i++) {
        const int first = edge_like(cell_A, i);
        strain[i] = first < i ? strain[first] : 0.0;
        if (!p->varied[VARY_A + i].kind)
            continue;
        any = true;
        const double edge_m =
            vary_draw(p->varied, (enum vary_name)(VARY_A + i), seed, frame, lattice);
        strain[i] = isnan(edge_m) ? 0.0 : edge_m / angstrom_to_m(cell_A[i]) - 1.0;
    }
    return any;
}

/* --- the crystals of a frame ------------------------------------------------------------------ */

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
    s = s ? s : vary_open(p->varied, &p->vary, e);
    if (!s && (p->varied[VARY_A].kind || p->varied[VARY_B].kind || p->varied[VARY_C].kind) &&
        has_spread(p))
        s = error_set(e, STATUS_USAGE,
                      "--cell-spread and --vary of a, b or c cannot be used together");
    if (!s && p->varied[VARY_B_FACTOR].kind && p->varied[VARY_RESOLUTION].kind)
        s = error_set(e, STATUS_USAGE,
                      "--vary=b-factor and --vary=resolution both give the B factor; expected one "
                      "of them");
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
    double limits[2];
    p->lattices = p->asked ? p->asked : p->mixture ? 1 : (int64_t)ncrystals;
    const bool drawn = vary_limits(p->varied, VARY_LATTICES, limits);
    const bool mean = !isnan(p->mean_lattices) || (drawn && limits[1] > (double)ncrystals);
    if (drawn && ncrystals > 1 && !p->mixture)
        return error_set(e, STATUS_USAGE,
                         "--vary=lattices with %zu crystals needs --mixture=W,W (relative "
                         "frequency of each crystal)",
                         ncrystals);
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
    if (rng_uniform(&random) >= p->hit_rate)
        return 0;
    const double drawn = vary_draw(p->varied, VARY_LATTICES, seed, frame, 0);
    return isnan(drawn) ? (size_t)p->lattices : (size_t)drawn;
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
    const double drawn = vary_draw(p->varied, VARY_SHARE, seed, frame, lattice);
    if (!isnan(drawn))
        share *= drawn;
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
    const double *spread = p->cell_spread;
    if (vary_strain(p, cell_A, seed, frame, lattice, strain))
        return true;
    if (!has_spread(p))
        return false;
    struct rng random = rng_stream(seed, RNG_CELL, frame, lattice);
    const double together = rng_normal(&random);
    for (int i = 0; i < 3; i++) {
        const double alone = rng_normal(&random), c = p->cell_correlation;
        strain[i] = spread[i] * (__builtin_sqrt(c) * together + __builtin_sqrt(1.0 - c) * alone);
        if (edge_like(cell_A, i) < i)
            strain[i] = strain[edge_like(cell_A, i)];
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
