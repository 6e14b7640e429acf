/* Quantities of whole frames that vary: the place of the detector, the pulse, the matter in the
 * beam, and the number of lattices. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "base/vec.h"
#include "orient.h"
#include "physics/crystal/cell.h"
#include "physics/detector/detector.h"

static bool varies(const struct varied *varied, enum vary_name name)
{
    return varied[name].kind != VARY_NOT;
}

bool orient_vary_moves(const struct orient_options *o)
{
    const struct varied *v = o->population.varied;
    return varies(v, VARY_DISTANCE) || varies(v, VARY_SHIFT_X) || varies(v, VARY_SHIFT_Y);
}

bool orient_vary_matter(const struct orient_options *o)
{
    bool any = false;
    for (int i = VARY_WATER; i <= VARY_BACKGROUND; i++)
        any = any || varies(o->population.varied, (enum vary_name)i);
    return any;
}

/* Draws a quantity of a frame. */
static double draw(const struct orient *o, enum vary_name name, uint64_t id)
{
    return vary_draw(o->options.population.varied, name, (uint64_t)o->options.seed, id, 0);
}

void orient_vary_shift(const struct orient *o, uint64_t id, struct shift *shift)
{
    const double distance_m = draw(o, VARY_DISTANCE, id);
    if (!isnan(distance_m))
        shift->coffset_m += distance_m - o->experiment->panels[0].distance_m;
    for (int i = 0; i < 2; i++) {
        const double across_m = draw(o, (enum vary_name)(VARY_SHIFT_X + i), id);
        shift->across_m[i] += isnan(across_m) ? 0.0 : across_m;
    }
}

void orient_vary_pulse(const struct orient *o, uint64_t id, struct pulse *pulse)
{
    const double fluence = draw(o, VARY_FLUENCE, id), energy_eV = draw(o, VARY_ENERGY, id);
    if (!isnan(fluence))
        pulse->fluence = fluence * (pulse->fluence > 0.0 ? pulse->fluence : 1.0);
    if (!isnan(energy_eV))
        pulse->wavelength = ev_to_m(energy_eV) / o->experiment->beam.wavelength_m;
}

/* Sets *to to a drawn amount.  Returns false if it is not drawn. */
static bool set_amount(const struct orient *o, enum vary_name name, uint64_t id, double *to)
{
    const double amount = draw(o, name, id);
    *to = isnan(amount) ? 0.0 : amount;
    return !isnan(amount);
}

void orient_vary_recipe(const struct orient *o, struct recipe *r)
{
    struct matter *m = &r->matter;
    r->has_matter = o->experiment->matter_varies;
    m->has_water = set_amount(o, VARY_WATER, r->id, &m->water_m);
    m->has_air = set_amount(o, VARY_AIR, r->id, &m->air_m);
    m->has_ice = set_amount(o, VARY_ICE, r->id, &m->ice_m);
    m->has_ice_crystal = set_amount(o, VARY_ICE_CRYSTAL, r->id, &m->ice_crystal_A);
    m->has_scale = set_amount(o, VARY_BACKGROUND, r->id, &m->scale);
}

double orient_vary_apart_rad(const struct orient *o, uint64_t id)
{
    const double apart_rad = draw(o, VARY_LATTICE_SPREAD, id);
    return isnan(apart_rad) ? o->options.apart_rad : apart_rad;
}

