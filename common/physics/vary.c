#include "physics/vary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/portable_math.h"
#include "base/rng.h"
#include "base/units.h"

const struct vary_quantity vary_quantities[VARY_NAMES] = {
    [VARY_SIZE] = {"size", "nm", 1e-9, 0.1, 1e6},
    [VARY_A] = {"a", "A", 1e-10, 1.0, 1e4},
    [VARY_B] = {"b", "A", 1e-10, 1.0, 1e4},
    [VARY_C] = {"c", "A", 1e-10, 1.0, 1e4},
    [VARY_MOSAIC] = {"mosaic", "deg", 0.0, 0.0, 90.0},
    [VARY_MOSAIC_RMS] = {"mosaic-rms", "deg", 0.0, 0.0, 10.0},
    [VARY_B_FACTOR] = {"b-factor", "A^2", 1.0, 0.0, 1000.0},
    [VARY_RESOLUTION] = {"resolution", "A", 1.0, 0.1, 15.0},
    [VARY_SHARE] = {"share", NULL, 1.0, 0.0, 1e6},
    [VARY_LATTICES] = {"lattices", NULL, 1.0, 0.0, 200.0},
    [VARY_LATTICE_SPREAD] = {"lattice-spread", "deg", 0.0, 0.0, 180.0},
    [VARY_DISTANCE] = {"distance", "mm", 1e-3, 1e-3, 1e6},
    [VARY_SHIFT_X] = {"shift-x", "mm", 1e-3, -1e4, 1e4},
    [VARY_SHIFT_Y] = {"shift-y", "mm", 1e-3, -1e4, 1e4},
    [VARY_FLUENCE] = {"fluence", NULL, 1.0, 0.0, 1e6},
    [VARY_ENERGY] = {"energy", "eV", 1.0, 1.0, 1e6},
    [VARY_WATER] = {"water", "um", 1e-6, 0.0, 1e6},
    [VARY_AIR] = {"air", "mm", 1e-3, 0.0, 1e6},
    [VARY_ICE] = {"ice", "um", 1e-6, 0.0, 1e6},
    [VARY_ICE_CRYSTAL] = {"ice-crystal", "A", 1.0, 10.0, 1e5},
    [VARY_BACKGROUND] = {"background", NULL, 1.0, 0.0, 1e6},
};

static const char *const vary_kinds[] = {[VARY_UNIFORM] = "uniform",
                                         [VARY_LOG_UNIFORM] = "log-uniform",
                                         [VARY_CHOICE] = "choice",
                                         [VARY_NORMAL] = "normal",
                                         [VARY_LOG_NORMAL] = "log-normal"};

/* Normal values beyond this number of rms are drawn again. */
static const double NORMAL_MOST = 3.0;

/* Largest rms of log-normal values, in percent. */
static const double LOG_NORMAL_MOST = 1000.0;

/* Returns a value that a user gives, in SI units. */
static double in_SI(int name, double value)
{
    const double unit_SI = vary_quantities[name].unit_SI;
    return unit_SI > 0.0 ? value * unit_SI : deg_to_rad(value);
}

/* --- texts ------------------------------------------------------------------------------------ */

enum { NAMES_SIZE = 400 };

/* Writes the names of all quantities to `names`. */
static void list_names(char names[NAMES_SIZE])
{
    size_t at = 0;
    for (int i = 0; i < VARY_NAMES && at < NAMES_SIZE; i++)
        at += (size_t)snprintf(names + at, NAMES_SIZE - at, "%s%s",
                               i == 0                ? ""
                               : i == VARY_NAMES - 1 ? " or "
                                                     : ", ",
                               vary_quantities[i].name);
}

