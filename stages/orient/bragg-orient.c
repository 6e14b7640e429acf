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
#include "base/files.h"
#include "base/filetype.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/units.h"
#include "io/beam/frame_lists.h"
#include "io/dials/expt.h"
#include "io/output/output_file.h"
#include "io/output/truth.h"
#include "orient.h"
#include "physics/detector/detector.h"
#include "physics/setup.h"
#include "stage/stage.h"

/* --- what a user can expect of a run, and how the run gets faster ----------------------------- */

static void outlook(void *state, struct outlook *w)
{
    enum { EXAMINED_MAX = 10000 };
    const struct orient *o = state;
    const uint64_t all = o->stream.nframes ? o->stream.nframes : (uint64_t)o->options.frames;
    const uint64_t count = all < EXAMINED_MAX ? all : EXAMINED_MAX;
    uint64_t hits = 0;
    for (uint64_t id = 0; id < count && o->stream.nframes; id++)
        hits += o->stream.frames[id].count > 0;
    for (uint64_t id = 0; id < count && !o->stream.nframes; id++)
        hits += population_count(&orient_runs_of(&o->runs, id)->population,
                                 (uint64_t)o->options.seed, id) > 0;
    w->computed = count && hits ? (double)hits / (double)count : 1.0;
    if (!o->advised)
        orient_propose_faster(&o->options, o->experiment, w->faster);
}

enum { MORE_SIZE = 256 };  // bytes for the optional columns of the table

/* --- orientations from a file ----------------------------------------------- */

/* Sets the number of frames, unless --frames, --only or --scan gives it, to the number of
 * orientations in the list divided by `lattices`, the number of orientations per frame.  In a
 * rotation the list of one frame is enough: the same crystals turn with the spindle.
 * STATUS_INPUT: the list has too few orientations, or the last frame is incomplete. */
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
    const bool same_crystals = p->osc_deg != 0 && o->nlisted == lattices;
    if (same_crystals || (uint64_t)p->frames * lattices <= o->nlisted)
        return STATUS_OK;
    return error_set(
        e, STATUS_INPUT,
        "%s: has %zu orientations, but %" PRId64 " frames need %" PRIu64 ", one per %s. %s",
        p->orientations, o->nlisted, p->frames, (uint64_t)p->frames * lattices,
        lattices == 1 ? "frame" : "lattice of a frame",
        lattices == 1     ? "Use --misset to give all frames the same orientation"
        : p->osc_deg != 0 ? "If the same crystals turn in all frames, give the lines of one frame"
                          : "Repeat the lines to give all frames the same orientations");
}

/* Warns of each value of a scan that an option replaces by another one. */
static void warn_scan(const struct orient_options *p, const struct expt_scan *scan)
{
    if (orient_given(p, "phi0") && p->phi0_deg != scan->start_deg)
        log_line(LOG_WARNING, "--phi0=%g replaces the start angle %g deg of the scan in %s",
                 p->phi0_deg, scan->start_deg, p->scan);
    if (orient_given(p, "osc") && p->osc_deg != scan->width_deg)
        log_line(LOG_WARNING, "--osc=%g replaces the rotation of %g deg per image in %s",
                 p->osc_deg, scan->width_deg, p->scan);
    if (orient_given(p, "frames") && p->frames > scan->images)
        log_line(LOG_WARNING,
                 "--frames=%" PRId64 " continues the rotation after the %" PRId64 " images of %s",
                 p->frames, scan->images, p->scan);
}

/* Takes the start angle, the rotation and the number of frames from --scan, unless options give
 * these values. */
static enum status take_scan(struct orient_options *p, struct error *e)
{
    struct expt_scan scan;
    const enum status s = expt_read_scan(p->scan, &scan, e);
    if (s)
        return s;
    warn_scan(p, &scan);
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
    if (o->options.filter) {
        const enum status status = filter_parse(o->options.filter, s->filters, &s->nfilters, e);
        if (status)
            return status;
    }
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

/* Copies the options of the mesh, and reads --crystals-at. */
static enum status open_mesh(struct orient *o, struct error *e)
{
    o->mesh = o->options.mesh;
    o->mesh.facing_rad = deg_to_rad(o->options.phi0_deg);
    return mesh_read(&o->mesh, o->options.sites, e);
}

/* Reads the table of --vary-file. */
static enum status open_table(struct orient *o, struct error *e)
{
    struct vary_column columns[VARY_NAMES];
    for (int i = 0; i < VARY_NAMES; i++)
        columns[i] = (struct vary_column){vary_quantities[i].name, vary_quantities[i].unit,
                                          vary_quantities[i].min, vary_quantities[i].max};
    return o->options.vary_file
               ? vary_table_read(o->options.vary_file, columns, VARY_NAMES, &o->vary, e)
               : STATUS_OK;
}

/* Refuses a table of --vary-file that has fewer frames than the run, whose number is known only
 * when the orientations have been read. */
static enum status check_table(const struct orient *o, struct error *e)
{
    return !o->vary.frames || (uint64_t)o->options.frames <= o->vary.frames
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "%s: has %zu frames; expected a line for each of the %" PRId64
                           " frames of the run",
                           o->options.vary_file, o->vary.frames, o->options.frames);
}

