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

const struct vary_quantity vary_quantities[VARY_NAMES] = {
    [VARY_SIZE] = {"size", "nm", 1e-9, 0.1, 1e6},
    [VARY_A] = {"a", "A", 1e-10, 1.0, 1e4},
    [VARY_B] = {"b", "A", 1e-10, 1.0, 1e4},
    [VARY_C] = {"c", "A", 1e-10, 1.0, 1e4},
    [VARY_MOSAIC] = {"mosaic", "deg", 0.0, 0.0, 90.0},
    [VARY_MOSAIC_RMS] = {"mosaic-rms", "deg", 0.0, 0.0, 10.0},
};

static const char *const vary_kinds[] = {
    [VARY_UNIFORM] = "uniform", [VARY_LOG_UNIFORM] = "log-uniform", [VARY_CHOICE] = "choice"};

/* Finds the name and the kind at the begin of `text`.  STATUS_USAGE: one of them is unknown. */
static enum status vary_find(const char *text, int *name, int *kind, const char **values,
                             struct error *e)
{
    const size_t named = strcspn(text, "=");
    const char *rest = text + named + (text[named] != '\0');
    const size_t length = strcspn(rest, ":");
    for (*name = 0; *name < VARY_NAMES; ++*name)
        if (strlen(vary_quantities[*name].name) == named &&
            strncmp(text, vary_quantities[*name].name, named) == 0)
            break;
    if (*name == VARY_NAMES)
        return error_set(e, STATUS_USAGE,
                         "--vary=%s: '%.*s' cannot vary; expected size, a, b, c, mosaic or "
                         "mosaic-rms, as in --vary=size=uniform:30,100. --mixture draws among "
                         "several crystals",
                         text, (int)named, text);
    for (*kind = VARY_UNIFORM; *kind <= VARY_CHOICE; ++*kind)
        if (strlen(vary_kinds[*kind]) == length && strncmp(rest, vary_kinds[*kind], length) == 0)
            break;
    if (*kind > VARY_CHOICE || rest[length] != ':')
        return error_set(e, STATUS_USAGE,
                         "--vary=%s: '%.*s' is not a kind; expected uniform:MIN,MAX, "
                         "log-uniform:MIN,MAX or choice:VALUE,VALUE,...",
                         text, (int)length, rest);
    *values = rest + length + 1;
    return STATUS_OK;
}

/* Returns a value that a user gives, in SI units. */
static double vary_SI(int name, double value)
{
    const double unit_SI = vary_quantities[name].unit_SI;
    return unit_SI > 0.0 ? value * unit_SI : deg_to_rad(value);
}

/* Reads one text of --vary.  STATUS_USAGE: it is malformed, or a value is out of range. */
static enum status vary_read(struct population *p, const char *text, struct error *e)
{
    int name = 0, kind = VARY_NOT;
    const char *values = text;
    char what[64];
    enum status s = vary_find(text, &name, &kind, &values, e);
    if (s)
        return s;
    struct varied *v = &p->varied[name];
    (void)snprintf(what, sizeof what, "--vary=%s", vary_quantities[name].name);
    if (v->kind)
        return error_set(e, STATUS_USAGE, "%s: given twice; expected once", what);
    s = parse_list(values, VARY_CHOICES_MAX, vary_quantities[name].min, vary_quantities[name].max,
                   vary_quantities[name].unit, what, v->values, &v->count, e);
    if (s)
        return s;
    v->kind = (enum vary_kind)kind;
    if (kind != VARY_CHOICE && (v->count != 2 || !(v->values[0] <= v->values[1])))
        return error_set(e, STATUS_USAGE,
                         "%s: got '%s'; expected two limits, the smaller one first", what, values);
    if (kind == VARY_LOG_UNIFORM && !(v->values[0] > 0.0))
        return error_set(e, STATUS_USAGE, "%s: got '%s'; expected limits above 0 for log-uniform",
                         what, values);
    for (int i = 0; i < v->count; i++)
        v->values[i] = vary_SI(name, v->values[i]);
    return STATUS_OK;
}

