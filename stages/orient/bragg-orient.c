/*
 * bragg-orient: the source of the pipeline.  It numbers the frames, chooses the crystals of each
 * frame and their orientation, and sends one recipe per frame.  A recipe contains all rotated
 * vectors and mosaic domains, so that no later stage has to evaluate a sine for them.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/target.h"
#include "base/units.h"
#include "io/beam/orientations.h"
#include "io/beam/spectra.h"
#include "io/detectors/shifts.h"
#include "io/dials/expt.h"
#include "io/output/replace.h"
#include "io/output/truth.h"
#include "orient_frame.h"
#include "orient_sampling.h"
#include "physics/detector/panels.h"
#include "stage/stage.h"

enum { MORE_SIZE = 256 };  // bytes for the optional columns of the table

/* --- orientations from a file ----------------------------------------------- */

/* Derives the number of frames from the list of orientations, which has `lattices` per frame,
 * unless an option gives it.  STATUS_INPUT: the list has too few orientations, or no whole frames.
 */
static enum status count_listed(struct orient *o, uint64_t lattices, struct error *e)
{
    struct orient_options *p = &o->options;
    const bool known = orient_given(p, "frames|only|scan");
    if (!known && o->nlisted % lattices)
        return error_set(e, STATUS_INPUT,
                         "%s: has %zu orientations; expected a multiple of %" PRIu64
                         ", the number of lattices in a frame",
                         p->orientations, o->nlisted, lattices);
    if (!known)
        p->frames = (int64_t)(o->nlisted / lattices);
    if ((uint64_t)p->frames * lattices > o->nlisted)
        return error_set(e, STATUS_INPUT,
                         "%s: has %zu orientations, but %" PRId64 " frames need %" PRIu64
                         ", one per %s. Use --misset to give all frames the same orientation",
                         p->orientations, o->nlisted, p->frames, (uint64_t)p->frames * lattices,
                         lattices == 1 ? "frame" : "lattice of a frame");
    return STATUS_OK;
}

/* Takes start angle, rotation and number of frames from --scan, unless options give them. */
static enum status take_scan(struct orient_options *p, struct error *e)
{
    struct expt_scan scan;
    const enum status s = expt_read_scan(p->scan, &scan, e);
    if (s)
        return s;
    p->phi0_deg = orient_given(p, "phi0") ? p->phi0_deg : scan.start_deg;
    p->osc_deg = orient_given(p, "osc") ? p->osc_deg : scan.width_deg;
    p->frames = orient_given(p, "frames") ? p->frames : scan.images;
    orient_mark(p, "phi0");
    orient_mark(p, "osc");
    return STATUS_OK;
}

/* Copies the options of pulses, and reads --spectra. */
static enum status open_pulse(struct orient *o, struct error *e)
{
    o->pulse = o->options.pulse;
    struct spectrum *s = &o->pulse.spectrum;
    if (!o->options.spectra)
        return STATUS_OK;
    s->kind = SPECTRUM_LISTED;
    return spectra_read(o->options.spectra, &s->listed, e);
}

/* Copies the options of the detector position, and reads --shifts. */
static enum status open_shift(struct orient *o, struct error *e)
{
    o->shift = o->options.shift;
    return o->options.shifts
               ? shifts_read(o->options.shifts, &o->shift.listed_m, &o->shift.nlisted, e)
               : STATUS_OK;
}

static enum status open_orient(void *state, const char **operands, int noperands, struct error *e)
{
    struct orient *o = state;
    struct orient_options *p = &o->options;
    (void)operands;
    (void)noperands;
    enum status s = p->scan ? take_scan(p, e) : STATUS_OK;
    s = s ? s : orient_check(p, e);
    if (!s && p->truth)
        s = target_check(p->truth, e);
    if (s)
        return s;
    orient_warn_units(p);
    if (orient_given(p, "only") && !orient_given(p, "frames"))
        p->frames = p->only + 1;
    if ((s = open_pulse(o, e)) || (s = open_shift(o, e)) ||
        (s = orient_runs_read(&o->runs, p->runs, e)) || !p->orientations)
        return s;
    /* a first check: `begin` repeats it when the number of crystals is known */
    const uint64_t lattices = p->population.asked ? (uint64_t)p->population.asked : 1;
    s = orientations_read(p->orientations, &o->listed, &o->nlisted, e);
    return s ? s : count_listed(o, lattices, e);
}