/* First bytes of a stream of CrystFEL. */
#define STREAM_BEGIN "CrystFEL stream format"

/* Reads the stream of --orientations.  The run has the frames of the stream, or those of --only. */
static enum status open_stream(struct orient *o, struct error *e)
{
    struct orient_options *p = &o->options;
    struct id_set ids = {0}, missing = {0};
    enum status s = orient_check_stream(p, e);
    if (s || (s = orient_stream_read(&o->stream, p->orientations, e)))
        return s;
    const uint64_t last = o->stream.frames[o->stream.nframes - 1].id;
    if (!orient_given(p, "frames|only"))
        p->frames = (int64_t)last + 1;
    orient_stream_ids(&o->stream, (uint64_t)p->frames, &ids);
    id_set_add_set(&missing, &o->only);
    id_set_remove_set(&missing, &ids);
    if (missing.count)
        s = error_set(e, STATUS_INPUT,
                      "%s: has no frame %" PRIu64
                      " of --only; expected frames of the stream, which "
                      "are %" PRIu64 " to %" PRIu64,
                      p->orientations, missing.ranges[0].first, o->stream.frames[0].id, last);
    else if (!ids.count)
        s = error_set(e, STATUS_INPUT,
                      "%s: has no frame below --frames=%" PRId64
                      "; the first one is frame %" PRIu64,
                      p->orientations, p->frames, o->stream.frames[0].id);
    if (!s && !o->only.count)
        id_set_add_set(&o->only, &ids);
    id_set_clear(&ids);
    id_set_clear(&missing);
    return s;
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
    if ((s = orient_read_only(p, &o->only, e)))
        return s;
    if ((s = open_table(o, e)) || (s = orient_use_table(p, &o->vary, e)) ||
        (s = orient_vary_check(p, e)))
        return s;
    orient_warn_units(p);
    if ((s = open_pulse(o, e)) || (s = open_shift(o, e)) ||
        (s = orient_runs_read(&o->runs, p->runs, e)) || (s = open_mesh(o, e)) ||
        (p->gate && (s = gate_open(&o->gate, p->gate, e))) || !p->orientations)
        return s;
    if (filetype_begins(p->orientations, STREAM_BEGIN, strlen(STREAM_BEGIN)))
        return open_stream(o, e);
    s = orientations_read(p->orientations, &o->listed, &o->nlisted, e);
    /* In a rotation, the list can be that of one frame, with a lattice of each crystal: only
     * `begin` knows how many crystals there are.  This is a first check, which `begin` repeats. */
    if (!p->population.asked && p->osc_deg != 0)
        return s;
    const uint64_t lattices = p->population.asked ? (uint64_t)p->population.asked : 1;
    return s ? s : count_listed(o, lattices, e);
}

/* Replaces the paths of input files by hashes of their content, because the lineage depends on
 * the content and not on the names. */
static void hash_files(struct orient *o)
{
    const struct listed_spectra *l = &o->pulse.spectrum.listed;
    const size_t bytes = l->shots * l->points * sizeof *l->photons;
    uint64_t list = hash_bytes(HASH_START, o->listed, o->nlisted * sizeof *o->listed);
    for (size_t i = 0; i < o->stream.nframes; i++) {
        const uint64_t frame[2] = {o->stream.frames[i].id, o->stream.frames[i].count};
        list = hash_bytes(list, frame, sizeof frame);
    }
    list = hash_finish(list);
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
    o->options.sites = o->options.sites ? o->mesh.digest : NULL;
    o->options.gate = o->gate ? "live" : NULL;
    uint64_t table = HASH_START;
    for (int i = 0; i < VARY_NAMES; i++)
        if (o->vary.values[i])
            table = hash_bytes(hash_text(table, vary_quantities[i].name), o->vary.values[i],
                               o->vary.frames * sizeof *o->vary.values[i]);
    (void)snprintf(o->varies, sizeof o->varies, "%016" PRIx64, hash_finish(table));
    o->options.vary_file = o->vary.frames ? o->varies : NULL;
}