void orient_turn_apart(double apart_rad, uint64_t seed, uint64_t id, uint32_t index,
                       double rotation[9])
{
    struct rng random = rng_stream(seed, RNG_APART, id, index);
    double axis[3], turn[9], turned[9];
    for (int i = 0; i < 3; i++)
        axis[i] = rng_normal(&random);
    (void)vec_unit(axis, axis);
    const double angle_rad = apart_rad * rng_normal(&random);
    for (int j = 0; j < 3; j++) {
        double v[3] = {j == 0, j == 1, j == 2};
        vec_rotate_axis(v, axis, angle_rad);
        for (int i = 0; i < 3; i++)
            turn[3 * i + j] = v[i];
    }
    mat_multiply(turn, rotation, turned);
    memcpy(rotation, turned, sizeof turned);
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Refuses quantities of frames that contradict other options. */
static enum status check_options(const struct orient_options *o, struct error *e)
{
    static const struct {
        enum vary_name name;
        const char *options;
    } all[] = {{VARY_LATTICES, "lattices|mean-lattices|orientations|crystals-at|mesh-crystals"},
               {VARY_LATTICE_SPREAD, "lattice-spread|orientations|crystals-at|mesh-crystals"},
               {VARY_DISTANCE, "coffset|shifts|gate-z"},
               {VARY_SHIFT_X, "shifts"},
               {VARY_SHIFT_Y, "shifts"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char option[32] = "";
        const char *at = all[i].options;
        if (!varies(o->population.varied, all[i].name) || !orient_given(o, at))
            continue;
        for (size_t length; *at && !*option; at += length + (at[length] == '|')) {
            length = strcspn(at, "|");
            (void)snprintf(option, sizeof option, "%.*s", (int)length, at);
            if (!orient_given(o, option))
                *option = '\0';
        }
        return error_set(e, STATUS_USAGE, "--vary=%s and --%s cannot be used together",
                         vary_quantities[all[i].name].name, option);
    }
    return STATUS_OK;
}

enum status orient_vary_check(const struct orient_options *o, struct error *e)
{
    const struct varied *v = &o->population.varied[VARY_LATTICES];
    bool whole = true;
    for (int i = 0; i < v->count && v->kind != VARY_LISTED && v->kind != VARY_NOT &&
                    v->kind != VARY_NORMAL && v->kind != VARY_LOG_NORMAL;
         i++)
        whole = whole && v->values[i] == floor(v->values[i]);
    for (size_t i = 0; i < v->nlisted && v->kind == VARY_LISTED; i++)
        whole = whole && (isnan(v->listed[i]) || v->listed[i] == floor(v->listed[i]));
    if (!whole)
        return error_set(e, STATUS_USAGE, "--vary=lattices: expected whole numbers");
    return check_options(o, e);
}

/* Refuses matter whose tables of scattering are not for the particles of the beam. */
static enum status check_matter(const struct varied *v, enum probe probe, struct error *e)
{
    for (int i = VARY_WATER; i <= VARY_ICE_CRYSTAL; i++)
        if (varies(v, (enum vary_name)i) && probe != PROBE_XRAY &&
            !(i == VARY_WATER && probe == PROBE_ELECTRON))
            return error_set(e, STATUS_USAGE,
                             "--vary=%s: its table is %s, but the beam has %s (bragg-geometry "
                             "--probe)",
                             vary_quantities[i].name,
                             i == VARY_WATER ? "for X-rays and electrons" : "for X-rays",
                             probe_particles(probe));
    return STATUS_OK;
}

enum status orient_vary_begin(const struct orient *o, const struct experiment *x, struct error *e)
{
    const struct varied *v = o->options.population.varied;
    double limits[2];
    enum status s = check_matter(v, x->probe, e);
    const bool tuned = vary_limits(v, VARY_ENERGY, limits);
    for (int i = 0; i < 2 && tuned && !s; i++)
        s = orient_check_energy(x, limits[i], "--vary=energy", e);
    if (s)
        return s;
    if (vary_limits(v, VARY_LATTICES, limits) && pump_excites(&o->options.pump) &&
        limits[1] > LATTICES_MAX / 2)
        return error_set(e, STATUS_USAGE,
                         "--vary=lattices: up to %.0f lattices; expected at most %d with --pumped",
                         limits[1], LATTICES_MAX / 2);
    for (size_t i = 0; i < o->runs.nlines; i++)
        if (varies(v, VARY_LATTICES) && o->runs.lines[i].mean_lattices >= 0.0)
            return error_set(e, STATUS_USAGE,
                             "--vary=lattices and the column mean_lattices of --runs cannot be "
                             "used together");
    for (size_t i = 0; i < o->runs.nlines; i++)
        if (varies(v, VARY_ENERGY) && o->runs.lines[i].energy_eV > 0.0)
            return error_set(e, STATUS_USAGE,
                             "--vary=energy and the column energy_eV of --runs cannot be used "
                             "together");
    if (!vary_limits(v, VARY_DISTANCE, limits))
        return STATUS_OK;
    struct shift nearest = o->shift;
    nearest.coffset_m += limits[0] - x->panels[0].distance_m;
    struct error why;
    return shift_check(&nearest, x, &why)
               ? error_set(e, STATUS_INPUT, "--vary=distance: %.6g mm: %.400s", m_to_mm(limits[0]),
                           why.text)
               : STATUS_OK;
}

bool orient_vary_extreme(const struct orient *o, struct experiment *x)
{
    const struct varied *v = o->options.population.varied;
    const double distance_m = x->panels[0].distance_m;
    double limits[2], by_m[3];
    const bool moves = vary_limits(v, VARY_DISTANCE, limits);
    const double nearest_m = moves ? fmin(limits[0], distance_m) : distance_m;
    for (int i = 0; i < 3; i++)
        by_m[i] = (nearest_m - distance_m) * x->beam.direction[i];
    for (size_t i = 0; i < x->npanels && moves; i++)
        panel_shift(x, &x->panels[i], by_m);
    const bool tuned = vary_limits(v, VARY_ENERGY, limits);
    if (tuned)
        x->beam.wavelength_m = fmin(x->beam.wavelength_m, ev_to_m(limits[1]));
    return moves || tuned;
}