/* Replaces the paths of input files by hashes of their content, because the lineage contains the
 * content and not the names. */
static void hash_files(struct orient *o)
{
    const struct listed_spectra *l = &o->pulse.spectrum.listed;
    const size_t bytes = l->shots * l->points * sizeof *l->photons;
    const uint64_t list =
        hash_finish(hash_bytes(HASH_START, o->listed, o->nlisted * sizeof *o->listed));
    const uint64_t spectra =
        hash_finish(hash_bytes(hash_bytes(HASH_START, l->energy_eV, bytes), l->photons, bytes));
    (void)snprintf(o->digest, sizeof o->digest, "%016" PRIx64, list);
    (void)snprintf(o->spectra, sizeof o->spectra, "%016" PRIx64, spectra);
    o->options.orientations = o->listed ? o->digest : NULL;
    o->options.spectra = l->shots ? o->spectra : NULL;
    const uint64_t shifts = hash_finish(
        hash_bytes(HASH_START, o->shift.listed_m, o->shift.nlisted * sizeof *o->shift.listed_m));
    (void)snprintf(o->shifts, sizeof o->shifts, "%016" PRIx64, shifts);
    o->options.shifts = o->shift.nlisted ? o->shifts : NULL;
    o->options.runs = o->runs.nlines ? o->runs.digest : NULL;
}

/* --- one frame -------------------------------------------------------------- */

static enum status frame(void *state, struct frame *f, struct error *e)
{
    const struct orient *o = state;
    const struct orientation_request turned = orient_request(&o->options, f->recipe.id);
    f->recipe.phi_rad = turned.phi_rad;
    f->recipe.osc_rad = deg_to_rad(o->options.osc_deg);
    return orient_recipe(o, &turned, &f->recipe, e);
}

/* --- before the first frame ------------------------------------------------- */

/* Writes the optional columns to `text`: their names if r is NULL, else the values of the frame. */
static void write_more(const struct orient *o, const struct recipe *r, const double lab[9],
                       char text[MORE_SIZE])
{
    size_t at = 0;
    *text = '\0';
    if (o->runs.nlines && r) {
        const struct orient_run *run = orient_runs_of(&o->runs, r->id);
        at = (size_t)snprintf(text, MORE_SIZE, "\t%td\t%s", run - o->runs.runs,
                              *run->label ? run->label : "-");
    } else if (o->runs.nlines) {
        at = (size_t)snprintf(text, MORE_SIZE, "\trun\tlabel");
    }
    if (!(o->pulse.direction_jitter_rad > 0.0))
        return;
    double xy_rad[2] = {0};
    if (r)
        truth_direction(o->experiment, r, lab, xy_rad);
    if (r)
        (void)snprintf(text + at, MORE_SIZE - at, "\t%.9g\t%.9g", 1e6 * xy_rad[0], 1e6 * xy_rad[1]);
    else
        (void)snprintf(text + at, MORE_SIZE - at, "\tbeam_x_urad\tbeam_y_urad");
}

/* Writes the table of --truth.  Mosaic domains and phi steps are left out of the recipes, so this
 * is fast. */
static enum status write_truth(const struct orient *o, struct error *e)
{
    struct orientation_request turned = orient_request(&o->options, 0);
    turned.phi_rad = 0.0;
    turned.phi = (struct steps_request)NO_STEPS;
    turned.mosaic_rad = 0.0;
    struct replace file;
    double lab[9];
    char more[MORE_SIZE];
    enum status s = replace_open(&file, o->options.truth, e);
    if (s)
        return s;
    file.guarded = !o->options.overwrite;
    panels_frame(o->experiment, lab);
    write_more(o, NULL, lab, more);
    truth_write_title(file.stream, o->experiment, more);
    for (int64_t k = 0; k < o->options.frames && !s; k++) {
        struct recipe r = {.id = (uint64_t)k};
        s = orient_recipe(o, &turned, &r, e);
        r.phi_rad = orient_request(&o->options, r.id).phi_rad;
        r.osc_rad = deg_to_rad(o->options.osc_deg);
        if (!s)
            write_more(o, &r, lab, more);
        if (!s)
            truth_write(file.stream, o->experiment, &r, lab, more);
        recipe_free(&r);
    }
    if (!s)
        return replace_commit(&file, e);
    replace_abort(&file);
    return s;
}