/* --- one frame -------------------------------------------------------------- */

static enum status orient_frame(void *state, struct frame *f, struct error *e)
{
    const struct orient *o = state;
    struct orientation_request turned = orient_request(&o->options, f->recipe.id);
    struct gate_line line = {.fluence = 1.0};
    if (o->gate) {
        const enum status s =
            gate_await(o->gate, f->recipe.id, o->mesh.nsites, o->options.gate_z, &line, e);
        if (s)
            return s;
    }
    if (line.rotates)
        turned.phi_rad = deg_to_rad(line.phi_deg);
    f->recipe.phi_rad = turned.phi_rad;
    f->recipe.osc_rad = deg_to_rad(o->options.osc_deg);
    return orient_recipe(o, &turned, o->gate ? &line : NULL, &f->recipe, e);
}

/* --- before the first frame ------------------------------------------------- */

/* Writes the optional columns of the table of --truth to `text`: the values of the frame, or the
 * names of the columns if r is NULL. */
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

/* Writes the table of --truth. The recipes for the table have no mosaic domains and phi steps,
 * so that they are fast to make. */
static enum status write_truth(const struct orient *o, struct error *e)
{
    struct orientation_request turned = orient_request(&o->options, 0);
    turned.phi_rad = 0.0;
    turned.phi = (struct steps_request)NO_STEPS;
    turned.mosaic_rad = 0.0;
    turned.mosaic_domains = 1;
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
    const struct stream_frame *listed = o->stream.frames;  // a stream has only some of the frames
    const uint64_t count = listed ? o->stream.nframes : (uint64_t)o->options.frames;
    for (uint64_t k = 0; k < count && !s; k++) {
        struct recipe r = {.id = listed ? listed[k].id : k};
        if (r.id >= (uint64_t)o->options.frames)
            break;
        if (o->mesh.nsites) {  // the rotation decides which crystals the beam meets
            const struct orientation_request own = orient_request(&o->options, r.id);
            turned.phi_rad = own.phi_rad;
            turned.phi = own.phi;
            r.phi_rad = own.phi_rad;
            r.osc_rad = deg_to_rad(o->options.osc_deg);
        }
        s = orient_recipe(o, &turned, NULL, &r, e);
        r.phi_rad = orient_request(&o->options, r.id).phi_rad;
        r.osc_rad = deg_to_rad(o->options.osc_deg);
        if (!s)
            write_more(o, &r, lab, more);
        if (!s)
            truth_write(file.stream, o->experiment, &r, lab, more);
        recipe_free(&r);
    }
    s = s ? s : replace_flush(&file, e);
    if (!s && file.guarded && replace_shortens(&file))
        s = error_set(e, STATUS_FAILED,
                      "--truth=%s: the file lists more frames than this run has (--frames=%" PRId64
                      "). Give as many --frames as before, --overwrite to shorten the file, or "
                      "another name",
                      o->options.truth, o->options.frames);
    if (!s)
        return replace_commit(&file, e);
    replace_abort(&file);
    return s;
}

/* Finds the rotations of the crystals of the stream. */
static enum status begin_stream(struct orient *o, const struct experiment *x, struct error *e)
{
    o->nlisted = o->stream.ncrystals;
    return x->physics == PHYSICS_FAITHFUL
               ? error_set(e, STATUS_USAGE,
                           "--orientations=%s: a stream needs bragg-geometry --physics=physical",
                           o->options.orientations)
               : orient_stream_rotations(&o->stream, x, &o->listed, e);
}

/* Returns true if all lattices of a crystal have the same orientation. */
static bool turned_alike(const struct orient_options *p)
{
    return !p->random && !p->orientations && !(p->apart_rad > 0.0) &&
           !p->population.varied[VARY_LATTICE_SPREAD].kind;
}