static enum status vary_open(struct population *p, struct error *e)
{
    enum status s = STATUS_OK;
    for (int i = 0; i < VARY_NAMES; i++)  // a run begins with the tables of its population
        if (p->varied[i].kind != VARY_LISTED)
            p->varied[i].kind = VARY_NOT;
    for (size_t i = 0; i < p->vary.count && !s; i++)
        s = vary_read(p, p->vary.text[i], e);
    const bool cells = p->varied[VARY_A].kind || p->varied[VARY_B].kind || p->varied[VARY_C].kind;
    if (!s && cells &&
        (p->cell_spread[0] > 0.0 || p->cell_spread[1] > 0.0 || p->cell_spread[2] > 0.0))
        s = error_set(e, STATUS_USAGE,
                      "--cell-spread and --vary of a, b or c cannot be used together");
    return s;
}

enum status population_list(struct population *p, enum vary_name name, const double *values,
                            size_t count, struct error *e)
{
    struct varied *v = &p->varied[name];
    const bool edge = name == VARY_A || name == VARY_B || name == VARY_C;
    const char *text = vary_quantities[name].name;
    if (v->kind)
        return error_set(e, STATUS_USAGE,
                         "--vary=%s and the column %s of --vary-file cannot be used together", text,
                         text);
    if (edge && (p->cell_spread[0] > 0.0 || p->cell_spread[1] > 0.0 || p->cell_spread[2] > 0.0))
        return error_set(e, STATUS_USAGE,
                         "--cell-spread and the column %s of --vary-file cannot be used together",
                         text);
    *v = (struct varied){.kind = VARY_LISTED, .count = 2, .listed = values, .nlisted = count};
    v->values[0] = INFINITY;
    v->values[1] = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        v->gaps = v->gaps || isnan(values[i]);
        v->values[0] = fmin(v->values[0], vary_SI((int)name, values[i]));  // fmin ignores NaN
        v->values[1] = fmax(v->values[1], vary_SI((int)name, values[i]));
    }
    return STATUS_OK;
}

/* Draws a quantity of a lattice.  NaN: a table says that it is that of the crystal. */
static double vary_draw(const struct population *p, int name, uint64_t seed, uint64_t frame,
                        uint32_t lattice)
{
    enum { NAMES_ROOM = 64 };
    const struct varied *v = &p->varied[name];
    if (v->kind == VARY_LISTED)
        return frame < v->nlisted ? vary_SI(name, v->listed[frame]) : (double)NAN;
    struct rng random = rng_stream(seed, RNG_VARY, frame, lattice * NAMES_ROOM + (uint32_t)name);
    const double u = rng_uniform(&random), low = v->values[0], high = v->values[1];
    if (v->kind == VARY_CHOICE)
        return v->values[(int)(u * v->count)];
    if (v->kind == VARY_LOG_UNIFORM)
        return low * portable_exp(u * portable_log(high / low));
    return low + u * (high - low);
}

bool population_limits(const struct population *p, enum vary_name name, double limits[2])
{
    const struct varied *v = &p->varied[name];
    limits[0] = limits[1] = v->values[0];
    for (int i = 1; i < v->count; i++) {
        limits[0] = fmin(limits[0], v->values[i]);
        limits[1] = fmax(limits[1], v->values[i]);
    }
    return v->kind != VARY_NOT;
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
    const double size_m = vary_draw(p, VARY_SIZE, seed, frame, lattice);
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
    const double drawn_rad = vary_draw(p, (int)name, seed, frame, lattice);
    *spread_rad = isnan(drawn_rad) ? *spread_rad : drawn_rad;
    return !isnan(drawn_rad);
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
            ? "--ncells-across"
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

enum status population_check(const struct population *p, const struct experiment *x,
                             struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < x->ncrystals && !s; i++) {
        double limits_m[2], limits_rad[2];
        for (int k = VARY_MOSAIC; k <= VARY_MOSAIC_RMS && !s; k++)
            if (population_limits(p, (enum vary_name)k, limits_rad))
                s = check_vary_mosaic(&x->crystals[i], (enum vary_name)k, p->varied[k].gaps,
                                      limits_rad[0], e);
        if (s)
            return s;
        if (population_limits(p, VARY_SIZE, limits_m))
            s = check_vary_size(&x->crystals[i], limits_m[1], e);
        for (int k = 0; k < 3 && !s; k++)
            if (population_limits(p, (enum vary_name)(VARY_A + k), limits_m))
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
        const double edge_m = vary_draw(p, VARY_A + i, seed, frame, lattice);
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
    s = s ? s : vary_open(p, e);
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
    const double *spread = p->cell_spread;
    if (vary_strain(p, cell_A, seed, frame, lattice, strain))
        return true;
    if (!(spread[0] > 0.0 || spread[1] > 0.0 || spread[2] > 0.0))
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
