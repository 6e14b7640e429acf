/*
 * The recipe of a frame: its lattices, their orientations, and the pulse.
 *
 * Frames belong to runs (--runs), groups of frames with their own hit rate, crystals, fluence or
 * energy; without --runs there is one.  The run of a frame decides how its lattices and its pulse
 * are drawn.  A recipe depends on options and frame number only.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/units.h"
#include "orient.h"
#include "physics/crystal/cell.h"
#include "physics/setup.h"

/* The runs of --runs: groups of frames with their own hit rate, crystals, fluence or energy. */

/* Largest relative difference between the energy of a run and the energy of the beam. It is
 * limited because absorption and sampling are computed for the energy of the beam. */
#define ENERGY_APART 0.1

enum status orient_runs_read(struct orient_runs *r, const char *path, struct error *e)
{
    if (!path)
        return STATUS_OK;
    r->path = path;
    const enum status s = runs_read(path, &r->lines, &r->nlines, e);
    if (s)
        return s;
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < r->nlines; i++) {
        const struct run_line *l = &r->lines[i];
        const double facts[5] = {(double)l->first, l->hit_rate, l->mean_lattices, l->fluence,
                                 l->energy_eV};
        hash = hash_text(hash_text(hash_bytes(hash, facts, sizeof facts), l->mixture), l->label);
    }
    (void)snprintf(r->digest, sizeof r->digest, "%016" PRIx64, hash_finish(hash));
    return STATUS_OK;
}

/* Replaces options of a run by the values that its line gives. STATUS_INPUT: the line does not
 * fit the beam or the crystals. */
static enum status use_line(const struct run_line *l, size_t ncrystals, double wavelength_m,
                            bool turned_alike, struct orient_run *run, struct error *e)
{
    struct population *p = &run->population;
    run->first = l->first;
    run->label = l->label;
    if (l->hit_rate >= 0.0)
        p->hit_rate = l->hit_rate;
    if (l->mean_lattices >= 0.0)
        p->mean_lattices = l->mean_lattices;
    p->mixture = *l->mixture ? l->mixture : p->mixture;
    run->pulse.fluence = fmax(l->fluence, 0.0);
    if (l->energy_eV > 0.0) {
        run->pulse.wavelength = ev_to_m(l->energy_eV) / wavelength_m;
        if (!(fabs(run->pulse.wavelength - 1.0) <= ENERGY_APART))
            return error_set(
                e, STATUS_INPUT,
                "energy_eV is %.8g; expected a value within 10 %% of the beam's %.8g eV",
                l->energy_eV, m_to_ev(wavelength_m));
    }
    const enum status s = population_open(p, e);
    return s ? s : population_begin(p, ncrystals, turned_alike, e);
}

enum status orient_runs_begin(struct orient_runs *r, const struct population *population,
                              const struct pulse *pulse, double wavelength_m, bool turned_alike,
                              struct error *e)
{
    r->nruns = r->nlines ? r->nlines : 1;
    r->runs = mem_array(r->nruns, sizeof *r->runs);
    for (size_t i = 0; i < r->nruns; i++) {
        r->runs[i] = (struct orient_run){.label = "", .population = *population, .pulse = *pulse};
        struct error why;
        if (r->nlines && use_line(&r->lines[i], population->ncrystals, wavelength_m, turned_alike,
                                  &r->runs[i], &why))
            return error_set(e, STATUS_INPUT, "%s:%ld: %.400s", r->path, r->lines[i].line,
                             why.text);
    }
    return STATUS_OK;
}

const struct orient_run *orient_runs_of(const struct orient_runs *r, uint64_t frame)
{
    size_t i = r->nruns - 1;
    while (i && r->runs[i].first > frame)
        i--;
    return &r->runs[i];
}

void orient_runs_free(struct orient_runs *r)
{
    mem_free(r->lines);
    mem_free(r->runs);
    *r = (struct orient_runs){0};
}

/* A crystal with fewer illuminated blocks lies next to the beam: rounding makes them from 0. */
static const double ILLUMINATED_LEAST = 1e-6;

/* Draws the random misset of nanoBragg, which is not uniform. The seed of frame `id` is --seed
 * plus `id`. */
static enum status make_faithful_random(const struct orient *o, uint64_t id,
                                        struct orientation_request *r, struct lattice *l,
                                        struct error *e)
{
    r->random_misset = true;
    r->misset_seed = -(int64_t)(((uint64_t)o->options.seed + id) & 0x7fffffff);
    return setup_lattice(o->experiment, 0, r, l, e);
}

/* Makes lattice number `index` of frame `id`. Its orientation is that of --orientations or
 * --random, or else the orientation *r. */