static enum status orient_begin(void *state, struct experiment *x, struct error *e)
{
    struct orient *o = state;
    struct orient_options *p = &o->options;
    const enum status usable = orient_check_probe(p, x->probe, e);
    if (usable)
        return usable;
    o->experiment = x;
    x->detector_moves = shift_moves(&o->shift) || p->gate_z || orient_vary_moves(p);
    x->matter_varies = orient_vary_matter(p);
    x->sample_moves = p->mesh.crystals || p->sites;
    x->sizes_vary = vary_limits(p->population.varied, VARY_SIZE, (double[2]){0});
    x->spreads_vary = vary_limits(p->population.varied, VARY_MOSAIC, (double[2]){0}) ||
                      vary_limits(p->population.varied, VARY_MOSAIC_RMS, (double[2]){0});
    x->b_factors_vary = vary_limits(p->population.varied, VARY_B_FACTOR, (double[2]){0}) ||
                        vary_limits(p->population.varied, VARY_RESOLUTION, (double[2]){0});
    x->pulse_ids = orient_pulse_ids(p);
    x->has_pulse_ids = x->pulse_ids.facility != FACILITY_NONE || x->pulse_ids.has_pump;
    const size_t kinds = pump_excites(&p->pump) ? 1 : x->ncrystals;  // each lattice has both states
    enum status s = population_begin(&p->population, kinds, turned_alike(p), e);
    s = s ? s
          : pump_check(&p->pump, x->ncrystals, p->population.lattices, p->population.mean_lattices,
                       e);
    if (!s && o->stream.nframes)
        s = begin_stream(o, x, e);
    else if (!s && o->listed)
        s = count_listed(o, (uint64_t)p->population.lattices, e);
    if (s || (s = check_table(o, e)))
        return s;
    hash_files(o);
    if (x->physics == PHYSICS_FAITHFUL &&
        (p->population.lattices > 1 || orient_given(p, "mean-lattices") ||
         pulse_varies(&o->pulse) || p->runs || p->gate || x->sample_moves ||
         pump_excites(&p->pump) || x->detector_moves || *p->population.cell_spread > 0 ||
         orient_given(p, "mount") || p->population.vary.count || p->vary_file))
        return error_set(
            e, STATUS_USAGE,
            "several lattices, runs, jitter, spectra, pumped states, varying cells and sizes, "
            "a sample holder, a moving detector and --mount need bragg-geometry "
            "--physics=physical");
    if (x->physics == PHYSICS_FAITHFUL && !orient_given(p, "steps") && orient_given(p, "ripple"))
        return error_set(e, STATUS_USAGE,
                         "--ripple has an effect in faithful mode only with --steps=auto");
    if ((s = population_check(&p->population, x, e)) || (s = orient_check_detector(o, x, e)) ||
        (x->sample_moves && (s = mesh_begin(&o->mesh, x, (uint64_t)p->seed, e))) ||
        (s = orient_runs_begin(&o->runs, &p->population, &o->pulse, x, turned_alike(p), e)) ||
        (s = orient_vary_begin(o, x, e)))
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
    const struct orient *o = state;
    const uint64_t count = (uint64_t)o->options.frames;
    (void)e;
    if (count && o->only.count)
        id_set_add_set(ids, &o->only);
    else if (count)
        id_set_add_range(ids, (struct id_range){0, count - 1});
    return STATUS_OK;
}

static void cancel(void *state)
{
    gate_cancel(((const struct orient *)state)->gate);
}

static void close_orient(void *state)
{
    struct orient *o = state;
    gate_close(o->gate);
    id_set_clear(&o->only);
    orient_stream_free(&o->stream);
    mem_free(o->listed);
    mem_free(o->shift.listed_m);
    orient_runs_free(&o->runs);
    mesh_free(&o->mesh);
    spectra_free(&o->pulse.spectrum.listed);
    vary_table_free(&o->vary);
}

static const struct stage stage = {
    .role = {.name = "bragg-orient", .wants = KIND_EXPERIMENT, .gives = KIND_RECIPE},
    .summary = "Choose number, crystals and orientation of the frames.",
    .examples = "... | bragg-orient --frames=100 --random --seed=7 | ...\n"
                "... | bragg-orient --frames=20 --osc=0.5 --mosaic=0.1 | ...",
    .options = orient_table,
    .state_size = sizeof(struct orient),
    .open = open_orient,
    .begin = orient_begin,
    .list = list,
    .outlook = outlook,
    .frame = orient_frame,
    .cancel = cancel,
    .close = close_orient,
};

int main(int argc, char **argv)
{
    return stage_main(&stage, argc, argv);
}