static enum status begin(void *state, struct experiment *x, struct error *e)
{
    struct orient *o = state;
    struct orient_options *p = &o->options;
    o->experiment = x;
    x->detector_moves = shift_moves(&o->shift);
    x->pulse_ids = orient_pulse_ids(p);
    x->has_pulse_ids = x->pulse_ids.facility != FACILITY_NONE || x->pulse_ids.has_pump;
    const size_t kinds = pump_excites(&p->pump) ? 1 : x->ncrystals;  // each lattice has both states
    enum status s = population_begin(&p->population, kinds, !p->random && !p->orientations, e);
    s = s ? s
          : pump_check(&p->pump, x->ncrystals, p->population.lattices, p->population.mean_lattices,
                       e);
    if (!s && o->listed)
        s = count_listed(o, (uint64_t)p->population.lattices, e);
    if (s)
        return s;
    hash_files(o);
    if (x->physics == PHYSICS_FAITHFUL &&
        (p->population.lattices > 1 || orient_given(p, "mean-lattices") ||
         pulse_varies(&o->pulse) || p->runs || pump_excites(&p->pump) || shift_moves(&o->shift) ||
         *p->population.cell_spread > 0))
        return error_set(e, STATUS_USAGE,
                         "several lattices, runs, jitter, spectra, pumped states, varying cells "
                         "and a moving detector need bragg-geometry --physics=physical");
    if ((s = orient_sampling(p, x, &o->pulse.spectrum, e)) ||
        (s = pulse_check(&o->pulse, &x->beam, e)) || (s = shift_check(&o->shift, x, e)) ||
        (s = orient_runs_begin(&o->runs, &p->population, &o->pulse, x->beam.wavelength_m,
                               !p->random && !p->orientations, e)))
        return s;
    for (size_t i = 0; i < o->runs.nlines && !s; i++)
        s = pump_check(&p->pump, x->ncrystals, o->runs.runs[i].population.lattices,
                       o->runs.runs[i].population.mean_lattices, e);
    if (s)
        return s;
    return p->truth ? write_truth(o, e) : STATUS_OK;
}

static enum status list(void *state, struct id_set *ids, struct error *e)
{
    const struct orient_options *p = &((struct orient *)state)->options;
    const bool one = orient_given(p, "only");
    const uint64_t only = (uint64_t)p->only, count = (uint64_t)p->frames;
    const struct id_range range =
        one ? (struct id_range){only, only} : (struct id_range){0, count - 1};
    if (!one && !count)
        return STATUS_OK;
    return id_set_add_range(ids, range) ? STATUS_OK : error_memory(e, "the list of frames");
}

static void close_orient(void *state)
{
    struct orient *o = state;
    mem_free(o->listed);
    mem_free(o->shift.listed_m);
    orient_runs_free(&o->runs);
    spectra_free(&o->pulse.spectrum.listed);
}

static const struct stage stage = {
    .role = {.name = "bragg-orient", .wants = KIND_EXPERIMENT, .gives = KIND_RECIPE},
    .summary = "Choose number, crystals and orientation of the frames.",
    .examples = "... | bragg-orient --frames=100 --random --seed=7 | ...\n"
                "... | bragg-orient --frames=20 --osc=0.5 --phi-steps=12 --mosaic=0.1 | ...",
    .options = orient_table,
    .state_size = sizeof(struct orient),
    .open = open_orient,
    .begin = begin,
    .list = list,
    .frame = frame,
    .close = close_orient,
};

int main(int argc, char **argv)
{
    return stage_main(&stage, argc, argv);
}