/* Finds the name and the kind at the begin of `text`.  STATUS_USAGE: one of them is unknown. */
static enum status find_kind(const char *text, int *name, int *kind, const char **values,
                             struct error *e)
{
    char names[NAMES_SIZE];
    const size_t named = strcspn(text, "=");
    const char *rest = text + named + (text[named] != '\0');
    const size_t length = strcspn(rest, ":");
    for (*name = 0; *name < VARY_NAMES; ++*name)
        if (strlen(vary_quantities[*name].name) == named &&
            strncmp(text, vary_quantities[*name].name, named) == 0)
            break;
    list_names(names);
    if (*name == VARY_NAMES)
        return error_set(e, STATUS_USAGE,
                         "--vary=%s: '%.*s' cannot vary; expected %s, as in "
                         "--vary=size=uniform:30,100. --mixture draws among several crystals",
                         text, (int)named, text, names);
    for (*kind = VARY_UNIFORM; *kind <= VARY_LOG_NORMAL; ++*kind)
        if (strlen(vary_kinds[*kind]) == length && strncmp(rest, vary_kinds[*kind], length) == 0)
            break;
    if (*kind > VARY_LOG_NORMAL || rest[length] != ':')
        return error_set(e, STATUS_USAGE,
                         "--vary=%s: '%.*s' is not a kind; expected uniform:MIN,MAX, "
                         "log-uniform:MIN,MAX, normal:MEAN,RMS, log-normal:MEAN,PERCENT or "
                         "choice:VALUE,VALUE,...",
                         text, (int)length, rest);
    *values = rest + length + 1;
    return STATUS_OK;
}

/* Replaces values[] of a normal quantity, its mean and its rms, by the smallest and the largest
 * value that can be drawn.  All values are in the unit that the user types.  STATUS_USAGE: one of
 * both is out of the range of the quantity. */
static enum status set_normal(struct varied *v, const struct vary_quantity *q, const char *what,
                              struct error *e)
{
    const double mean = v->values[0], rms = v->values[1];
    v->middle = mean;
    v->rms = rms;
    if (v->kind == VARY_LOG_NORMAL) {
        const double relative = 0.01 * rms, variance = portable_log(1.0 + relative * relative);
        v->rms = sqrt(variance);
        v->values[0] = mean * portable_exp(-NORMAL_MOST * v->rms - 0.5 * variance);
        v->values[1] = mean * portable_exp(NORMAL_MOST * v->rms - 0.5 * variance);
    } else {
        v->values[0] = mean - NORMAL_MOST * rms;
        v->values[1] = mean + NORMAL_MOST * rms;
    }
    if (v->values[0] >= q->min && v->values[1] <= q->max)
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "%s: values within 3 rms are %.6g to %.6g; expected %.6g to %.6g%s%s", what,
                     v->values[0], v->values[1], q->min, q->max, q->unit ? " " : "",
                     q->unit ? q->unit : "");
}

/* Reads the values of a quantity.  STATUS_USAGE: they are malformed, or out of range. */
static enum status read_values(struct varied *v, const struct vary_quantity *q, const char *text,
                               const char *what, struct error *e)
{
    const bool normal = v->kind == VARY_NORMAL || v->kind == VARY_LOG_NORMAL;
    const double most = normal ? fmax(q->max, LOG_NORMAL_MOST) : q->max;
    const enum status s = parse_list(text, VARY_CHOICES_MAX, normal ? fmin(q->min, 0.0) : q->min,
                                     most, q->unit, what, v->values, &v->count, e);
    if (s)
        return s;
    if (normal && (v->count != 2 || !(v->values[1] >= 0.0) ||
                   (v->kind == VARY_LOG_NORMAL && !(v->values[1] <= LOG_NORMAL_MOST))))
        return error_set(e, STATUS_USAGE, "%s: got '%s'; expected a mean, and its rms%s", what,
                         text, v->kind == VARY_NORMAL ? "" : " in percent, up to 1000");
    if (v->kind != VARY_CHOICE && !normal && (v->count != 2 || !(v->values[0] <= v->values[1])))
        return error_set(e, STATUS_USAGE,
                         "%s: got '%s'; expected two limits, the smaller one first", what, text);
    if ((v->kind == VARY_LOG_UNIFORM || v->kind == VARY_LOG_NORMAL) && !(v->values[0] > 0.0))
        return error_set(e, STATUS_USAGE, "%s: got '%s'; expected %s above 0 for %s", what, text,
                         normal ? "a mean" : "limits", vary_kinds[v->kind]);
    return normal ? set_normal(v, q, what, e) : STATUS_OK;
}