static enum status make_lattice(const struct orient *o, const struct population *population,
                                uint64_t id, uint32_t index, uint32_t crystal,
                                struct orientation_request r, struct lattice *l, struct error *e)
{
    const struct orient_options *p = &o->options;
    const uint64_t seed = (uint64_t)p->seed;
    const double *cell_A = o->experiment->crystals[crystal].cell_A;
    (void)population_strain(population, cell_A, seed, id, index, r.strain);
    r.has_cells = population_cells(population, cell_A, seed, id, index, r.cells);
    if (o->listed) {
        const uint64_t line = id * (uint64_t)population->lattices + index;
        return setup_lattice_rotated(o->experiment, crystal, o->listed[line], &r, l, e);
    }
    if (!p->random)
        return setup_lattice(o->experiment, crystal, &r, l, e);
    if (o->experiment->physics == PHYSICS_FAITHFUL)
        return make_faithful_random(o, id, &r, l, e);
    double rotation[9];
    struct rng rng = rng_stream(seed, RNG_ORIENTATION, id, index);
    random_rotation(&rng, rotation);
    return setup_lattice_rotated(o->experiment, crystal, rotation, &r, l, e);
}

/* Adds lattice number `index` to *r, which has room for it.  With --pumped a lattice has two
 * states, and each of them is a lattice of the recipe. */
static enum status add_lattice(const struct orient *o, const struct population *p,
                               const struct orientation_request *turned, uint32_t index,
                               struct recipe *r, struct error *e)
{
    struct pump_state states[2];
    const size_t n = pump_states(&o->options.pump, &o->experiment->pulse_ids, r->seed, r->id,
                                 population_crystal(p, r->seed, r->id, index), states);
    enum status s = STATUS_OK;
    for (size_t i = 0; i < n && !s; i++) {
        struct lattice *l = &r->lattices[r->nlattices++];
        s = make_lattice(o, p, r->id, index, states[i].crystal, *turned, l, e);
        l->weight *= population_share(p, r->seed, r->id, index) * states[i].share;
    }
    return s;
}

/* Adds the crystals on the sample holder that the beam meets.  The orientation and the cell of a
 * crystal are the same in all frames. */
static enum status add_sites(const struct orient *o, const struct orient_run *run,
                             const struct orientation_request *turned, const struct gate_line *line,
                             struct recipe *r, struct error *e)
{
    const struct population *p = &run->population;
    enum status s = STATUS_OK;
    r->has_sample = true;
    mesh_point(&o->mesh, r->id, line && line->moves ? line->at_m : o->mesh.middle_m, r->sample_m);
    for (uint32_t i = 0; i < o->mesh.nsites && !s; i++) {
        struct orientation_request at = *turned;
        if (!mesh_reaches(&o->mesh, o->experiment, r, i, at.aside_m))
            continue;
        if (r->nlattices == LATTICES_MAX)
            return error_set(e, STATUS_INPUT,
                             "frame %" PRIu64 ": the beam meets more than %d crystals. Use fewer "
                             "crystals or a smaller beam",
                             r->id, LATTICES_MAX);
        at.is_aside = true;
        struct lattice *l = &r->lattices[r->nlattices];
        s = make_lattice(o, p, 0, i, o->mesh.sites[i].crystal, at, l, e);
        const bool lit = l->weight > ILLUMINATED_LEAST;
        l->weight *= population_share(p, r->seed, 0, i);
        if (lit && l->weight > 0.0)
            r->nlattices++;
        else
            lattice_free(l);
    }
    return s;
}

enum status orient_recipe(const struct orient *o, const struct orientation_request *turned,
                          const struct gate_line *line, struct recipe *r, struct error *e)
{
    const struct orient_options *p = &o->options;
    const struct orient_run *run = orient_runs_of(&o->runs, r->id);
    r->seed = (uint64_t)p->seed;
    shift_make(&o->shift, o->experiment, r);
    const size_t count =
        o->mesh.nsites ? LATTICES_MAX / 2 : population_count(&run->population, r->seed, r->id);
    const size_t most = pump_excites(&p->pump) ? LATTICES_MAX / 2 : LATTICES_MAX;
    r->lattices = mem_array(2 * count, sizeof *r->lattices);
    enum status s = STATUS_OK;
    struct pulse pulse = run->pulse;
    if (line && line->fluence != 1.0)
        pulse.fluence = line->fluence * (pulse.fluence > 0.0 ? pulse.fluence : 1.0);
    pulse_make(&pulse, &o->experiment->beam, r);
    if (o->mesh.nsites)
        return add_sites(o, run, turned, line, r, e);
    for (uint32_t i = 0; i < count && i < most && !s; i++)
        s = add_lattice(o, &run->population, turned, i, r, e);
    return s;
}
