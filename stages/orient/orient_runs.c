/* --runs: groups of frames with their own hit rate, crystals, fluence or energy. */
#include "orient_runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/units.h"

/* Largest relative difference between the energy of a run and that of the beam.  Absorption and
 * sampling are those of the beam. */
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

/* Replaces the options of a run by the values of its line. */
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
    if (!r->runs)
        return error_memory(e, "the runs");
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