/* Reads one text of --vary.  STATUS_USAGE: it is malformed, or a value is out of range. */
static enum status read_text(struct varied *varied, const char *text, struct error *e)
{
    int name = 0, kind = VARY_NOT;
    const char *values = text;
    char what[64];
    enum status s = find_kind(text, &name, &kind, &values, e);
    if (s)
        return s;
    struct varied *v = &varied[name];
    (void)snprintf(what, sizeof what, "--vary=%s", vary_quantities[name].name);
    if (v->kind)
        return error_set(e, STATUS_USAGE, "%s: given twice; expected once", what);
    v->kind = (enum vary_kind)kind;
    if ((s = read_values(v, &vary_quantities[name], values, what, e)))
        return s;
    for (int i = 0; i < v->count; i++)
        v->values[i] = in_SI(name, v->values[i]);
    v->middle = in_SI(name, v->middle);
    if (v->kind == VARY_NORMAL)
        v->rms = in_SI(name, v->rms);
    return STATUS_OK;
}

enum status vary_open(struct varied *varied, const struct opt_texts *texts, struct error *e)
{
    enum status s = STATUS_OK;
    for (int i = 0; i < VARY_NAMES; i++)  // a run begins with the tables of its population
        if (varied[i].kind != VARY_LISTED)
            varied[i].kind = VARY_NOT;
    for (size_t i = 0; i < texts->count && !s; i++)
        s = read_text(varied, texts->text[i], e);
    return s;
}

/* --- tables ----------------------------------------------------------------------------------- */

enum status vary_list(struct varied *varied, enum vary_name name, const double *values,
                      size_t count, struct error *e)
{
    struct varied *v = &varied[name];
    const char *text = vary_quantities[name].name;
    if (v->kind)
        return error_set(e, STATUS_USAGE,
                         "--vary=%s and the column %s of --vary-file cannot be used together", text,
                         text);
    *v = (struct varied){.kind = VARY_LISTED, .count = 2, .listed = values, .nlisted = count};
    v->values[0] = INFINITY;
    v->values[1] = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        v->gaps = v->gaps || isnan(values[i]);
        v->values[0] = fmin(v->values[0], in_SI((int)name, values[i]));  // fmin ignores NaN
        v->values[1] = fmax(v->values[1], in_SI((int)name, values[i]));
    }
    return STATUS_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Draws a number with mean 0 and rms 1 that is at most NORMAL_MOST in size. */
static double draw_normal(struct rng *random)
{
    double z = rng_normal(random);
    while (!(fabs(z) <= NORMAL_MOST))
        z = rng_normal(random);
    return z;
}

/* Draws a whole number: both limits are as probable as other numbers. */
static double draw_whole(const struct varied *v, struct rng *random)
{
    const double low = v->values[0], high = v->values[1];
    return fmin(floor(low + rng_uniform(random) * (high - low + 1.0)), high);
}

double vary_draw(const struct varied *varied, enum vary_name name, uint64_t seed, uint64_t frame,
                 uint32_t lattice)
{
    enum { NAMES_ROOM = 64 };
    const struct varied *v = &varied[name];
    if (v->kind == VARY_NOT)
        return (double)NAN;
    if (v->kind == VARY_LISTED)
        return frame < v->nlisted ? in_SI((int)name, v->listed[frame]) : (double)NAN;
    struct rng random = rng_stream(seed, RNG_VARY, frame, lattice * NAMES_ROOM + (uint32_t)name);
    if (name == VARY_LATTICES && v->kind == VARY_UNIFORM)
        return draw_whole(v, &random);
    if (v->kind == VARY_NORMAL)
        return v->middle + v->rms * draw_normal(&random);
    if (v->kind == VARY_LOG_NORMAL)
        return v->middle * portable_exp(v->rms * draw_normal(&random) - 0.5 * v->rms * v->rms);
    const double u = rng_uniform(&random), low = v->values[0], high = v->values[1];
    if (v->kind == VARY_CHOICE)
        return v->values[(int)(u * v->count)];
    if (v->kind == VARY_LOG_UNIFORM)
        return low * portable_exp(u * portable_log(high / low));
    return low + u * (high - low);
}

bool vary_limits(const struct varied *varied, enum vary_name name, double limits[2])
{
    const struct varied *v = &varied[name];
    limits[0] = limits[1] = v->values[0];
    for (int i = 1; i < v->count; i++) {
        limits[0] = fmin(limits[0], v->values[i]);
        limits[1] = fmax(limits[1], v->values[i]);
    }
    return v->kind != VARY_NOT;
}
